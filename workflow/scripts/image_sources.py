"""Rule image_sources: the sources of the toolchain's lock, once all else is known to fit."""

from pathlib import Path

from parity.core.errors import shown_to_the_user
from parity.software.sources import gather_sources
from parity.software.spack import find_spack, spack_site
from parity.software.toolchain import (
    check_compilers,
    check_lock,
    installed_packages,
    load_toolchain,
)

if __name__ == "__main__":
    with shown_to_the_user():
        log = Path(snakemake.log[0])
        toolchain = load_toolchain(snakemake.params.spack["toolchain"])
        check_lock(toolchain)
        check_compilers(toolchain)
        installed_packages(toolchain)
        site = spack_site(snakemake.params.spack, snakemake.threads)
        spack = find_spack(site, toolchain.recipes, log)
        gather_sources(spack, toolchain, Path(snakemake.output.sources), log)
