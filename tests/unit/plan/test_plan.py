"""The plan: the same bytes each time, every run once per block, each archived shape is read."""

import hashlib
import json
import random
from collections import Counter
from pathlib import Path
from unittest.mock import Mock

import msgspec
import pytest
from plans import plan_of, study_of

from parity.analysis.contrast import natives
from parity.benchmarks import benchmarks
from parity.core.documents import canonical
from parity.core.errors import UserError
from parity.core.files import digest
from parity.core.settings import load_yaml
from parity.plan.making import make_plan
from parity.plan.plan import PLAN, PLAN_VERSION, plan_digest, read_plan
from parity.plan.study import Pilot, load_study

ROOT = Path(__file__).parents[3]
STUDY, ARCHIVE = ROOT / "config/studies/torrez2019.yaml", ROOT / "results/archive"
CONTENT = json.loads(canonical(plan_of({"arms": ["native-a", "native-b"]})))
SHAPES = {"machine-2026-11-20": 1, "slurm-2026-11-21": 2}
SHAPES |= {f"machine-{study}-2026-11-21": 3 for study in ("hpcg", "ladder", "libaio")}


@pytest.fixture(scope="module")
def study():
    return load_study(STUDY, "smoke")


def test_each_block_runs_every_arm_of_every_case_once_and_each_arm_is_compared(study) -> None:
    plan = make_plan(study)
    assert canonical(plan) == canonical(make_plan(load_study(STUDY, "smoke")))
    cells = {(case.name, arm) for case in study.cases for arm in study.arms}
    for block in plan.blocks:
        assert Counter((run.case, run.arm) for run in block.runs) == Counter(cells)
    for case in plan.cases:
        for metric in case.primary:
            arms = [c.arm for c in plan.comparisons if (c.case, c.metric) == (case.name, metric)]
            assert arms == [arm for arm in study.arms if arm != study.reference]
    assert plan.block(plan.blocks[1].name).number == 2
    with pytest.raises(KeyError, match="no block"):
        plan.block("torrez2019-smoke-b0001-00000000")
    with pytest.raises(KeyError):
        plan.case("linpack")


def test_who_provides_the_programs_is_the_study_s_choice_and_nobody_else_s(study) -> None:
    assert make_plan(study).provider == "system"
    assert make_plan(msgspec.structs.replace(study, provider="spack")).provider == "spack"
    for name in ("hpcc", "netpipe"):
        by_system, by_spack = map(benchmarks()[name].provided_by, ("system", "spack"))
        assert by_system is benchmarks()[name] and by_spack.provided_by("spack") is by_spack
        assert by_spack.binaries[0].startswith("/opt/parity/debian12/view/")
        assert (by_spack.name, by_spack.primary) == (by_system.name, by_system.primary)
    for name in ("hpcg", "sysbench"):
        same = {id(benchmarks()[name].provided_by(each)) for each in ("system", "spack")}
        assert same == {id(benchmarks()[name])}


def test_values_of_a_parameter_are_crossed_with_each_other_and_with_levels(tmp_path) -> None:
    document = load_yaml(STUDY)
    document["benchmarks"]["likwid"]["factors"] = {"kernel": ["copy", "triad"]}
    document["benchmarks"]["likwid"]["parameters"] = {"threads": [1, 2]}
    document["scales"] = {"smoke": {"blocks": 1, "parameters": {"likwid": {"iterations": [5, 7]}}}}
    cases = [case for case in study_of(tmp_path, **document).cases if case.benchmark == "likwid"]
    assert [case.name for case in cases] == [
        f"likwid-{kernel}-threads_{threads}-iterations_{iterations}"
        for kernel in ("copy", "triad")
        for threads in (1, 2)
        for iterations in (5, 7)
    ]
    last = cases[-1].parameters
    assert (last["kernel"], last["threads"], last["iterations"]) == ("triad", 2, 7)


def test_the_arms_of_a_case_follow_each_other_in_an_order_of_block_case_and_seed(study) -> None:
    blocks, width = make_plan(study).blocks, len(study.arms)
    for block in blocks:
        for start in range(0, len(block.runs), width):
            assert len({run.case for run in block.runs[start : start + width]}) == 1
        orders = {tuple(r.arm for r in block.runs if r.case == c.name) for c in study.cases}
        assert len(orders) > 1
    assert blocks[0].runs != blocks[1].runs
    other = make_plan(msgspec.structs.replace(study, seed=study.seed + 1)).blocks
    assert other[0].runs != blocks[0].runs


def test_designs_are_balanced_and_drawn_once_and_no_run_is_made_twice(study, monkeypatch) -> None:
    drawn = Mock(wraps=random.Random)
    monkeypatch.setattr(random, "Random", drawn)
    # A seed of its own, which no other test has left designs of. Nine arms: 18 blocks a design.
    designs, cases, width = 3, len(study.cases), len(study.arms)
    many = msgspec.structs.replace(study, blocks=18 * designs, seed=20261121)
    plan = make_plan(many)
    seeds = {call.args for call in drawn.call_args_list}
    assert drawn.call_count == len(seeds) == many.blocks + designs * cases
    runs = [(run, at % width) for block in plan.blocks for at, run in enumerate(block.runs)]
    assert len({id(run) for run, _ in runs}) == cases * width
    assert {*Counter((run.case, run.arm, at) for run, at in runs).values()} == {2 * designs}


def test_a_block_is_named_by_what_it_does_and_more_blocks_or_another_margin_keep_it(study) -> None:
    plan, replace, case = make_plan(study), msgspec.structs.replace, study.cases[0]
    assert make_plan(replace(study, blocks=10)).blocks[: study.blocks] == plan.blocks
    changed = replace(case, parameters={**case.parameters, "events": 1})
    other = make_plan(replace(study, cases=(changed, *study.cases[1:])))
    assert other.blocks[0].name != plan.blocks[0].name
    wider = make_plan(replace(study, cases=tuple(replace(c, margin=0.5) for c in study.cases)))
    assert wider.blocks == plan.blocks and wider.comparisons != plan.comparisons


def test_cases_of_a_node_count_form_blocks_of_that_many_nodes() -> None:
    plan = make_plan(load_study(STUDY.with_name("scaling.yaml"), "smoke"))
    assert len(plan.blocks) == len({block.name for block in plan.blocks}) == 9
    for block in plan.blocks:
        assert {plan.case(run.case).nodes for run in block.runs} == {block.nodes}
        assert f"-n{block.nodes}-b{block.number:04d}-" in block.name


def test_an_archived_plan_keeps_the_order_it_was_measured_in() -> None:
    plan = make_plan(load_study(STUDY, "machine"))
    archived = read_plan(ARCHIVE / "machine-2026-11-20" / PLAN)
    # The same runs in independent shuffles, as was done then; each block's name says so.
    assert len(plan.blocks) == len(archived.blocks) == 30
    for planned, measured in zip(plan.blocks, archived.blocks, strict=True):
        assert planned.runs != measured.runs and planned.name != measured.name
        assert set(planned.runs) == set(measured.runs)
        assert planned.name.rpartition("-")[0] == measured.name.rpartition("-")[0]


def _paired(tmp_path, design="side-by-side", **changes):
    size = {"blocks": 4, "benchmarks": ["sysbench", "likwid"], "design": design} | changes
    return make_plan(study_of(tmp_path, **load_yaml(STUDY) | {"scales": {"smoke": size}}))


@pytest.mark.parametrize("design", ["side-by-side", "side-by-side-or-in-turn"])
def test_side_by_side_a_block_is_an_arm_and_the_reference_in_each_case(tmp_path, design) -> None:
    plan = _paired(tmp_path, design)
    others = [arm for arm in plan.arms if arm != plan.reference]
    assert plan.design == design
    assert Counter(block.number for block in plan.blocks) == dict.fromkeys(
        (1, 2, 3, 4), len(others)
    )
    first = Counter()
    for block in plan.blocks:
        (arm,) = {run.arm for run in block.runs} - {plan.reference}
        for run, beside in zip(block.runs[::2], block.runs[1::2], strict=True):
            assert run.case == beside.case and {run.arm, beside.arm} == {arm, plan.reference}
            first[arm, run.case] += run.arm == arm
        assert {run.case for run in block.runs} >= {"sysbench"}
    assert plan.blocks_of == dict.fromkeys((case.name for case in plan.cases), 4)
    # Who is started first takes turns, and which pair comes first is drawn.
    assert set(first.values()) == {2}
    assert len({block.runs[0].arm for block in plan.blocks if block.number == 1}) > 1
    assert {each.metric for each in plan.comparisons} == {"cpu_seconds"}
    assert len({block.name for block in plan.blocks}) == len(plan.blocks)
    assert canonical(_paired(tmp_path, design)) == canonical(plan)


def test_pairs_stand_beside_what_is_in_turn_as_cases_of_their_own(tmp_path) -> None:
    given = {"design": "in-turn", "pairs": ["sysbench"], "short": {"sysbench": 0.2}}
    plan = _paired(tmp_path, **given)
    alone = _paired(tmp_path, design="in-turn")
    again = ("sysbench-pair", "sysbench-pair-short")
    assert plan.pairs == again and not (plan.is_paired or alone.pairs)
    # In turn a program tells its time without a start.
    assert [run.of for run in plan.shorter] == [again[0]]
    assert plan.case(again[0]).parameters == plan.case("sysbench").parameters
    assert plan.case(again[0]).primary[0] == "cpu_seconds" != plan.case("sysbench").primary[0]
    others = [arm for arm in plan.arms if arm != plan.reference]
    for number in (1, 2, 3, 4):
        together, *pairs = (block for block in plan.blocks if block.number == number)
        cases = {run.case for run in together.runs}
        assert cases == {case.name for case in plan.run_cases} - {*again}
        assert {run.case for block in pairs for run in block.runs} == {*again}
        arms = [{run.arm for run in block.runs} - {plan.reference} for block in pairs]
        assert sorted(arm for (arm,) in arms) == sorted(others)
    assert [(each.case, each.arm) for each in alone.comparisons] == [
        (each.case, each.arm) for each in plan.comparisons if each.case != again[0]
    ]
    assert natives(plan, "sysbench") == plan.aa_pair and natives(plan, again[0]) == ("native-a",)
    with pytest.raises(UserError, match="hpcc") as refused:
        _paired(tmp_path, **given | {"pairs": ["hpcc"]})
    assert refused.value.where.endswith("scales.smoke.pairs")


def test_what_a_pilot_saw_decides_the_design_and_only_where_the_scale_says_so(tmp_path) -> None:
    given = {"design": "in-turn", "busy": "side-by-side", "pilot": True, "pairs": ["sysbench"]}
    assert not _paired(tmp_path, **given).is_paired
    found = Pilot(
        design="side-by-side", node="n", cpu_model="", amounts={"sysbench": {"events": 700}},
        seconds={}, walls={}, left_out={},
    )  # fmt: skip
    plan = make_plan(load_study(tmp_path / "study.yaml", "smoke", found=found))
    assert not plan.pairs and plan.design == "side-by-side"
    assert {case.primary for case in plan.cases} == {("cpu_seconds",)}
    assert plan.case("sysbench").parameters["events"] == 700
    # Where the scale asks for no design of the pilot's, its own holds.
    assert _paired(tmp_path, design="side-by-side-or-in-turn", pilot=True).is_paired
    plan = make_plan(load_study(tmp_path / "study.yaml", "smoke", found=found))
    assert plan.design == "side-by-side-or-in-turn"
    with pytest.raises(UserError, match="only a pilot sees whether"):
        _paired(tmp_path, **given | {"pilot": False})


@pytest.mark.parametrize(("given", "said"), [
    ({"parameters": {"likwid": {"threads": 2}}}, "likwid-copy has ranks or threads"),
    ({"design": "abreast"}, "abreast"),
])  # fmt: skip
def test_what_cannot_be_side_by_side_is_refused_with_its_scale(tmp_path, given, said) -> None:
    with pytest.raises(UserError, match=said) as raised:
        _paired(tmp_path, **given)
    assert "scales.smoke.design" in raised.value.where


def test_a_site_s_own_software_is_a_part_of_what_a_block_does(tmp_path):
    path, prefix = STUDY.with_name("yildirim2021.yaml"), tmp_path / "prefix"
    prefix.mkdir()
    software, blocks = dict.fromkeys(("orangefs", "ior", "other"), str(prefix)), []
    for version in ("one", "two"):
        (prefix / "program").write_text(version)
        study = load_study(path, "orangetrial", software=software)
        assert study.needs == {str(prefix): digest(prefix)}
        blocks.append(make_plan(study).blocks[0].name)
    assert blocks[0] != blocks[1]
    # With less than all that it takes a benchmark is as without any.
    assert not load_study(path, "orangetrial", software={"ior": str(prefix)}).needs
    with pytest.raises(UserError, match="software of the system's file: ior") as refused:
        load_study(path, "orangetrial", software=software | {"ior": "/nowhere"})
    assert "/nowhere cannot be read" in str(refused.value)


@pytest.mark.parametrize("archive", sorted(path.name for path in ARCHIVE.iterdir()))
def test_every_archived_plan_is_read_and_keeps_its_digest(archive: str) -> None:
    path = ARCHIVE / archive / PLAN
    plan, content = read_plan(path), json.loads(path.read_text())
    assert plan.version == PLAN_VERSION
    shape = 1 + ("nodes" in content["blocks"][0]) + ("provider" in content)
    assert shape == SHAPES.get(archive, shape)
    old = {
        "looks": [], "minutes": None, "blocks_per_job": 1, "positive_control": None,
        "design": "in-turn", "shorter": [], "pairs": [],
    }  # fmt: skip
    now = {"version": PLAN_VERSION, "blocks": [{"nodes": 1} | each for each in content["blocks"]]}
    assert json.loads(canonical(plan)) == old | {"provider": "system"} | content | now
    # What is registered is the file as it is, not what is made of it; of a plan with looks without
    # its minutes.
    if content["version"] > 7 and content["looks"]:
        content["minutes"] = None
    assert plan_digest(path) == hashlib.sha256(canonical(content).encode()).hexdigest()


@pytest.mark.parametrize("looks", [[], [1]])
def test_minutes_are_registered_where_no_look_says_when_to_stop(looks, tmp_path: Path) -> None:
    digests = set()
    for minutes in (None, 9.0, 60.0):
        (tmp_path / PLAN).write_text(json.dumps(CONTENT | {"looks": looks, "minutes": minutes}))
        digests.add(plan_digest(tmp_path / PLAN))
    assert len(digests) == (1 if looks else 3)
