"""How far two judges give the same words, beyond what chance alone would give."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats
from statsmodels.stats.inter_rater import cohens_kappa

from parity.analysis.estimate import Interval


@dataclass(frozen=True)
class Kappa:
    """Cohen's kappa of two judges; NaN where `reason` says why there is none.

    Attributes:
        counts: how often two words came together, the first judge's first.
        agreeing: how many got the same word from both.
        share95: Clopper and Pearson's exact 95 % interval of the share of these.
        interval95: of kappa, by its large-sample error; no width where all agree.
    """

    counts: Mapping[tuple[str, str], int]
    total: int
    agreeing: int
    share95: Interval
    kappa: float = math.nan
    interval95: Interval = (math.nan, math.nan)
    reason: str = ""


def kappa_of(both: Sequence[tuple[str, str]]) -> Kappa:
    """Cohen's kappa (Educ. Psychol. Meas. 20, 1960), unweighted, of pairs of words.

    Its error is that of Fleiss, Cohen & Everitt (Psychol. Bull. 72, 1969). It holds from
    2 k² pairs on if k words occur (Cicchetti & Fleiss, Appl. Psychol. Meas. 1, 1977;
    Cicchetti, ibid. 5, 1981), and takes pairs as independent. With fewer pairs, or a judge
    who has one word only, there are counts and no kappa: that is 0 whatever the other says.
    """
    counts, total = Counter(both), len(both)
    words = sorted({word for pair in both for word in pair})
    agreeing = sum(counts[word, word] for word in words)
    share = stats.binomtest(agreeing, total).proportion_ci(0.95) if total else (0.0, 1.0)
    counted = Kappa(dict(counts), total, agreeing, (float(share[0]), float(share[1])))
    if reason := _obstacle(both, words):
        return replace(counted, reason=reason)
    found = cohens_kappa([[counts[one, other] for other in words] for one in words])
    low, high = np.clip((found.kappa_low, found.kappa_upp), -1, 1)
    return replace(counted, kappa=float(found.kappa), interval95=(float(low), float(high)))


def _obstacle(both: Sequence[tuple[str, str]], words: Sequence[str]) -> str:
    """Why there is no kappa; empty if there is one."""
    if not both:
        return "nothing is in both"
    for said in map(set, zip(*both, strict=True)):
        if len(said) == 1:
            return f"all are {said.pop()} in {'one' if len(words) > 1 else 'both'}"
    needed = 2 * len(words) ** 2
    return f"too few: {len(words)} words need {needed}" if len(both) < needed else ""
