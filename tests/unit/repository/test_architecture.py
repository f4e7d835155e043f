"""The house plan of docs/design.md, held by a test: which package may know which."""

import ast
import re
from pathlib import Path

import pytest

from parity.core.code_identity import imported_names

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "workflow" / "parity"
# Rows of the table, highest first: package, what happens there, its documents, whom it knows.
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "docs/design.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| `")
]


def _quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


# Each package, lowest first, and all that it may import from.
PACKAGES = {row[0].strip("`"): set(_quoted(row[3])) for row in reversed(ROWS)}
# The files with one name that a package owns.
DOCUMENTS = {
    document: row[0].strip("`")
    for row in ROWS
    for document in _quoted(row[2])
    if re.fullmatch(r"[a-z]+\.(json|txt|tex)", document)
}
# The package itself, and its start as a program.
LOOSE = {"__init__.py", "__main__.py"}
MODULES = sorted(PACKAGE.rglob("*.py"))
# A module of one idea has about 300 lines; above this many it needs a reason here.
LONG = 400
REASONS: dict[str, str] = {}


def _texts(path: Path) -> set[str]:
    """All texts in a module's code."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {value for value in constants if isinstance(value, str)}


def test_the_table_of_the_design_holds_every_package() -> None:
    loose = {path.name for path in PACKAGE.glob("*.py")}
    assert loose == LOOSE
    assert {path.relative_to(PACKAGE).parts[0] for path in MODULES} - loose == set(PACKAGES)
    assert all(len(row) == 4 for row in ROWS) and len(ROWS) == len(PACKAGES)


def test_every_package_stands_above_those_that_it_knows() -> None:
    order = list(PACKAGES)
    for package, known in PACKAGES.items():
        assert known <= set(order[: order.index(package)]), package


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_knows_only_the_packages_that_the_table_names(path: Path) -> None:
    package = path.relative_to(PACKAGE).parts[0]
    if package in LOOSE:
        return
    known = {name.split(".")[1] for name in imported_names(path)}
    assert known - {package, "extensions"} <= PACKAGES[package]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_document_of_the_table_is_named_in_its_package(document: str) -> None:
    """That it is named in no other package, test_documents.py says."""
    modules = [path for path in MODULES if path.is_relative_to(PACKAGE / DOCUMENTS[document])]
    assert document in {text.split("/")[-1] for path in modules for text in _texts(path)}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_package_does_not_know_snakemake(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            assert not any(alias.name.split(".")[0] == "snakemake" for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert (node.module or "").split(".")[0] != "snakemake"


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
    own = {"runtimes", "benchmarks", "software", "extensions"}
    for path in MODULES:
        if path.relative_to(PACKAGE).parts[0] not in own:
            assert not _texts(path) & names, path
