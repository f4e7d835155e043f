"""Documentation that is generated is current; documentation that is written stays short."""

import json
import re
import subprocess
from pathlib import Path

import docs
import pytest

from parity.core.documents import read_document
from parity.core.errors import UserError
from parity.core.files import read_rows
from parity.report.answer import Bound
from parity.report.figures.specs import FIGURES
from parity.report.paper import BANNED, Effort, refuse_banned

ROOT = Path(__file__).parents[3]


def test_generated_documents_are_current() -> None:
    for path, text in docs.documents().items():
        assert path.read_text(encoding="utf-8") == text, "run: make docs"


def test_what_was_found_is_of_the_archives_here_and_every_command_was_measured() -> None:
    systems = json.loads(docs.FOUND.read_text(encoding="utf-8"))["systems"]
    listed = [each for system in systems for each in system["datasets"].items()]
    assert len(listed) >= 4 and all(docs.digest(name) == digest for name, digest in listed)
    for system in systems:
        assert system["ratios"] == sum(system["counts"][word] for word in docs.answer.ANSWERS)
    steps = read_document(docs.EFFORT, Effort).steps
    assert {step.command: step.does for step in steps} == docs.COMMANDS
    assert all(step.seconds > 0 and step.bytes > 0 for step in steps)


def test_a_part_without_a_place_is_an_error() -> None:
    with pytest.raises(ValueError, match="no place for the part 'x'"):
        docs.with_parts("<!-- begin y -->", {"x": ""})


def test_the_readme_bounds_programs_on_the_kind_of_machine_with_most_of_them() -> None:
    def bound(program: str, most: float) -> Bound:
        return Bound(program, "podman", 8, most)

    few, many = [bound("HPCG", 0.01)], [bound("HPCG", 0.02), bound("STREAM", 0.1)]
    told = {"few": few, "many": [*many, bound("NPB", 0.5)]}
    assert docs.bounded(told) == {"many": many}


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 80


@pytest.mark.parametrize("path", sorted(ROOT.glob("*.md")) + sorted(ROOT.glob("*/*.md")), ids=str)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), target


def test_figure_by_figure_names_what_is_there() -> None:
    text = (ROOT / "docs/reproduce.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ")][2:]
    drawn = {name for row in rows for name in re.findall(r"`([^`]+)`", row[2])}
    assert drawn and drawn <= {spec.name for spec in FIGURES}
    archives = {path.name for path in (ROOT / "results/archive").iterdir()}
    assert set(re.findall(r"`([a-z0-9-]+-\d{4}-\d\d-\d\d)`", text)) == archives


def test_the_site_has_every_page() -> None:
    """Its own build, `make site`, holds links and anchors; this needs none of its packages."""
    pages = set(re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M))
    written = {path.relative_to(ROOT) for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]}
    assert set(map(Path, pages)) == written | {Path("config/README.md")}


# That a test found nothing is no finding: nowhere in the project is it written as one.
# The needle is put together here so that this file does not hold it.
NEEDLES = (
    "no " + "significant difference", "No\n  " + "significant difference",
    "not " + "significantly different", "without any " + "statistically significant difference",
    "did not differ " + "significantly", "no~" + "significant effect",
)  # fmt: skip
KINDS = {".tex", ".md", ".yaml", ".yml", ".py", ".smk", ".j2", ".html", ".csv", ".txt"}


@pytest.mark.parametrize("text", NEEDLES)
def test_such_words_stop_the_paper_and_others_do_not(tmp_path: Path, text: str) -> None:
    path = tmp_path / "claims.tex"
    path.write_text("a significant part, three significant digits; not equivalent, no difference")
    refuse_banned(path)
    path.write_text(f"One line.\nThere was {text} here.\n")
    with pytest.raises(UserError, match=r"which no test can show") as stopped:
        refuse_banned(path)
    assert "claims.tex: line 2" in str(stopped.value)


def test_no_file_of_the_project_says_it() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    paths = [ROOT / name for name in listed.stdout.splitlines()]
    texts = [path for path in paths if path.suffix in KINDS and path.is_file()]
    assert len(texts) > 200
    assert [str(path) for path in texts if BANNED.search(path.read_text("utf-8"))] == []


def test_the_readme_says_how_many_claims_are_supported() -> None:
    rows = read_rows(ROOT / "config/expected_verdicts.csv", ("dataset", "claim", "verdict"))
    supported = {row["claim"] for row in rows if row["verdict"] == "supported"}
    assert supported == {"levy21-minquota", "levy21-shares-doc", "torrez19-imgsize"}
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    count = len({row["claim"] for row in rows})
    assert f"Of {count} published claims three are `supported` here, on quotas" in readme
