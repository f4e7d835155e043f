"""The house plan, held by a test: which room may know which."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "workflow" / "parity"
SHARED = {
    "commands",
    "content",
    "errors",
    "files",
    "places",
    "presence",
    "registry",
    "settings",
    "source",
}
GROUND = {"runtimes", "benchmarks", "provenance"}
# Each room and all that it may import from.
ROOMS = {
    "runtimes": SHARED,
    "benchmarks": SHARED,
    "provenance": SHARED,
    "study": SHARED | GROUND,
    "plan": SHARED | GROUND | {"study"},
    "execute": SHARED | GROUND | {"study", "plan", "system"},
    "records": SHARED | GROUND | {"study", "plan", "system", "execute"},
    "analysis": SHARED | {"records"},
    "claims": SHARED | {"records", "analysis"},
    "planner": SHARED | {"records", "analysis"},
    "present": SHARED | {"records", "analysis", "claims"},
    "dashboard": SHARED | {"records", "analysis", "claims", "present"},
    "validation": SHARED
    | GROUND
    | {"study", "plan", "execute", "records", "analysis", "claims", "planner"},
    "install": SHARED | GROUND | {"overview"},
    "preview": SHARED | GROUND | {"plan", "system"},
    "overview": SHARED | GROUND | {"plan", "preview"},
    "progress": SHARED | GROUND | {"study", "plan", "execute", "overview"},
    "harness": SHARED | GROUND | {"study", "plan", "system", "execute", "analysis"},
    "sides": SHARED | GROUND | {"plan", "execute", "analysis"},
    "system": SHARED,
    **{name: SHARED for name in SHARED},
}
MODULES = sorted(PACKAGE.rglob("*.py"))


def _imports(path: Path) -> set[str]:
    """Dotted names of all that a module imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_knows_only_the_rooms_below_its_own(path: Path) -> None:
    room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if room == "__init__":
        return
    rooms = {n.split(".")[1] for n in _imports(path) if n.startswith("parity.")}
    assert rooms - {room} <= ROOMS[room]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_package_does_not_know_snakemake(path: Path) -> None:
    assert not {name for name in _imports(path) if name.split(".")[0] == "snakemake"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_modules_stay_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 300


def test_nothing_outside_its_own_file_names_a_runtime_or_a_benchmark() -> None:
    from parity.benchmarks import benchmarks
    from parity.runtimes import arms

    names = {arm.runtime for arm in arms().values()} | set(benchmarks())
    names -= {"native", "startup", "memory", "namespaces", "ladder"}  # words of their own, too
    # Figures are about a benchmark, so the list of figures names them; the builder of
    # images is one of the runtimes' programs, and stores are named after theirs.
    allowed = {"present/figures.py", "present/specs.py"}
    for path in MODULES:
        relative = str(path.relative_to(PACKAGE))
        if path.parent.name in {"runtimes", "benchmarks", "provenance"} or relative in allowed:
            continue
        texts = {
            node.value
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        assert not texts & names, relative
