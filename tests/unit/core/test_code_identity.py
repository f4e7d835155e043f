"""The digest of a program's code changes with all that it imports, and with nothing else."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from parity.core.code_identity import PACKAGE, digest_of, imported_names, sources_of

SCRIPTS = sorted((PACKAGE.parent / "scripts").glob("*.py"))
# A program that imports one module, which needs others in every way that there is.
FILES = {
    "parity/__init__.py": "",
    "parity/core/__init__.py": "",
    "parity/core/registry.py": "def modules_with(package, attribute): ...\n",
    "parity/core/files.py": "",
    "parity/core/unused.py": "",
    "parity/runtimes/__init__.py": "from parity.core.registry import modules_with\n",
    "parity/runtimes/native.py": "from parity.core import (\n    files,\n)\n",
    "parity/plan/__init__.py": "",
    "parity/plan/plan.py": "def load():\n    import parity.plan.late\n",
    "parity/plan/late.py": "",
    "parity/plan/study.schema.yaml": "a: 1\n",
    "parity/report/__init__.py": "",
    "parity/report/page.py": "from parity.runtimes import arms\nimport parity.plan.plan\n",
    "parity/report/template/page.html": "<p>",
    "parity/report/figures/__init__.py": "",
    "parity/report/figures/style.mplstyle": "b: 2\n",
    "program.py": "import os\nfrom parity.report import page\n",
}
OUTSIDE = {
    "parity/core/unused.py", "parity/report/figures/__init__.py",
    "parity/report/figures/style.mplstyle",
}  # fmt: skip


def _digest(folder: Path, changed: str = "") -> str:
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + ("# changed\n" if name == changed else ""))
    return digest_of(folder / "program.py", folder / "parity")


@pytest.mark.parametrize("name", FILES)
def test_a_change_counts_where_it_is_imported_found_or_read(tmp_path: Path, name: str) -> None:
    before, after = _digest(tmp_path / "before"), _digest(tmp_path / "after", name)
    assert (before == after) is (name in OUTSIDE)


def test_a_new_runtime_counts_and_where_the_project_lies_does_not(tmp_path: Path) -> None:
    before = _digest(tmp_path / "before")
    assert _digest(tmp_path / "again") == before
    (tmp_path / "with/parity/runtimes").mkdir(parents=True)
    (tmp_path / "with/parity/runtimes/new.py").write_text("")
    assert _digest(tmp_path / "with") != before


@pytest.mark.parametrize(
    "path",
    [*sorted(PACKAGE.rglob("*.py")), *SCRIPTS],
    ids=lambda path: f"{path.parent.name}/{path.stem}",
)
def test_no_import_of_the_package_is_overlooked(path: Path) -> None:
    imported = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "an import relative to the module is not followed"
            imported |= {f"{node.module}.{alias.name}" for alias in node.names}
    assert imported_names(path) == {each for each in imported if each.split(".")[0] == "parity"}


def test_what_a_job_imports_is_among_its_sources() -> None:
    """For real, in a fresh interpreter: every module that is loaded once a script's are."""
    program = (
        "import runpy, sys; sys.path.insert(0, sys.argv[2]); runpy.run_path(sys.argv[1])\n"
        "names = [name for name in sys.modules if name.split('.')[0] == 'parity']\n"
        "print('\\n'.join(sys.modules[name].__file__ for name in names))"
    )
    for name in ("analyse", "judge", "write_plan"):
        script = PACKAGE.parent / f"scripts/{name}.py"
        words = [sys.executable, "-c", program, script, PACKAGE.parent]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        assert set(map(Path, done.stdout.split())) <= sources_of(script)


def test_every_rule_that_carries_a_digest_has_the_one_of_its_own_script() -> None:
    rules = "".join(path.read_text() for path in (PACKAGE.parent / "rules").glob("*.smk"))
    parts = re.split(r"^rule (\w+):", rules, flags=re.M)[1:]
    carried = {}
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        if match := re.search(r'code=code_of\("(\w+)"\)', text):
            carried[name] = match[1]
            assert f'"../scripts/{match[1]}.py"' in text, name
    assert {"analyse", "draw", "judge", "parse_records", "tell", "build_paper"} <= carried.keys()
