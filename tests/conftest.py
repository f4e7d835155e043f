"""Fixtures for all tests.

`make test` runs tests side by side, and then those with the mark `alone`, which look for what a
cluster leaves on the whole machine. A module stays in one worker, so that what its tests share is
made once. All modules with the mark `system` stay in one, because they use what this machine has
once, as its images and its stores; with the mark `beside` a module has a worker of its own.
"""

import fcntl
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
MACHINE = "machine"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Say which tests stay in one worker (`--dist loadgroup`); the longest groups begin first."""
    for item in items:
        system = item.get_closest_marker("system") is not None
        if "images" in getattr(item, "fixturenames", ()) and not system:
            raise pytest.UsageError(f"{item.nodeid} uses images without the mark `system`")
        of_machine = system and not item.get_closest_marker("beside")
        item.add_marker(pytest.mark.xdist_group(MACHINE if of_machine else item.path.stem))
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> tuple[bool, bool]:
    """The longest module first, then those of the machine: no worker waits for one at the end."""
    group = item.get_closest_marker("xdist_group").args[0]
    return item.path.name != LONGEST, group != MACHINE


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

    For tests with the mark `system` alone. The first worker builds them and others wait.
    """
    gathered = ROOT / "results/images/images.json"
    (ROOT / ".cache").mkdir(exist_ok=True)
    with (ROOT / ".cache/images-of-tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _build_images(gathered)
    return read_images(gathered)


def _build_images(gathered: Path) -> None:
    if not gathered.exists():
        snakemake = Path(sys.executable).with_name("snakemake")
        subprocess.run([snakemake, "images"], cwd=ROOT, check=True, stdin=subprocess.DEVNULL)
