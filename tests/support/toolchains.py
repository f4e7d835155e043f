"""Toolchains for tests: a site's own folder, as Spack locked it, and an entry to compose from."""

import shutil
from pathlib import Path

from parity.core.documents import write_document
from parity.core.settings import load_yaml
from parity.software.native import origin_of
from parity.software.toolchain import Toolchain, choose_toolchain

ROOT = Path(__file__).parents[2]
RECIPES = ROOT / "envs/spack/repo"
ENTRIES = load_yaml(ROOT / "config/systems/machine.yaml")["toolchains"]


def site_toolchain(folder: Path) -> Toolchain:
    """A site's own toolchain `debian12` with a lock of hpcc and netpipe, recipes beside it."""
    shutil.copytree(ROOT / "tests/golden/spack-site", folder / "debian12")
    shutil.copytree(RECIPES, folder / "repo")
    toolchain = Toolchain(folder / "debian12", folder / "repo")
    write_document(toolchain.origin, origin_of(toolchain, "0.22.1"))
    return toolchain


def composed_toolchain() -> Toolchain:
    """The toolchain `debian12` of the committed system's file."""
    return choose_toolchain("debian12", ENTRIES, "machine.yaml", RECIPES)
