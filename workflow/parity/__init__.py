"""Parity: what running inside a container costs an HPC program, with evidence.

Data walks one way: plan → measure → records → analysis → claims → report,
over runtimes, benchmarks and software. tests/unit/repository/test_architecture.py
holds the packages to that order.

In a notebook: `parity.open_archive`, `parity.compare` (library.py), `parity.plot` (plot.py).
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from parity import plot
    from parity.library import Archive, Comparison, compare, open_archive

__all__ = ["Archive", "Comparison", "compare", "open_archive", "plot"]


def __getattr__(name: str) -> Any:
    """What notebooks use, loaded when it is: a command line that needs none of it starts sooner."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module("parity.plot" if name == "plot" else "parity.library")
    return module if name == "plot" else getattr(module, name)
