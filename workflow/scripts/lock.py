"""Rule lock: spack.lock of a toolchain decided anew, and what it was made from."""

from pathlib import Path

from parity.core.errors import shown_to_the_user
from parity.software.native import make_lock
from parity.software.spack import chosen_spack

if __name__ == "__main__":
    with shown_to_the_user():
        given, log = snakemake.params, Path(snakemake.log[0])
        toolchain, spack = chosen_spack(given, snakemake.threads, log)
        make_lock(spack, toolchain, given.manifest, log)
