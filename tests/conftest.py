"""Fixtures for all tests.

`make test` runs most tests side by side, each worker with its own session fixtures, and then
those with the mark `system` alone, one after the other: they use what this machine has once,
as its images, its stores and its quiet. A system test with the mark `beside` is among the
first. A module stays in one worker (`--dist loadfile`), so that what its tests share is made
once; only one such module may use images and Slurm.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from virtual_cluster import install

from parity.software.images import ImageRecord, read_images

ROOT = Path(__file__).parents[1]

# A busy machine stretches single examples; what is tested is the answer, not its time.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")

LONGEST = "test_faults.py"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest module, and keep those apart that must run alone."""
    for item in items:
        names = set(getattr(item, "fixturenames", ()))
        if "images" in names and not item.get_closest_marker("system"):
            raise pytest.UsageError(f"{item.nodeid} uses images without the mark `system`")
    # The longest module begins first, so that no worker waits for it at the end.
    items.sort(key=lambda item: item.path.name != LONGEST)


@pytest.fixture(scope="session")
def new_clone(tmp_path_factory) -> Callable[[], Path]:
    """Makes what a clone holds: every file that git tracks or would, nothing that was built."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)

    def make() -> Path:
        folder = tmp_path_factory.mktemp("clone") / "parity"
        for name in listed.stdout.splitlines():
            if (ROOT / name).exists():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, folder / name, follow_symlinks=False)
        return folder

    return make


@pytest.fixture(scope="module")
def clone(new_clone) -> Path:
    """A clone for the tests of one module."""
    return new_clone()


@pytest.fixture(scope="session")
def slurm_programs() -> None:
    """Slurm's programs: root installs them, without starting anything."""
    if os.geteuid() == 0:
        install.install(accounting=False)
    elif not shutil.which("sbatch"):
        pytest.skip("Slurm's programs are not installed, and only root can do it")


@pytest.fixture(scope="session")
def images() -> dict[str, ImageRecord]:
    """The records of the image formats; built in results/images if they are not there yet.

    For tests with the mark `system` alone: two builds at once would be in each other's way.
    """
    gathered = ROOT / "results/images/images.json"
    if not gathered.exists():
        snakemake = Path(sys.executable).with_name("snakemake")
        subprocess.run([snakemake, "images"], cwd=ROOT, check=True, stdin=subprocess.DEVNULL)
    return read_images(gathered)
