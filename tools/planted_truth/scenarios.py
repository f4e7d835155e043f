"""The planted studies, and what is promised of the conclusions that are drawn from each."""

from __future__ import annotations

from pathlib import Path

import msgspec

from parity.analysis.statistics.power import blocks_needed, gated_power
from parity.core.documents import Document
from planted_truth import acceptance, measures
from planted_truth.campaign import CONTAINERS, DOUBLE, PLUS, SAME, Campaign, Claimed
from planted_truth.measures import LEVEL, Measure
from planted_truth.order_scenario import drifts
from planted_truth.outputs import PROCESSOR
from planted_truth.planted_effects import Effects, Misfortune, Noise
from planted_truth.sequential_scenarios import sequential
from planted_truth.sketches import sketches
from planted_truth.trials import FromLogs, Scenario

CASES = 25
# What the arms stand for: no effect, one at the margin to either side, and one far beyond it.
ARMS = dict(zip(("equal", "upper", "far", "lower"), CONTAINERS, strict=False))
ARMS |= {"double": DOUBLE, "plus": PLUS}
PROMISES = {
    "never": acceptance.never(),
    "edge": acceptance.at_most(LEVEL),
    "half": acceptance.at_most(LEVEL / 2),
    "always": acceptance.at_least(0.95),
    # An A/A pair that is the same shows a direction by chance, at 5 % to either side, and where
    # nearly nothing counts as an effect it then gates.
    "ungated": acceptance.at_least(1 - 2 * LEVEL, slack=0.05),
}


class Counted(Document, frozen=True):
    """What is counted of a scenario.

    Attributes:
        what: a function of `measures`, as `_counted` calls it.
        arms: words of `ARMS`.
        says, verdict, promise: of what is claimed of the arms, and a word of `PROMISES`.
        slack: of what is promised.
    """

    what: str
    arms: tuple[str, ...] = ()
    says: str = SAME
    verdict: str = ""
    promise: str = ""
    slack: float = 0.0


class LogScenario(Document, frozen=True):
    """An entry of `scenarios.yaml`: every arm is claimed to be the same, and what is counted.

    Attributes:
        study: its name.
        about: what is planted, in words, for the report.
        blocks: how many; 0 for as many as give plain t and its A/A gate this `power`.
        ratios: the true cost of each arm, by words of `ARMS`.
    """

    name: str
    study: str
    about: str
    noise: Noise
    ratios: dict[str, float]
    replicates: int
    counted: tuple[Counted, ...]
    blocks: int = 0
    power: float = 0.0
    margin: float = 0.01
    benchmark: str = PROCESSOR
    misfortune: Misfortune = Misfortune()

    def scenario(self) -> Scenario:
        """With what makes one of its studies, through the whole pipeline."""
        campaign = self.campaign()
        measured = [measure for each in self.counted for measure in _counted(campaign, each)]
        size = (campaign.blocks, self.margin, CASES, self.replicates)
        return Scenario(self.name, "logs", self.about, *size, measured, FromLogs(campaign))

    def campaign(self) -> Campaign:
        """Its studies."""
        same = [Claimed(SAME, (ARMS[arm],)) for arm in self.ratios if arm not in ("double", "plus")]
        asked = [
            Claimed(each.says, tuple(ARMS[arm] for arm in each.arms))
            for each in self.counted
            if each.verdict
        ]
        blocks = self.blocks or blocks_needed(
            self.noise.of_a_pair, self.margin, self.power, gated_power
        )
        ratios = {ARMS[arm]: ratio for arm, ratio in self.ratios.items()}
        effects = Effects(self.noise, ratios, self.misfortune)
        claims = tuple(dict.fromkeys([*same, *asked]))
        return Campaign(self.study, self.benchmark, CASES, blocks, self.margin, effects, claims)


def _counted(campaign: Campaign, each: Counted) -> list[Measure]:
    """What is counted, with the planted truth in words."""
    arms = tuple(ARMS[arm] for arm in each.arms)
    ratios = [campaign.ratio(arm) for arm in arms]
    if each.what == "miscounted":
        return [measures.miscounted()]
    if each.what == "verdict":
        planted = ", ".join(map(measures.cost, ratios))
        promise = PROMISES[each.promise]
        return [measures.judged(planted, each.says, arms, each.verdict, promise)]
    (arm,), (ratio,) = arms, ratios
    if each.what == "power":
        return measures.power(campaign, arm)
    if each.what == "falsely equivalent":
        return measures.falsely_equivalent(arm, ratio)
    if each.what == "unbiased":
        return [measures.unbiased(arm, ratio, each.slack)]
    return [{"covered": measures.covered, "consistent": measures.consistent}[each.what](arm, ratio)]


def scenarios() -> list[Scenario]:
    """All of them, in the order of the report."""
    in_memory = [each.scenario() for each in sketches()]
    return [*log_scenarios().values(), *in_memory, *drifts(), *sequential()]


def log_scenarios() -> dict[str, Scenario]:
    """Those through the whole pipeline, by name."""
    text = Path(__file__).with_suffix(".yaml").read_bytes()
    entries = msgspec.yaml.decode(text, type=list[LogScenario])
    return {entry.name: entry.scenario() for entry in entries}
