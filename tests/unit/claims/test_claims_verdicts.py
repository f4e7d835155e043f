"""The algebra of verdicts: gates, conjunctions, most cells, families, coverage, many datasets."""

from dataclasses import replace
from pathlib import Path

import claims_data as data
import numpy as np
import pandas as pd
import pytest
from claims_data import judged, judgement, levels
from scipy import stats

from parity.analysis.decision import Decision
from parity.claims import judging
from parity.claims.cells import JudgingData
from parity.claims.finding import Finding
from parity.claims.judging import most_hold, p_of_most
from parity.claims.verdicts import TABLES

EQUIVALENCE = data.same()
DEARER_BY = {"expect": "costs-more", "smallest_effect_percent": 5}
DEARER = data.test_of("direction", **DEARER_BY)
BOTH = data.same({"arms": ["box", "crate"]})


def test_other_libraries_and_unknown_ones_neither_support_nor_contradict(tmp_path: Path) -> None:
    """A claim on binaries that are identical by hash passed without any hash."""
    for digest, box, identity in (
        ("f" * 64, 1.0, "libraries differ"), ("f" * 64, 1.2, "libraries differ"),
        ("", 1.0, "not recorded"),
    ):  # fmt: skip
        values, libraries = data.quiet(box=box), {"box": digest}
        made = judgement(tmp_path, EQUIVALENCE, values, libraries=libraries)
        assert data.row(made).verdict == "inconclusive"
        assert made.evidence["identity"].iloc[0] == identity
        assert not digest or data.row(made).reason.startswith("confounded: libraries differ")
    unknown = {"kind": "direction", "libraries": {"box": ""}}
    assert judged(tmp_path, DEARER, data.quiet(box=1.2), **unknown).verdict == "supported"


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


@pytest.mark.parametrize(("box", "crate"), [(1.3, 1.06), (1.06, 1.3)])
def test_of_two_that_are_equally_certain_the_nearer_to_nothing_is_shown(tmp_path, box, crate):
    test = data.test_of("direction", {"arms": ["box", "crate"]}, **DEARER_BY)
    found = judged(tmp_path, test, data.quiet(box=box, crate=crate), kind="direction")
    assert found.verdict == "supported" and found.estimate == pytest.approx(1.06, rel=0.01)


def test_what_is_missing_beside_what_is_there(tmp_path: Path) -> None:
    tests = [EQUIVALENCE, data.same({"benchmark": "other"})]
    row = judged(tmp_path, tests, data.quiet())
    assert row.verdict == "not-tested"
    assert row.reason == "the dataset holds no case of other; of what is there: 1 supported"
    assert judged(tmp_path, tests, data.quiet(box=1.3)).verdict == "contradicted"


@pytest.mark.parametrize(
    ("label", "box", "ended"),
    [("vm", 1.3, "contradicted"), ("cluster", 1.3, "supported"), ("cluster", 1.0, "contradicted")],
)
def test_a_test_may_be_for_one_kind_of_system(tmp_path, label: str, box: float, ended: str) -> None:
    """On several nodes the box is to cost more, and on one it is to be the same."""
    here = EQUIVALENCE | {"system": "machine", "instead_of": "one node"}
    there, values = DEARER | {"system": "cluster"}, data.quiet(box=box)
    row = judged(tmp_path, [here, there], values, label, kind="direction")
    assert (row.verdict, row.cells) == (ended, 1)
    assert row.proxy == ("one node" if label == "vm" else "")
    alone = judged(tmp_path, there, values, kind="direction")
    said = "this kind of system (vm) cannot test it; a cluster can"
    assert (alone.verdict, alone.reason) == ("not-tested", said)


def test_what_is_read_into_a_number_stands_beside_its_verdict(tmp_path: Path) -> None:
    read = DEARER | {"reading": "read as work"}
    made = judgement(tmp_path, [EQUIVALENCE, read], data.quiet(), kind="direction")
    row = data.row(made)
    assert (row.verdict, row.cells) == ("supported", 1)
    assert "; read as work: contradicted, ratio [" in row.reason
    assert made.evidence["counts"].tolist() == [True, False]


@pytest.mark.parametrize(
    "benchmark, reason", [("other", "it needs more nodes"), ("spin", "95 % interval")]
)
def test_what_it_takes_is_said_where_nothing_was_tested(tmp_path, benchmark, reason: str) -> None:
    test, made = data.same({"benchmark": benchmark}), data.dataset(data.quiet(box=1.3))
    row = data.row_of(tmp_path, test, made, needs="more nodes")
    assert row.reason.startswith(reason)


def _borderline(folder: Path, size: int, test=DEARER, **options):
    """As many claims whose one-sided p lies between 0.025 and 0.05, and that p."""
    values = data.quiet(spread=0.02)
    base = np.array(values["spin", "native-a"])
    values["spin", "box"] = list(base * np.exp(data.noise(4, spread=1.0) + 0.36))
    claims = [data.claim(test, name=f"c{n}", kind="direction") for n in range(size)]
    made = data.verdicts(data.register(folder, *claims), data.dataset(values, **options))
    logs = {arm: np.log(values["spin", arm]) for arm in ("native-a", "native-b", "box")}
    p = max(stats.wilcoxon(logs["box"] - logs[native], alternative="greater").pvalue
            for native in ("native-a", "native-b"))  # fmt: skip
    return made.verdicts, p


def test_one_sided_claims_of_a_family_are_corrected(tmp_path: Path) -> None:
    alone, p = _borderline(tmp_path, 1)
    assert alone["verdict"].tolist() == ["supported"] and 0.025 < p < 0.05
    assert alone["p_adjusted"].iloc[0] == pytest.approx(p)
    two, _ = _borderline(tmp_path, 2)
    assert two["verdict"].tolist() == ["inconclusive"] * 2
    assert two["p_adjusted"].tolist() == pytest.approx([2 * p] * 2)
    assert two["p_value"].tolist() == pytest.approx([p] * 2)
    assert two["reason"].iloc[0].startswith(f"p = {2 * p:.3f} after Holm's correction for 2 claims")
    # One that holds in part is adjusted, too.
    cells = {"levels": {"n": [1, 2]}, "parameters": {"n": 1}}
    case = data.CASE | {"parameters": {"n": 1}}
    weak, _ = _borderline(tmp_path, 2, DEARER | {"cells": DEARER["cells"] | cells}, cases=[case])
    assert weak["verdict"].tolist() == ["inconclusive"] * 2


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
    known = data.register(tmp_path, data.claim(DEARER | {"of_cells": "most"})).claims[0]
    passed, others = found("supported", p_value=0.01, p_against=0.99), found("inconclusive")
    cells = [passed] * 5 + [others] * 3
    pool = tuple(replace(each, case=f"c{place}", test=1) for place, each in enumerate(cells))
    one = judging.Verdict(known, "full", "supported", "", pool)
    assert one.p_values == pytest.approx((0.04, 1.0))


SIZES = [{**data.CASE, "case": f"spin-1-{n}", "parameters": {"n": n}} for n in (24, 48)]


def test_what_was_not_decided_covers_nothing(tmp_path: Path) -> None:
    test = data.same({"levels": {"n": [24, 48]}})
    noisy = [data.quiet(case["case"], spread=0.2) for case in SIZES]
    for first, said in ((data.quiet("spin-1-24"), "1 of 2 sizes"), (noisy[0], "nothing decided")):
        row = judged(tmp_path, test, first | noisy[1], cases=SIZES)
        assert (row.verdict, row.coverage) == ("inconclusive", said)


def test_a_level_counts_if_every_arm_was_tested_at_it(tmp_path: Path) -> None:
    test = data.same({"arms": ["box", "crate"], "levels": {"n": [24, 48]}})
    values = data.quiet("spin-1-24") | data.quiet("spin-1-48")
    assert judged(tmp_path, test, values, cases=SIZES).verdict == "supported"
    whole = data.dataset(data.quiet("spin-1-24"), SIZES[:1])
    lacking = {arm: data.ARMS[arm] for arm in ("native-a", "native-b", "box")}
    other = data.dataset(data.quiet("spin-1-48"), SIZES[1:], arms=lacking, name="live/other")
    row = data.row_of(tmp_path, test, whole, other)
    assert (row.verdict, row.coverage) == ("holds-in-part", "1 of 2 sizes")


OTHER = {"case": "turn", "benchmark": "turn", "parameters": {}}


def two(box: float = 1.0):
    """A dataset of spin and one of turn, both of one system."""
    one = data.dataset(data.quiet(), name="archive/m-a")
    return one, data.dataset(data.quiet("turn", box=box), [OTHER], name="archive/m-b")


def test_a_benchmark_of_another_archive_is_not_missing(tmp_path: Path) -> None:
    """The paper of one archive said that there was no case, and reported it from another."""
    tests = [EQUIVALENCE, data.same({"benchmark": "turn"})]
    known = data.register(tmp_path, data.claim(*tests))
    one, other = two()
    alone = data.row(data.verdicts(known, one))
    assert alone.verdict == "not-tested" and "no case of turn" in alone.reason
    made = data.verdicts(known, one, other, name="archive/m")
    row = data.row(made)
    assert (row.verdict, row.cells, row.judged) == ("supported", 2, "archive/m")
    assert row.datasets == "archive/m-a; archive/m-b"
    assert made.evidence["dataset"].tolist() == ["archive/m-a", "archive/m-b"]
    against = data.row(data.verdicts(known, *two(box=1.3)))
    assert (against.verdict, against.dataset) == ("contradicted", "archive/m-b")
    # The order of the datasets does not matter.
    turned = data.row(data.verdicts(known, other, one, name="archive/m"))
    same = ("verdict", "reason", "estimate", "coverage", "registration", "fingerprint", "dataset")
    assert [getattr(row, key) for key in same] == [getattr(turned, key) for key in same]


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
    lacking = {arm: data.ARMS[arm] for arm in ("native-a", "native-b", "crate")}
    one = data.dataset(data.quiet(), name="archive/m-a", arms=lacking)
    row = data.row_of(tmp_path, BOTH, one)
    assert row.verdict == "holds-in-part"
    assert row.reason.endswith("lies within ±1 %; not tested: the dataset has no arm box")
    other = data.dataset(data.quiet(), name="archive/m-b")
    assert data.row_of(tmp_path, BOTH, one, other).verdict == "supported"


def test_every_two_arms_of_a_group_must_be_in_one_dataset(tmp_path: Path) -> None:
    """Box 1.000 and crate 1.016, each within 1.5 % of the drum, were one group."""

    def holding(name: str, **ratios: float):
        arms = {
            arm: (data.ARMS | {"drum": "drums"})[arm] for arm in ("native-a", "native-b", *ratios)
        }
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
    assert judged(tmp_path, wide, values).verdict == "contradicted"
    row = judged(tmp_path, wide, values, margin=0.02)
    assert row.verdict == "inconclusive"
    assert row.reason.startswith("A/A pair differs in this case; 95 % interval")


def test_every_claim_has_a_row_a_verdict_and_a_reason(tmp_path: Path) -> None:
    claims = [data.claim(BOTH, name="b"), data.claim(EQUIVALENCE, name="a")]
    made = data.verdicts(data.register(tmp_path, *claims), data.dataset(data.quiet()))
    assert made.verdicts["claim"].tolist() == ["b", "a"]  # the order of the register
    # Equivalence is of no family that is corrected.
    assert set(made.verdicts["verdict"]) == {"supported"}
    assert made.verdicts["p_adjusted"].isna().all()
    for name, table in TABLES.items():
        frame = getattr(made, name)
        assert list(frame.columns) == [column.name for column in table.columns]
        assert (frame["reason"] != "").all()
    assert made.evidence.groupby("claim").size().to_dict() == {"a": 1, "b": 2}


def test_the_fingerprint_changes_with_margin_and_plan(tmp_path: Path) -> None:
    def fingerprint(margin: float, blocks: int) -> str:
        return judged(tmp_path, data.same(margin=margin), data.quiet(blocks=blocks)).fingerprint

    assert fingerprint(1, 5) == fingerprint(1, 5)
    assert len({fingerprint(1, 5), fingerprint(2, 5), fingerprint(1, 6)}) == 3


def test_the_proxies_of_all_tests_are_told_once(tmp_path: Path) -> None:
    tests = [EQUIVALENCE | {"instead_of": text} for text in ("a surrogate", "a surrogate", "b")]
    assert judged(tmp_path, tests, data.quiet()).proxy == "a surrogate; b"


# Of claims that speak of most cells and not of all.
HOLDS = Finding("c", "m", "a", "b", "supported", p_value=0.001)
OPEN = replace(HOLDS, verdict="inconclusive", p_value=0.4)
AGAINST = replace(HOLDS, verdict="contradicted", p_value=1.0)
MARGIN = Decision(30, margin=0.01, smallest_margin=0.015)


def of_tests(*pool: Finding) -> list[Finding]:
    """Each of another test."""
    return [replace(found, test=number) for number, found in enumerate(pool)]


def ended(*pool: Finding) -> tuple[list[str], list[bool]]:
    after = most_hold(of_tests(*pool))
    return [found.verdict for found in after], [found.counts for found in after]


HELD, LEFT, AGAINST_IT = "supported", "inconclusive", "contradicted"
NEAR, FAR = (
    replace(AGAINST, decision=replace(MARGIN, smallest_margin=size)) for size in (0.019, 0.021)
)
GONE = replace(HOLDS, case="", verdict="not-tested", p_value=None)


@pytest.mark.parametrize(("pool", "verdicts", "counts"), [
    ([replace(HOLDS, p_value=0.049)] * 6, [HELD] * 6, [True] * 6),
    # What does not pass is shown and does not count.
    ([HOLDS] * 3 + [OPEN, AGAINST], [HELD] * 3 + [LEFT, AGAINST_IT], [True] * 3 + [False] * 2),
    # One that is far against it stops it.
    ([HOLDS, HOLDS, NEAR], [HELD, HELD, AGAINST_IT], [True, True, False]),
    ([HOLDS, HOLDS, FAR], [HELD, HELD, LEFT], [True] * 3),
    # Half against it contradict, and fewer leave it open.
    ([HOLDS] * 2 + [AGAINST] * 2, [HELD] * 2 + [AGAINST_IT] * 2, [False, False, True, True]),
    ([HOLDS, HOLDS, OPEN, AGAINST], [HELD, HELD, LEFT, LEFT], [True] * 4),
    # An absent test of the pool is not one cell that fails.
    ([HOLDS] * 6 + [GONE, AGAINST], [HELD] * 6 + ["not-tested", LEFT], [True] * 8),
])  # fmt: skip
def test_what_counts_of_a_pool(pool, verdicts, counts) -> None:
    assert ended(*pool) == (verdicts, counts)


def test_tests_of_one_claim_are_one_pool(tmp_path: Path) -> None:
    values, cases = levels(1.0, 1.0, 1.1, spread=0.002)
    for of_cells, verdict in (("most", "supported"), ("all", "contradicted")):
        tests = [data.same({"parameters": {"nodes": n}}, 8, of_cells=of_cells) for n in (1, 2, 4)]
        assert judged(tmp_path, tests, values, cases=cases).verdict == verdict


def test_most_by_chance_is_not_most() -> None:
    """Three true cells and three of which each passes in 5 % of studies: four pass too often."""
    random = np.random.default_rng(5)
    wrong = {"each": 0, "together": 0}
    for _ in range(2000):
        p = np.concatenate([np.zeros(3), random.uniform(size=3)])
        pool = [replace(HOLDS if each < 0.05 else OPEN, p_value=float(each)) for each in p]
        wrong["each"] += sum(each < 0.05 for each in p) >= 4
        wrong["together"] += all(
            f.counts == (f.verdict == "supported") for f in most_hold(of_tests(*pool))
        )
    # 1 - 0.95^3 = 14 %; at most 5 %, with three standard errors of 2000 draws.
    assert wrong["each"] / 2000 > 0.11
    assert wrong["together"] / 2000 < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 2000)


def test_a_cell_of_several_datasets_is_one_by_its_worst() -> None:
    """One case in three datasets was three of five cells."""
    again = [replace(HOLDS, dataset=name, test=3) for name in "abc"]
    two_open = of_tests(OPEN, OPEN)
    assert all(found.counts for found in most_hold(again + two_open))
    assert p_of_most(again + two_open) == 1
    # Of one that two datasets disagree on, neither is shown to hold.
    assert p_of_most([HOLDS, OPEN, replace(HOLDS, test=1)]) == 1


def test_a_large_effect_the_other_way_is_not_set_aside() -> None:
    """A direction has no margin that would pass, and 50 % the other way was only shown."""
    for ratio, counts in ((0.985, False), (0.5, True)):
        size = ratio, ratio
        said = Decision(20, ratio, size, size, 0.01)
        assert ended(*[HOLDS] * 5, replace(AGAINST, decision=said))[1][-1] == counts
