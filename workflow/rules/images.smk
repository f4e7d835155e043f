"""Images: one Dockerfile, one OCI image, the formats that the study's arms run from, and digests.

Needs: containers/Dockerfile, the study's benchmarks that are installed natively; for Spack, a
toolchain. Makes, in results/images (results/spack/<toolchain>/images): <base>/base.json,
<base>/<packages>/<format>.json, and of the study's formats images.{json,parquet}.
"""

from parity.core.files import files_below


rule bootstrap_base:
    """Bootstrap the base image from Debian's packages, or take a registry's by digest."""
    input:
        # Nothing is built for a toolchain that is refused.
        sources=ancient(SOURCES),
    output:
        record=f"{BASE}/base.json",
    log:
        f"{BASE}/logs/bootstrap_base.log",
    localrule: HERE
    conda:
        "../../envs/parity.yaml"
    params:
        base_image=SYSTEM.base_image,
        folder=BASE_PLACE,
    shell:
        "parity bootstrap-base --base-image {params.base_image:q}"
        " --record {output.record:q} --folder {params.folder:q} --log {log:q} 2>> {log:q}"


rule build_image:
    """Build the image with the package versions of the native side."""
    input:
        base=f"{BASE}/base.json",
        # All of the folder: the Dockerfile copies from it.
        containers=list(map(str, files_below(Path(own("containers"))))),
        compiled=OWN_SOURCES,
        sources=SOURCES,
    output:
        record=f"{IMAGE}/oci.json",
    log:
        f"{IMAGE}/logs/build_image.log",
    localrule: HERE
    conda:
        "../../envs/parity.yaml"
    threads: workflow.cores
    params:
        packages=PACKAGES,
        compiled=NEEDED.sources,
        compiler=COMPILER,
        containers=containers_folder,
        site=SPACK_SITE,
        folder=IMAGE_PLACE,
    shell:
        "parity build-image --base {input.base:q} --containers {params.containers:q}"
        " --packages {params.packages:q} --compiled {params.compiled:q}"
        " --compiler {params.compiler:q} --sources {input.sources:q} --site {params.site:q}"
        " --jobs {threads} --record {output.record:q} --folder {params.folder:q}"
        " --log {log:q} 2>> {log:q}"


rule unpack_image:
    """Unpack the image into a directory."""
    input:
        oci=f"{IMAGE}/oci.json",
    output:
        record=f"{IMAGE}/directory.json",
    log:
        f"{IMAGE}/logs/unpack_image.log",
    localrule: HERE
    conda:
        "../../envs/parity.yaml"
    params:
        folder=IMAGE_PLACE,
    shell:
        "parity unpack-image --oci {input.oci:q} --record {output.record:q}"
        " --folder {params.folder:q} --log {log:q} 2>> {log:q}"


rule convert_image:
    """Convert the image into the format of one runtime."""
    input:
        oci=f"{IMAGE}/oci.json",
        # Only where the format is made from it.
        directory=branch(
            lambda wildcards: maker_of(wildcards.format).made_from == "directory",
            then=[f"{IMAGE}/directory.json"],
            otherwise=[],
        ),
    output:
        record=f"{IMAGE}/{{format}}.json",
    log:
        f"{IMAGE}/logs/convert_{{format}}.log",
    wildcard_constraints:
        format="|".join(CONVERTED),
    localrule: HERE
    conda:
        "../../envs/parity.yaml"
    params:
        folder=IMAGE_PLACE,
    shell:
        "parity convert-image --format {wildcards.format} --oci {input.oci:q}"
        " --directory {input.directory:q} --record {output.record:q}"
        " --folder {params.folder:q} --log {log:q} 2>> {log:q}"


rule images:
    """Gather the records of the formats that the study's arms run from."""
    input:
        [f"{BASE if name == 'base' else IMAGE}/{name}.json" for name in NEEDED.chain],
    output:
        images=f"{IMAGES}/images.json",
        table=f"{IMAGES}/images.parquet",
    log:
        f"{IMAGES}/logs/images.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    shell:
        "parity images --formats {input:q} --images {output.images:q}"
        " --table {output.table:q} 2> {log:q}"
