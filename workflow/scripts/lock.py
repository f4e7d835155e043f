"""Rule lock: spack.lock of a toolchain decided anew, and what it was made from."""

from pathlib import Path

from parity.core.errors import shown_to_the_user
from parity.software.native import make_lock
from parity.software.spack import find_spack, spack_site
from parity.software.toolchain import choose_toolchain

if __name__ == "__main__":
    with shown_to_the_user():
        given, log = snakemake.params, Path(snakemake.log[0])
        toolchain = choose_toolchain(
            given.spack["toolchain"], given.toolchains, "the system's file", Path(given.recipes)
        )
        # Without Spack nothing else matters.
        spack = find_spack(spack_site(given.spack, snakemake.threads), toolchain, log)
        make_lock(spack, toolchain, given.manifest, log)
