"""Fresh data beside the archive: what is predicted, what is compared, what is never compared."""

import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import synthetic
from matplotlib import pyplot
from msgspec.structs import replace
from scipy import stats

from parity.analysis import agreement
from parity.analysis.agreement import ABSOLUTE, kappa_of
from parity.analysis.analysis import Analysed, analysed
from parity.analysis.dataset import Place
from parity.analysis.decision import ASSAY
from parity.analysis.evidence import LOSSES
from parity.core.errors import UserError
from parity.plan.plan import PositiveControl
from parity.records import schema
from parity.report import texts as told
from parity.report.figures import agreement as figure
from parity.report.view import Origin

ARMS = ("native-a", "native-b", "docker", "lxc")


def test_the_expected_count_is_binomial_and_wider_where_arms_share_a_reference() -> None:
    binomial = tuple(int(stats.binom.ppf(tail, 40, 0.95)) for tail in (0.025, 0.975))
    assert agreement.count_range([8] * 5) == binomial
    assert agreement.count_range([]) == (0, 0)
    low, high = agreement.count_range([8] * 5, correlation=0.5)
    random, repetitions = np.random.default_rng(3), 20_000
    shared = random.normal(size=(repetitions, 5, 1))
    errors = (shared + random.normal(size=(repetitions, 5, 8))) / math.sqrt(2)
    counts = (np.abs(errors) < stats.norm.ppf(0.975)).sum(axis=(1, 2))
    assert low < binomial[0]
    assert (low, high) == tuple(np.quantile(counts, [0.025, 0.975]).astype(int))


def _measured(
    folder: Path, seed: int, blocks: int = 12, effects: synthetic.Effects | None = None,
    parameters: dict | None = None, arms: tuple[str, ...] = ARMS, noise: float = 0.02,
    commands: dict[str, str] | None = None, lost: int = 0, positive: str = "",
) -> Analysed:  # fmt: skip
    """A synthetic dataset with its own noise; `parameters` are those of a case.

    Of Docker in sysbench the first blocks, as many as `lost`, gave no number that counts.
    An arm may be the positive control of sysbench.
    """
    plan, given = synthetic.plan(blocks, arms), parameters or {}
    cases = [replace(case, parameters=given.get(case.name, {})) for case in plan.cases]
    plan = replace(plan, cases=tuple(cases))
    if positive:
        control = PositiveControl(arm=positive, work_percent=30, parameters={"sysbench": {}})
        plan = replace(plan, positive_control=control)
    rows = synthetic.records(plan, effects=effects)
    random = np.random.default_rng(seed)
    for run in rows["runs"]:
        run["started"] = f"2026-02-{seed:02d}T00:00:00Z"
        run["command"] = (commands or {}).get(run["case"], "[]")
    gone = {block.name for block in plan.blocks[:lost]}
    for number in rows["metrics"]:
        if (number["case"], number["arm"]) == ("sysbench", "docker") and number["block"] in gone:
            number["valid"] = False
        if number["case"] != "memory":
            number["value"] *= float(np.exp(random.normal(0, noise)))
    return analysed(synthetic.write(folder / f"live/synthetic-{seed}", plan, rows))


def _row(found: agreement.Agreement, case: str, arm: str, metric: str = "time"):
    table = found.table
    chosen = table[(table["case"] == case) & (table["arm"] == arm) & (table["metric"] == metric)]
    return next(chosen.itertuples(index=False))


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> Analysed:
    return _measured(tmp_path_factory.mktemp("there"), 1)


@pytest.fixture(scope="module")
def shifted(tmp_path_factory, archive) -> agreement.Agreement:
    """Docker costs 15 % more in the fresh dataset, and LXC is not there."""
    more = {("sysbench", "docker"): 1.15}
    fresh = _measured(tmp_path_factory.mktemp("here"), 2, 6, effects=more, arms=ARMS[:3])
    return agreement.agree(fresh, archive)


def test_a_shifted_arm_is_outside_and_the_others_are_inside(shifted) -> None:
    row = _row(shifted, "sysbench", "docker")
    assert (row.outcome, row.counted, row.inside) == ("different", True, False)
    assert (row.fresh_blocks, row.archive_blocks) == (6, 12)
    assert row.low95 < 1.15 < row.high95 and row.low95 > 1.05
    assert shifted.count.compared == 10 and shifted.count.expected == pytest.approx(9.5)
    counted = shifted.table[shifted.table["counted"]]
    assert shifted.count.inside == counted["inside"].sum()
    # The control is compared, too; a ratio that never varies is no interval that could miss.
    control = _row(shifted, "sysbench", "native-b")
    assert control.control and control.counted
    constant = _row(shifted, "memory", "docker", "process_private")
    assert (constant.outcome, constant.counted) == ("equivalent", False)


def test_of_whole_datasets_of_the_same_truth_95_in_100_ratios_are_inside(tmp_path) -> None:
    # The noise is far above the one that all synthetic datasets have in common.
    found = [
        agreement.agree(
            _measured(tmp_path, 2 * number, 4, noise=0.3),
            _measured(tmp_path, 2 * number + 1, 10, noise=0.3),
        ).count
        for number in range(1, 13)
    ]
    inside, compared = (sum(getattr(c, name) for c in found) for name in ("inside", "compared"))
    low, high = agreement.count_range([compared // 60] * 60, correlation=0.5)
    assert compared == 12 * 15 and low <= inside <= high


def test_what_is_absolute_or_absent_is_named_and_not_compared(shifted) -> None:
    absolute = _row(shifted, "startup-cold", "docker", "start_seconds")
    assert (absolute.outcome, absolute.reason) == ("not-compared", ABSOLUTE)
    assert math.isnan(absolute.fresh_ratio)
    assert _row(shifted, "sysbench", "lxc").reason == "only in the archive"
    assert _row(shifted, "sysbench", "shifter").reason.startswith("not tested here")


def test_other_parameters_are_another_problem_and_another_amount_is_told(tmp_path, archive) -> None:
    fresh = _measured(tmp_path, 4, parameters={"sysbench": {"prime": 10}})
    row = _row(agreement.agree(fresh, archive), "sysbench", "docker")
    assert (row.outcome, row.counted) == ("not-compared", False)
    assert row.reason == "other parameters: prime 10 here, not set in the archive"
    more = _measured(tmp_path, 5, parameters={"sysbench": {"events": 10}})
    row = _row(agreement.agree(more, archive), "sysbench", "docker")
    assert row.counted and row.reason.endswith("events 10 here, not set in the archive")
    assert not row.reason.startswith("other parameters")


# Four times a cache of 260 MiB, and of 32 MiB.
LARGE, SMALL = 1_090_512, 134_208


@pytest.mark.parametrize(("here", "asked", "there", "outcome", "reason"), [
    # A size is the same however it was chosen.
    (LARGE, {"working_set_mib": 1040}, LARGE, "equivalent", ""),
    (SMALL, {}, SMALL, "equivalent", ""),
    (LARGE, {"threads": 2}, LARGE, "not-compared",
     "other parameters: threads 2 here, not set in the archive"),
    # The same parameters on nodes with other caches.
    (SMALL, {}, LARGE, "not-compared", "another size: working set of 134.208 MB here, "
     "working set of 1090.51 MB in the archive"),
])  # fmt: skip
def test_a_working_set_of_another_size_is_another_problem(
    tmp_path, here, asked, there, outcome, reason
) -> None:
    def sized(seed: int, kilobytes: int, parameters: dict[str, int]) -> Analysed:
        command = json.dumps(["likwid-bench", "-t", "stream", "-w", f"N:{kilobytes}kB:1"])
        told = {"commands": {"memory": command}, "parameters": {"memory": parameters}}
        return _measured(tmp_path, seed, **told)

    found = agreement.agree(sized(5, here, asked), sized(6, there, {}))
    row = _row(found, "memory", "docker", "process_private")
    assert (row.outcome, row.counted) == (outcome, False)
    assert row.reason == reason or outcome == "equivalent"


@pytest.mark.parametrize("there", [True, False])
def test_either_a_a_pair_gates_what_is_said_of_both(tmp_path, archive, there) -> None:
    # Native costs 10 % more than itself on one of the machines, and Docker 15 % more here.
    docker, native = {("sysbench", "docker"): 1.15}, {("sysbench", "native-b"): 1.1}
    odd = _measured(tmp_path, 8, effects=native if there else docker | native)
    fresh = odd if not there else _measured(tmp_path, 9, effects=docker)
    found = agreement.agree(fresh, odd if there else archive)
    row = _row(found, "sysbench", "docker")
    assert row.low95 > 1.05 and row.outcome == "inconclusive"
    assert row.reason == f"A/A pair differs {'in the archive' if there else 'here'}"
    assert _row(found, "sysbench", "native-b").outcome == "different"


def test_sameness_needs_both_a_a_pairs_to_be_the_same(tmp_path) -> None:
    # Runs scatter by 1 % here and by 12 % there: the ratio of both is open, as is its A/A pair.
    quiet = _measured(tmp_path, 10, blocks=40, noise=0.001)
    found = agreement.agree(quiet, _measured(tmp_path, 11, noise=0.12))
    assert _row(found, "sysbench", "docker").outcome == "inconclusive"
    same = _measured(tmp_path, 12, blocks=40, noise=0.001)
    assert _row(agreement.agree(quiet, same), "sysbench", "docker").outcome == "equivalent"


@pytest.mark.parametrize("seen", [(1.3, 1.3), (1.0, 1.3), (1.3, 1.0)])
def test_sameness_needs_both_positive_controls_to_be_seen(tmp_path, seen) -> None:
    """Two datasets that could not have seen a difference were called the same."""
    fresh, archived = (
        _measured(
            tmp_path, number, 30, noise=0.003, positive="lxc", effects={("sysbench", "lxc"): x}
        )
        for number, x in enumerate(seen, start=1)
    )
    row = _row(agreement.agree(fresh, archived), "sysbench", "docker")
    where = "" if seen == (1.3, 1.3) else "here" if seen[0] == 1 else "in the archive"
    expected = ("inconclusive", f"{ASSAY} {where}") if where else ("equivalent", "")
    assert (row.outcome, row.reason) == expected


@pytest.mark.parametrize(("here", "region", "there"), [
    (1.5, "different", 1.0),
    # Nothing of its losses was left beside such an outcome, so both together differed.
    (1.02, "inconclusive", 0.7),
])  # fmt: skip
def test_what_was_lost_in_one_dataset_is_held_against_both(tmp_path, here, region, there) -> None:
    fresh = _measured(tmp_path, 16, 18, effects={("sysbench", "docker"): here}, lost=8)
    archived = _measured(tmp_path, 17, effects={("sysbench", "docker"): there})
    found = fresh.compared["sysbench", "time", "docker"].decision
    assert found.region == region and found.reason.startswith(LOSSES)
    row = _row(agreement.agree(fresh, archived), "sysbench", "docker")
    assert (row.outcome, row.fresh_blocks) == ("inconclusive", 10) and row.low95 > 1.3
    assert row.reason == "runs were lost: 8 in docker, 0 in native-a of 18 here"


def test_blocks_of_a_node_are_one_number_as_they_are_in_the_analysis(tmp_path) -> None:
    fresh = _measured(tmp_path, 18, 18)
    blocks = fresh.dataset.plan.blocks
    places = {each.name: Place(each.name, f"n{each.number % 6}", 0) for each in blocks}
    fresh.dataset.__dict__["places"] = places
    assert len(fresh.effects["sysbench", "time", "docker"]) == 6


def test_in_five_blocks_nothing_differs(tmp_path, archive) -> None:
    few = _measured(tmp_path, 13, blocks=5, effects={("sysbench", "docker"): 1.5})
    row = _row(agreement.agree(few, archive), "sysbench", "docker")
    assert (row.outcome, row.reason) == ("inconclusive", "fewer than 6 blocks")


def test_a_noisier_machine_of_the_same_truth_agrees_in_95_of_100() -> None:
    random, repetitions, held = np.random.default_rng(14), 2000, 0
    for _ in range(repetitions):
        fresh, archived = random.normal(0, 0.03, 10), random.normal(0, 0.01, 30)
        low, high = agreement.welch_interval(fresh, archived)
        held += low <= 0 <= high
    # Four standard errors of a share of 2000; by the archive's scatter alone half disagreed.
    allowed = 4 * math.sqrt(0.95 * 0.05 / repetitions)
    assert held / repetitions == pytest.approx(0.95, abs=allowed)


@pytest.mark.parametrize("deviations", [(0.01, 0.01), (0.03, 0.005)])
def test_at_the_margin_one_in_twenty_is_called_the_same(deviations) -> None:
    random, repetitions, margin = np.random.default_rng(15), 1000, 0.02
    ended = Counter()
    for _ in range(repetitions):
        fresh = random.normal(math.log1p(margin), deviations[0], 8)
        archived = random.normal(0, deviations[1], 30)
        ended[agreement.decide_change(fresh, archived, margin).outcome] += 1
    allowed = 4 * math.sqrt(0.05 * 0.95 / repetitions)
    assert max(ended["equivalent"], ended["different"]) / repetitions <= 0.05 + allowed


def test_kappa_is_cohen_s_with_the_error_of_fleiss() -> None:
    # Agreeing 0.7, by chance 0.5: kappa 0.4; the error by hand from the formula of 1969.
    pairs = [("a", "a")] * 20 + [("a", "b")] * 5 + [("b", "a")] * 10 + [("b", "b")] * 15
    found = kappa_of(pairs)
    assert (found.total, found.agreeing, found.counts["b", "a"]) == (50, 35, 10)
    assert found.kappa == pytest.approx(0.4)
    half = 1.959964 * math.sqrt(0.2016 / 50) / 0.5
    assert found.interval95 == pytest.approx((0.4 - half, 0.4 + half), abs=1e-6)
    assert found.share95 == pytest.approx((0.5539, 0.8214), abs=1e-3)
    alike = kappa_of([("same", "same"), ("open", "open")] * 10)
    assert alike.kappa == 1 and alike.interval95 == (1, 1)
    assert alike.share95[0] == pytest.approx(0.832, abs=1e-3)


@pytest.mark.parametrize(("pairs", "reason"), [
    ([], "nothing is in both"),
    ([("open", "open")] * 40, "all are open in both"),
    ([("open", "open")] * 20 + [("open", "same")] * 20, "all are open in one"),
    ([("same", "same"), ("open", "open")] * 3 + [("same", "open")], "too few: 2 words need 8"),
])  # fmt: skip
def test_too_few_words_are_counted_and_give_no_kappa(pairs, reason) -> None:
    found = kappa_of(pairs)
    assert found.reason == reason and math.isnan(found.kappa) and found.total == len(pairs)


def test_a_copy_of_the_archive_and_a_missing_dataset_are_refused(tmp_path, archive) -> None:
    with pytest.raises(UserError, match="they are the same measurements"):
        agreement.agree(_measured(tmp_path, 1, 3), archive)
    with pytest.raises(UserError, match="there is no such dataset") as raised:
        agreement.refuse_missing(tmp_path / "results/live/synthetic-x")
    assert "snakemake all" in raised.value.action


def test_it_is_drawn_written_and_told(tmp_path, shifted) -> None:
    plan = synthetic.plan(6, ARMS[:3])
    written = []
    for name in ("one", "two"):
        figure.write(shifted, plan, "All in one host.", tmp_path / name)
        written.append([path.read_bytes() for path in sorted((tmp_path / name).iterdir())])
    assert written[0] == written[1] and len(written[0]) == 4
    table = schema.read(agreement.AGREEMENT, tmp_path / "one/agreement.parquet")
    assert table.num_rows == len(shifted.table)
    drawn = figure.draw(shifted, plan)
    texts = " | ".join(text.get_text() for text in drawn.findobj(pyplot.Text))
    for words in ("margin ±1", "n 6/12", "differs", "cost ratio to Native"):
        assert words in texts
    pyplot.close("all")
    where = Origin({}, ("machine (vm)",), ("vm",), None)
    verdicts = kappa_of([("supported", "supported")] * 3)
    said = told.agreement(shifted, verdicts, [where, where])
    assert "of 10 ratios of both agree by their 95 % intervals" in said
    assert "outcomes: " in said and "words need 18" in said
    assert "verdicts on claims: 3 of 3 are the same" in said and "all are supported in both" in said
    assert "not compared: lxc in" in said


def test_nothing_in_common_is_said_and_drawn(tmp_path, archive) -> None:
    plan = synthetic.scaling_plan(2, ARMS)
    rows = synthetic.records(plan)
    for run in rows["runs"]:
        run["started"] = "2026-03-01T00:00:00Z"
    fresh = analysed(synthetic.write(tmp_path / "live/scaling-fresh", plan, rows))
    found = agreement.agree(fresh, archive)
    assert found.count.compared == 0
    figure.write(found, plan, "", tmp_path / "made")
    pyplot.close("all")
