"""The plan's preview: what it says of jobs, node-hours, time, disk, and what is not tested."""

import os
from pathlib import Path

import pandas
import pytest
from msgspec.structs import replace

from parity.benchmarks import benchmarks
from parity.core.commands import Availability
from parity.core.documents import canonical
from parity.core.files import write_json
from parity.plan.making import make_plan
from parity.plan.plan import Plan
from parity.plan.study import PILOT, Pilot, load_study
from parity.plan.system import load_system
from parity.preview import cost
from parity.preview.cost import MeasuredBefore, Surroundings, not_tested, plan_lines, seconds_before
from parity.preview.terminal import duration
from parity.software.images import ImageRecord
from parity.software.install import Probe, probe_lines
from parity.software.install import probes as probes_of

ROOT = Path(__file__).parents[3]
SNAPSHOT = Path(__file__).with_name("plan_lines.txt")
MACHINE = load_system(ROOT / "config/systems/machine.yaml")
SLURM = load_system(ROOT / "config/systems/slurm.yaml")
CLUSTER = replace(SLURM, scale_label="cluster")
HERE = Availability(True, version="1.0")
AWAY = Availability(False, reason="lxc-execute cannot be found", remedy="apt-get install lxc")


def _plan(study: str, scale: str) -> Plan:
    return make_plan(load_study(ROOT / f"config/studies/{study}.yaml", scale))


@pytest.fixture(scope="module")
def single() -> Plan:
    return _plan("torrez2019", "smoke")


@pytest.fixture(scope="module")
def scaling() -> Plan:
    return _plan("scaling", "smoke")


def _here(plan: Plan, system=MACHINE, **facts) -> Surroundings:
    known = {"jobs": 1, "done": set(), "run_bytes": 35e3}
    known["before"] = {case.name: MeasuredBefore(10.0, True) for case in plan.run_cases}
    known["images"] = {"oci": ImageRecord("oci", bytes=1_000_000_000)}
    known["probes"] = [Probe("arm", name, HERE) for name in plan.arms]
    return Surroundings(system=system, **(known | facts))


def test_durations_are_said_in_their_unit_and_places_filled_as_they_become_free() -> None:
    said = [duration(seconds) for seconds in (0, 40, 720, 12_600, 363_000)]
    assert said == ["0 s", "40 s", "12 min", "3.5 h", "4.2 days"]
    blocks = ([3] * 4, 1), ([3] * 4, 2), ([10, 1, 1, 1], 2), ([], 4)
    assert [cost.shortest_wall(*of) for of in blocks] == [12, 6, 10, 0]


def test_what_is_said_of_a_plan(single, scaling) -> None:
    """On machines and clusters that know more and less.

    Written anew where `PARITY_SNAPSHOTS` is set; read it before it is committed.
    """
    quick, published = _plan("torrez2019", "quick"), _plan("scaling", "cluster")
    mixed = {c.name: MeasuredBefore(10.0, c.benchmark != "sysbench") for c in single.cases}
    other = {case.name: MeasuredBefore(10.0, False) for case in scaling.cases}
    nothing = {"before": {}, "run_bytes": None, "images": None}
    all_blocks = {block.name for block in scaling.blocks}
    one = {scaling.blocks[0].name}
    said = {
        "one machine": plan_lines(single, _here(single)),
        "some minutes": plan_lines(quick, _here(quick)),
        "some times of other parameters": plan_lines(single, _here(single, before=mixed)),
        "a cluster": plan_lines(scaling, _here(scaling, CLUSTER, jobs=9)),
        "the virtual cluster": plan_lines(scaling, _here(scaling, SLURM, jobs=16)),
        "nothing measured": plan_lines(scaling, _here(scaling, SLURM, **nothing)),
        "other parameters": plan_lines(scaling, _here(scaling, SLURM, before=other)),
        "a block measured": plan_lines(scaling, _here(scaling, SLURM, done=one)),
        "all measured": plan_lines(scaling, _here(scaling, SLURM, done=all_blocks)),
        "the published design": plan_lines(published, _here(published, CLUSTER, jobs=16)),
    }
    text = "\n".join(line for name, lines in said.items() for line in (f"== {name}", *lines, ""))
    if os.environ.get("PARITY_SNAPSHOTS"):
        SNAPSHOT.write_text(text)
    assert SNAPSHOT.read_text() == text
    assert max(map(len, said["one machine"])) <= 80 and len(said["one machine"]) + 15 <= 40


def test_what_a_pilot_timed_here_counts_before_other_parameters(tmp_path, monkeypatch) -> None:
    plan = _plan("torrez2019", "quick")
    pilot = Pilot(
        node="n", cpu_model="", amounts={}, seconds={"likwid": 1.0, "sysbench": 0.4},
        walls={"likwid": 2.3, "sysbench": 0.4}, left_out={},
    )  # fmt: skip
    told = (("likwid-stream", 95.0, False), ("sysbench", 0.5, True), ("memory", 80.0, False))
    before = {case: MeasuredBefore(seconds, same) for case, seconds, same in told}
    piloted = {"likwid-stream": 2.3, "likwid-stream-pair": 2.3, "sysbench-pair": 0.4}
    found = {case: MeasuredBefore(seconds, True) for case, seconds in piloted.items()}
    assert cost.by_pilot(plan, pilot, before) == before | found
    # That of a campaign is known beside its plan.
    monkeypatch.chdir(tmp_path)
    assert cost.known_before(plan, tmp_path) == {}
    old = {"version": 1, "node": "n", "cpu_model": "", "amounts": {}, "left_out": {}}
    folder = tmp_path / "results/live" / plan.campaign
    folder.mkdir(parents=True)
    write_json(folder / PILOT, old | {"seconds": {"likwid": 1.0}})
    # A shorter run is taken to need its share of that.
    longer = _plan("torrez2019", "hour")
    folder.rename(folder.with_name(longer.campaign))
    write_json(folder.with_name(longer.campaign) / PILOT, old | {"seconds": {"sysbench": 1.0}})
    assert cost.known_before(longer, tmp_path) == {
        "sysbench": MeasuredBefore(1.0, True),
        "sysbench-short": MeasuredBefore(longer.shorter_of["sysbench"].share, True),
    }


def test_an_amount_says_how_much_more_work_there_is_only_where_nothing_else_differs() -> None:
    case = _plan("torrez2019", "smoke").case("likwid-stream")
    amount = case.definition.sized_by
    twice = {**case.parameters, amount: case.parameters[amount] // 2}
    assert cost._more(case, twice) == pytest.approx(2, rel=0.1)
    assert cost._more(case, {**twice, "working_set_mib": 7}) == 1


def test_every_gap_has_its_reason(scaling, monkeypatch) -> None:
    probes = [Probe("arm", "apptainer", AWAY)]
    images = {"directory": ImageRecord("directory", reason="umoci failed")}
    gaps = not_tested(scaling, _here(scaling, SLURM, probes=probes, images=images))
    assert "shifter: not packaged by Debian" in gaps
    assert "apptainer: lxc-execute cannot be found here; nodes may differ from this machine" in gaps
    assert "charliecloud-dir: its image could not be made: umoci failed" in gaps
    # Ranks that start inside of the arm need no launcher, and neither do those of containers.
    for inside in (_plan("hpcg", "machine"), _plan("beserra2015", "campaign")):
        assert not [gap for gap in (*gaps, *not_tested(inside, _here(inside))) if "launcher" in gap]
    (gap,) = [gap for gap in not_tested(scaling, _here(scaling)) if "launcher" in gap]
    assert gap.startswith("hpcc-1x1, ")
    monkeypatch.setenv("COLUMNS", "80")
    assert probe_lines(probes) == [
        "arm        apptainer            no   lxc-execute cannot be found; apt-get",
        "            install lxc",
    ]
    known = {"startup": benchmarks()["startup"]}
    asked = [(each.kind, each.name) for each in probes_of(["native-a-cpu0", "native-a"], known)]
    assert asked == [("arm", "native-a-cpu0"), ("arm", "native-a"), ("benchmark", "startup")]


def test_times_come_from_the_same_parameters_where_there_are_any(single, tmp_path) -> None:
    case = single.cases[0]
    half = {**case.parameters, "events": case.parameters["events"] // 2}
    same, other = canonical(case.parameters), canonical(half)

    def table(name: str, rows: list[tuple[str, float | None]], evidence: str = "{}") -> Path:
        path = tmp_path / name
        named = [(case.name, *row, evidence) for row in rows]
        columns = ["case", "parameters", "wall_seconds", "evidence"]
        pandas.DataFrame(named, columns=columns).to_parquet(path)
        return path

    first = table("first", [(other, 1.0), (other, None)])
    second = table("second", [(same, 2.0), (same, 4.0), (same, 100.0), (other, 9.0)])
    assert seconds_before(single, [first]) == {case.name: MeasuredBefore(2.0, False)}
    assert seconds_before(single, [first, second]) == {case.name: MeasuredBefore(4.0, True)}
    assert seconds_before(single, []) == {}
    # Of two that were on one CPU each takes half of what both did, whatever is planned.
    pairs = table("pairs", [(same, 2.0)], '{"group_seconds":"1.9"}')
    for plan in single, replace(single, pairs=(case.name,)):
        assert seconds_before(plan, [pairs]) == {case.name: MeasuredBefore(1.0, True)}
    assert cost.expected_seconds(single.blocks[0], {case.name: MeasuredBefore(4.0, True)}) is None


def test_a_run_weighs_what_finished_blocks_of_the_campaign_do(tmp_path) -> None:
    assert cost.bytes_of_a_run(tmp_path, "torrez2019-smoke") is None
    for name, size in (("torrez2019-smoke-b0001", 100_000), ("scaling-smoke-b0001", 10)):
        for run in ("a", "b"):
            folder = tmp_path / name / "runs" / run
            folder.mkdir(parents=True)
            (folder / "stdout").write_bytes(b"x" * size)
    assert cost.bytes_of_a_run(tmp_path, "torrez2019-smoke") is None
    write_json(tmp_path / "torrez2019-smoke-b0001/block.json", {})
    weight = cost.bytes_of_a_run(tmp_path, "torrez2019-smoke")
    assert weight is not None and 100_000 <= weight < 130_000
