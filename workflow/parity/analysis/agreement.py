"""What one set of blocks lets one expect of another: differences, and how many of them.

All functions take the effects of one comparison, one number per block; for a ratio the
effect is a logarithm.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from parity.analysis import methods, outcomes, tables
from parity.analysis.analysis import Analysed, Key
from parity.analysis.conclusions import Conclusion
from parity.analysis.dataset import Dataset, worst
from parity.analysis.decision import (
    FEW,
    FEWEST_FOR_A_DIFFERENCE,
    NONE,
    WITHOUT_CONTROL,
    Decision,
    assay_of,
    decide,
    outcome_of,
)
from parity.analysis.estimate import Effects, Interval
from parity.analysis.evidence import CLUSTERS, DIFFERENCE, LOSSES
from parity.analysis.kappa import Kappa, kappa_of
from parity.analysis.tables import AGREEMENT
from parity.core.errors import UserError
from parity.plan.plan import PLAN
from parity.records.timed import choosing_size

CONFIDENCE = 0.95
# Arms of a case are held against the same runs of the reference. With equal variances
# any two of such differences are correlated by one half.
SHARED_REFERENCE = 0.5


def difference_interval(
    fresh: Effects, archived: Effects, confidence: float = CONFIDENCE
) -> Interval:
    """Welch's t interval of the mean of `fresh` minus the mean of `archived`.

    It takes the variance of either side from its own effects: those of two machines differ
    (Welch, Biometrika 34, 1947; degrees of freedom after Satterthwaite). Without any
    variance it has no width.

    Raises:
        ValueError: one side has fewer than two effects.
    """
    one, other = methods.finite(fresh, 2, "effects"), methods.finite(archived, 2, "effects")
    if np.ptp(one) == np.ptp(other) == 0:
        return float(one[0] - other[0]), float(one[0] - other[0])
    low, high = stats.ttest_ind(one, other, equal_var=False).confidence_interval(confidence)
    return float(low), float(high)


def count_range(groups: Sequence[int], correlation: float = 0.0) -> tuple[int, int]:
    """How many 95 % intervals hold the truth in 95 of 100 repetitions.

    Without correlation this is the binomial distribution's central range. With it, the
    errors of a group follow one common normal factor; given that factor they are
    independent, and their number is a mixture of binomial ones.

    Args:
        groups: how many intervals each group holds.
        correlation: of any two errors of a group.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(101)
    weights = weights / weights.sum()
    bound, own = stats.norm.ppf((1 + CONFIDENCE) / 2), math.sqrt(1 - correlation)
    common = math.sqrt(correlation) * nodes
    inside = stats.norm.cdf((bound - common) / own) - stats.norm.cdf((-bound - common) / own)
    counts = np.ones(1)
    for size in groups:
        of_group = weights @ stats.binom.pmf(np.arange(size + 1), size, inside[:, None])
        counts = np.convolve(counts, of_group)
    summed = np.cumsum(counts) / counts.sum()
    tail = (1 - CONFIDENCE) / 2
    return int(np.argmax(summed >= tail)), int(np.argmax(summed >= 1 - tail))


NOT_COMPARED = "not-compared"
ABSOLUTE = "an absolute difference, which is not compared between machines"
# Two logs that differ by rounding alone.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Count:
    """How many fresh ratios lie where they are expected.

    Attributes:
        inside: how many 95 % intervals of the ratio of ratios hold 1.
        compared: of how many.
        expected: how many are expected if nothing has changed.
        independent: 95 % range of that number if the rows were independent (binomial).
        sharing: the same, given that the arms of a case share the reference's runs.
    """

    inside: int
    compared: int
    expected: float
    independent: tuple[int, int]
    sharing: tuple[int, int]


@dataclass(frozen=True)
class Agreement:
    """Two datasets side by side.

    Attributes:
        table: `tables.AGREEMENT`; `count` counts its rows.
        outcomes: agreement of what both say of the arms.
    """

    fresh: str
    archive: str
    table: pd.DataFrame
    count: Count
    outcomes: Kappa


def refuse_missing(folder: Path) -> None:
    """Say in one message that there is no such dataset, and which there are.

    Raises:
        UserError: `folder` (results/<source>/<dataset>) holds no plan or no records.
    """
    if (folder / PLAN).exists() and (folder / "records/metrics.parquet").exists():
        return
    there = sorted(
        path.parents[1] for path in folder.parents[1].glob("*/*/records/metrics.parquet")
    )
    raise UserError(
        "there is no such dataset",
        where=str(folder),
        allowed=", ".join("/".join(path.parts[-2:]) for path in there),
        action="measure one (snakemake all), or name another with --config fresh=…",
    )


def agree(fresh: Analysed, archive: Analysed) -> Agreement:
    """Hold the fresh dataset against the archived one.

    Raises:
        UserError: both hold the same measurements.
    """
    _refuse_the_same(fresh.dataset, archive.dataset)
    keys = sorted(fresh.compared.keys() | archive.compared.keys())
    table = tables.frame(AGREEMENT, [_row(key, fresh, archive) for key in keys])
    names = fresh.dataset.name, archive.dataset.name
    return Agreement(*names, table, _count(table), same_outcomes(table))


def _row(key: Key, fresh: Analysed, archive: Analysed) -> dict[str, Any]:
    """One comparison in both datasets, or why it cannot be made."""
    here, there = fresh.compared.get(key), archive.compared.get(key)
    known = [comparison for comparison in (here, there) if comparison is not None]
    references = {comparison.reference for comparison in known}
    margins = [each.decision.margin for each in known if each.decision.margin is not None]
    row = dict.fromkeys(column.name for column in AGREEMENT.columns) | {
        **dict(zip(("case", "metric", "arm"), key, strict=True)),
        "reference": references.pop() if len(references) == 1 else "",
        "control": known[0].control,
        "margin": min(margins, default=None),
        "fresh_blocks": here.decision.blocks if here else 0,
        "archive_blocks": there.decision.blocks if there else 0,
        "fresh_outcome": here.decision.outcome if here else "",
        "archive_outcome": there.decision.outcome if there else "",
        "identity": worst(comparison.identity for comparison in known),
    }
    if here is None or there is None:
        reason = f"only in the {'archive' if here is None else 'fresh dataset'}"
    else:
        reason = _obstacle(here, there) or _another_problem(key[0], fresh, archive)
    if reason:
        return row | {"outcome": NOT_COMPARED, "counted": False, "reason": reason}
    effects = fresh.effects[key], archive.effects[key]
    decision = decide_difference(*effects, min(margins))
    if not row["control"]:
        decision = _gated(decision, key, min(margins), fresh, archive)
    amounts = _other_amounts(key[0], fresh, archive)
    decision = replace(decision, reason="; ".join(filter(None, (decision.reason, amounts))))
    return row | _numbers(*effects) | _decided(decision) | {"counted": _varies(*effects)}


def _obstacle(here: Conclusion, there: Conclusion) -> str:
    """Why two comparisons cannot be compared; empty if they can."""
    if DIFFERENCE in (here.kind, there.kind):
        return ABSOLUTE
    if here.reference != there.reference:
        return f"against {here.reference} here, against {there.reference} in the archive"
    for decision, where in ((here.decision, "here"), (there.decision, "in the archive")):
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
    planned = fresh.dataset.plan.case(case)
    # However a size was chosen: the runs tell which it was.
    told = choosing_size(planned.definition) if here_size and there_size else set()
    here, there = planned.parameters, archive.dataset.plan.case(case).parameters
    asked = (here.keys() | there.keys()) - told - {planned.definition.sized_by}
    if parts := _differing(asked, case, fresh, archive):
        return f"other parameters: {parts}"
    if here_size == there_size:
        return ""
    return f"another size: {here_size or 'none'} here, {there_size or 'none'} in the archive"


def _other_amounts(case: str, fresh: Analysed, archive: Analysed) -> str:
    """How much more often a case does its work in one of both, in words; empty if in none."""
    amount = fresh.dataset.plan.case(case).definition.sized_by
    return _differing({amount} - {""}, case, fresh, archive)


def _differing(names: Collection[str], case: str, fresh: Analysed, archive: Analysed) -> str:
    """Those of the parameters of a case that both plans give otherwise."""
    here, there = (each.dataset.plan.case(case).parameters for each in (fresh, archive))
    return "; ".join(
        f"{name} {here.get(name, 'not set')} here, {there.get(name, 'not set')} in the archive"
        for name in sorted(names)
        if here.get(name) != there.get(name)
    )


def decide_difference(fresh: np.ndarray, archive: np.ndarray, margin: float) -> Decision:
    """Whether two sets of log ratios have the same mean within a margin of their ratio.

    By Welch's intervals, which rest on the variances of both: the two one-sided tests of
    equivalence at 5 % (Schuirmann 1987) for two samples (Dannenberg, Dette & Munk, Biometrika
    81, 1994). In fewer than FEWEST_FOR_A_DIFFERENCE blocks of either, nothing differs.
    """
    inner, outer = (difference_interval(fresh, archive, share) for share in (0.9, 0.95))
    bound, fewest = math.log1p(margin), min(len(fresh), len(archive))
    outcome = outcome_of(inner, outer, (-bound, bound))
    few = outcome == outcomes.DIFFERENT and fewest < FEWEST_FOR_A_DIFFERENCE
    decision = Decision(
        blocks=fewest,
        estimate=math.exp(fresh.mean() - archive.mean()),
        interval95=(math.exp(outer[0]), math.exp(outer[1])),
        interval90=(math.exp(inner[0]), math.exp(inner[1])),
        margin=margin,
        smallest_margin=math.expm1(max(abs(end) for end in inner)),
        outcome=outcome,
    )
    return decision.without_claim(FEW if few else "")


def _gated(
    decision: Decision, key: Key, margin: float, fresh: Analysed, archive: Analysed
) -> Decision:
    """The decision as far as both datasets allow.

    Each A/A pair and positive control is asked at the same margin. What a dataset has against its
    own comparison, or its A/A pair, runs that were lost or nodes that differ, is held against
    this one, too.
    """
    for analysed, where in ((archive, "in the archive"), (fresh, "here")):
        control = (*key[:2], analysed.dataset.plan.double)
        effects = analysed.effects.get(control, np.empty(0))
        levels = analysed.dataset.levels(key[0], control[2])
        of_pair = decide(effects, margin, levels=levels) if len(effects) else WITHOUT_CONTROL
        of_pair = of_pair.without_claim(_objected(analysed, control))
        gates = of_pair.as_control, _assay(analysed, key, margin)
        gated = decision.without_claim(_objected(analysed, key)).gated(*gates)
        if gated.reason != decision.reason:
            return replace(gated, reason=f"{gated.reason} {where}")
    return decision


def _assay(analysed: Analysed, key: Key, margin: float) -> str:
    """The outcome of a dataset's positive control in a case; `none` where there is none."""
    plan = analysed.dataset.plan
    if plan.positive_arm not in plan.arms_of(key[0]):
        return NONE
    positive = (*key[:2], plan.positive_arm)
    levels = analysed.dataset.levels(key[0], plan.positive_arm)
    found = decide(analysed.effects.get(positive, np.empty(0)), margin, levels=levels)
    return assay_of(found.without_claim(_objected(analysed, positive)))


def _objected(analysed: Analysed, key: Key) -> str:
    """What lost runs, or nodes that differ, have against a comparison; empty for nothing."""
    reason = analysed.compared[key].decision.reason if key in analysed.compared else ""
    return reason if reason.startswith((LOSSES, CLUSTERS)) else ""


def _numbers(fresh: np.ndarray, archive: np.ndarray) -> dict[str, Any]:
    """The ratios of both, and where the fresh one is expected if nothing has changed."""
    here, there = decide(fresh, None), decide(archive, None)
    low, high = difference_interval(fresh, archive)
    spread, half = float(archive.std(ddof=1)), (high - low) / 2
    return {
        "fresh_ratio": here.estimate,
        "fresh_low95": here.interval95[0],
        "fresh_high95": here.interval95[1],
        "archive_ratio": there.estimate,
        "expected_low95": there.estimate * math.exp(-half),
        "expected_high95": there.estimate * math.exp(half),
        "inside": low - ROUNDING <= 0 <= high + ROUNDING,
        "spread_ratio": float(fresh.std(ddof=1)) / spread if spread >= ROUNDING else None,
    }


def _decided(decision: Decision) -> dict[str, Any]:
    return {
        "ratio_of_ratios": decision.estimate,
        "low95": decision.interval95[0],
        "high95": decision.interval95[1],
        "smallest_margin": decision.smallest_margin,
        "outcome": decision.outcome,
        "reason": decision.reason,
    }


def _varies(fresh: np.ndarray, archive: np.ndarray) -> bool:
    """Whether either side varies at all; if not, no interval can hold anything by chance."""
    return bool(max(np.ptp(fresh), np.ptp(archive)) >= ROUNDING)


def same_outcomes(table: pd.DataFrame) -> Kappa:
    """How far both datasets say the same of the arms that could be compared."""
    said = table[(table["outcome"] != NOT_COMPARED) & ~table["control"]]
    both = said[["fresh_outcome", "archive_outcome"]].itertuples(index=False, name=None)
    return kappa_of(list(both))


def _count(table: pd.DataFrame) -> Count:
    """How many of the rows that count lie inside, and how many should."""
    counted = table[table["counted"]]
    groups = list(counted.groupby("case").size())
    return Count(
        inside=int(counted["inside"].sum()),
        compared=len(counted),
        expected=CONFIDENCE * len(counted),
        independent=count_range(groups),
        sharing=count_range(groups, correlation=SHARED_REFERENCE),
    )


def _refuse_the_same(fresh: Dataset, archive: Dataset) -> None:
    """A dataset agrees with its own copy, which says nothing."""
    both = [
        set(found.runs.loc[found.runs["started"] != "", ["block", "run", "started"]]
            .itertuples(index=False, name=None))
        for found in (fresh, archive)
    ]  # fmt: skip
    if common := len(both[0] & both[1]):
        raise UserError(
            f"{common} runs are in both datasets: they are the same measurements",
            where=f"results/{fresh.name} and results/{archive.name}",
            action="measure anew (snakemake all), or name another dataset with --config fresh=…",
        )
