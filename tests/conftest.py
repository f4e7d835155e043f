"""Fixtures for all tests."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from parity.software.images import ImageRecord, read_images

ROOT = Path(__file__).parents[1]


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
def images() -> dict[str, ImageRecord]:
    """The records of the image formats; built in results/images if they are not there yet."""
    gathered = ROOT / "results/images/images.json"
    if not gathered.exists():
        snakemake = Path(sys.executable).with_name("snakemake")
        subprocess.run([snakemake, "images"], cwd=ROOT, check=True, stdin=subprocess.DEVNULL)
    return read_images(gathered)
