"""Whether a fresh dataset agrees with an archived one, effect by effect and word by word.

Seconds of two machines are never compared, only cost ratios, which have no unit. The ratio of the
two ratios is judged as every other, and gated by the controls of both datasets' engines.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy
from scipy import special

from parity.analysis import outcomes, tables
from parity.analysis.analysis import Analysed, Key
from parity.analysis.conclusions import Conclusion
from parity.analysis.contrast import natives, over
from parity.analysis.dataset import Dataset, worst
from parity.analysis.decision import Decision, decide_change
from parity.analysis.estimate import Interval, student, welch_interval
from parity.analysis.evidence import DIFFERENCE
from parity.analysis.tables import AGREEMENT
from parity.core.errors import UserError
from parity.plan.plan import PLAN
from parity.records.timed import choosing_size

NOT_COMPARED = "not-compared"
ABSOLUTE = "an absolute difference, which is not compared between machines"
HERE, THERE = "here", "in the archive"
CONFIDENCE = 0.95
# Arms of a case are held against the same runs of the reference. With equal variances
# any two of such differences are correlated by one half.
SHARED_REFERENCE = 0.5
ROUNDING = 1e-12  # Two logs that differ by rounding alone.


@dataclass(frozen=True)
class Count:
    """How many fresh ratios lie where they are expected."""

    inside: int  # how many 95 % intervals of the ratio of ratios hold 1
    compared: int  # of how many
    expected: float  # how many are expected if nothing has changed
    independent: tuple[int, int]  # 95 % range of `inside` if rows were independent (binomial)
    sharing: tuple[int, int]  # the same, given that the arms of a case share the reference's runs


@dataclass(frozen=True)
class Kappa:
    """Cohen's kappa of two judges; NaN where `reason` says why there is none."""

    counts: Mapping[tuple[str, str], int]  # how often two words came together, first judge's first
    total: int
    agreeing: int  # how many got the same word from both
    share95: Interval  # Clopper and Pearson's exact 95 % interval of the share of these
    kappa: float = math.nan
    interval95: Interval = (math.nan, math.nan)  # large-sample error; no width where all agree
    reason: str = ""


@dataclass(frozen=True)
class Agreement:
    """Two datasets side by side."""

    fresh: str
    archive: str
    table: pd.DataFrame  # `tables.AGREEMENT`; `count` counts its rows
    count: Count
    outcomes: Kappa  # agreement of what both say of the arms


def refuse_missing(folder: Path) -> None:
    """Raise UserError, naming all datasets, if `folder` (results/<source>/<dataset>) is none."""
    if (folder / PLAN).exists() and (folder / "records/metrics.parquet").exists():
        return
    there = folder.parents[1].glob("*/*/records/metrics.parquet")
    allowed = ", ".join("/".join(name) for name in sorted(path.parts[-4:-2] for path in there))
    action = "measure one (snakemake all), or name another with --config fresh=…"
    raise UserError("there is no such dataset", where=str(folder), allowed=allowed, action=action)


def agree(fresh: Analysed, archive: Analysed) -> Agreement:
    """Hold a fresh dataset against an archived one. Raises UserError: both are the same."""
    _refuse_the_same(fresh.dataset, archive.dataset)
    keys = sorted(fresh.compared.keys() | archive.compared.keys())
    table = tables.frame(AGREEMENT, [_row(key, fresh, archive) for key in keys])
    counted = table[table["counted"]]
    groups, compared = list(counted.groupby("case").size()), len(counted)
    ranges = count_range(groups), count_range(groups, correlation=SHARED_REFERENCE)
    count = Count(int(counted["inside"].sum()), compared, CONFIDENCE * compared, *ranges)
    said = table[(table["outcome"] != NOT_COMPARED) & ~table["control"]]
    both = said[["fresh_outcome", "archive_outcome"]].itertuples(index=False, name=None)
    return Agreement(fresh.dataset.name, archive.dataset.name, table, count, kappa_of(list(both)))


def _row(key: Key, fresh: Analysed, archive: Analysed) -> dict[str, Any]:
    here, there = fresh.compared.get(key), archive.compared.get(key)
    known = [comparison for comparison in (here, there) if comparison is not None]
    references = {comparison.reference for comparison in known}
    margins = [c.decision.margin for c in known if c.decision.margin is not None]
    row = dict.fromkeys(column.name for column in AGREEMENT.columns) | {
        **dict(zip(("case", "metric", "arm"), key, strict=True)),
        "reference": references.pop() if len(references) == 1 else "",
        "control": known[0].control, "margin": min(margins, default=None),
        "fresh_blocks": here.decision.blocks if here else 0,
        "archive_blocks": there.decision.blocks if there else 0,
        "fresh_outcome": here.decision.outcome if here else "",
        "archive_outcome": there.decision.outcome if there else "",
        "identity": worst(comparison.identity for comparison in known),
    }  # fmt: skip
    if here is None or there is None:
        reason = f"only in the {'archive' if here is None else 'fresh dataset'}"
    else:
        reason = _obstacle(here, there) or _another_problem(key[0], fresh, archive)
    if reason:
        return row | {"outcome": NOT_COMPARED, "counted": False, "reason": reason}
    effects = fresh.effects[key], archive.effects[key]
    decision = decide_change(*effects, min(margins))
    if not row["control"]:
        decision = _gated(decision, key, fresh, archive)
    amount = fresh.plan.case(key[0]).definition.sized_by
    amounts = _differing({amount} - {""}, key[0], fresh, archive)
    return row | _numbers(*effects) | {
        "ratio_of_ratios": decision.estimate, "smallest_margin": decision.smallest_margin,
        "low95": decision.interval95[0], "high95": decision.interval95[1],
        "outcome": decision.outcome, "reason": "; ".join(filter(None, (decision.reason, amounts))),
        # If neither side varies at all, no interval can hold anything by chance.
        "counted": bool(max(map(np.ptp, effects)) >= ROUNDING),
    }  # fmt: skip


def _obstacle(here: Conclusion, there: Conclusion) -> str:
    """Why two comparisons cannot be compared; empty if they can."""
    if DIFFERENCE in (here.kind, there.kind):
        return ABSOLUTE
    if here.reference != there.reference:
        return f"against {here.reference} {HERE}, against {there.reference} {THERE}"
    for decision, where in ((here.decision, HERE), (there.decision, THERE)):
        if decision.outcome == outcomes.NOT_TESTED:
            return f"not tested {where}: {decision.reason}"
        if decision.blocks < 2:
            return f"fewer than two blocks {where}: {decision.reason}"
    return ""


def _another_problem(case: str, fresh: Analysed, archive: Analysed) -> str:
    """Why a case is not the same in both: parameters, or a size chosen by the node; or empty.

    How often the same work is done is no other problem: each machine's pilot finds its own amount.
    """
    here_size, there_size = (each.dataset.sizes.get(case, "") for each in (fresh, archive))
    planned = fresh.plan.case(case)
    # However a size was chosen: the runs tell which it was.
    told = choosing_size(planned.definition) if here_size and there_size else set()
    names = planned.parameters.keys() | archive.plan.case(case).parameters.keys()
    if parts := _differing(names - told - {planned.definition.sized_by}, case, fresh, archive):
        return f"other parameters: {parts}"
    if here_size == there_size:
        return ""
    return f"another size: {here_size or 'none'} {HERE}, {there_size or 'none'} {THERE}"


def _differing(names: set[str], case: str, fresh: Analysed, archive: Analysed) -> str:
    """Those of the parameters of a case that both plans give otherwise, in words."""
    here, there = (each.plan.case(case).parameters for each in (fresh, archive))
    return "; ".join(
        f"{name} {here.get(name, 'not set')} {HERE}, {there.get(name, 'not set')} {THERE}"
        for name in sorted(names)
        if here.get(name) != there.get(name)
    )


def _gated(decision: Decision, key: Key, fresh: Analysed, archive: Analysed) -> Decision:
    """The decision as far as both datasets allow.

    Lost runs, nodes that differ and controls at this margin, of either engine, are held against it.
    """
    case, metric, arm = key
    for analysed, where in ((archive, THERE), (fresh, HERE)):
        engine, of_case = analysed.engine, natives(analysed.plan, case)
        contrast = over(case, metric, arm, of_case, decision.margin)
        pair = engine.pair(case, metric, decision.margin)
        objection = engine.evidence(contrast).objection
        gated = decision.without_claim(objection).gated(*engine.gates(contrast, pair))
        if gated.reason != decision.reason:
            return replace(gated, reason=f"{gated.reason} {where}")
    return decision


def _numbers(fresh: np.ndarray, archive: np.ndarray) -> dict[str, Any]:
    """The mean ratios of both, and where the fresh one is expected if nothing has changed."""
    here, there = student(fresh), student(archive)
    ends = np.exp(here.interval(CONFIDENCE)).tolist()
    low, high = welch_interval(fresh, archive)
    spread, half = float(archive.std(ddof=1)), (high - low) / 2
    return {
        "fresh_ratio": math.exp(here.value), "archive_ratio": math.exp(there.value),
        "fresh_low95": ends[0], "fresh_high95": ends[1],
        "expected_low95": math.exp(there.value - half),
        "expected_high95": math.exp(there.value + half),
        "inside": low - ROUNDING <= 0 <= high + ROUNDING,
        "spread_ratio": float(fresh.std(ddof=1)) / spread if spread >= ROUNDING else None,
    }  # fmt: skip


def count_range(groups: Sequence[int], correlation: float = 0.0) -> tuple[int, int]:
    """How many 95 % intervals hold the truth in 95 of 100 repetitions.

    Without correlation this is the binomial distribution's central range. With it, the errors of a
    group follow one common normal factor; given that factor they are independent, and their number
    is a mixture of binomial ones. `groups`: how many intervals each group holds. `correlation`: of
    any two errors of a group.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(101)
    weights = weights / weights.sum()
    bound, own = special.ndtri((1 + CONFIDENCE) / 2), math.sqrt(1 - correlation)
    common = math.sqrt(correlation) * nodes
    inside = special.ndtr((bound - common) / own) - special.ndtr((-bound - common) / own)
    counts = np.ones(1)
    for size in groups:
        of_group = weights @ scipy.stats.binom.pmf(np.arange(size + 1), size, inside[:, None])
        counts = np.convolve(counts, of_group)
    summed, tail = np.cumsum(counts) / counts.sum(), (1 - CONFIDENCE) / 2
    return int(np.argmax(summed >= tail)), int(np.argmax(summed >= 1 - tail))


def kappa_of(both: Sequence[tuple[str, str]]) -> Kappa:
    """Cohen's kappa (Educ. Psychol. Meas. 20, 1960), unweighted, of pairs of words.

    Its error is that of Fleiss, Cohen & Everitt (Psychol. Bull. 72, 1969). It holds from 2 k² pairs
    on if k words occur (Cicchetti & Fleiss, Appl. Psychol. Meas. 1, 1977; Cicchetti, ibid. 5,
    1981), and takes pairs as independent. With fewer pairs, or a judge who has one word only, there
    are counts and no kappa: that is 0 whatever the other says.
    """
    counts, total = Counter(both), len(both)
    words = sorted({word for pair in both for word in pair})
    agreeing = sum(counts[word, word] for word in words)
    share = scipy.stats.binomtest(agreeing, total).proportion_ci(0.95) if total else (0.0, 1.0)
    counted = Kappa(dict(counts), total, agreeing, (float(share[0]), float(share[1])))
    alone = [judge.pop() for judge in map(set, zip(*both, strict=True)) if len(judge) == 1]
    needed = 2 * len(words) ** 2
    if not both:
        return replace(counted, reason="nothing is in both")
    if alone:
        which = "one" if len(words) > 1 else "both"
        return replace(counted, reason=f"all are {alone[0]} in {which}")
    if total < needed:
        return replace(counted, reason=f"too few: {len(words)} words need {needed}")
    from statsmodels.stats.inter_rater import cohens_kappa  # it loads all of scipy.stats

    found = cohens_kappa([[counts[one, other] for other in words] for one in words])
    low, high = np.clip((found.kappa_low, found.kappa_upp), -1, 1)
    return replace(counted, kappa=float(found.kappa), interval95=(float(low), float(high)))


def _refuse_the_same(fresh: Dataset, archive: Dataset) -> None:
    """A dataset agrees with its own copy, which says nothing."""
    key = ["block", "run", "started"]
    started = fresh.runs.loc[fresh.runs["started"] != "", key]
    if common := len(started.drop_duplicates().merge(archive.runs[key].drop_duplicates())):
        problem = f"{common} runs are in both datasets: they are the same measurements"
        where = f"results/{fresh.name} and results/{archive.name}"
        action = "measure anew (snakemake all), or name another dataset with --config fresh=…"
        raise UserError(problem, where=where, action=action)
