"""Finds what a folder of modules provides, so that adding one is adding a file."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType
from typing import Any


def modules_with(package: ModuleType, attribute: str) -> list[Any]:
    """The value of `attribute` of every module of `package` that has it, by module name."""
    names = sorted(info.name for info in pkgutil.iter_modules(package.__path__))
    modules = [importlib.import_module(f"{package.__name__}.{name}") for name in names]
    return [getattr(module, attribute) for module in modules if hasattr(module, attribute)]
