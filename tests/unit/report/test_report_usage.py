"""Ledgers of bytes and requests: what tables, figure and sentence make of planted counters."""

import json
from pathlib import Path

import pytest
import synthetic
from figure_help import texts as words_of
from figure_help import words_apart

from parity.benchmarks import benchmarks
from parity.benchmarks.model import PARTS
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
    rows = tables.byte_ledger(view).rows
    once = ("1,024.0", "1,024.0", "1.00")
    parts = [("8", part, *once) for part in ("link", "bridge", "container's end")]
    assert [row[2:] for row in rows if row[1].startswith("Docker (bridge, routed")] == [
        *parts, ("8", "sum", "3,072.0", "3,072.0", "3.00")
    ]  # fmt: skip
    sums = {row[1]: row[-1] for row in rows if row[3] == "sum"}
    assert sorted(sums.values()) == ["1.00"] * 3 + ["3.00"] * 2


def test_the_request_ledger_is_per_gibibyte_of_the_runs_that_count(view: View) -> None:
    rows = tables.request_ledger(view).rows
    assert [row[3:] for row in rows] == 5 * [("4,000", "2,048", "1,024", "1.00", "2.00")]
    found = view.moved
    assert found.groupby("arm")["n"].max().min() == 7
    assert found[found["what"] == "sent others"]["value"].max() == 0


def test_every_figure_can_be_read_and_names_the_one_host_and_what_it_stands_for(view: View) -> None:
    drawn = {name: figures.draw(view, spec) for name, spec in SPECS.items()}
    for name, figure in drawn.items():
        end = "One host stands for their two nodes, and MooseFS for their OrangeFS."
        caption = SPECS[name].caption
        assert caption.endswith(end) and texts.caption(view, SPECS[name]).startswith(caption)
        assert words_apart(figure), name
    own = usage.figures_of("orangefs", "OrangeFS")
    assert all(spec.caption.endswith(" One host stands for their two nodes.") for spec in own)
    # How often the sum has a byte; the key has the parts that can be seen.
    assert view.shown(SPECS["moosefs-interfaces"]) == [CASE]
    said = words_of(drawn["moosefs-interfaces"])
    assert said.count("3.00 times") == 2 and said.count("1.00 times") == 3
    assert [part for part in PARTS if part in said] == ["link", "bridge", "container's end"]
