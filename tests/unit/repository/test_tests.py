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


def _imported(tree: ast.Module) -> set[str]:
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return names


def test_no_test_imports_another() -> None:
    """What tests share stands in tests/support."""
    wrong = {
        name
        for name, tree in TREES.items()
        if any(each.startswith(("test_", "conftest")) for each in _imported(tree))
    }
    assert not wrong


def test_no_test_changes_where_modules_are_found() -> None:
    """pyproject.toml's `pythonpath` says it once."""
    wrong = {
        name
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.path"
    }
    assert not wrong


def test_no_test_names_a_folder_of_one_machine() -> None:
    wrong = {
        (name, node.value)
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and SOMEBODY_S.match(node.value)
    }
    assert not wrong


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
