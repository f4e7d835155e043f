"""A runtime and a benchmark are one file each: both are measured, drawn, listed and told.

Needs: the images (built if they are not there), user namespaces and LaTeX.
"""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import toys
import yaml
from clones import borrow_images, dashboard_of, never_wait_for_quiet, succeeded

pytestmark = pytest.mark.system
WORDS = ["all", "dashboard", "--config", "study=config/studies/toys.yaml", "scale=tiny"]
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
def study(clone: Path, images: dict) -> Path:
    """A clone with three files more, and the records of the images that are there."""
    (clone / "workflow/parity/runtimes/toy.py").write_text(toys.RUNTIME)
    (clone / "workflow/parity/benchmarks/toy_copy.py").write_text(toys.BENCHMARK)
    (clone / "config/studies/toys.yaml").write_text(yaml.safe_dump(toys.STUDY))
    never_wait_for_quiet(clone, "machine")
    borrow_images(clone, images, *WORDS[3:])
    return clone


@pytest.fixture(scope="module")
def dataset(study: Path) -> Path:
    """The study, measured and presented."""
    succeeded(study, *WORDS, "data=live", timeout=600)
    return study / "results/live/toys-tiny"


def test_every_run_of_the_toys_counts(dataset: Path) -> None:
    runs = pq.read_table(dataset / "records/runs.parquet").to_pylist()
    assert {(run["stage"], run["reason"]) for run in runs if run["final"]} == {("valid", "")}
    assert {"toy"} <= {run["arm"] for run in runs}


def test_they_are_drawn(study: Path, dataset: Path) -> None:
    assert (dataset / "figures/toy-copy.pdf").stat().st_size > 1000
    environment = os.environ | {"PYTHONPATH": str(study / "workflow")}
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


def test_they_are_in_tables_paper_and_dashboard(study: Path, dataset: Path) -> None:
    with (dataset / "tables/results.csv").open(encoding="utf-8") as file:
        rows = [(row["case"], row["arm"]) for row in csv.DictReader(file)]
    assert ("Toy copy: 256 KiB, copying time", "Toy runtime") in rows
    assert r"\drawn{toy-copy}" in (dataset / "numbers.tex").read_text()
    assert "<./toy-copy.pdf>" in (dataset / "logs/build_paper.log").read_text()
    held, asked = dashboard_of(study), ("Toy runtime", "Toy copy: 64 KiB", "copying time")
    assert [words for words in asked if words not in held] == []
