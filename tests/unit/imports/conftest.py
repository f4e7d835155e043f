"""Files of others, and the command `parity import`, called as people call it."""

import json

import pytest

from parity.analysis.analysis import analysed
from parity.command_line.main import main
from parity.core.errors import REFUSED


@pytest.fixture
def written(tmp_path):
    """Writes a text as it is into a file of that name; gives the file."""

    def write(name, text):
        (file := tmp_path / name).write_text(text, encoding="utf-8", newline="")
        return file

    return write


@pytest.fixture
def altered(written):
    """A report in JSON, altered by a function of its content; gives the file, of the same name."""

    def alter(report, change):
        content = json.loads(report.read_text())
        change(content)
        return written(report.name, json.dumps(content))

    return alter


@pytest.fixture
def compared(tmp_path):
    """Imports files by the command; gives the table of comparisons."""

    def run(*files, words=("--reference=native", "--margin=5")):
        main(["import", *map(str, files), "--study=x", *words, f"--out={tmp_path}/archive"])
        (archive,) = (tmp_path / "archive").iterdir()
        return analysed(archive).analysis.comparisons

    return run


@pytest.fixture
def refused(tmp_path, capsys):
    """Imports files by the command, which refuses them; gives its one message."""

    def run(*files, words=()):
        with pytest.raises(SystemExit) as ended:
            main(["import", *map(str, files), "--study=x", *words, f"--out={tmp_path}/archive"])
        said = capsys.readouterr().err
        assert ended.value.code == REFUSED
        assert said.startswith("parity: ") and "Traceback" not in said
        assert not (tmp_path / "archive").exists()
        return said

    return run
