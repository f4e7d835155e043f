"""Programs that a study alone describes: measured, drawn, told, and parsed again elsewhere.

Needs: the images (built if they are not there), Podman, Charliecloud, gcc and LaTeX.
"""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from clones import NATIVES, USUAL, called, dashboard_of, give_study, rows_of, succeeded

from parity.core.files import digest
from parity.measure.places import NEEDS
from parity.plan.plan import read_plan

pytestmark = pytest.mark.system
CONFIG = ["study=config/studies/mine.yaml", "scale=tiny"]
ARMS = [*NATIVES, "podman", "charliecloud-dir"]
SOLVER = Path(__file__).parents[1] / "support/programs/solver.c"
COUNTER = """
import sys
words = open(sys.argv[1]).read().split()
for _ in range(int(sys.argv[2])):
    found = len(set(words))
print("found", found)
"""


def make(folder: Path) -> dict[str, Any]:
    """Compile and write both with their input; the study of them."""
    solver, counter, words = folder / "solver", folder / "count.py", folder / "words.txt"
    subprocess.run(["gcc", "-O1", "-static", "-o", solver, SOLVER], check=True)
    counter.write_text(COUNTER)
    words.write_text("\n".join(map(str, range(10_000))))
    python = "/usr/bin/python3"
    return USUAL | {
        "study": "mine", "title": "Programs of my own", "arms": ARMS,
        "benchmarks": {
            "solver": {
                "margin_percent": 25,
                "factors": {"size": ["short", "long"]},
                "command": {
                    "title": "Solver of mine",
                    "program": [str(solver), "{size}"],
                    "binaries": [str(solver)],
                    "needs": [str(solver)],
                    "metrics": [{
                        "name": "solving", "title": "solving time", "unit": "s",
                        "better": "lower", "pattern": r"^solved in ([\d.]+) s$",
                    }],
                    "valid": "^x = ",
                },
            },
            "counter": {
                "margin_percent": 25,
                "parameters": {"passes": 50},
                "command": {
                    "title": "Counter of mine",
                    "program": [python, str(counter), str(words), "{passes}"],
                    "binaries": [python, str(counter)],
                    "packages": ["python3-minimal"],
                    "needs": [str(counter), str(words)],
                    "cpus": 1,
                    "valid": "^found 10000$",
                },
            },
        },
        "scales": {"tiny": {"blocks": 3}},
    }  # fmt: skip


def linked(folder: Path) -> dict[str, Any]:
    """A program that is shown in every container, and a library of it that is only here."""
    program, library = folder / "linked", folder / "libmine.so"
    answer = "int answer() { return 42; }"
    asks = "int answer(); int main() { return answer() != 42; }"
    shared = ["-shared", "-fPIC", "-Wl,-soname,libmine.so"]
    own = [f"-Wl,-rpath,{folder}", "-x", "none", library]
    for made, text, words in ((library, answer, shared), (program, asks, own)):
        line = ["gcc", "-o", made, "-x", "c", "-", *words]
        subprocess.run(line, input=text, text=True, check=True)
    command = {"title": "Linked", "program": [str(program)], "binaries": [str(program)]}
    return {"margin_percent": 25, "command": command | {"needs": [str(program)]}}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("programs")


@pytest.fixture(scope="module")
def study(clone: Path, images: dict, programs: Path) -> Path:
    """A clone with one file more, the study, measured and presented."""
    config = give_study(clone, make(programs), images)
    succeeded(clone, "all", "dashboard", "--config", *config, "data=live")
    return clone


@pytest.fixture(scope="module")
def dataset(study: Path) -> Path:
    return study / "results/live/mine-tiny"


def test_every_run_counts_with_its_number(dataset: Path) -> None:
    runs = rows_of(dataset, "runs")
    assert {(run["stage"], run["reason"]) for run in runs if run["final"]} == {("valid", "")}
    counted = {(run["case"], run["arm"]) for run in runs}
    assert counted == {(c, a) for c in ("solver-short", "solver-long", "counter") for a in ARMS}
    metrics = rows_of(dataset, "metrics")
    told = {(m["case"], m["metric"], m["unit"], m["clock"]) for m in metrics}
    timed = {(case, "cpu_seconds", "s", "external") for case, _ in counted}
    assert told == timed | {
        ("solver-short", "solving", "s", "internal"), ("solver-long", "solving", "s", "internal"),
        ("counter", "time", "s", "external"),
    }  # fmt: skip


def test_all_sides_ran_the_same_files(dataset: Path, programs: Path) -> None:
    """The interpreter, its script and the program, by content; the inputs stand in the plan."""
    runs = rows_of(dataset, "runs")
    for benchmark in ("solver", "counter"):
        digests = {run["binary_sha256"] for run in runs if run["benchmark"] == benchmark}
        assert len(digests) == 1 and digests != {""}
    concluded = pd.read_parquet(dataset / "analysis/conclusions.parquet")
    assert set(concluded.query("form == 'arm'")["identity"]) == {"same"}
    audited = rows_of(dataset, "binaries")
    found = {row["sha256"] for row in audited if row["path"].endswith(f"{programs}/count.py")}
    assert found == {digest(programs / "count.py").removeprefix("sha256:")}
    needs = read_plan(dataset / "plan.json").needs
    assert needs[str(programs / "words.txt")] == digest(programs / "words.txt")


def test_they_have_figures_sentences_and_a_paper(study: Path, dataset: Path) -> None:
    for name in ("solver", "counter"):
        assert (dataset / f"figures/{name}.pdf").stat().st_size > 1000
    assert "Ledger" in (dataset / "summary.txt").read_text()
    results, cases = (pd.read_csv(dataset / f"tables/{n}.csv") for n in ("results", "cases"))
    assert "Solver of mine: short, solving time" in set(results["case"])
    assert cases["parameters"].str.endswith("/solver short, size = short").any()
    assert "<./solver.pdf>" in (dataset / "logs/build_paper.log").read_text()
    held = dashboard_of(study)
    assert "Solver of mine: short" in held and "solving time" in held


def test_an_archive_is_parsed_again_where_nobody_knows_the_programs(
    study: Path, dataset: Path, new_clone: Callable[[], Path], programs: Path
) -> None:
    succeeded(study, "archive", "--config", *CONFIG)
    (archive,) = (study / "results/archive").glob("*mine*")
    other = new_clone()
    shutil.copytree(archive, other / "results/archive" / archive.name)
    shutil.move(programs, programs.with_name("elsewhere"))
    try:
        # Its own figures, and not those of all archives.
        drawn = f"results/archive/{archive.name}/not-drawn.txt"
        said = succeeded(other, "reparse", drawn, "--config", f"archive={archive.name}")
    finally:
        shutil.move(programs.with_name("elsewhere"), programs)
    assert "parsed again, the same bytes" in said
    figures = (other / drawn).with_name("figures")
    assert {"solver.pdf", "counter.pdf"} <= {path.name for path in figures.iterdir()}


def test_an_input_that_changed_is_another_case(study: Path, programs: Path) -> None:
    """The record of it is kept, and new blocks are planned."""
    done = {path.stem for path in (study / "results/live/mine-tiny").glob("batches/*.json")}
    words = programs / "words.txt"
    before = words.read_text()
    words.write_text(before + "\none more")
    try:
        said = succeeded(study, "-n", "all", "--config", *CONFIG, "data=live")
    finally:
        words.write_text(before)
    planned = set(re.findall(r"mine-tiny-b\d{4}-[0-9a-f]{8}", said))
    assert len(done) == 3 and len(planned) == 3 and planned.isdisjoint(done)


def test_a_library_that_an_image_lacks_is_one_message_before_any_run(new_clone, images, tmp_path):
    """Alone the linked program is refused; beside another one it is a line and a row."""
    clone, study = new_clone(), make(tmp_path)
    both = {"solver": study["benchmarks"]["solver"], "linked": linked(tmp_path)}
    scale = {"blocks": 1, "arms": ARMS[:3], "factors": {"solver": {"size": ["short"]}}}
    alone = {"blocks": 1, "arms": ARMS[:3], "benchmarks": ["linked"]}
    study |= {"benchmarks": both, "scales": {"both": scale, "alone": alone}}
    give_study(clone, study, images)
    said = {}
    for name in ("alone", "both"):
        table = f"results/live/mine-{name}/records/runs.parquet"
        call = called(clone, table, "--config", CONFIG[0], f"scale={name}", "data=live")
        assert call.status == (1 if name == "alone" else 0), call.said
        said[name] = call.said
    lacks = f"Linked, Podman: {NEEDS}{tmp_path}/linked does not find libmine.so"
    assert "nothing of this study could be compared" in said["alone"] and lacks in said["alone"]
    assert not list(clone.glob("results/blocks/mine-alone-*/runs/*"))
    assert f"not measured: {lacks}" in said["both"]
    rows = rows_of(clone / "results/live/mine-both", "runs")
    left_out = [(row["case"], row["arm"], row["reason"]) for row in rows if row["reason"]]
    assert left_out == [("linked", "podman", "not-tested")]
