"""Networks and placement: what figures, tables and sentences make of planted data, and of none."""

import json
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import split
import synthetic
from figure_help import texts as words_of
from figure_help import words_apart

from parity.benchmarks.description import Bars, FigureSpec, Form
from parity.claims.published import FIGURES, published_tables
from parity.extensions.networks.benchmarks.netpipe import TIMES
from parity.records import schema
from parity.report import formatting, texts
from parity.report import view as view_of
from parity.report.figures import figures, specs
from parity.report.figures.along import page_of
from parity.report.figures.page import PAGE
from parity.report.figures.planes import Lines
from parity.report.tables import measured as tables
from parity.report.view import View

SPECS = {spec.name: spec for spec in specs.FIGURES if spec.along or spec.form is Form.TIMEOUTS}
CONTAINERS, RANKS, WAITS = (SPECS[f"npb-{what}"] for what in ("containers", "ranks", "timeouts"))


@pytest.fixture(scope="module")
def view(tmp_path_factory) -> View:
    """The study of Ruiz et al., in which each container more costs what `split.EACH` says."""
    return split.view(tmp_path_factory.mktemp("data") / "live/ruiz", "ruiz2015", split.RUIZ)


@pytest.fixture(scope="module")
def beserra(tmp_path_factory) -> View:
    """The study of Beserra et al. of one HPL."""
    return split.view(tmp_path_factory.mktemp("data") / "live/b", "beserra2015", split.BESERRA)


def test_every_figure_can_be_read_and_says_n_margin_and_unit(view: View, beserra: View) -> None:
    for spec in SPECS.values():
        shown = next(each for each in (view, beserra) if each.shown(spec))
        figure = figures.draw(shown, spec)
        assert words_apart(figure), spec.name
        said = words_of(figure)
        assert "n = 12" in said
        assert ("band: margin ±6 %" in said) == (spec.form is Form.ALONG and not spec.scatter)
        assert any(unit in said for unit in ("(ratio, log)", "(%)", "(s)"))
        assert texts.caption(shown, spec).startswith(spec.caption)


def test_parts_of_a_time_stand_beside_each_other(view: View) -> None:
    (spec,) = (each for each in specs.FIGURES if each.form is Form.PARTS)
    figure = figures.draw(view, spec)
    cg = figure.axes[0]
    widths = {}
    for bar in cg.patches:
        widths.setdefault(round(bar.get_y() + bar.get_height() / 2), []).append(bar.get_width())
    # 3.1, 0.9 and 1.1 s were planted, in every arm.
    assert len(widths) == len(split.ARMS)
    assert widths[0] == pytest.approx([3.1, 0.9, 1.1], rel=0.03)
    starts = sorted(bar.get_x() for bar in cg.patches if round(bar.get_y()) == 0)
    assert starts == pytest.approx([0, 3.1, 4.0], rel=0.03)
    assert words_apart(figure) and "smallest to largest sum" in words_of(figure)
    assert "smallest sum of a block" in texts.caption(view, spec)


def test_cases_are_parted_by_all_but_the_parameter(view: View) -> None:
    assert {each.title: [*each.cases] for each in view.series(CONTAINERS)} == {
        f"kernel {kernel}, 1 node, 4 ranks": [1, 2, 4] for kernel in ("cg", "ep", "mg")
    }
    assert {each.title: [*each.cases.values()] for each in view.series(RANKS)} == {
        "kernel mg, 1 node, 2 containers": ["npb-1x2/2-mg", "npb-1x4/2-mg"],
        "kernel mg, 1 rank in each container, 1 node": [
            "npb-1x2/2-mg", "npb-1x4/4-mg", "npb-1x8/8-mg"
        ],
    }  # fmt: skip
    # What stands along a parameter is not in the benchmark's other figures once more.
    plain = next(spec for spec in specs.FIGURES if spec.name == "npb")
    assert view.shown(plain) == ["npb-1x4/4-cg-rto200", "npb-1x4/4-cg-rto2"]


def test_nodes_that_grow_with_the_ranks_are_a_series() -> None:
    cases = [split.case("npb", (n, 16 * n, 1), kernel="cg") for n in (1, 2, 8)]
    planned = [split.plan("x", cases).case(case["case"]) for case in cases]
    (found,) = view_of.series(RANKS, planned)
    assert found.title == "kernel cg, 16 ranks on each node, 1 container"
    assert [*found.cases] == [16, 32, 128]


def test_settings_of_a_network_are_said_alike_of_cases_and_series() -> None:
    settings = {"rto_min_ms": 200, "era": "2015", "queue_packets": 10}
    said = "rto_min 200 ms, TCP of 2015, queue of 10 packets"
    values = "-".join(f"{name}_{value}" for name, value in settings.items())
    here = [split.case("npb", (1, 4, each), kernel="cg") for each in (1, 2)]
    for case in here:
        case["case"] += f"-{values}"
        case["parameters"] |= settings
    usual = [split.case("npb", (1, 4, each), kernel="cg") for each in (1, 2)]
    plan = split.plan("x", [*usual, *here])
    name = here[0]["case"]
    assert formatting.case_levels(plan, name) == f"1 node, 1 container per node, cg, {said}"
    assert said in {each.title.partition("cg, ")[2].removesuffix(", 1 node, 4 ranks")
                    for each in view_of.series(CONTAINERS, plan.cases)}  # fmt: skip


def test_levels_without_words_of_their_own_are_called_as_in_the_study() -> None:
    told = formatting.spelt_levels("moosefs", ["servers", "0.25", "monitor_hz_1"])
    assert told == ["servers in the arm", "0.25 GiB", "monitor hz 1"]
    assert formatting.spelt_levels("hpcg", ["libraries_further"]) == ["libraries further"]


@pytest.mark.parametrize("kernel, each", split.EACH.items())
def test_planted_costs_are_the_points(view: View, kernel: str, each: float) -> None:
    (found,) = (s for s in view.series(CONTAINERS) if s.title.startswith(f"kernel {kernel}"))
    curves = view.curves(CONTAINERS, found)
    assert set(curves["arm"]) == {*split.ARMS} - {"native-a"}
    for arm, times in (("lxc-veth", 1), ("lxc-veth-plain", 2), ("lxc", 0)):
        for point in curves[curves["arm"] == arm].itertuples():
            planted = each ** (times * (point.level - 1))
            assert point.value == pytest.approx(planted, rel=0.02)
            assert point.low < point.value < point.high and point.blocks == 12


def test_published_bars_are_ratios_of_bars() -> None:
    table = published_tables(split.PUBLISHED)[FIGURES]
    linux = Bars("Fig. 1a", "CG.B", "Linux 3.2", {}, x="3.2")
    one = Bars("Fig. 2", "MG.C", "one node", {}, series="container", over="SM")
    nodes = Bars("Fig. 3", "CG.B", "nodes", {}, series="container")
    over = {1: 6.881 / 5.963, 2: 100.03 / 5.963, 4: 240.405 / 5.963}
    assert view_of.ratios(table, linux) == pytest.approx(over)
    percents = [round(100 * (ratio - 1), 1) for ratio in view_of.ratios(table, one).values()]
    assert percents == [13.0, -11.9, -4.9]
    assert view_of.ratios(table, nodes)[128] == pytest.approx(2.807, abs=1e-3)
    every = [bars for spec in SPECS.values() for bars in spec.bars]
    assert all(len(view_of.ratios(table, bars)) > 1 for bars in every)


def test_bars_are_drawn_in_the_panels_of_their_program_alone(view: View) -> None:
    cg, *others = figures.draw(view, CONTAINERS).axes
    black = [[line for line in axes.get_lines() if line.get_linestyle() == ":"]
             for axes in (cg, *others)]  # fmt: skip
    assert [len(lines) for lines in black] == [3, 0, 0]
    assert [round(float(y), 2) for y in black[0][0].get_ydata()] == [1.15, 16.78, 40.32]
    assert cg.get_yscale() == "log" and cg.get_ylim()[1] > 40


def test_scatter_has_all_arms_and_no_margin(beserra: View) -> None:
    spec = SPECS["hpl-scatter"]
    (found,) = beserra.series(spec)
    points = beserra.curves(spec, found)
    assert set(points["arm"]) == set(split.ARMS)
    values = beserra.values("hpcc-1x4/2", "hpl")["lxc"]
    point = points[points["arm"] == "lxc"].iloc[1]
    assert point["value"] == pytest.approx(100 * np.std(values, ddof=1) / np.mean(values))
    assert point["low"] < point["value"] < point["high"]


def test_planted_waits_are_the_slopes(view: View) -> None:
    rows = {(row.case[-6:], row.arm): row for row in view.waits(view.shown(WAITS))}
    assert {arm for _, arm in rows} == {"lxc-veth", "lxc-veth-plain", "podman-veth"}
    for arm in ("lxc-veth", "lxc-veth-plain", "podman-veth"):
        row = rows["rto200", arm]
        assert row.slope == pytest.approx(0.2, abs=0.01) and row.explained > 0.98
        short = rows["g-rto2", arm]
        assert short.low < 0.002 < short.high
    table = tables.timeouts(view)
    assert [row[2] for row in table.rows] == ["200"] * 3 + ["2"] * 3


def test_the_line_of_the_least_waiting_time_is_drawn(view: View) -> None:
    first, second = figures.draw(view, WAITS).axes
    for axes, wait in ((first, 0.2), (second, 0.002)):
        (line,) = (line for line in axes.get_lines() if line.get_linestyle() == ":")
        (x0, x1), (y0, y1) = line.get_data()
        assert (x0, y0) == (0, 0) and y1 / x1 == pytest.approx(wait)
    assert "n = 12: 0.198 s [0.189, 0.202]" in words_of(first.figure)


def test_table_1_stands_beside_ours(view: View) -> None:
    rows = tables.time_in_mpi(view).rows
    assert rows[0] == ("CG.B", "Multinode", "3286 (47 %)", "2721 (39 %)",
                       "1045 (15 %)", "7052", "their Table 1")  # fmt: skip
    assert sum(row[-1] == "their Table 1" for row in rows) == 18
    ours = [row for row in rows if row[-1] == "here"]
    assert len(ours) == 2 * len(split.ARMS)
    assert ours[0][:2] == ("MPIP: 1 node, 2 containers per node, cg", "Native")
    # mpiP does not tell MPI's own start by itself.
    assert ours[0][4] == "–" and int(ours[0][5]) == pytest.approx(4000, rel=0.05)


def test_containers_are_told_by_what_their_ranks_saw(tmp_path: Path) -> None:
    """Records keep of each rank what it said otherwise than the one before it."""
    ranks = [
        {"node": "n0", "cpus_allowed": "0", "namespace.net": "1", "namespace.mnt": "5"},
        {"cpus_allowed": "1"},
        {"cpus_allowed": "0", "namespace.net": "2"},
        {"cpus_allowed": "1", "namespace.mnt": None},
    ]
    plan = split.plan("x", [split.case("npb", (1, 4, 2), kernel="cg")], blocks=1)
    run = next(each for each in plan.blocks[0].runs if each.arm == "lxc-veth")
    name = plan.blocks[0].name
    raw = {"campaign": plan.campaign, "block": name, "block_number": 1, "run": run.name,
           "attempt": 1, "record": json.dumps({"ranks": ranks}), "stdout": b"", "stderr": b"",
           "files": "{}", "samples": ""}  # fmt: skip
    (tmp_path / "records").mkdir()
    schema.write(schema.RAW, [raw], tmp_path / "records/raw.parquet")
    runs = pd.DataFrame([{"block": name, "run": run.name, "attempt": 1, "stage": "valid"}])
    seen = SimpleNamespace(plan=plan, folder=tmp_path, dataset=SimpleNamespace(runs=runs))
    case = "NPB: 1 node, 2 containers per node, cg"
    assert tables.placement(seen).rows == [
        (case, "LXC, veth", "1", "n0", "0 to 1", "0, 1"),
        (case, "LXC, veth", "2", "n0", "2", "0"),
        (case, "LXC, veth", "3", "n0", "3", "1"),
    ]
    runs["stage"] = "ran"
    assert tables.placement(seen).rows == []


LINES = (Path(__file__).parents[2] / "golden/netpipe/mpi-1x2.txt").read_text().splitlines()
SIZES = [spec for spec in specs.FIGURES if spec.form is Form.SIZES]


@pytest.fixture(scope="module")
def sent(tmp_path_factory) -> View:
    """A study whose ranks sent messages; in Podman each takes half again as long."""
    arms = ("native-a", "native-b", "podman")
    plan = synthetic.scaling_plan(2, arms, (1,))
    rows = synthetic.records(plan)
    times = [(int(size), float(time)) for size, _, time in map(str.split, LINES)]
    usual = next(row for row in rows["metrics"] if row["metric"] == "latency")
    rows["metrics"] += [
        {**usual, **{name: run[name] for name in usual.keys() & run.keys()},
         "metric": TIMES[size].metric, "value": time * (1.5 if run["arm"] == "podman" else 1)}
        for run in rows["runs"] if run["case"] == "netpipe-1x2-mpi" for size, time in times
    ]  # fmt: skip
    return synthetic.view(tmp_path_factory.mktemp("data") / "live/sent", plan, rows)


def test_messages_of_all_sizes_are_the_metrics_of_their_times(sent: View) -> None:
    times = sent.message_times
    assert set(times["case"]) == {"netpipe-1x2-mpi"}
    assert len(times) == 2 * 3 * len(LINES)
    first = times[(times["arm"] == "native-a") & (times["size"] == 1)]
    assert first["seconds"].to_list() == [float(LINES[0].split()[2])] * 2
    # Smallest and largest ratio to the reference's.
    rows = {row[1]: row[2::2] for row in tables.message_sizes(sent).rows}
    assert rows == {"Podman": ("1.500", "1.500"), "Native again": ("1.000", "1.000")}


@pytest.mark.parametrize("spec", SIZES, ids=lambda spec: spec.name)
def test_curves_over_sizes_can_be_read(sent: View, view: View, spec: FigureSpec) -> None:
    assert not view.shown(spec)
    figure = figures.draw(sent, spec)
    said = words_of(figure)
    assert words_apart(figure) and "n = 2 blocks of 2 planned" in said
    assert "time over Native (ratio, log)" in said or "rate (Gbit/s, log)" in said
    (axes,) = figure.axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    curves = [line for line in axes.get_lines() if len(line.get_xdata()) > 2]
    assert len(curves) == (2 if spec.relative else 3)


@pytest.mark.parametrize("panels", [1, 2, 3, 15, 16, 30, 48])
def test_any_number_of_panels_fits_on_a_page(view: View, panels: int) -> None:
    names = {arm: "LXC, veth without offloads" for arm in "abcdefghijkl"}
    table = pd.DataFrame([(arm, 1, 1.0) for arm in names], columns=["arm", "x", "y"])
    panel = Lines("kernel cg, 1 node, 4 ranks", table, {a: {"color": "k"} for a in names}, names)
    figure = page_of(view, CONTAINERS, [panel] * panels, "cost (ratio)", "n")
    made = figure.axes
    assert len(made) == panels and figure.get_size_inches()[1] <= PAGE + 0.01
    figure.canvas.draw()
    boxes = [axes.bbox for axes in made]
    assert all(box.height > 0.3 * figure.dpi and box.width > 0.6 * figure.dpi for box in boxes)
    assert not any(one.overlaps(two) for one, two in combinations(boxes, 2))


def test_what_has_no_panel_of_its_own_is_said(view: View, monkeypatch) -> None:
    monkeypatch.setattr("parity.report.figures.along.MOST", 1)
    assert "the first 1 of 2 cases; the table has all of them" in words_of(
        figures.draw(view, WAITS)
    )


def test_a_slope_has_the_digits_of_its_size() -> None:
    def slope(slope: float | None, low: float | None, high: float | None) -> str:
        return formatting.slope(SimpleNamespace(slope=slope, low=low, high=high))

    assert slope(0.2, 0.19, 0.21) == "0.200 s [0.190, 0.210]"
    assert slope(0.002, -0.001, 0.005) == "0.0020 s [-0.0010, 0.0050]"
    assert slope(0.2, np.nan, np.nan) == "0.200 s"
    assert slope(np.nan, np.nan, np.nan) == slope(None, None, None) == "–"
