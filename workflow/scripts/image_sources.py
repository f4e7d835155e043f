"""Rule image_sources: the sources of the toolchain's lock, once all else is known to fit."""

from pathlib import Path

from parity.core.errors import shown_to_the_user
from parity.software.environment import compilers_of
from parity.software.lock import check_lock
from parity.software.spack import chosen_spack, gather_sources
from parity.software.toolchain import check_compilers, installed_packages

if __name__ == "__main__":
    with shown_to_the_user():
        given, log = snakemake.params, Path(snakemake.log[0])
        toolchain, spack = chosen_spack(given, snakemake.threads, log)
        check_lock(toolchain)
        check_compilers(compilers_of(toolchain.manifest), toolchain)
        installed_packages(toolchain)
        gather_sources(spack, toolchain, Path(snakemake.output.sources), log)
