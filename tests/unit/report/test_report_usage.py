"""Ledgers of bytes and requests: what tables, figure and sentence make of planted counters."""

import json
from pathlib import Path

import pytest
import synthetic
from figure_help import texts as words_of
from figure_help import words_apart

from parity.benchmarks import benchmarks, moved
from parity.extensions.servers.benchmarks import usage
from parity.plan.making import make_plan
from parity.plan.study import load_study
from parity.report import texts
from parity.report.figures import figures, specs
from parity.report.tables import measured as tables
from parity.report.view import View

STUDY = Path(__file__).parents[3] / "config/studies/yildirim2021.yaml"
CASE, GIB = "moosefs-servers-0.25", 2**30
SPECS = {each.name: each for each in specs.FIGURES if each.benchmark == "moosefs"}
INTERFACES = SPECS["moosefs-interfaces"]
CENTRES = {"write": 100.0, "read": 250.0, "time": 4.0, "cpu_seconds_per_gigabyte": 3.0,
           "device_requests_per_second": 400.0, "network_bytes_per_gigabyte": 2.2 * GIB,
           "link_bytes_per_gigabyte": 2.1 * GIB}  # fmt: skip
METRICS = {each.metric: (CENTRES[each.metric], 0.01, each.recorded, each.better, True)
           for each in benchmarks()["moosefs"].metrics if each.metric in CENTRES}  # fmt: skip


def evidence(arm: str, block: int) -> dict[str, str]:
    """A quarter of a GiB there and back; behind a bridge twice more, under names of a run's own."""
    moved = GIB // 4
    told = {"usage_seconds": "4.0", "usage_link": "parity-link", "usage_received.lo": "4096",
            "usage_sent.lo": "4096", "usage_received.eth0": "0", "usage_sent.eth0": "0",
            "usage_disk_read_requests": "1000", "usage_disk_written_requests": "512",
            "usage_disk_read_bytes": f"{moved}", "usage_disk_written_bytes": f"{2 * moved}",
            "marker": "other"}  # fmt: skip
    crossed = ["parity-link"]
    crossed += ["parity-servers", f"veth{block}abc"] if "bridge" in arm else []
    for name in crossed:
        told |= {f"usage_received.{name}": f"{moved}", f"usage_sent.{name}": f"{moved}"}
    return told


@pytest.fixture(scope="module")
def view(tmp_path_factory) -> View:
    plan = make_plan(load_study(STUDY, "smallnetwork"))
    synthetic.ALL_CASES[CASE] = ("moosefs", 0.1, METRICS)
    rows = synthetic.records(plan)
    for run in rows["runs"]:
        told = evidence(run["arm"], run["block_number"])
        run |= {"evidence": json.dumps(told), "parameters": json.dumps({"gigabytes": "0.25"})}
    # One that failed has counters, too, and counts for nothing.
    lost = json.dumps({**evidence("native-a", 1), "usage_sent.eth0": f"{10 * GIB}"})
    rows["runs"][0] |= {"stage": "ran", "reason": "exit-status", "evidence": lost}
    return synthetic.view(tmp_path_factory.mktemp("data") / "live/y", plan, rows)


def test_every_interface_has_its_part_in_a_byte_s_way() -> None:
    names = {"parity-link": "link", "veth12ab": "container's end", "parity-servers": "bridge",
             "docker0": "others", "lo": "loopback", "eth0": "others",
             "vethernet": "container's end"}  # fmt: skip
    assert {name: usage.part_of(name, "parity-link") for name in names} == names
    # The link is a veth pair itself.
    assert usage.part_of("veth-link", "veth-link") == "link"


def test_the_byte_ledger_counts_each_crossing_once(view: View) -> None:
    table = tables.byte_ledger(view)
    rows = [row for row in table.rows if row[1].startswith("Docker (bridge, routed")]
    assert [row[2:] for row in rows] == [
        ("8", "link", "1,024.0", "1,024.0", "1.00"),
        ("8", "bridge", "1,024.0", "1,024.0", "1.00"),
        ("8", "container's end", "1,024.0", "1,024.0", "1.00"),
        ("8", "sum", "3,072.0", "3,072.0", "3.00"),
    ]
    sums = {row[1]: row[-1] for row in table.rows if row[3] == "sum"}
    assert set(sums.values()) == {"1.00", "3.00"}
    assert sum(times == "3.00" for times in sums.values()) == 2 and len(sums) == 5


def test_the_request_ledger_is_per_gibibyte_of_the_runs_that_count(view: View) -> None:
    table = tables.request_ledger(view)
    assert len(table.rows) == 5
    assert {row[3:] for row in table.rows} == {("4,000", "2,048", "1,024", "1.00", "2.00")}
    found = view.moved
    assert found.groupby("arm")["n"].max().min() == 7
    assert found[found["what"] == "sent others"]["value"].max() == 0


def test_the_figure_shows_how_often_the_sum_has_a_byte(view: View) -> None:
    assert view.shown(INTERFACES) == [CASE]
    figure = figures.draw(view, INTERFACES)
    figure.canvas.draw()
    said = words_of(figure)
    assert words_apart(figure)
    assert said.count("3.00 times") == 2 and said.count("1.00 times") == 3
    # The key has the parts that can be seen.
    assert [part for part in moved.PARTS if part in said] == ["link", "bridge", "container's end"]


def test_every_figure_can_be_read_and_names_the_one_host_and_what_it_stands_for(view: View) -> None:
    for spec in SPECS.values():
        end = "One host stands for their two nodes, and MooseFS for their OrangeFS."
        assert spec.caption.endswith(end) and texts.caption(view, spec).startswith(spec.caption)
        figure = figures.draw(view, spec)
        figure.canvas.draw()
        assert words_apart(figure), spec.name
    own = usage.figures_of("orangefs", "OrangeFS")
    assert all(spec.caption.endswith(" One host stands for their two nodes.") for spec in own)


def test_a_study_that_counts_nothing_shows_none_of_it(tmp_path: Path) -> None:
    plan = synthetic.plan(1, ("native-a", "native-b"))
    other = synthetic.view(tmp_path, plan, synthetic.records(plan))
    assert not any(other.shown(spec) for spec in SPECS.values())
    assert tables.byte_ledger(other).rows == tables.request_ledger(other).rows == []
