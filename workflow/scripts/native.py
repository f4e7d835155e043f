"""Rule native: the toolchain's lock, made at its first use, installed, and its record."""

import shutil
from pathlib import Path

from parity.core.errors import shown_to_the_user
from parity.software.native import build_native
from parity.software.spack import chosen_spack
from parity.software.toolchain import composed_manifest

if __name__ == "__main__":
    with shown_to_the_user():
        given, log = snakemake.params, Path(snakemake.log[0])
        toolchain, spack = chosen_spack(given, snakemake.threads, log)
        manifest = composed_manifest(toolchain, given.builds, spack.release)
        build_native(spack, toolchain, manifest, Path(snakemake.output.record), log)
        for copy in map(Path, snakemake.output.lock):
            shutil.copyfile(toolchain.folder / copy.name, copy)
