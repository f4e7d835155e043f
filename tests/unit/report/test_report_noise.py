"""What single events show: figures, tables and sentences of planted numbers, and of none."""

from pathlib import Path

import msgspec
import noise_tables as planted
import numpy as np
import pytest
import synthetic
from figure_help import texts as words_of
from figure_help import words_apart
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.text import Text

from parity.benchmarks.description import FigureSpec, Form
from parity.report import texts
from parity.report.figures import figures, planes, specs, style
from parity.report.tables import measured as tables
from parity.report.view import ALONE, View

SPECS = {spec.form: spec for spec in specs.FIGURES if spec.table}


@pytest.fixture(scope="module")
def view(tmp_path_factory) -> View:
    """A study of limits with all that its events give."""
    return planted.view(tmp_path_factory.mktemp("data") / "live/limits", planted.tables())


@pytest.fixture(scope="module")
def drawn(view: View) -> dict[Form, Figure]:
    """All figures of the study."""
    style.use()
    return {form: figures.draw(view, spec) for form, spec in SPECS.items()}


@pytest.mark.parametrize("spec", SPECS.values(), ids=lambda spec: spec.name)
def test_every_figure_can_be_read_and_says_what_it_counts(view: View, spec: FigureSpec) -> None:
    figure = figures.draw(view, spec)
    assert words_apart(figure)
    assert min(text.get_fontsize() for text in figure.findobj(Text)) >= 6
    assert "n: " in words_of(figure)
    assert texts.caption(view, spec).startswith(spec.caption)


def test_where_no_run_left_any_event_no_figure_is_drawn(tmp_path: Path) -> None:
    bare = planted.view(tmp_path, {}, events=False)
    for spec in SPECS.values():
        assert bare.shown(spec) == []
        assert "no run of the study left what this is made of" in figures.missing(bare, spec)


def test_arms_of_a_limit_stand_together(view: View, drawn) -> None:
    assert view.kinds == {
        ALONE: ["native-a", "native-b", "podman"],
        "quota of 100 ms": ["podman-quota-90000-of-100000-us", "podman-quota-50000-of-100000-us"],
        "quota of 50 ms": ["podman-quota-45000-of-50000-us", "podman-quota-25000-of-50000-us"],
        "quota of 10 ms": ["podman-quota-9000-of-10000-us", "podman-quota-5000-of-10000-us"],
        "shares": [f"podman-shares-{shares}-beside-512-unpinned" for shares in (1024, 512, 128)],
        "other limits": ["podman-same-cpu", "native-a-cpu0"],
    }
    panels = drawn[Form.KINDS].axes
    assert [axes.get_title(loc="left") for axes in panels] == [
        "without a limit", *[*view.kinds][1:],
    ]  # fmt: skip
    told = [text.get_text() for text in panels[1].get_legend().get_texts()]
    assert told == ["90 of 100 ms, n=8,600", "50 of 100 ms, n=8,600"]


def test_a_timeline_has_a_dot_at_each_event_on_the_axes_of_all(drawn) -> None:
    panels = drawn[Form.TIMELINES].axes
    assert len(panels) == len(planted.TITLES)
    assert len({(axes.get_xlim(), axes.get_ylim()) for axes in panels}) == 1
    half = panels[4]
    assert half.get_title(loc="left") == "Podman, 50 of 100 ms"
    (dots,) = half.get_lines()
    assert dots.get_rasterized()
    start, length = np.array(dots.get_data())
    stops = np.sort(start[length > 10_000])
    # The whole width is thirty seconds on 300 places.
    assert stops[0] == pytest.approx(0.05, abs=0.06) and np.diff(stops).max() < 0.21
    assert np.median(length[length > 10_000]) == pytest.approx(50_000, rel=0.1)


@given(st.lists(st.integers(1, 10**9), max_size=400))
def test_a_curve_is_the_share_that_is_as_long_or_longer(lengths: list[int]) -> None:
    found, shares, count = planes.curve(np.array(lengths, np.int64))
    assert count == len(lengths) and len(found) == len(shares) <= planes.POINTS
    for length, share in zip(found, shares, strict=True):
        longer = sum(each > length for each in lengths)
        assert longer / count < share <= sum(each >= length for each in lengths) / count
    if lengths:
        assert (found[0], shares[0]) == (min(lengths), 1)
        assert (found[-1], shares[-1]) == (max(lengths), 1 / count)


def test_quotas_are_drawn_and_told_beside_the_prediction(view: View, drawn) -> None:
    left, right = drawn[Form.QUOTA].axes
    names = [label.get_text() for label in left.get_yticklabels()]
    assert names[:2] == ["Podman, 90 of 100 ms", "Podman, 50 of 100 ms"]
    places = [line.get_xdata()[0] for line in left.get_lines() if line.get_marker() == "|"]
    assert places == pytest.approx([10, 50, 5, 25, 1, 5])
    off = [line.get_xdata()[0] for line in right.get_lines() if line.get_marker() == "P"]
    assert off == pytest.approx([0, 0.1, 0.2, 0.3, 0.4, 0.5])
    assert right.get_xlabel() == "observed − predicted (ms)"
    assert "band: ±1 tick (4 ms)" in words_of(left.figure)
    # In the table in ms and in ticks.
    assert tables.quota_law(view).rows[4] == (
        "Selfish: detours", "Podman, 9 of 10 ms", "6000", "10 %", "1.0",
        "1.400 [1.300, 1.500]", "0.400", "0.10",
    )  # fmt: skip


def test_a_tail_that_was_not_fitted_has_no_level(view: View, drawn) -> None:
    rows = {row[1]: row[2:] for row in tables.return_levels(view).rows}
    fitted = ("400", "5.00", "0.40 [0.20, 0.70]", "1.000 [0.400, 4.000]", "1.000", "0.31")
    assert rows["Native"] == fitted and next(iter(rows)) == "Native"
    few = rows["Podman, 128 shares beside 512, unpinned"]
    assert few == ("9", "5.00", "–", "–", "1.000", "–")
    (axes,) = drawn[Form.LEVELS].axes
    rows = [line.get_ydata()[0] for line in axes.get_lines() if line.get_marker() in "osP^X"]
    assert rows == [n for n, arm in enumerate(planted.TITLES) if "128" not in arm]


def test_where_no_tail_was_fitted_the_longest_stand_on_an_axis_with_numbers(tmp_path: Path) -> None:
    rows = [row | {"level": float("nan")} for row in planted.tables()["return_levels"]]
    (axes,) = figures.draw(
        planted.view(tmp_path, {"return_levels": rows}, events=False), SPECS[Form.LEVELS]
    ).axes
    assert len(axes.get_xticks()) > 1


def test_a_law_that_fits_badly_is_no_finding_and_a_tick_that_is_not_told_no_band(tmp_path: Path):
    rows = planted.tables()["return_levels"]
    poor = [row | {"fit": 0.01, "level": 1e9} for row in rows if row["level"]]
    row = planted.quota("podman-quota-9000-of-10000-us", 0.0) | {"tick": float("nan")}
    view = planted.view(tmp_path, {"return_levels": poor, "quota_law": [row]}, events=False)
    assert {row[5] for row in tables.return_levels(view).rows} >= {"> 10⁶ [0.400, 4.000]"}
    (axes,) = figures.draw(view, SPECS[Form.LEVELS]).axes
    assert {line.get_color() for line in axes.get_lines()} <= {"black", style.EDGE, "#f0f0f0"}
    assert "band" not in words_of(figures.draw(view, SPECS[Form.QUOTA]))
    assert tables.quota_law(view).rows[0][-1] == "–"


def test_another_case_has_one_panel_for_all_arms(tmp_path: Path) -> None:
    view = planted.view(tmp_path, planted.tables())
    (tmp_path / "events/case=selfish-detours").rename(tmp_path / "events/case=selfish-fwq")
    planted.write_events(tmp_path / "events")
    fwq = msgspec.structs.replace(view.plan.cases[0], name="selfish-fwq")
    both = synthetic.replanned(view, cases=(*view.plan.cases, fwq))
    *arms, last = figures.draw(both, SPECS[Form.TAILS]).axes
    # Those under limits stand in a figure of their own.
    assert len(arms) == len(view.kinds[""]) == 3
    assert last.get_title(loc="left") == "FWQ, all arms"
    assert len(last.get_lines()) == 1 + len(planted.TITLES)


def test_a_replay_has_a_panel_for_each_kind_and_step(view: View, drawn) -> None:
    panels = drawn[Form.REPLAY].axes
    assert len(panels) == len(view.kinds) * len(planted.STEPS)
    assert [axes.get_title(loc="left") for axes in panels[:5]] == [
        "0.1 ms", "1 ms", "10 ms", "100 ms", "1 s",
    ]  # fmt: skip
    # Of each arm a full line, a broken one, and of both hollow points beyond 2^17 ranks.
    lines = {line.get_label(): line for line in reversed(panels[5].get_lines())}
    half = lines["podman-quota-50000-of-100000-us"]
    assert half.get_ydata()[-1] == pytest.approx(1 + 0.05 / 1e-4)
    hollow = [line for line in panels[5].get_lines() if line.get_marker() == "o"]
    assert [sorted({*line.get_xdata()}) for line in hollow] == 2 * [[2**18, 2**19, 2**20]]
