"""Metadata and imports: what their programs print, which are made here as they are for a study."""

import subprocess
from pathlib import Path

import pytest
from benchmark_help import compiled, outcome, values

from parity.benchmarks import imports, metadata
from parity.benchmarks.model import Parsed


def of_imports(text: str, walls=(1.2, 1.3, 1.1)) -> Parsed:
    return outcome(imports.BENCHMARK, {"cache": "warm"}, stdout=text, wall_seconds=walls)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder with the programs, as rule `compile` makes them."""
    return compiled(tmp_path_factory.mktemp("compiled"), metadata.SOURCE, imports.SOURCE)


def test_a_real_run_of_metadata(made, tmp_path):
    words = [made / "metadata", tmp_path, "500"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    parsed = outcome(metadata.BENCHMARK, {"files": 500}, stdout=done.stdout)
    assert parsed.valid, parsed.detail
    assert not list(tmp_path.iterdir())


def test_what_is_there_already_fails_the_run(made, tmp_path):
    (tmp_path / "metadata.files").mkdir()
    done = subprocess.run([made / "metadata", tmp_path, "5"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert "File exists" in done.stderr


def test_numbers_of_imports():
    times = (9_000_000_000, 800_000_000, 1_000_000_000, 500_000_000)
    lines = [f"imported 5000 modules in {ns} ns\n" for ns in times]
    text = "".join(lines)
    # The first of all is not timed.
    told = {"time": 0.8, "files_per_second": 6250.0, "start_seconds": 1.2}
    assert values(of_imports(text)) == pytest.approx(told)
    assert of_imports("".join(lines[1:])).reason == "wrong-size"
    assert of_imports(text, walls=(1.0, 1.0)).reason == "wrong-size"
    assert of_imports(text, walls=(0.7, 1.3, 1.1)).reason == "contradictory"
    assert of_imports(text.replace("5000", "4999", 1)).reason == "wrong-size"
    assert of_imports(text[:-4]).reason == "unparsable"
    assert of_imports("").reason == "unparsable"


@pytest.mark.skipif(not Path(imports.PYTHON).exists(), reason="no Python of Debian")
def test_all_modules_are_imported_from_their_bytecode(made):
    modules = made / "imports.modules"
    assert len(list(modules.glob("p*/*.py"))) == imports.MODULES
    assert len(list(modules.glob("p*/__pycache__/*.pyc"))) == imports.MODULES
    words = [imports.PYTHON, "-I", "-S", "-B", made / "imports"]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert of_imports(said * 4, walls=(60.0,) * 3).valid
    # Were a source read, this one would be missed.
    (modules / "p59/m199.py").write_text("TOTAL = 2\n")
    assert subprocess.run(words, capture_output=True, text=True).stdout.startswith("imported 5000")
