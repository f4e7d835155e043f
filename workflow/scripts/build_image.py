"""Rule build_image: the image with every benchmark that is installed or compiled natively."""

import tempfile
from functools import partial
from pathlib import Path

from parity.core.documents import read_document, write_document
from parity.core.errors import shown_to_the_user
from parity.software import images
from parity.software.build import build_image
from parity.software.build_context import compiled_context, spack_context, system_context
from parity.software.spack import chosen_spack

if __name__ == "__main__":
    with shown_to_the_user(), tempfile.TemporaryDirectory() as folder:
        log = Path(snakemake.log[0])
        given, packages = snakemake.params, snakemake.params.packages
        containers = Path(given.containers).resolve()
        if snakemake.input.sources:
            toolchain, spack = chosen_spack(given, snakemake.threads, log)
            sources = Path(snakemake.input.sources[0])
            context = spack_context(containers, packages, toolchain, spack, sources, Path(folder))
        elif given.compiled:
            own = (given.compiled, given.compiler)
            context = compiled_context(containers, packages, *own, Path(folder))
        else:
            context = system_context(containers, packages)
        base = read_document(Path(snakemake.input.base), images.ImageRecord)
        place = images.place_of(snakemake.output.record, given.folder, "oci")
        build = partial(build_image, base, context, place, log)
        empty = images.ImageRecord("oci", parent="base", parent_digest=base.digest)
        record = images.made_or_reason(build, empty, log)
        write_document(Path(snakemake.output.record), record)
