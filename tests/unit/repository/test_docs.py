"""Documentation that is generated is current; documentation that is written stays short."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from parity.core.documents import read_document
from parity.report.paper import Effort

ROOT = Path(__file__).parents[3]


def _tool(name: str):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_documents_are_current() -> None:
    for path, text in _tool("docs").documents().items():
        assert path.read_text(encoding="utf-8") == text, "run: make docs"


def test_what_was_found_is_of_the_archives_that_are_here() -> None:
    docs = _tool("docs")
    systems = json.loads(docs.FOUND.read_text(encoding="utf-8"))
    listed = [each for system in systems for each in system["datasets"].items()]
    assert len(listed) >= 4 and all(docs.digest(name) == digest for name, digest in listed)
    for system in systems:
        assert system["ratios"] == sum(system[word] for word in docs.answer.ENDED)


def test_what_the_commands_take_was_measured_of_all_of_them() -> None:
    tool = _tool("docs")
    steps = read_document(tool.EFFORT, Effort).steps
    assert {step.command: step.does for step in steps} == tool.COMMANDS
    assert all(step.seconds > 0 and step.bytes > 0 for step in steps)


def test_a_part_without_a_place_is_an_error() -> None:
    with pytest.raises(ValueError, match="no place for the part 'x'"):
        _tool("docs").with_parts("<!-- begin y -->", {"x": ""})


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 80


@pytest.mark.parametrize("path", sorted(ROOT.glob("*.md")) + sorted(ROOT.glob("*/*.md")), ids=str)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), target
