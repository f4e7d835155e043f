"""Each document has one owner: its file is named in that package alone."""

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[3] / "workflow/parity"
OWNERS = {
    "plan.json": "plan",
    "block.json": "measure",
    "record.json": "measure",
    "started.json": "measure",
    "progress.json": "measure",
    "provenance.json": "records",
    "SHA256SUMS": "records",
    "harness.json": "records",
    "images.json": "software",
    "native.json": "software",
    "lock.json": "software",
}


def _strings(source: str) -> list[str]:
    """The strings of a module, f-strings' fixed parts included, docstrings excluded."""
    tree = ast.parse(source)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in docstrings
    ]


def _users(name: str, package: Path) -> set[str]:
    """The packages that have a string which names the file: by itself, or at a path's end."""
    path_to = re.compile(rf"(.*/)?{re.escape(name)}", re.DOTALL)
    return {
        path.relative_to(package).parts[0]
        for path in package.rglob("*.py")
        if any(path_to.fullmatch(text) for text in _strings(path.read_text(encoding="utf-8")))
    }


@pytest.mark.parametrize("name", OWNERS)
def test_a_document_is_named_in_its_owner_s_package_alone(name: str) -> None:
    assert _users(name, PACKAGE) == {OWNERS[name]}


def test_a_name_is_found_in_a_string_and_not_in_a_docstring(tmp_path: Path) -> None:
    for package, source in {
        "a": 'x = "plan.json"',
        "b": 'def f(folder):\n    return f"{folder}/plan.json"',
        "c": '"""Reads plan.json."""',
        "d": 'x = "other-plan.json", "plan.jsonl", "an error in plan.json"',
        "e": 'x = "results/live/plan.json"',
    }.items():
        (tmp_path / package).mkdir()
        (tmp_path / package / "module.py").write_text(source)
    assert _users("plan.json", tmp_path) == {"a", "b", "e"}
