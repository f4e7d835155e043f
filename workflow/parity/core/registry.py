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
    _, _, room = package.__name__.partition(".")
    added = [
        f"parity.extensions.{there.parents[room.count('.') + 1].name}.{room}"
        for there in EXTENSIONS.glob(f"*/{room.replace('.', '/')}/__init__.py")
    ]
    found = {
        (info.name, each.__name__)
        for each in (package, *map(importlib.import_module, added))
        for info in pkgutil.iter_modules(each.__path__)
    }
    modules = [importlib.import_module(f"{where}.{name}") for name, where in sorted(found)]
    return [getattr(module, attribute) for module in modules if hasattr(module, attribute)]
