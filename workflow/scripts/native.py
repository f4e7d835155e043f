"""Rule native: the toolchain's lock installed, and its record."""

from pathlib import Path

from parity.core.errors import shown_to_the_user
from parity.software.native import build_native
from parity.software.spack import find_spack, spack_site
from parity.software.toolchain import check_compilers, check_lock, load_toolchain

if __name__ == "__main__":
    with shown_to_the_user():
        log = Path(snakemake.log[0])
        toolchain = load_toolchain(snakemake.params.spack["toolchain"])
        # Both can be said before anything is cloned.
        check_lock(toolchain)
        check_compilers(toolchain)
        spack = find_spack(
            spack_site(snakemake.params.spack, snakemake.threads), toolchain.recipes, log
        )
        build_native(spack, toolchain, Path(snakemake.output.record), log)
