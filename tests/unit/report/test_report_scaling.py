"""A study over several nodes: its curves, its labels, and its paper."""

import csv
import re
import shutil
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import synthetic
from figure_help import drawn, texts, words_apart
from matplotlib.axis import Tick
from matplotlib.text import Text

from parity.benchmarks.description import Form, Quantity
from parity.core.wording import counted
from parity.plan.system import KINDS
from parity.report import formatting, paper, write
from parity.report import texts as told
from parity.report.figures import along, figures, specs
from parity.report.view import Series, View

ROOT = Path(__file__).parents[3]
SPEC = next(spec for spec in specs.FIGURES if spec.form is Form.NODES)
ARMS = ("native-a", "native-b", "apptainer", "docker", "lxc", "podman")
ONE_HOST = "All nodes are network namespaces on one host."
# Docker costs a tenth more on four nodes, LXC is not there, and Podman fails in one case.
PLANTS = {
    "effects": {("hpcc-4x4", "docker"): 1.1, ("hpcc-4x8", "docker"): 1.1},
    "absent": {"lxc": "needs root"},
    "failures": {(n, "hpcc-2x4.podman"): ("ran", "timeout") for n in range(1, 13)},
}


def view_of(folder: Path, label: str, node_counts: tuple[int, ...], **plants: Any) -> View:
    """A view of a synthetic study over nodes, twelve blocks for each number of them."""
    plan = synthetic.scaling_plan(12, ARMS, node_counts)
    return synthetic.view(folder, plan, scale_label=label, **plants)


@pytest.fixture(scope="module")
def view(tmp_path_factory) -> View:
    """The study with everything planted, on virtual nodes."""
    folder = tmp_path_factory.mktemp("data") / "live/scaling-synthetic"
    return view_of(folder, "virtual-cluster", (1, 2, 4), **PLANTS)


@pytest.fixture(scope="module")
def written(view: View, tmp_path_factory) -> Path:
    """All that the study is presented with, in a folder."""
    folder = tmp_path_factory.mktemp("written")
    write.write(view, [], folder)
    return folder


def curve(view: View, each: int, arm: str) -> dict[int, Any]:
    """The points of an arm by number of nodes, for one number of ranks per node."""
    found = {s.title: s for s in along.series(view, SPEC)}[f"{counted(each, 'rank')} per node"]
    return {p.x: p for p in along.curve(view, found, SPEC.quantities[0], arm).itertuples()}


def test_cases_are_parted_by_ranks_per_node_and_called_by_nodes_and_ranks(view: View) -> None:
    found = along.series(view, SPEC)
    assert [each.title for each in found] == ["1 rank per node", "2 ranks per node"]
    assert found[1].cases == {1: "hpcc-1x2", 2: "hpcc-2x4", 4: "hpcc-4x8"}
    assert formatting.case_title(view.plan, "hpcc-2x4") == "HPC Challenge: 2 nodes, 4 ranks"
    # NetPIPE has two ranks everywhere, so they set nothing apart.
    assert formatting.case_title(view.plan, "netpipe-1x2-mpi") == "NetPIPE: 1 node, MPI"


@pytest.mark.parametrize("each", [1, 2])
def test_a_planted_cost_is_seen_where_it_was_planted(view: View, each: int) -> None:
    docker = curve(view, each, "docker")
    assert [point.note.split()[1] for point in docker.values()] == ["=", "=", ">"]
    assert docker[4].y == pytest.approx(100 / 1.1, rel=0.02)
    assert docker[2].y == pytest.approx(100, rel=0.02)
    assert docker[4].n == 12


@pytest.mark.parametrize(("case", "quantity", "power"), [
    ("hpcc-4x8", SPEC.quantities[0], 1),
    ("netpipe-2x2-tcp", Quantity("latency", "latency", "s", "lower"), -1),
])  # fmt: skip
def test_performance_is_relative_to_the_reference_at_the_same_case(view, case, quantity, power):
    (point,) = along.curve(view, Series("", {4: case}), quantity, "docker").itertuples()
    values = np.array(view.values(case, quantity.metric)["docker"])
    median = view.median(case, quantity.metric, "native-a")
    expected = sorted(100 * (values / median) ** power)  # of a time less is faster
    assert (point.low, point.high) == pytest.approx((expected[0], expected[-1]))
    assert point.y == pytest.approx(np.median(expected))


def test_what_is_missing_is_said_in_its_place(view: View) -> None:
    assert curve(view, 1, "lxc")[4].words == "not tested: needs root"
    podman = curve(view, 2, "podman")
    assert [point.n for point in podman.values()] == [12, 0, 12]
    # And n, unit, margin and noise.
    asked = ["n=12 ", " =\n[", " >\n[", "of 12 planned", "HPL rate in % of the median of Native",
             "margin ±5", "dotted: smallest and largest of Native and Native again",
             "not tested: needs root", "no valid run: timeout", "n=0"]  # fmt: skip
    said = texts(figures.draw(view, SPEC))
    assert [part for part in asked if part not in said] == []


def test_every_figure_can_be_read_and_says_one_host(view: View) -> None:
    for name, figure in drawn(view).items():
        assert words_apart(figure) and ONE_HOST in texts(figure), name
        ticks = {text for tick in figure.findobj(Tick) for text in tick.findobj(Text)}
        words = [t for t in figure.findobj(Text) if t.get_text() and t not in ticks]
        boxes = [(t.get_text(), t.get_window_extent().shrunk(0.95, 0.8)) for t in words]
        assert [(a, b) for (a, x), (b, y) in combinations(boxes, 2) if x.overlaps(y)] == [], name


@pytest.mark.parametrize(("node_counts", "plants"), [
    ((1,), {}), ((2, 4), {}),
    ((1, 2), {"absent": dict.fromkeys(ARMS[2:], "not installed")}),
    ((1, 2), {"absent": dict.fromkeys(ARMS, "no second host")}),
], ids=["one node", "no single node", "native alone", "nothing ran"])  # fmt: skip
def test_any_study_over_nodes_can_be_drawn(tmp_path, node_counts, plants) -> None:
    view = view_of(tmp_path, "cluster", node_counts, **plants)
    assert words_apart(figures.draw(view, SPEC))


def test_a_metric_of_two_benchmarks_keeps_its_own_unit() -> None:
    assert specs.quantity("netpipe-2x2-tcp", "bandwidth", "Gbit/s").unit == "Gbit/s"
    assert specs.quantity("likwid-copy", "bandwidth", "").unit == "GB/s"
    assert specs.quantity("netpipe-2x2-tcp", "latency", "s").factor == 1e6
    assert specs.quantity("hpcc", "ring_latency", "us").unit == "us"
    # A unit that a metric no longer has is kept.
    old = specs.quantity("netpipe-2x2-tcp", "latency", "us")
    assert (old.label, old.unit, old.factor) == ("latency", "us", 1.0)
    assert specs.quantity("another-1x2", "wind_speed", "m/s").label == "wind speed"


def test_every_table_and_the_summary_say_one_host(view: View, written: Path) -> None:
    names = [path.stem for path in (written / "tables").glob("*.csv")]
    assert "results" in names
    for name in names:
        assert ONE_HOST in (written / f"tables/{name}.tex").read_text(), name
        rows = list(csv.DictReader((written / f"tables/{name}.csv").open(encoding="utf-8")))
        assert all(row["note"] == ONE_HOST for row in rows), name
    assert ONE_HOST in (written / "summary.txt").read_text()
    assert told.numbers(view).count(ONE_HOST) >= 2


def test_every_kind_of_system_has_its_sentence_and_hosts_are_not_called_one(tmp_path: Path) -> None:
    schema = (ROOT / "workflow/parity/plan/system.schema.yaml").read_text()
    kinds = re.search(r"enum: \[(vm[^\]]+)\]", schema)
    # What is imported was measured on no system that a file describes.
    assert kinds and {*kinds[1].split(", "), "imported"} == set(KINDS)
    view = view_of(tmp_path, "cluster", (1,))
    assert view.origin.note == ""
    assert ONE_HOST not in told.summary(view) + told.numbers(view)


@pytest.mark.skipif(not shutil.which("latexmk"), reason="LaTeX is not installed")
@pytest.mark.parametrize("claims", [{}, {"claims.tex": r"\message{<claims>}"}])
def test_the_paper_holds_the_figures_of_its_study_alone(written, tmp_path, claims) -> None:
    parts = [written / "numbers.tex", *(written / "tables").glob("*.tex")]
    parts += (written / "figures").glob("*.pdf")
    said = {f"{name}.tex": "Said." for name in ("answer", "short")} | claims
    log = paper.build(ROOT / "paper/dataset.tex", said, {".": parts}, tmp_path / "paper.pdf")
    # What tests no published claim is not told what those claim.
    assert ("<claims>" in log) == bool(claims)
    drawn = set(re.findall(r"<\./([a-z-]+)\.pdf>", log))
    assert drawn == {"overview", "ledger", "scaling", "network-latency", "network-bandwidth"}
