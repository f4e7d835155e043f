"""Which image the study needs, in which formats, and where each lies."""

import json

from parity.benchmarks import programs
from parity.runtimes import arms, every_arm
from parity.software.debian_packages import installed_versions
from parity.software.images import FOREIGN
from parity.software.images import ROOT, maker_of, needed_image

NEEDED = needed_image(
    SYSTEM.base_image,
    [each.provided_by(STUDY.provider) for each in STUDY.definitions.values()],
    [every_arm()[name] for name in STUDY.arms],
    foreign=STUDY.image,
)
# What Spack builds has images of its own.
IMAGE_ROOT = f"{BUILT}/images" if BY_SPACK else ROOT
BASE, IMAGE = NEEDED.base_in(IMAGE_ROOT), NEEDED.image_in(IMAGE_ROOT)
IMAGES = NEEDED.records_in(IMAGE_ROOT)
# Where a site wants the images themselves; beside their records if it does not say.
BASE_PLACE = NEEDED.base_in(IMAGE_FOLDER) if IMAGE_FOLDER else []
IMAGE_PLACE = NEEDED.image_in(IMAGE_FOLDER) if IMAGE_FOLDER else []
# What commands on Spack take: its configuration, and where the toolchain's recipes lie.
SPACK_SITE = json.dumps(
    {
        "spack": config["spack"],
        "toolchains": SYSTEM.toolchains,
        "recipes": str(TOOLCHAIN.recipes),
    }
)
# A native package that is upgraded makes another image.
PACKAGES = installed_versions(NEEDED.packages)
# Programs whose source is ours, compiled natively and in the image.
OWN_SOURCES = list(map(str, programs.source_paths(NEEDED.sources)))
COMPILER = (
    installed_versions(programs.compiler_packages(NEEDED.sources))
    if OWN_SOURCES
    else []
)
COMPILED = [f"results/compiled/{'_'.join(NEEDED.sources)}.txt"] if OWN_SOURCES else []
if COMPILED and BY_SPACK:
    raise WorkflowError(
        f"parity: {' '.join(NEEDED.sources)} cannot be compiled beside what Spack builds\n"
        f"  where:   {STUDY_FILE}: benchmarks\n"
        "  to do:   give it a study of its own, with `provider: system`"
    )
# Made where Snakemake runs, or in a job where the site does not let login nodes build.
HERE = not SYSTEM.images_on_node
SOURCES = [f"{IMAGE_ROOT}/sources"] if BY_SPACK else []
CONVERTED = sorted({arm.image_format for arm in arms().values()} - {None, "directory"})
