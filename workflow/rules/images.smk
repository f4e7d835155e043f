"""Images: one Dockerfile, one OCI image, every runtime's format, and the digests of each.

Needs: containers/Dockerfile and the benchmarks that are installed natively.
Makes: results/images/<format>.json, and results/images/images.{json,parquet} of them all.
A format that cannot be made here is a record with a reason.
"""

from parity.benchmarks import benchmarks
from parity.provenance.build import installed_versions
from parity.runtimes import arms

# A native package that is upgraded makes another image.
PACKAGES = installed_versions(
    [name for benchmark in benchmarks().values() for name in benchmark.packages]
)
# Made where Snakemake runs, or in a job where the site does not let login nodes build.
HERE = not SYSTEM.images_on_node
FORMATS = sorted({arm.image_format for arm in arms().values()} - {None, "directory"})


rule bootstrap_base:
    """Bootstrap the base image from Debian's packages, or take a registry's by digest."""
    output:
        record="results/images/base.json",
    log:
        "results/images/logs/bootstrap_base.log",
    localrule: HERE
    conda:
        "../../envs/parity.yaml"
    params:
        base_image=SYSTEM.base_image,
        folder=SYSTEM.image_folder,
    script:
        "../scripts/bootstrap_base.py"


rule build_image:
    """Build the image with the package versions of the native side."""
    input:
        base="results/images/base.json",
        dockerfile="containers/Dockerfile",
        hosts="containers/hosts",
    output:
        record="results/images/oci.json",
    log:
        "results/images/logs/build_image.log",
    localrule: HERE
    conda:
        "../../envs/parity.yaml"
    params:
        packages=PACKAGES,
        folder=SYSTEM.image_folder,
    script:
        "../scripts/build_image.py"


rule unpack_image:
    """Unpack the image into a directory."""
    input:
        oci="results/images/oci.json",
    output:
        record="results/images/directory.json",
    log:
        "results/images/logs/unpack_image.log",
    localrule: HERE
    conda:
        "../../envs/parity.yaml"
    params:
        folder=SYSTEM.image_folder,
    script:
        "../scripts/unpack_image.py"


rule convert_image:
    """Convert the image into the format of one runtime."""
    input:
        oci="results/images/oci.json",
        directory="results/images/directory.json",
    output:
        record="results/images/{format}.json",
    log:
        "results/images/logs/convert_{format}.log",
    wildcard_constraints:
        format="|".join(FORMATS),
    localrule: HERE
    conda:
        "../../envs/parity.yaml"
    params:
        folder=SYSTEM.image_folder,
    script:
        "../scripts/convert_image.py"


rule images:
    """Gather the records of all formats."""
    input:
        expand(
            "results/images/{format}.json",
            format=["base", "oci", "directory", *FORMATS],
        ),
    output:
        images="results/images/images.json",
        table="results/images/images.parquet",
    log:
        "results/images/logs/images.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    script:
        "../scripts/gather_images.py"
