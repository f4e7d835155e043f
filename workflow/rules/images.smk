"""Images: one Dockerfile, one OCI image, every runtime's format, and the digests of each.

Needs: containers/Dockerfile, the benchmarks that are installed natively; for Spack, a toolchain.
Makes: <format>.json in results/images (results/spack/<toolchain>/images) and images.{json,parquet}.
"""

from parity.benchmarks import benchmarks
from parity.core.files import files_below
from parity.software.debian_packages import installed_versions
from parity.runtimes import arms

# A native package that is upgraded makes another image.
PACKAGES = installed_versions(
    [name for benchmark in benchmarks().values() for name in benchmark.packages]
)
# Made where Snakemake runs, or in a job where the site does not let login nodes build.
HERE = not SYSTEM.images_on_node
SOURCES = [f"{IMAGES}/sources"] if BY_SPACK else []
FORMATS = sorted({arm.image_format for arm in arms().values()} - {None, "directory"})


rule bootstrap_base:
    """Bootstrap the base image from Debian's packages, or take a registry's by digest."""
    input:
        # Nothing is built for a toolchain that is refused.
        sources=ancient(SOURCES),
    output:
        record=f"{IMAGES}/base.json",
    log:
        f"{IMAGES}/logs/bootstrap_base.log",
    localrule: HERE
    conda:
        "../../envs/parity.yaml"
    params:
        base_image=SYSTEM.base_image,
        folder=IMAGE_FOLDER,
    script:
        "../scripts/bootstrap_base.py"


rule build_image:
    """Build the image with the package versions of the native side."""
    input:
        base=f"{IMAGES}/base.json",
        # All of the folder: the Dockerfile copies from it.
        containers=list(map(str, files_below(Path(own("containers"))))),
        sources=SOURCES,
    output:
        record=f"{IMAGES}/oci.json",
    log:
        f"{IMAGES}/logs/build_image.log",
    localrule: HERE
    conda:
        "../../envs/parity.yaml"
    threads: workflow.cores
    params:
        packages=PACKAGES,
        spack=config["spack"] if BY_SPACK else {},
        toolchains=SYSTEM.toolchains if BY_SPACK else {},
        containers=containers_folder,
        recipes=recipes_folder,
        folder=IMAGE_FOLDER,
    script:
        "../scripts/build_image.py"


rule unpack_image:
    """Unpack the image into a directory."""
    input:
        oci=f"{IMAGES}/oci.json",
    output:
        record=f"{IMAGES}/directory.json",
    log:
        f"{IMAGES}/logs/unpack_image.log",
    localrule: HERE
    conda:
        "../../envs/parity.yaml"
    params:
        folder=IMAGE_FOLDER,
    script:
        "../scripts/unpack_image.py"


rule convert_image:
    """Convert the image into the format of one runtime."""
    input:
        oci=f"{IMAGES}/oci.json",
        directory=f"{IMAGES}/directory.json",
    output:
        record=f"{IMAGES}/{{format}}.json",
    log:
        f"{IMAGES}/logs/convert_{{format}}.log",
    wildcard_constraints:
        format="|".join(FORMATS),
    localrule: HERE
    conda:
        "../../envs/parity.yaml"
    params:
        folder=IMAGE_FOLDER,
    script:
        "../scripts/convert_image.py"


rule images:
    """Gather the records of all formats."""
    input:
        expand(
            f"{IMAGES}/{{format}}.json",
            format=["base", "oci", "directory", *FORMATS],
        ),
    output:
        images=f"{IMAGES}/images.json",
        table=f"{IMAGES}/images.parquet",
    log:
        f"{IMAGES}/logs/images.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    script:
        "../scripts/gather_images.py"
