"""What notebooks use: archives as data frames, numbers of one's own, and axes."""

import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from nbclient import NotebookClient

import parity
from parity.core.errors import UserError

ROOT = Path(__file__).parents[3]
ARCHIVE = ROOT / "results/archive/machine-2026-11-20"
NOTEBOOK = ROOT / "docs/notebook.ipynb"
rng = np.random.default_rng(20191118)
NATIVE = 10 * np.exp(0.01 * rng.standard_normal(20))
AGAIN = NATIVE * np.exp(0.001 * rng.standard_normal(20))


@pytest.fixture(scope="module")
def archive() -> parity.Archive:
    return parity.open_archive(ARCHIVE)


def test_an_archive_is_frames_with_units(archive) -> None:
    assert archive.runs.attrs["units"]["wall_seconds"] == "s" and len(archive.runs) == 2160
    units = archive.metrics.groupby("metric")["unit"].unique()
    assert list(units["bandwidth"]) == ["GB/s"]
    told = archive.conclusions().set_index(["case", "metric", "arm"])["says"]
    said = "costs at most 0.29 %; within ±2 %: the same"
    assert told["likwid-stream", "bandwidth", "docker"] == said
    # A frame is the caller's own.
    mine = archive.runs
    mine["block"] = ""
    assert archive.runs["block"].all()


@pytest.mark.parametrize(("cost", "better", "answer", "same"), [
    (1.0, "lower", "at-most", True), (1.3, "lower", "costs", False),
    (1.3, "higher", "saves", False), (1 / 1.3, "higher", "costs", False),
])  # fmt: skip
def test_a_planted_cost_is_found(cost, better, answer, same) -> None:
    container = cost * NATIVE * np.exp(0.001 * rng.standard_normal(20))
    found = parity.compare(NATIVE, container, margin=0.01, again=AGAIN, better=better)
    ratio = cost if better == "lower" else 1 / cost
    assert found.ratio == pytest.approx(ratio, rel=2e-3)
    low, high = found.interval95
    assert low < ratio < high and found.bound <= high and found.blocks == 20
    assert (found.answer, found.same) == (answer, same)
    assert str(found).startswith(f"{found.ratio:.3f} [") and found.says in str(found)
    frame = pd.DataFrame({"native": NATIVE, "container": container, "again": AGAIN})
    assert parity.compare(frame, margin=0.01, better=better) == found


def test_without_a_control_nothing_is_concluded_and_failures_count_as_lost() -> None:
    found = parity.compare(NATIVE, 1.3 * NATIVE)
    assert found.answer == "cannot-tell" and found.says == "cannot tell: no A/A pair"
    assert found.ratio == pytest.approx(1.3)
    failed = np.where(np.arange(20) < 8, np.nan, NATIVE)
    assert "runs were lost" in parity.compare(NATIVE, failed, again=AGAIN).says


@pytest.mark.parametrize(("given", "said"), [
    ({"container": NATIVE[:5]}, "these are no pairs: native (20,), container (5,)"),
    ({}, "there is nothing to compare: one arm, native"),
    ({"container": NATIVE, "margin": 2}, "a margin of 2"),
    ({"container": NATIVE, "better": "more"}, "unknown direction: more"),
    ({"container": -NATIVE}, "not a number from 0 on"),
])  # fmt: skip
def test_what_cannot_be_compared_is_refused(given, said) -> None:
    with pytest.raises(UserError) as refused:
        parity.compare(NATIVE, **given)
    assert said in str(refused.value)


def test_pictures_are_axes_of_the_caller_or_new_ones(archive) -> None:
    own = plt.subplots()[1]
    assert parity.plot.forest(archive, "hpcc", own) is own
    labels = [tick.get_text() for tick in own.get_yticklabels()]
    assert "HPC Challenge, HPL rate: Charliecloud (directory)" in labels
    drawn = parity.plot.runs(archive, "sysbench")
    assert isinstance(drawn, Axes) and drawn.get_xlabel() == "Computing time (s)"
    plt.close("all")
    for call in (parity.plot.forest, parity.plot.runs):
        with pytest.raises(UserError, match="unknown benchmark: nothing"):
            call(archive, "nothing")


def test_a_folder_that_is_no_archive_is_refused(tmp_path) -> None:
    with pytest.raises(UserError, match="No such file or directory"):
        parity.open_archive(tmp_path / "none")


def test_the_notebook_gives_what_it_shows() -> None:
    shown = nbformat.read(NOTEBOOK, 4)
    run = deepcopy(shown)
    NotebookClient(run, record_timing=False, resources={"metadata": {"path": ROOT}}).execute()
    assert _told(run) == _told(shown)
    assert sum("image/png" in each.get("data", {}) for each in _outputs(run)) == 2


def _outputs(notebook) -> list[dict]:
    made = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return [output for output in made if output.get("name") != "stderr"]


def _told(notebook) -> str:
    """All texts as one: what is printed in one cell comes in one piece or in several."""
    return "".join(o.get("text") or o["data"]["text/plain"] for o in _outputs(notebook))


def test_the_package_alone_loads_nothing() -> None:
    code = "import sys, parity; assert not {'pandas', 'matplotlib', 'scipy'} & {*sys.modules}"
    subprocess.run([sys.executable, "-c", code], check=True)
