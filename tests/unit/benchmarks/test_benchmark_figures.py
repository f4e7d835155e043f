"""What every benchmark says of its metrics and figures, whichever benchmarks there are."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from parity.benchmarks import benchmark_of, benchmarks
from parity.benchmarks.description import OF_ANY, FigureSpec, Form, Quantity
from parity.benchmarks.model import described
from parity.benchmarks.sysbench import SysbenchCpu
from parity.core.errors import UserError
from parity.extensions.networks.benchmarks import network
from parity.report.figures import specs

ROOT = Path(__file__).parents[3]
each = pytest.mark.parametrize("benchmark", benchmarks().values(), ids=lambda known: known.name)


class Plain(SysbenchCpu):
    """A benchmark that brings no figure."""

    name = "plain"
    title = "Plain one"
    figures = ()


@each
def test_what_is_compared_and_drawn_is_declared(benchmark) -> None:
    names = [quantity.metric for quantity in benchmark.metrics]
    assert len(set(names)) == len(names) and set(benchmark.primary) <= set(names)
    for spec in benchmark.figures:
        assert set(spec.quantities) <= set(benchmark.metrics)
    for quantity in benchmark.metrics:
        assert quantity.label and quantity.unit
        assert quantity.better in ("lower", "higher", "neither")
        assert bool(quantity.shown) == (quantity.factor != 1)
    levels = {level for known in benchmark.factors.values() for level in known}
    explained = {level for spec in benchmark.figures for level in spec.levels}
    assert set(benchmark.spelt) | explained <= levels


@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("results/archive/*/records/metrics.parquet")), ids=str
)
def test_what_was_archived_is_declared(path: Path) -> None:
    columns = ["benchmark", "metric", "unit", "better", "clock"]
    found = pq.read_table(path, columns=columns).group_by(columns).aggregate([]).to_pylist()
    cases = json.loads((path.parents[1] / "plan.json").read_text())["cases"]
    # A program that the study describes is known by its command, which is in the plan alone.
    known_by = {
        case["benchmark"]: benchmark_of(case["benchmark"], case["parameters"]) for case in cases
    }
    for row in found:
        declared = (*known_by[row["benchmark"]].metrics, *network.METRICS, *OF_ANY)
        known = {quantity.metric: quantity for quantity in declared}
        quantity = known[row["metric"]]
        assert (quantity.recorded, quantity.better, quantity.clock) == (
            row["unit"], row["better"], row["clock"],
        )  # fmt: skip


def test_a_benchmark_without_a_figure_gets_a_plain_one_after_all_others() -> None:
    known = [Plain(), *benchmarks().values()]
    made = specs.figures_of(known)
    assert made[:-1] == specs.FIGURES
    plain = made[-1]
    assert (plain.name, plain.benchmark, plain.title) == ("plain", "plain", "Plain one")
    assert [quantity.metric for quantity in plain.quantities] == ["time"] and plain.in_rows
    assert "computing time (s)" in plain.caption


def test_what_cannot_be_drawn_is_refused() -> None:
    class Undeclared(Plain):
        metrics = ()

    with pytest.raises(UserError, match="none of its metrics"):
        specs.figures_of([Undeclared()])
    with pytest.raises(UserError, match="two figures are called sysbench"):
        specs.figures_of([SysbenchCpu(), SysbenchCpu()])


@pytest.mark.parametrize(("text", "problem"), [
    ("figures: [{name: x, quantities: [time], title: X, caption: Y, in_row: true}]", "in_row"),
    ("figures: [{name: x, quantities: [rate], title: X, caption: Y}]", "rate"),
    ("figures: [{name: x, quantities: [time], title: X}]", "caption"),
    ("parameter: {}", "parameter"),
])  # fmt: skip
def test_a_description_with_a_mistake_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "toy.yaml").write_text(text)
    with pytest.raises((ValueError, KeyError), match=problem):
        described(str(tmp_path / "toy.py"), (Quantity("time", "time", "s", "lower"),))


def test_each_part_of_a_description_may_be_left_out(tmp_path: Path) -> None:
    time = Quantity("time", "time", "s", "lower")
    (tmp_path / "toy.yaml").write_text(
        "figures: [{name: x, quantities: [time], title: X, caption: Y, form: ladder}]"
    )
    figure = FigureSpec("x", (time,), "X", "Y", form=Form.LADDER)
    known = described(str(tmp_path / "toy.py"), (time,))
    assert known == {"metrics": (time,), "figures": (figure,)}
    (tmp_path / "toy.yaml").write_text("note: A caveat.")
    assert described(str(tmp_path / "toy.py")) == {"metrics": (), "note": "A caveat."}
    assert described(str(tmp_path / "none.py")) == {"metrics": ()}


def test_side_by_side_each_benchmark_has_one_figure_and_that_is_of_cpu_time() -> None:
    made = specs.figures_of(benchmarks().values(), paired=True)
    assert sorted(spec.name for spec in made) == sorted(benchmarks())
    for spec in made:
        (shown,) = spec.quantities
        assert (shown.metric, shown.better) == ("cpu_seconds", "lower")
        assert "reports" not in spec.caption
        assert specs.quantity(spec.name, shown.metric, "s") == shown
    as_well = specs.figures_of(benchmarks().values(), pairs=["sysbench"])
    (added,) = {spec.name for spec in as_well} - {spec.name for spec in specs.FIGURES}
    assert added == "sysbench-pair"
