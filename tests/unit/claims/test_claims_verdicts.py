"""The algebra of verdicts: gates, conjunctions, families, and what a kind of system may say."""

import math
from dataclasses import replace
from pathlib import Path

import claims_data as data
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from parity.claims import judging, terms
from parity.claims.cells import JudgingData
from parity.claims.finding import Finding
from parity.claims.verdicts import TABLES

EQUIVALENCE = data.same()
DEARER = data.test_of("direction", expect="costs-more", smallest_effect_percent=5)
BOTH = data.same({"arms": ["box", "crate"]})


def judged(folder: Path, tests: list[dict], values: dict, label: str = "vm", **options):
    """The judgement on one claim with these tests."""
    changes = {key: options.pop(key) for key in ("kind", "scales") if key in options}
    known = data.register(folder, data.claim(*tests, **changes))
    return data.verdicts(known, data.dataset(values, label=label, **options))


def verdict(folder: Path, tests: list[dict], values: dict, label: str = "vm", **options):
    return data.row(judged(folder, tests, values, label, **options))


# ------------------------------------------------------------------------------- the gates


def test_an_open_control_stops_equivalence_and_not_a_difference(tmp_path: Path) -> None:
    values = data.quiet(box=1.0045) | {("spin", "native-b"): data.around(1.009, 5)}
    found = verdict(tmp_path, [EQUIVALENCE], values)
    assert (found.verdict, found.control) == ("inconclusive", "inconclusive")
    # The smallest margin that would pass is that of the A/A pair.
    assert found.smallest_margin > 0.01 and "A/A pair is not equivalent" in found.reason
    values[("spin", "box")] = data.around(1.2, 8)
    assert verdict(tmp_path, [EQUIVALENCE], values).verdict == "contradicted"


def test_other_libraries_and_unknown_ones_neither_support_nor_contradict(tmp_path: Path) -> None:
    """A claim on binaries that are identical by hash passed without any hash."""
    for digest, box, identity in (
        ("f" * 64, 1.0, "libraries differ"), ("f" * 64, 1.2, "libraries differ"),
        ("", 1.0, "not recorded"),
    ):  # fmt: skip
        values, libraries = data.quiet(box=box), {"box": digest}
        found = judged(tmp_path, [EQUIVALENCE], values, libraries=libraries)
        assert data.row(found).verdict == "inconclusive"
        assert found.evidence["identity"].iloc[0] == identity
        assert not digest or data.row(found).reason.startswith("confounded: libraries differ")
    unknown = {"kind": "direction", "libraries": {"box": ""}}
    assert verdict(tmp_path, [DEARER], data.quiet(box=1.2), **unknown).verdict == "supported"


@pytest.mark.parametrize("counted", [0, 1])
def test_too_few_blocks_are_inconclusive(tmp_path: Path, counted: int) -> None:
    values = data.quiet(blocks=4)
    values[("spin", "box")] = [1.0] * counted + [math.nan] * (4 - counted)
    found = verdict(tmp_path, [EQUIVALENCE], values)
    assert found.verdict == "inconclusive"
    assert found.reason == f"too few blocks: {counted} of at least 2 (exit-status)"
    assert found.blocks == counted


# ------------------------------------------------------------------- what the data do not hold


@pytest.mark.parametrize("cells, reason", [
    ({"benchmark": "other"}, "the dataset holds no case of other: not packaged"),
    ({"benchmark": "third"}, "the dataset holds no case of third"),
    ({"parameters": {"nodes": [8, 9]}}, "holds no case of spin with nodes 8 and 9"),
    ({"parameters": {"colour": "red"}}, "holds no case of spin with colour red"),
    ({"metric": "sound"}, "spin gives no sound here"),
    ({"arms": ["barrel"]}, "the dataset has no arm barrel"),
    ({"arms": ["shifter"]}, "shifter: nowhere to be had"),
    ({"against": "barrel"}, "the dataset has no arm barrel"),
])  # fmt: skip
def test_what_is_not_there_is_not_tested_and_said(tmp_path: Path, cells, reason: str) -> None:
    gaps = [{"benchmark": "other", "reason": "not packaged"},
            {"arm": "shifter", "reason": "nowhere to be had"}]  # fmt: skip
    case = data.CASE | {"parameters": {"nodes": 1}}
    found = verdict(tmp_path, [data.same(cells)], data.quiet(), cases=[case], not_tested=gaps)
    assert found.verdict == "not-tested" and reason in found.reason
    assert (found.blocks, found.cells, found.control) == (0, 0, "none")
    assert math.isnan(found.estimate)


def test_an_arm_that_could_not_be_started_is_not_tested(tmp_path: Path) -> None:
    values = {key: v for key, v in data.quiet().items() if key[1] != "box"}
    failed = {("spin", "box"): "not-tested: no daemon"}
    found = verdict(tmp_path, [EQUIVALENCE], values, failed=failed)
    assert (found.verdict, found.reason) == ("not-tested", "box: no daemon")


def test_a_parameter_chooses_cases(tmp_path: Path) -> None:
    values, cases = data.levels(1.0, 1.2, along="level")
    for level, expected in ((1, "supported"), (2, "contradicted"), ([1, 2], "contradicted")):
        test = data.same({"parameters": {"level": level}})
        assert verdict(tmp_path, [test], values, cases=cases).verdict == expected


# ----------------------------------------------------------------------------- conjunctions


def found(ended: str, **facts) -> Finding:
    return replace(Finding("c", "m", "a", "b", ended, "because"), **facts)


@pytest.mark.parametrize("parts, whole", [
    (("supported", "supported"), "supported"), (("supported", "order-ok"), "order-ok"),
    (("supported", "inconclusive"), "inconclusive"),
    (("supported", "not-tested", "inconclusive"), "not-tested"),
    (("supported", "holds-in-part"), "holds-in-part"),
    (("holds-in-part", "order-ok"), "order-ok"), (("not-tested", "differs"), "differs"),
    (("contradicted", "not-tested", "differs"), "contradicted"),
])  # fmt: skip
def test_all_must_hold(parts: tuple, whole: str) -> None:
    assert judging.verdict_of([found(part) for part in parts]) == whole


def test_the_decisive_finding_is_the_most_strained_of_its_verdict() -> None:
    findings = [found("supported", strain=9.0), found("inconclusive", strain=1.0),
                found("inconclusive", strain=2.0, arm="x")]  # fmt: skip
    assert judging.decisive(findings).arm == "x"


def test_one_wrong_arm_contradicts_and_is_named(tmp_path: Path) -> None:
    row = verdict(tmp_path, [BOTH], data.quiet(box=1.0, crate=1.3))
    assert (row.verdict, row.cells) == ("contradicted", 2)
    assert row.reason.startswith("crate in spin: 95 % interval")
    assert row.reason.endswith("1 of 2 comparisons against it")


@pytest.mark.parametrize(
    ("box", "ended"), [(1.0, "holds-in-part"), (1.008, "inconclusive"), (1.3, "contradicted")]
)
def test_without_an_arm_a_claim_holds_in_part(tmp_path: Path, box: float, ended: str) -> None:
    """What a system cannot run left a claim not-tested, whatever the other arms showed."""
    some = {"arms": ["box", "barrel"]}
    row = verdict(tmp_path, [data.same(some)], data.quiet(box=box))
    assert (row.verdict, row.cells) == (ended, 1)
    assert row.reason.endswith("; not tested: the dataset has no arm barrel")
    # P is that of what is there.
    dearer = DEARER | {"cells": DEARER["cells"] | some}
    row = verdict(tmp_path, [dearer], data.quiet(box=1.3), kind="direction")
    assert row.verdict == "holds-in-part" and row.p_adjusted < 1e-6


def test_what_is_missing_beside_what_is_there(tmp_path: Path) -> None:
    tests = [EQUIVALENCE, data.same({"benchmark": "other"})]
    row = verdict(tmp_path, tests, data.quiet())
    assert row.verdict == "not-tested"
    assert row.reason == "the dataset holds no case of other; of what is there: 1 supported"
    assert verdict(tmp_path, tests, data.quiet(box=1.3)).verdict == "contradicted"


@pytest.mark.parametrize(
    ("label", "box", "ended"),
    [("vm", 1.3, "contradicted"), ("cluster", 1.3, "supported"), ("cluster", 1.0, "contradicted")],
)
def test_a_test_may_be_for_one_kind_of_system(tmp_path, label: str, box: float, ended: str) -> None:
    """On several nodes the box is to cost more, and on one it is to be the same."""
    here = EQUIVALENCE | {"system": "machine", "instead_of": "one node"}
    there, values = DEARER | {"system": "cluster"}, data.quiet(box=box)
    row = verdict(tmp_path, [here, there], values, label, kind="direction")
    assert (row.verdict, row.cells) == (ended, 1)
    assert row.proxy == ("one node" if label == "vm" else "")
    alone = verdict(tmp_path, [there], values, kind="direction")
    said = "this kind of system (vm) cannot test it; a cluster can"
    assert (alone.verdict, alone.reason) == ("not-tested", said)


def test_what_is_read_into_a_number_stands_beside_its_verdict(tmp_path: Path) -> None:
    read = DEARER | {"reading": "read as work"}
    found = judged(tmp_path, [EQUIVALENCE, read], data.quiet(), kind="direction")
    row = data.row(found)
    assert (row.verdict, row.cells) == ("supported", 1)
    assert "; read as work: contradicted, ratio [" in row.reason
    assert found.evidence["counts"].tolist() == [True, False]


@pytest.mark.parametrize(
    "benchmark, reason", [("other", "it needs more nodes"), ("spin", "95 % interval")]
)
def test_what_it_takes_is_said_where_nothing_was_tested(tmp_path, benchmark, reason: str) -> None:
    test, made = data.same({"benchmark": benchmark}), data.dataset(data.quiet(box=1.3))
    row = data.row_of(tmp_path, test, made, needs="more nodes")
    assert row.reason.startswith(reason)


def test_two_tests_must_both_hold(tmp_path: Path) -> None:
    tests = [EQUIVALENCE, DEARER | {"cells": DEARER["cells"] | {"arms": ["crate"]}}]
    row = verdict(tmp_path, tests, data.quiet(crate=1.2), kind="direction")
    assert (row.verdict, row.cells) == ("supported", 2)
    assert verdict(tmp_path, tests, data.quiet()).verdict == "contradicted"


# ----------------------------------------------------------------------------- multiplicity


def test_one_of_many_comparisons_may_lie_outside_by_chance() -> None:
    near = found("contradicted", p_against=0.02)
    clear = found("contradicted", p_against=1e-6)
    others = [found("supported", p_against=0.9)] * 9
    assert judging.corrected([near])[0].verdict == "contradicted"
    weak = judging.corrected([near, *others])[0]
    assert weak.verdict == "inconclusive" and "among 10 comparisons" in weak.reason
    assert judging.corrected([clear, *others])[0].verdict == "contradicted"


def _borderline(folder: Path, size: int, kind: str = "direction", test=DEARER, **options):
    """As many claims whose one-sided p lies between 0.025 and 0.05, and that p."""
    values = data.quiet(spread=0.02)
    base = np.array(values["spin", "native-a"])
    values["spin", "box"] = list(base * np.exp(data.noise(4, spread=1.0) + 0.36))
    claims = [data.claim(test, name=f"c{n}", kind=kind) for n in range(size)]
    found = data.verdicts(data.register(folder, *claims), data.dataset(values, **options))
    logs = {arm: np.log(values["spin", arm]) for arm in ("native-a", "native-b", "box")}
    p = max(stats.wilcoxon(logs["box"] - logs[native], alternative="greater").pvalue
            for native in ("native-a", "native-b"))  # fmt: skip
    return found.verdicts, p


def test_one_sided_claims_of_a_family_are_corrected(tmp_path: Path) -> None:
    alone, p = _borderline(tmp_path, 1)
    assert alone["verdict"].tolist() == ["supported"] and 0.025 < p < 0.05
    assert alone["p_adjusted"].iloc[0] == pytest.approx(p)
    two, _ = _borderline(tmp_path, 2)
    assert two["verdict"].tolist() == ["inconclusive"] * 2
    assert two["p_adjusted"].tolist() == pytest.approx([2 * p] * 2)
    assert two["p_value"].tolist() == pytest.approx([p] * 2)
    assert two["reason"].iloc[0].startswith(f"p = {2 * p:.3f} after Holm's correction for 2 claims")


def test_equivalence_is_not_corrected(tmp_path: Path) -> None:
    claims = [data.claim(EQUIVALENCE, name=f"c{n}") for n in range(20)]
    frame = data.verdicts(data.register(tmp_path, *claims), data.dataset(data.quiet())).verdicts
    assert set(frame["verdict"]) == {"supported"}
    assert frame["p_adjusted"].isna().all()


def test_an_absent_arm_does_not_leave_the_family(tmp_path: Path) -> None:
    """With one arm absent a claim was contradicted at a p that its family does not let pass."""
    test, more = (
        data.test_of("direction", {"arms": arms}, expect="costs-less", smallest_effect_percent=0.05)
        for arms in (["box"], ["box", "kvm"])
    )
    claims = [data.claim(test, name=f"c{n}", kind="direction") for n in range(8)]
    for size, expected in ((1, "contradicted"), (9, "inconclusive")):
        lacking = [*claims[: size - 1], data.claim(more, name="lacking", kind="direction")]
        known = data.register(tmp_path, *lacking)
        made = data.verdicts(known, data.dataset(data.quiet(box=1.0032)))
        assert data.row(made, "lacking").verdict == expected
        assert size == 1 or data.row(made, "c0").p_adjusted == pytest.approx(1)


def test_a_claim_on_most_cells_has_the_p_of_most(tmp_path: Path) -> None:
    """Five of eight that pass at 0.01 are most at 0.04, and this is what a family corrects."""
    test = data.test_of("direction", expect="costs-more", smallest_effect_percent=1,
                        of_cells="most")  # fmt: skip
    known = data.register(tmp_path, data.claim(test)).claims[0]
    passed, others = found("supported", p_value=0.01, p_against=0.99), found("inconclusive")
    cells = [passed] * 5 + [others] * 3
    pool = tuple(replace(each, case=f"c{place}", test=1) for place, each in enumerate(cells))
    one = judging.Verdict(known, "full", "supported", "", pool)
    assert one.p_values == pytest.approx((0.04, 1.0))


def test_an_interaction_is_of_a_family_too(tmp_path: Path) -> None:
    """It says which of two levels costs more, and was never corrected."""
    cases = [{**data.CASE, "case": f"spin-{n}", "parameters": {"n": n}} for n in (1, 2)]
    values = data.quiet("spin-1") | {
        (case, arm): [1.1 * value for value in numbers]
        for (case, arm), numbers in data.quiet("spin-2").items()
    }
    test = data.test_of("interaction", factor="n", levels=[1, 2], expect="second-costs-more",
                        smallest_effect_percent=5, margin_percent=1)  # fmt: skip
    row = verdict(tmp_path, [test], values, cases=cases, kind="direction")
    assert row.verdict == "supported" and row.p_adjusted < 0.05


# --------------------------------------------------------------------- kinds of systems


def test_what_a_system_cannot_test(tmp_path: Path) -> None:
    scales = {"machine": "none", "cluster": "proxy"}
    row = verdict(tmp_path, [EQUIVALENCE], data.quiet(), scales=scales)
    assert (row.verdict, row.capability) == ("not-tested", "none")
    assert row.reason == "this kind of system (vm) cannot test it; a cluster can"
    row = verdict(tmp_path, [EQUIVALENCE], data.quiet(), "cluster", scales=scales)
    assert (row.verdict, row.capability, row.scale) == ("order-ok", "proxy", "cluster")
    assert row.reason.endswith("only what stands in for it can be tested here")


@pytest.mark.parametrize("label, kind", [("vm", "machine"), ("cluster", "cluster")])
@pytest.mark.parametrize("capability, held, denied", [
    ("full", "supported", "contradicted"), ("direction", "order-ok", "differs"),
    ("proxy", "order-ok", "differs"),
])  # fmt: skip
def test_only_full_capability_supports_or_contradicts(
    tmp_path, capability, held, denied, label, kind
) -> None:
    scales = {"machine": "none", "cluster": "none", kind: capability}
    for box, ended in ((1.0, held), (1.3, denied)):
        row = verdict(tmp_path, [EQUIVALENCE], data.quiet(box=box), label, scales=scales)
        assert row.verdict == ended


# ------------------------------------------------------------------------------- coverage


def hpcg(level: int, nodes: int = 1) -> dict:
    """A case at a size and on a number of nodes."""
    parameters = {"nodes": nodes, "ranks": nodes, "n": level}
    return {"case": f"spin-{nodes}-{level}", "benchmark": "spin", "parameters": parameters}


def covering(folder: Path, levels: dict, cases: list[dict], box: float = 1.0, **options):
    """The verdict on an equivalence that speaks of these levels, from these cases."""
    test, values = data.same({"levels": levels} | options.pop("cells", {})), {}
    for case in cases:
        values |= data.quiet(case["case"], box=box)
    return verdict(folder, [test], values, cases=cases, **options)


NODES = [2**power for power in range(10)]


def test_one_machine_does_not_support_what_is_said_of_512_nodes(tmp_path: Path) -> None:
    """One node with 24^3 supported a claim about 1 to 512 nodes with 104^3."""
    row = covering(tmp_path, {"nodes": NODES}, [hpcg(24)])
    assert (row.verdict, row.coverage) == ("holds-in-part", "1 of 10 node counts")
    assert row.reason.startswith("1 of 10 node counts; 90 % interval")
    row = covering(tmp_path, {"nodes": NODES, "n": [104]}, [hpcg(24)])
    assert row.verdict == "order-ok"
    assert row.coverage == "1 of 10 node counts, size 24 for 104"


@pytest.mark.parametrize("levels, verdict, said", [
    ({"n": [24, 48]}, "supported", "all 2 sizes"), ({"n": [24]}, "supported", "the same size"),
    ({"n": [24, 48, 96]}, "holds-in-part", "2 of 3 sizes"),
    ({"n": [96]}, "order-ok", "sizes 24 and 48 for 96"),
    ({"n": [36, 72, 144, 288]}, "order-ok", "sizes 24 and 48 for 36 to 288"),
    ({"n": [24], "colour": ["red"]}, "order-ok", "the same size, not level of colour red"),
    # A case that is not placed on an allocation has one node.
    ({"nodes": [1]}, "supported", "the same node count"),
])  # fmt: skip
def test_no_support_beyond_the_levels_that_were_tested(tmp_path, levels, verdict, said) -> None:
    cases = [{**data.CASE, "case": f"spin-{n}", "parameters": {"n": n}} for n in (24, 48)]
    row = covering(tmp_path, levels, cases)
    assert (row.verdict, row.coverage, row.cells) == (verdict, said, 2)


def test_a_level_counts_only_at_declared_levels_of_the_others(tmp_path: Path) -> None:
    """Four node counts with 24^3 and one node with 104^3 were all of 104^3 on four node counts."""
    cases = [hpcg(24, nodes) for nodes in (1, 2, 4, 512)] + [hpcg(104)]
    row = covering(tmp_path, {"nodes": [1, 2, 4, 512], "n": [104]}, cases)
    assert (row.verdict, row.coverage) == ("holds-in-part", "1 of 4 node counts, the same size")
    apart = [hpcg(24, 512), hpcg(104)]
    row = covering(tmp_path, {"nodes": [512], "n": [104]}, apart)
    assert row.verdict == "order-ok" and row.coverage.startswith("node count 1 for 512")


def test_coverage_softens_nothing_and_what_was_not_decided_covers_nothing(tmp_path: Path) -> None:
    row = covering(tmp_path, {"nodes": NODES, "n": [104]}, [hpcg(24)], box=1.3)
    assert row.verdict == "contradicted" and row.coverage.startswith("1 of 10 node counts")
    test, cases = data.same({"levels": {"n": [24, 48]}}), [hpcg(24), hpcg(48)]
    noisy = [data.quiet(f"spin-1-{n}", spread=0.2) for n in (24, 48)]
    for first, said in ((data.quiet("spin-1-24"), "1 of 2 sizes"), (noisy[0], "nothing decided")):
        row = verdict(tmp_path, [test], first | noisy[1], cases=cases)
        assert (row.verdict, row.coverage) == ("inconclusive", said)


def test_a_listed_parameter_that_is_partly_there_lessens_the_coverage(tmp_path: Path) -> None:
    """The whole test was not-tested for want of one level."""
    listed = {"parameters": {"nodes": [1, 2, 4]}}
    cases = [hpcg(24, nodes) for nodes in (1, 2)]
    row = covering(tmp_path, {"n": [24]}, cases, cells=listed)
    assert (row.verdict, row.coverage) == ("holds-in-part", "2 of 3 node counts, the same size")
    row = covering(tmp_path, {"n": [24]}, cases, box=1.3, cells=listed)
    assert row.verdict == "contradicted"


def test_a_level_counts_if_every_arm_was_tested_at_it(tmp_path: Path) -> None:
    test = data.same({"arms": ["box", "crate"], "levels": {"n": [24, 48]}})
    values = data.quiet("spin-1-24") | data.quiet("spin-1-48")
    assert verdict(tmp_path, [test], values, cases=[hpcg(24), hpcg(48)]).verdict == "supported"
    whole = data.dataset(data.quiet("spin-1-24"), [hpcg(24)])
    lacking = {arm: ARMS[arm] for arm in ("native-a", "native-b", "box")}
    other = data.dataset(data.quiet("spin-1-48"), [hpcg(48)], arms=lacking, name="live/other")
    row = data.row_of(tmp_path, test, whole, other)
    assert (row.verdict, row.coverage) == ("holds-in-part", "1 of 2 sizes")


def test_a_claim_of_a_family_that_holds_in_part_is_adjusted_too(tmp_path: Path) -> None:
    weak, _ = _borderline(tmp_path, 2, test=data.test_of(
        "direction", {"levels": {"n": [1, 2]}, "parameters": {"n": 1}}, expect="costs-more",
        smallest_effect_percent=5), cases=[{**data.CASE, "parameters": {"n": 1}}])  # fmt: skip
    assert weak["verdict"].tolist() == ["inconclusive"] * 2


# ------------------------------------------------------------------- several datasets at once


ARMS = data.ARMS
OTHER = {"case": "turn", "benchmark": "turn", "parameters": {}}
SPIN_AND_TURN = [EQUIVALENCE, data.same({"benchmark": "turn"})]


def two(box: float = 1.0, **options):
    """A dataset of spin and one of turn, both of one system."""
    one = data.dataset(data.quiet(), name="archive/m-a")
    return one, data.dataset(data.quiet("turn", box=box), [OTHER], name="archive/m-b", **options)


def test_a_benchmark_of_another_archive_is_not_missing(tmp_path: Path) -> None:
    """The paper of one archive said that there was no case, and reported it from another."""
    known = data.register(tmp_path, data.claim(*SPIN_AND_TURN))
    alone = data.row(data.verdicts(known, two()[0]))
    assert alone.verdict == "not-tested" and "no case of turn" in alone.reason
    made = data.verdicts(known, *two(), name="archive/m")
    row = data.row(made)
    assert (row.verdict, row.cells, row.judged) == ("supported", 2, "archive/m")
    assert row.datasets == "archive/m-a; archive/m-b"
    assert made.evidence["dataset"].tolist() == ["archive/m-a", "archive/m-b"]
    row = data.row(data.verdicts(known, *two(box=1.3)))
    assert (row.verdict, row.dataset) == ("contradicted", "archive/m-b")
    # The order of the datasets does not matter.
    one, other = two()
    rows = [data.row(data.verdicts(known, *d, name="m")) for d in ((one, other), (other, one))]
    same = ("verdict", "reason", "estimate", "coverage", "registration", "fingerprint", "dataset")
    assert [getattr(rows[0], key) for key in same] == [getattr(rows[1], key) for key in same]


def test_the_coverage_of_several_benchmarks_is_told_apart(tmp_path: Path) -> None:
    """In part of what one test speaks of, and all that the other does."""
    of_turn = data.same({"benchmark": "turn", "levels": {"nodes": [1]}})
    row = data.row_of(tmp_path, [data.same({"levels": {"nodes": [1, 2]}}), of_turn], *two())
    assert row.verdict == "holds-in-part"
    assert row.coverage == "spin: 1 of 2 node counts; turn: the same node count"
    assert row.reason.startswith(row.coverage)


def test_data_of_another_kind_or_processor_are_of_another_system() -> None:
    def made(label: str, model: str) -> JudgingData:
        held, analysis = data.dataset(data.quiet(blocks=2), label=label)
        fact = {**held.nodes.iloc[0].to_dict(), "fact": "cpu_model", "value": model}
        nodes = pd.concat([held.nodes, pd.DataFrame([fact])])
        return JudgingData(replace(held, nodes=nodes), analysis)

    one = made("vm", "A")
    assert one.is_of_same_system(made("vm", "A"))
    assert not one.is_of_same_system(made("vm", "B"))
    assert not one.is_of_same_system(made("slurm", "A"))


def test_a_cell_in_two_datasets_must_hold_in_both(tmp_path: Path) -> None:
    one = data.dataset(data.quiet(), name="archive/m-a")
    other = data.dataset(data.quiet(box=1.3), name="archive/m-b")
    row = data.row_of(tmp_path, EQUIVALENCE, one, other)
    assert (row.verdict, row.dataset, row.cells) == ("contradicted", "archive/m-b", 2)


def test_an_arm_of_another_archive_is_not_missing(tmp_path: Path) -> None:
    lacking = {arm: ARMS[arm] for arm in ("native-a", "native-b", "crate")}
    one = data.dataset(data.quiet(), name="archive/m-a", arms=lacking)
    row = data.row_of(tmp_path, BOTH, one)
    assert row.verdict == "holds-in-part"
    assert row.reason.endswith("lies within ±1 %; not tested: the dataset has no arm box")
    other = data.dataset(data.quiet(), name="archive/m-b")
    assert data.row_of(tmp_path, BOTH, one, other).verdict == "supported"


def test_every_two_arms_of_a_group_must_be_in_one_dataset(tmp_path: Path) -> None:
    """Box 1.000 and crate 1.016, each within 1.5 % of the drum, were one group."""

    def holding(name: str, **ratios: float):
        arms = {arm: (ARMS | {"drum": "drums"})[arm] for arm in ("native-a", "native-b", *ratios)}
        values = {
            ("spin", arm): data.around(ratios.get(arm, 1.0), seed, spread=0.003)
            for seed, arm in enumerate(arms)
        }
        return data.dataset(values, arms=arms, name=f"archive/{name}")

    test = data.test_of("group-equivalence", {"arms": ["box", "crate", "drum"]}, margin_percent=1.5)
    apart = holding("m-a", box=1.0, drum=1.008), holding("m-b", crate=1.016, drum=1.008)
    row = data.row_of(tmp_path, test, *apart)
    assert (row.verdict, row.cells) == ("not-tested", 2)
    assert row.reason.startswith("no dataset compares box and crate")
    # The drum, which only ever stands on the other side, is there where one dataset lacks it.
    whole = holding("m-a", box=1.0, crate=1.004, drum=1.004), holding("m-b", box=1.0, crate=1.004)
    assert data.row_of(tmp_path, test, *whole).verdict == "supported"


def test_of_several_datasets_without_a_cell_the_nearest_says_why(tmp_path: Path) -> None:
    row = data.row_of(tmp_path, data.same({"benchmark": "turn", "parameters": {"n": 7}}), *two())
    assert (row.verdict, row.dataset, row.datasets) == ("not-tested", "", "")
    assert row.reason == "the dataset holds no case of turn with n 7"


def test_nothing_is_concluded_where_the_plan_s_own_control_differs(tmp_path: Path) -> None:
    """At a claim's wide margin the A/A pair was open, and the claim `contradicted`."""
    wide, values = data.same(margin=15), data.quiet(box=1.5)
    values[("spin", "native-b")] = data.around(1.15, 5, spread=0.05)
    assert data.row_of(tmp_path, wide, data.dataset(values)).verdict == "contradicted"
    row = data.row_of(tmp_path, wide, data.dataset(values, margin=0.02))
    assert row.verdict == "inconclusive"
    assert row.reason.startswith("A/A pair differs in this case; 95 % interval")


def test_a_reason_in_the_register_is_the_verdict_s(tmp_path: Path) -> None:
    entry = {k: v for k, v in data.claim().items() if k != "tests"} | {"not_tested": "too vague"}
    row = data.row(data.verdicts(data.register(tmp_path, entry), data.dataset(data.quiet())))
    assert (row.verdict, row.reason) == ("not-tested", "too vague")


# ------------------------------------------------------------------------------- the tables


def test_every_claim_has_a_row_a_known_verdict_and_a_reason(tmp_path: Path) -> None:
    claims = [data.claim(BOTH, name="b"), data.claim(EQUIVALENCE, name="a")]
    made = data.verdicts(data.register(tmp_path, *claims), data.dataset(data.quiet()))
    assert made.verdicts["claim"].tolist() == ["b", "a"]  # the order of the register
    assert set(made.verdicts["verdict"]) <= set(terms.VERDICTS)
    for name, table in TABLES.items():
        frame = getattr(made, name)
        assert list(frame.columns) == [column.name for column in table.columns]
        assert (frame["reason"] != "").all()
    assert made.evidence.groupby("claim").size().to_dict() == {"a": 1, "b": 2}


def test_the_fingerprint_changes_with_margin_and_plan(tmp_path: Path) -> None:
    def fingerprint(margin: float, blocks: int) -> str:
        made = data.dataset(data.quiet(blocks=blocks))
        return data.row_of(tmp_path, data.same(margin=margin), made).fingerprint

    assert fingerprint(1, 5) == fingerprint(1, 5)
    assert len({fingerprint(1, 5), fingerprint(2, 5), fingerprint(1, 6)}) == 3


def test_the_proxies_of_all_tests_are_told_once(tmp_path: Path) -> None:
    tests = [EQUIVALENCE | {"instead_of": text} for text in ("a surrogate", "a surrogate", "b")]
    assert verdict(tmp_path, tests, data.quiet()).proxy == "a surrogate; b"
