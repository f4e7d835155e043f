"""Fixtures for all tests.

`make test` runs tests side by side, and then those with the mark `alone`, which look for what a
cluster leaves on the whole machine. A module stays in one worker, so that what its tests share is
made once. All modules with the mark `system` stay in one, because they use what this machine has
once, as its images and its stores; with the mark `beside` a module has a worker of its own.
"""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from clones import EVERYTHING, never_wait_for_quiet
from cluster import end_a_dead_one
from hypothesis import HealthCheck, settings
from virtual_cluster import daemons
from xdist.scheduler import LoadScopeScheduling

from parity.benchmarks import benchmarks
from parity.plan.system import load_system
from parity.runtimes import arms
from parity.software.images import IMAGES, ImageRecord, needed_image, read_images

ROOT = Path(__file__).parents[1]

# A busy machine stretches single examples; what is tested is the answer, not its time.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")
# A shell that starts tests in the background lets them, and all that they start, ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

LONGEST = "test_faults.py"
MACHINE = "machine"


class Groups(LoadScopeScheduling):
    """Which tests stay in one worker: those of a module, or of all modules of the machine.

    xdist's own `loadgroup` reads a private field that pytest 9.2 no longer has, and then
    spreads all tests in silence.
    """

    def _split_scope(self, nodeid: str) -> str:
        module = nodeid.partition("::")[0]
        return MACHINE if _is_of_machine(ROOT / module) else module


@cache
def _is_of_machine(module: Path) -> bool:
    """Whether it has system tests, and not the mark to run beside those of the machine."""
    text = module.read_text(encoding="utf-8")
    return "mark.system" in text and "mark.beside" not in text


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Groups:
    """Distribute by these groups, however xdist was told to distribute."""
    return Groups(config, log)


def pytest_configure(config: pytest.Config) -> None:
    """Before any worker looks whether a cluster is up, end what was left of a dead one."""
    if not hasattr(config, "workerinput") and os.geteuid() == 0:
        end_a_dead_one()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest module first, then those of the machine: no worker waits for one at the end."""
    for item in items:
        names = set(getattr(item, "fixturenames", ()))
        if "images" in names and not item.get_closest_marker("system"):
            raise pytest.UsageError(f"{item.nodeid} uses images without the mark `system`")
    items.sort(key=lambda item: (item.path.name != LONGEST, not _is_of_machine(item.path)))


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
        # What tests run has three blocks, unless they ask for more.
        config = folder / "config/config.yaml"
        text = config.read_text()
        assert text.count("scale: quick") == 1
        config.write_text(text.replace("scale: quick", "scale: smoke"))
        return folder

    return make


@pytest.fixture(scope="module")
def clone(new_clone) -> Path:
    """A clone for the tests of one module."""
    return new_clone()


@pytest.fixture(scope="session")
def installed(new_clone, tmp_path_factory) -> Path:
    """The command `parity` of an empty environment, into which a clone was installed, now gone."""
    clone, folder = new_clone(), tmp_path_factory.mktemp("installed")
    never_wait_for_quiet(clone, "machine")
    build = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, folder], cwd=clone, check=True)
    (wheel,) = folder.glob("*.whl")
    # What it needs comes by the lock, from the cache that our own environment was made from.
    uv, python = shutil.which("uv") or ROOT / ".cache/uv/bin/uv", folder / "env/bin/python"
    environment = os.environ | {"UV_PROJECT_ENVIRONMENT": str(folder / "env")}
    words = [uv, "sync", "--frozen", "--no-dev", "--quiet"]
    subprocess.run(words, cwd=clone, env=environment, check=True)
    words = [uv, "pip", "install", "--no-deps", "--quiet", "--python", python, wheel]
    subprocess.run(words, cwd=folder, check=True)
    shutil.rmtree(clone)
    return folder / "env/bin/parity"


@pytest.fixture(scope="session")
def slurm_programs() -> None:
    """Slurm's programs: root installs them, without starting anything."""
    if os.geteuid() == 0:
        daemons.install(accounting=False)
    elif not shutil.which("sbatch"):
        pytest.skip("Slurm's programs are not installed, and only root can do it")


@pytest.fixture(scope="session")
def images() -> dict[str, ImageRecord]:
    """The records of one image for all tests; built in results/images where it is not up to date.

    For tests with the mark `system` alone. The first worker builds them and others wait.
    """
    (ROOT / ".cache").mkdir(exist_ok=True)
    study = ROOT / ".cache/everything.yaml"
    config = ["--config", f"study={study.relative_to(ROOT)}", "scale=tiny"]
    needed = needed_image(
        load_system(ROOT / "config/systems/machine.yaml").base_image,
        [benchmarks()[name] for name in EVERYTHING["benchmarks"]],
        [arms()[name] for name in EVERYTHING["arms"]],
    )
    with (ROOT / ".cache/images-of-tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        study.write_text(yaml.safe_dump(EVERYTHING))
        # Also where they are there: an upgrade of libraries takes their base away.
        snakemake = Path(sys.executable).with_name("snakemake")
        words = [snakemake, "images", *config]
        subprocess.run(words, cwd=ROOT, check=True, stdin=subprocess.DEVNULL)
    return read_images(Path(needed.records_in(str(ROOT / "results/images"))) / IMAGES)


@pytest.fixture
def control_group() -> Iterator[Path]:
    """A control group of version 1 below our own, where we may make one."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "cpu" in controllers.split(","):
            break
    else:
        pytest.skip("no control groups of version 1 for the CPU")
    folder = Path("/sys/fs/cgroup", controllers, path.lstrip("/"), f"parity-{os.getpid()}")
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no control group: {error.strerror}")
    yield folder
    folder.rmdir()
