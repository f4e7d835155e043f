"""A runtime and a benchmark are one file each: both are measured, drawn and listed.

Needs: the images (built if they are not there) and user namespaces.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import toys
from clones import give_study, rows_of, succeeded

pytestmark = pytest.mark.system
# The words of two figures, as the clone's own program draws them.
DRAW = """
import json, sys
from pathlib import Path
from matplotlib.text import Text
from parity.report import view
from parity.report.figures import compare, figures, specs, style
style.use()
shown = view.load(Path(sys.argv[1]))
spec = next(spec for spec in specs.FIGURES if spec.benchmark == "toy-copy")
for figure in (figures.draw(shown, spec), compare.overview(shown)):
    print(json.dumps([text.get_text() for text in figure.findobj(Text)]))
"""


@pytest.fixture(scope="module")
def dataset(clone: Path, images: dict) -> Path:
    """The study of a clone with three files more, measured and presented."""
    (clone / "workflow/parity/runtimes/toy.py").write_text(toys.RUNTIME)
    (clone / "workflow/parity/benchmarks/toy_copy.py").write_text(toys.BENCHMARK)
    config = give_study(clone, toys.STUDY, images)
    # Paper and dashboard of what nobody else knows: test_programs_of_studies.py.
    summary = "results/live/toys-tiny/summary.txt"
    succeeded(clone, summary, "--config", *config, "data=live", timeout=600)
    return (clone / summary).parent


def test_every_run_of_the_toys_counts(dataset: Path) -> None:
    runs = rows_of(dataset, "runs")
    assert {(run["stage"], run["reason"]) for run in runs if run["final"]} == {("valid", "")}
    assert {"toy"} <= {run["arm"] for run in runs}


def test_they_are_drawn(clone: Path, dataset: Path) -> None:
    assert (dataset / "figures/toy-copy.pdf").stat().st_size > 1000
    environment = os.environ | {"PYTHONPATH": str(clone / "workflow")}
    drawn = subprocess.run(
        [sys.executable, "-c", DRAW, str(dataset)], env=environment, check=True,
        capture_output=True, text=True,
    )  # fmt: skip
    own, overview = (" | ".join(json.loads(line)) for line in drawn.stdout.splitlines())
    asked = ["Toy copy", "Toy runtime", "64 KiB", "256 KiB"]
    asked += ["copying time (ms)", "copying rate (GB/s)", "margin ±25", "of 4 planned", "n"]
    assert [words for words in asked if words not in own] == []
    asked = ["Toy runtime", "Toy copy, margin ±25", "64 KiB, copying time"]
    assert [words for words in asked if words not in overview] == []


def test_they_are_in_tables_and_in_what_the_paper_takes(dataset: Path) -> None:
    results = pd.read_csv(dataset / "tables/results.csv", index_col=["case", "arm"])
    assert ("Toy copy: 256 KiB, copying time", "Toy runtime") in results.index
    assert r"\drawn{toy-copy}" in (dataset / "numbers.tex").read_text()
