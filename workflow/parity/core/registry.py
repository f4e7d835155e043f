"""Finds what a folder of modules provides, so that adding one is adding a file."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from types import ModuleType
from typing import Any

# Each extension is a folder with rooms that are called as the packages that they add to.
EXTENSIONS = Path(__file__).parents[1] / "extensions"


def modules_with(package: ModuleType, attribute: str) -> list[Any]:
    """The value of `attribute` of every module of a package that has it, by module name.

    An extension's folder of the package's name counts as part of it.
    """
    return _values([package, *_rooms(package)], attribute)


def extensions_with(package: ModuleType, attribute: str) -> list[Any]:
    """The same, of the extensions' modules alone."""
    return _values(_rooms(package), attribute)


def _rooms(package: ModuleType) -> list[ModuleType]:
    """The packages that extensions add to one of the core."""
    _, _, room = package.__name__.partition(".")
    folders = EXTENSIONS.glob(f"*/{room.replace('.', '/')}/__init__.py")
    names = (there.parents[room.count(".") + 1].name for there in folders)
    return [importlib.import_module(f"parity.extensions.{name}.{room}") for name in names]


def _values(packages: list[ModuleType], attribute: str) -> list[Any]:
    found = sorted(
        (info.name, package.__name__)
        for package in packages
        for info in pkgutil.iter_modules(package.__path__)
    )
    modules = [importlib.import_module(f"{package}.{name}") for name, package in found]
    return [getattr(module, attribute) for module in modules if hasattr(module, attribute)]
