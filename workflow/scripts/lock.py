"""Rule lock: spack.lock of a toolchain, and what it was made from."""

import shutil
from pathlib import Path

from parity.core.errors import shown_to_the_user
from parity.software.native import make_lock
from parity.software.spack import find_spack, spack_site
from parity.software.toolchain import check_compilers, load_toolchain

if __name__ == "__main__":
    with shown_to_the_user():
        log = Path(snakemake.log[0])
        toolchain = load_toolchain(snakemake.params.spack["toolchain"])
        check_compilers(toolchain)
        spack = find_spack(
            spack_site(snakemake.params.spack, snakemake.threads), toolchain.recipes, log
        )
        make_lock(spack, toolchain, log)
        shutil.copyfile(toolchain.origin, snakemake.output.origin)
