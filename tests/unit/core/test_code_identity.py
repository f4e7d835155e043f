"""The digest of a package's code changes with it and what lies below, and with nothing else."""

import re
from pathlib import Path

import pytest

from parity.command_line.main import commands
from parity.core.package import LAYERS, PACKAGE, code_of

FILES = {
    "core/files.py": "", "runtimes/native.py": "", "plan/study.schema.yaml": "a: 1\n",
    "records/dataset.py": "", "records/tables.yaml": "", "command_line/records.py": "",
    "extensions/namespaces.py": "", "extensions/noise/benchmarks/noise.c": "",
}  # fmt: skip
ABOVE = ("claims/verdicts.py", "report/page.html", "command_line/main.py", "command_line/report.py",
         "extensions/noise/report/figure.py", "records/__pycache__/dataset.pyc")  # fmt: skip


def _digest(folder: Path, changed: str = "") -> str:
    for name in (*FILES, *ABOVE):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("changed" if name == changed else "")
    return code_of("records", folder)


@pytest.mark.parametrize("name", [*FILES, *ABOVE])
def test_a_change_counts_in_the_package_or_below_it(tmp_path: Path, name: str) -> None:
    before, after = _digest(tmp_path / "before"), _digest(tmp_path / "after", name)
    assert (before == after) is (name in ABOVE)


def test_a_new_runtime_counts_and_where_the_project_lies_does_not(tmp_path: Path) -> None:
    before = _digest(tmp_path / "before")
    assert _digest(tmp_path / "again") == before
    (tmp_path / "with/runtimes").mkdir(parents=True)
    (tmp_path / "with/runtimes/new.py").write_text("")
    assert _digest(tmp_path / "with") != before


def test_every_rule_that_carries_a_digest_has_the_one_of_its_command_s_package() -> None:
    rules = "".join(path.read_text() for path in (PACKAGE.parent / "rules").glob("*.smk"))
    carried = {}
    for text in re.split(r"^(?:use )?rule ", rules, flags=re.M)[1:]:
        digest, command = (
            re.search(r'code_of\("(\w+)"', text),
            re.search(r'"(?:{params.modules})?parity (\S+)', text),
        )
        if digest and command:
            carried[command[1]] = digest[1]
    assert {"analyse", "draw", "judge", "parse", "build-paper"} <= carried.keys()
    assert carried == {command: commands()[command].module for command in carried}
    assert set(carried.values()) <= set(LAYERS)
