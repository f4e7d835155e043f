"""The house plan, held by a test: which package may know which."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[3] / "workflow" / "parity"
GROUND = {"core", "runtimes", "benchmarks", "software"}
MEASURED = GROUND | {"plan", "measure", "records"}
# Each package and all that it may import from.
PACKAGES = {
    "core": set(),
    "runtimes": {"core"},
    "benchmarks": {"core"},
    "software": {"core", "runtimes", "benchmarks"},
    "plan": GROUND,
    "measure": GROUND | {"plan"},
    "records": GROUND | {"plan", "measure"},
    "analysis": {"core", "plan", "records"},
    "claims": {"core", "plan", "records", "analysis"},
    "preview": MEASURED | {"analysis"},
    "report": {"core", "runtimes", "benchmarks", "plan", "records", "analysis", "claims"},
    "checks": MEASURED | {"analysis", "claims", "preview"},
}
MODULES = sorted(PACKAGE.rglob("*.py"))
# A module of one idea has about 300 lines; above this many it needs a reason here.
LONG = 400
REASONS: dict[str, str] = {}


def _imports(path: Path) -> set[str]:
    """Dotted names of all that a module imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def test_every_module_lies_in_a_package() -> None:
    loose = {path.name for path in PACKAGE.glob("*.py")}
    assert loose == {"__init__.py"}
    assert {path.relative_to(PACKAGE).parts[0] for path in MODULES} - loose == set(PACKAGES)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_knows_only_the_packages_below_its_own(path: Path) -> None:
    package = path.relative_to(PACKAGE).parts[0]
    if package == "__init__.py":
        return
    known = {n.split(".")[1] for n in _imports(path) if n.startswith("parity.")}
    assert known - {package} <= PACKAGES[package]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_package_does_not_know_snakemake(path: Path) -> None:
    assert not {name for name in _imports(path) if name.split(".")[0] == "snakemake"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_long_module_has_a_reason(path: Path) -> None:
    relative = str(path.relative_to(PACKAGE))
    long = len(path.read_text(encoding="utf-8").splitlines()) > LONG
    assert long == bool(REASONS.get(relative)), f"{relative}: part it, or give a reason (or none)"


def test_nothing_outside_its_own_file_names_a_runtime_or_a_benchmark() -> None:
    from parity.benchmarks import benchmarks
    from parity.runtimes import arms

    names = {arm.runtime for arm in arms().values()} | set(benchmarks())
    names -= {"native", "startup", "memory", "namespaces", "ladder"}  # words of their own, too
    # The builder of images is one of the runtimes' programs, and stores are named after theirs.
    own = {"runtimes", "benchmarks", "software"}
    for path in MODULES:
        if path.relative_to(PACKAGE).parts[0] in own:
            continue
        texts = {
            node.value
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        assert not texts & names, path
