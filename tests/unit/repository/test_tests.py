"""The tests themselves: none leans on another, or on the folders of one machine."""

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]
TREES = {
    str(path.relative_to(TESTS)): ast.parse(path.read_text())
    for path in sorted(TESTS.rglob("*.py"))
}
SYSTEM = [name for name in TREES if name.startswith("system/test_")]
# Folders of people and of single machines; what a study installs goes to /opt/parity.
SOMEBODY_S = re.compile(r"/(home|root|work|Users|media)/\w")
# What is hidden in archives is such a folder; whose these are is made up.
OF_HIDING = {
    "unit/core/test_private.py", "unit/repository/test_nothing_private.py",
    "unit/records/test_dataset.py", "unit/plan/test_own_programs.py",
}  # fmt: skip


def _nodes(kind: type) -> list[tuple[str, ast.AST]]:
    """All nodes of a kind, each with the file that it is in."""
    return [(n, x) for n, tree in TREES.items() for x in ast.walk(tree) if isinstance(x, kind)]


def test_no_test_imports_another_or_changes_where_modules_are_found() -> None:
    """What tests share stands in tests/support, which pyproject.toml's `pythonpath` names."""
    names = [(file, alias.name) for file, node in _nodes(ast.Import) for alias in node.names]
    names += [(file, node.module or "") for file, node in _nodes(ast.ImportFrom)]
    assert not [found for found in names if found[1].startswith(("test_", "conftest"))]
    assert not [n for n, x in _nodes(ast.Attribute) if ast.unparse(x) == "sys.path"]


def test_no_test_names_a_folder_of_one_machine() -> None:
    texts = [(n, x.value) for n, x in _nodes(ast.Constant) if isinstance(x.value, str)]
    found = {name for name, text in texts if SOMEBODY_S.match(text)}
    assert found <= OF_HIDING


@pytest.mark.parametrize("name", SYSTEM)
def test_every_system_test_is_marked_and_says_what_it_needs(name: str) -> None:
    marks = [
        ast.unparse(node.value)
        for node in TREES[name].body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
    ]
    assert marks and "pytest.mark.system" in marks[0]
    assert re.search(r"^Needs: \w", ast.get_docstring(TREES[name]) or "", re.M)


def test_no_two_files_of_tests_have_one_name() -> None:
    """Without packages pytest imports them by it, and collects nothing of the second."""
    names = [file for file in (Path(name).name for name in TREES) if file.startswith("test_")]
    assert sorted({name for name in names if names.count(name) > 1}) == []
