"""Figures: the same bytes twice, one for every dataset, and labels that can be read."""

import filecmp
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import pytest
import synthetic
from figure_help import boxes, drawn, in_a_row, texts, words_apart
from matplotlib.artist import Artist
from matplotlib.axes import Axes

from parity.benchmarks.description import Form
from parity.records.dataset import archived
from parity.report.answer import Bound
from parity.report.figures import compare, figures, specs, style, together
from parity.report.figures.page import page, plain_tick, scaled
from parity.report.figures.rows import Forest
from parity.report.tables import measured
from parity.report.view import View

ARMS = ("native-a", "native-b", "docker", "lxc")
FAILING = {(block, run.name): ("ran", "exit-status")
           for block in (1, 2) for run in synthetic.plan(1, ARMS).blocks[0].runs}  # fmt: skip


def view_of(folder: Path, blocks: int, arms: tuple[str, ...] = ARMS, **plants: Any) -> View:
    return synthetic.view(folder, synthetic.plan(blocks, arms), **plants)


@pytest.mark.parametrize(("blocks", "arms", "plants"), [
    (2, ("native-a", "native-b"), {}), (1, ARMS, {}), (2, ARMS, {"failures": FAILING}),
    (14, ARMS, {"effects": {("sysbench", "docker"): 5.0}}),
], ids=["native alone", "one block", "no valid run", "far apart"])  # fmt: skip
def test_any_dataset_can_be_drawn(tmp_path, blocks, arms, plants) -> None:
    made = drawn(view_of(tmp_path, blocks, arms, **plants))
    assert [name for name, figure in made.items() if not words_apart(figure)] == []


@pytest.mark.parametrize("blocks", [3, 30])
def test_no_word_is_cut_and_an_arm_without_values_is_told(tmp_path: Path, blocks: int) -> None:
    view = view_of(tmp_path, blocks, tuple(synthetic.RUNTIMES), absent={"lxc": "needs root"})
    made = drawn(view)
    for name, figure in made.items():
        assert words_apart(figure), name
        assert min(x.get_fontsize() for x in figure.findobj(plt.Text) if x.get_text()) >= 6, name
        # One that is only declared stands at the foot, one that is not here in its row.
        assert "not tested: Shifter" in texts(figure)
        assert texts(figure).count("Shifter") == 1
    assert "not tested: needs root" in texts(made[specs.FIGURES[0].name])


def test_ratios_far_apart_are_on_an_axis_that_none_below_zero_is_on(tmp_path: Path) -> None:
    effects = {("sysbench", "docker"): 512.3, ("sysbench", "lxc"): 0.01}
    figure = compare.overview(view_of(tmp_path, 8, effects=effects))
    assert all(axes.get_xlim()[0] > 0 for axes in figure.axes)
    assert words_apart(figure)


def test_a_study_without_networks_events_and_servers_shows_none_of_them(tmp_path: Path) -> None:
    view = view_of(tmp_path, 1, ("native-a", "native-b"))
    of_events = [spec for spec in specs.FIGURES if spec.table]
    others = [spec for spec in specs.FIGURES if spec.along or spec.form is Form.TIMEOUTS
              or spec.benchmark == "moosefs"]  # fmt: skip
    assert [spec.name for spec in (*of_events, *others) if view.shown(spec)] == []
    for spec in of_events:
        assert "the study has no such case of selfish" in figures.missing(view, spec)
    for table in (measured.timeouts, measured.time_in_mpi, measured.message_sizes,
                  measured.placement, measured.byte_ledger, measured.request_ledger):  # fmt: skip
        assert table(view).rows == []


def test_a_ratio_has_a_logarithmic_axis_and_one_range_for_each_metric(tmp_path: Path) -> None:
    view = view_of(tmp_path, 14, effects={("likwid", "docker"): 5.0})
    spec = next(each for each in specs.FIGURES if each.name == "bandwidth")
    shown = figures.draw(view, spec).axes
    shown = shown[len(shown) // 2 :]
    assert len(shown) > 1 and {axes.get_xscale() for axes in shown} == {"log"}
    assert len({axes.get_xlim() for axes in shown}) == 1


@pytest.mark.parametrize(("answer", "outcome", "identity", "sign"), [
    ("at-most", "equivalent", "same", "="), ("at-most", "inconclusive", "same", "≤"),
    ("costs", "equivalent", "same", "≧"), ("saves", "different", "binary differs", "<†"),
    ("cannot-tell", "inconclusive", "same", "?"),
])  # fmt: skip
def test_an_answer_has_its_sign_and_the_marks_on_top_of_it(answer, outcome, identity, sign) -> None:
    row = SimpleNamespace(answer=answer, outcome=outcome, identity=identity)
    assert compare.symbol(row) == sign


def test_a_figure_has_the_same_bytes_twice(tmp_path: Path) -> None:
    view = view_of(tmp_path / "data", 3)
    for folder in ("one", "two"):
        style.save(figures.draw(view, specs.FIGURES[0]), tmp_path / folder, "x")
        style.save(compare.overview(view), tmp_path / folder, "y")
    for name in ("x.pdf", "x.png", "y.pdf", "y.png"):
        assert filecmp.cmp(tmp_path / "one" / name, tmp_path / "two" / name, shallow=False)


def test_a_runtime_looks_the_same_whatever_else_is_there() -> None:
    few = style.arm_styles(synthetic.plan(1, ("native-a", "docker")))
    many = style.arm_styles(synthetic.plan(1))
    assert few["docker"] == many["docker"]
    looks = [(look.colour, look.marker, look.hollow) for look in many.values()]
    assert len(set(looks)) == len(looks)


def test_a_tick_is_told_in_full_unless_it_is_far_away() -> None:
    labels = {0.001: "0.001", 2.5: "2.5", 10_000: "10000", 1e5: "10⁵", -1e6: "-10⁶",
              2e12: "2·10¹²", 150_000: "1.5·10⁵"}  # fmt: skip
    assert {value: plain_tick(value, 0) for value in labels} == labels


@pytest.mark.parametrize("ends", [(0.2, 2e7), (0.5, 2e5), (0.01, 1e4)])
def test_labels_of_a_narrow_logarithmic_axis_do_not_meet(ends: tuple[float, float]) -> None:
    figure, axes = plt.subplots(figsize=(1.9, 1))
    axes.set_position((0.2, 0.3, 0.63, 0.5))
    scaled(axes, "x", ends, "log")
    figure.canvas.draw()
    labels = axes.get_xticklabels()
    assert len(boxes(labels)) > 1 and in_a_row(labels, apart=2)


def test_what_is_said_below_narrow_panels_stays_below_them() -> None:
    looks, arms = style.arm_styles(synthetic.plan(1, ARMS)), list(ARMS)
    label = "Podman, 1024 shares beside 128, unpinned"
    table = pd.DataFrame({"arm": arms, "label": label, "estimate": [0.5, 3, 40, 2e4]})
    common: dict[str, Any] = {"looks": looks, "label": "longest of all detours: difference (µs)"}
    made = [Forest("", table, scale=scale, neutral=None, **common) for scale in ("log", "symlog")]
    style.use()
    figure = page("", made * 2, 4)
    for axes in figure.axes:
        assert "\n" in axes.get_xlabel() and in_a_row(axes.get_xticklabels())
    assert in_a_row(axes.xaxis.label for axes in figure.axes)


TOLD = [
    Bound("HPCG", "Podman", 12, 0.0084, 1.004, 0.999, 1.009),
    Bound("HPCG", "LXC", 12, math.inf, 1.2, 0.9, 1.6),
    Bound("a loop", "LXC", 8, 0.5, 1.3, 1.101, 1.6),
    Bound("a loop", "Podman", 8, 0.031, 1.01, 0.98, 1.04),
]


def _texts(figure: plt.Figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(plt.Text) if text.get_text()]


def test_of_all_archives_a_cell_has_its_bound_or_a_cost_and_a_step_of_colour() -> None:
    figure = together.bounds(TOLD, {"Podman": 0.1966})
    cells = figure.axes[0].collections[0].get_array().reshape(3, 2).tolist()
    assert cells == [[0, 0], [5, 3], [5, 1]]  # of a start none; LXC, Podman
    texts = _texts(figure)
    assert texts[:6] == ["–", "+197 ms", ">", "3.1 %", "?", "0.9 %"]
    assert {"a start", "a loop", "HPCG", "Podman", "LXC"} <= set(texts)


def test_programs_of_two_systems_have_a_panel_and_a_mark_for_each() -> None:
    far = Bound("messages", "LXC", 8, math.inf, 40.0, 30.0, 50.0)
    figure = together.systems({"one": [*TOLD, far], "two": [*TOLD[:1], far], "three": []})
    shown = [axes for axes in figure.axes if axes.get_title(loc="left")]
    assert [axes.get_title(loc="left") for axes in shown] == ["HPCG"]
    marks = [line for line in shown[0].lines if line.get_marker() in "os^"]
    places = [(line.get_marker(), *map(float, line.get_xdata())) for line in marks]
    assert [(mark, [round(x, 6) for x in of]) for mark, *of in places] == [
        ("o", [0.4, 20.0]), ("s", [0.4]),
    ]  # fmt: skip
    assert {"one", "two"} <= set(texts := _texts(figure)) and "three" not in texts
    assert min(text.get_fontsize() for text in figure.findobj(plt.Text)) >= 6


def test_every_archived_system_has_a_mark_of_its_own() -> None:
    archives = Path(__file__).parents[3] / "results/archive"
    names = sorted({system for system, _ in archived(archives).values()})
    figure = together.systems({name: TOLD for name in names})
    (legend,) = figure.legends
    marks = {(line.get_marker(), line.get_markerfacecolor()) for line in legend.legend_handles}
    assert len(marks) == len(names) > 6
    figure.canvas.draw()
    box, page = legend.get_window_extent(), figure.bbox
    assert page.x0 <= box.x0 and box.x1 <= page.x1


class Untitled:
    """A narrow panel of nothing but a title and a head."""

    title, rows = "SysBench cpu, ±1 %", 3

    def __init__(self, head: str) -> None:
        self.head = head

    def draw(self, axes: Axes, is_first: bool, is_last: bool) -> dict[str, Artist]:
        return {}


def test_a_narrow_panel_s_title_does_not_end_at_its_short_head() -> None:
    heads = ("n = 32", "n = 32   ratio [95 %]", "", "n")
    figure = page("", [Untitled(head) for head in heads], 4)
    whole, parted = "SysBench cpu, ±1\u00a0%", "SysBench cpu,\n±1\u00a0%"
    titles = [axes.get_title("left") for axes in figure.axes]
    assert titles == [parted, whole, whole, parted]
