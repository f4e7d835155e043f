"""That a test found nothing is no finding: nowhere in the project is it written as one."""

import subprocess
from pathlib import Path

import pytest

from parity.core.errors import UserError
from parity.report.paper import BANNED, refuse_banned

ROOT = Path(__file__).parents[3]
# The needle is put together here so that this file does not hold it.
NEEDLES = (
    "no " + "significant difference",
    "No\n  " + "significant difference",
    "not " + "significantly different",
    "without any " + "statistically significant difference",
    "did not differ " + "significantly",
    "no~" + "significant effect",
)
KINDS = {".tex", ".md", ".yaml", ".yml", ".py", ".smk", ".j2", ".html", ".csv", ".txt"}


@pytest.mark.parametrize("text", NEEDLES)
def test_such_words_stop_the_paper(tmp_path: Path, text: str) -> None:
    path = tmp_path / "claims.tex"
    path.write_text(f"One line.\nThere was {text} here.\n")
    with pytest.raises(UserError, match=r"which no test can show") as stopped:
        refuse_banned(path)
    assert "claims.tex: line 2" in str(stopped.value)


@pytest.mark.parametrize(
    "text", ["a significant part", "three significant digits", "not equivalent", "no difference"]
)
def test_other_words_do_not(tmp_path: Path, text: str) -> None:
    path = tmp_path / "claims.tex"
    path.write_text(text)
    refuse_banned(path)


def test_no_file_of_the_project_says_it() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    paths = [ROOT / name for name in listed.stdout.splitlines()]
    texts = [path for path in paths if path.suffix in KINDS and path.is_file()]
    assert len(texts) > 200
    assert [str(path) for path in texts if BANNED.search(path.read_text("utf-8"))] == []
