"""How the numbers of a plan's cases scatter, from earlier data: the pilots."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from parity.analysis.analysis import Analysed
from parity.analysis.pairing import Numbers, numbers
from parity.plan.plan import Case
from parity.plan.system_kind import SystemKind

# Deviation of the log of one run where nothing was ever measured.
ASSUMED = 0.01
# So many blocks of this machine tell more of it than any number of another's.
ENOUGH_BLOCKS = 10
Key = tuple[str, str]  # case and metric


@dataclass(frozen=True)
class Noise:
    """How the numbers of one case and metric scatter; logs of them, where all are above zero.

    Attributes:
        level: what the reference gives, on that scale.
        own: deviation of what a run has for itself.
        shared: deviation of what the runs of a block have in common.
        rows: deviations of blocks to draw from: a row for each, a column for each of `arms`.
        widest: deviation of the difference to the reference of the arm that scatters most.
        across: how many arms the pilot has.
        blocks: how many blocks it has; 0 without one.
        dataset: which that is, such as `archive/machine-2026-11-20`; empty without one.
        same: whether it has the parameters of the plan; else it is a hint.
    """

    unit: str
    better: str
    is_log: bool = True
    level: float = 0.0
    own: float = ASSUMED
    shared: float = 0.0
    arms: tuple[str, ...] = ()
    rows: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    widest: float = math.sqrt(2) * ASSUMED
    across: int = 0
    blocks: int = 0
    dataset: str = ""
    same: bool = False

    @property
    def deviation(self) -> float:
        """Deviation of the difference of two arms in a block, pooled over all."""
        return math.sqrt(2) * self.own

    def drawn(
        self, arms: Sequence[str], blocks: int, random: np.random.Generator
    ) -> dict[str, np.ndarray]:
        """Numbers of so many blocks, by arm."""
        chosen = self.rows[random.integers(len(self.rows), size=blocks)] if len(self.rows) else None
        shared = self.shared * random.standard_normal(blocks)
        if chosen is not None:
            shared = chosen.mean(axis=1)
        made = {}
        for arm in arms:
            if chosen is not None and arm in self.arms:
                deviations = chosen[:, self.arms.index(arm)]
            else:
                deviations = shared + self.own * random.standard_normal(blocks)
            made[arm] = np.exp(self.level + deviations) if self.is_log else self.level + deviations
        return made


def noise_of(pilot: Numbers, reference: str, dataset: str) -> Noise | None:
    """The scatter of a case and metric in a pilot; None without two blocks of two arms.

    Own and shared parts are those of an analysis of variance of blocks and arms without
    replicates (Scheffé, The Analysis of Variance, 1959, ch. 4). Arms that lack more than half
    of the reference's blocks are left out, and then blocks that lack an arm.
    """
    base = pilot.of(reference)
    arms = [arm for arm, of_arm in pilot.by_arm.items() if 2 * len(of_arm) > len(base)]
    held = set(base).intersection(*(pilot.of(arm) for arm in arms))
    if len(held) < 2 or len(arms) < 2 or reference not in arms:
        return None
    values = np.array([[pilot.of(arm)[block] for arm in arms] for block in sorted(held)])
    is_log = bool((values > 0).all())
    logs = np.log(values) if is_log else values
    deviations = logs - logs.mean(axis=0)
    of_blocks, (count, across) = deviations.mean(axis=1), deviations.shape
    residuals = deviations - of_blocks[:, None]
    own = float((residuals**2).sum()) / ((count - 1) * (across - 1))
    shared = max(0.0, float(of_blocks.var(ddof=1)) - own / across)
    enough, base_column = count >= ENOUGH_BLOCKS, arms.index(reference)
    return Noise(
        unit=pilot.unit,
        better=pilot.better,
        is_log=is_log,
        level=float(logs[:, base_column].mean()),
        own=math.sqrt(own),
        shared=math.sqrt(shared),
        arms=tuple(arms) if enough else (),
        # Means take one degree of freedom; draws have to scatter as the blocks did.
        rows=deviations * math.sqrt(count / (count - 1)) if enough else np.empty((0, 0)),
        widest=float((deviations - deviations[:, [base_column]]).std(axis=0, ddof=1).max()),
        across=across,
        blocks=count,
        dataset=dataset,
    )


class Noises:
    """What is known of the scatter of a plan's cases, from the pilots that know most of each.

    Attributes:
        known: what was asked for until now.
    """

    def __init__(self, pilots: Iterable[Analysed], kind: SystemKind) -> None:
        """From earlier datasets; `kind` is that of the system that is to measure."""
        self._kind = kind
        self._pilots = [(pilot, numbers(pilot.analysis.values)) for pilot in pilots]
        self.known: dict[Key, Noise] = {}

    def of(self, case: Case, metric: str) -> Noise:
        """The scatter of a case and metric."""
        key = case.name, metric
        if key not in self.known:
            self.known[key] = self._best(case, metric)
        return self.known[key]

    def _best(self, case: Case, metric: str) -> Noise:
        """Of the same parameters, this kind of system, measured here, many blocks: in this order.

        Without any pilot the unit is the benchmark's own, and the scatter ASSUMED.
        """
        ranked: list[tuple[tuple[bool, bool, bool, int], Noise]] = []
        for pilot, by_case in self._pilots:
            dataset, there = pilot.dataset, by_case.get((case.name, metric))
            found = there and noise_of(there, dataset.plan.reference, dataset.name)
            if found:
                same = dataset.plan.case(case.name).parameters == case.parameters
                here = dataset.name.startswith("live/") and found.blocks >= ENOUGH_BLOCKS
                rank = (same, dataset.kind == self._kind, here, found.blocks)
                ranked.append((rank, replace(found, same=same)))
        if ranked:
            return max(ranked, key=lambda each: each[0])[1]
        declared = {each.metric: each for each in case.definition.metrics}
        return Noise(declared[metric].recorded, declared[metric].better)
