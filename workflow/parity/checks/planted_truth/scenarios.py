"""The planted studies, and what is promised of the conclusions that are drawn from each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parity.analysis.statistics.power import blocks_needed, gated_power
from parity.checks.planted_truth import acceptance, measures
from parity.checks.planted_truth.campaign import (
    CONTAINERS,
    DOUBLE,
    MORE,
    PLUS,
    SAME,
    WORK_PERCENT,
    Campaign,
    Claimed,
)
from parity.checks.planted_truth.measures import LEVEL, Measure, cost
from parity.checks.planted_truth.order_scenario import drifts
from parity.checks.planted_truth.outputs import BANDWIDTH, PROCESSOR
from parity.checks.planted_truth.planted_effects import Effects, Misfortune, Noise
from parity.checks.planted_truth.sequential_scenarios import sequential
from parity.checks.planted_truth.sketches import sketches
from parity.checks.planted_truth.trials import FromLogs, Scenario
from parity.claims.terms import CONTRADICTED, SUPPORTED

CASES = 25
MARGIN = 0.01
QUIET, USUAL = Noise(run=0.0095), Noise(run=0.006)
FOUR_NODES = Noise(run=0.006, nodes=4)
# What the arms of each scenario stand for: no effect, one at the margin to either side, and
# one far beyond it.
EQUAL, UPPER, FAR, LOWER = CONTAINERS[:4]
COSTLY, AT_UPPER, AT_LOWER = 1.05, 1 + MARGIN, 1 / (1 + MARGIN)
# An A/A pair that is the same shows a direction by chance, at 5 % to either side, and where nearly
# nothing counts as an effect it then gates.
UNGATED = acceptance.at_least(1 - 2 * LEVEL, slack=0.05)


def _scenario(
    name: str, about: str, campaign: Campaign, replicates: int, measured: Sequence[Measure]
) -> Scenario:
    """Through the whole pipeline, from raw logs."""
    size = (campaign.blocks, campaign.margin, campaign.cases, replicates)
    return Scenario(name, "logs", about, *size, measured, FromLogs(campaign))


def _campaign(
    name: str,
    noise: Noise,
    blocks: int,
    ratios: Mapping[str, float],
    misfortune: Misfortune | None = None,
    claims: Sequence[Claimed] = (),
    benchmark: str = PROCESSOR,
    margin: float = MARGIN,
) -> Campaign:
    """A campaign in which each arm is claimed to be the same."""
    same = [Claimed(SAME, (arm,)) for arm in ratios if arm not in (DOUBLE, PLUS)]
    effects = Effects(noise, ratios, misfortune or Misfortune())
    return Campaign(name, benchmark, CASES, blocks, margin, effects, (*same, *claims))


def quiet() -> Scenario:
    """Chance alone, in as many blocks as give plain t and its A/A gate 80 % power."""
    ratios = {EQUAL: 1.0, UPPER: AT_UPPER, FAR: COSTLY, LOWER: AT_LOWER}
    near = (EQUAL, UPPER, LOWER)
    claims = [Claimed(SAME, near), Claimed(MORE, (EQUAL,)), Claimed(MORE, (FAR,))]
    blocks = blocks_needed(QUIET.of_a_pair, MARGIN, 0.8, gated_power)
    campaign = _campaign("quiet", QUIET, blocks, ratios, claims=claims)
    all_three = ", ".join(cost(ratios[arm]) for arm in near)
    level, half = acceptance.at_most(LEVEL), acceptance.at_most(LEVEL / 2)
    return _scenario(
        "quiet",
        f"a time, on one node; runs differ by {100 * QUIET.run:g} %, blocks by "
        f"{100 * QUIET.block:g} %; it all rises by {100 * QUIET.campaign:g} % over the campaign",
        campaign,
        750,
        [
            *measures.power(campaign, EQUAL),
            *measures.falsely_equivalent(UPPER, AT_UPPER),
            *measures.falsely_equivalent(LOWER, AT_LOWER),
            measures.judged(all_three, SAME, near, SUPPORTED, level),
            measures.judged(all_three, SAME, near, CONTRADICTED, level),
            measures.judged(cost(AT_UPPER), SAME, (UPPER,), CONTRADICTED, half),
            measures.never(cost(COSTLY), SAME, FAR, SUPPORTED),
            measures.judged("the same", MORE, (EQUAL,), SUPPORTED, level),
            measures.judged(cost(COSTLY), MORE, (FAR,), SUPPORTED, UNGATED),
            measures.covered(EQUAL, 1.0),
            measures.covered(FAR, COSTLY),
            measures.unbiased(FAR, COSTLY),
            measures.consistent(UPPER, AT_UPPER),
        ],
    )


def bandwidth() -> Scenario:
    """More is better, more noise, another margin, and a design of half the power."""
    noise, margin = Noise(run=0.024), 0.02
    ratios = {EQUAL: 1.0, UPPER: 1 + margin}
    blocks = blocks_needed(noise.of_a_pair, margin, 0.5, gated_power)
    campaign = _campaign("bandwidth", noise, blocks, ratios, benchmark=BANDWIDTH, margin=margin)
    return _scenario(
        "bandwidth",
        f"a bandwidth, of which more is better; as above, but runs differ by {100 * noise.run:g} %",
        campaign,
        750,
        [
            *measures.power(campaign, EQUAL),
            *measures.falsely_equivalent(UPPER, 1 + margin),
            measures.covered(EQUAL, 1.0),
        ],
    )


def disturbed() -> Scenario:
    """Drift within blocks, an effect of the order, and outliers with a heavy tail."""
    noise = Noise(
        run=USUAL.run,
        nodes=4,
        block_drift=0.0005,
        first=0.004,
        outlier_share=0.1,
        outlier_size=0.03,
    )
    ratios = {EQUAL: 1.0, UPPER: AT_UPPER, FAR: COSTLY}
    return _scenario(
        "disturbed",
        f"as quiet, but on four nodes, which differ by {100 * USUAL.node:g} %; runs differ by "
        f"{100 * USUAL.run:g} %; each run of a block costs "
        f"{100 * noise.block_drift:g} % more than the one before it, the first of a case "
        f"{100 * noise.first:g} % more, and {100 * noise.outlier_share:g} % of the runs are "
        f"disturbed by an exponential {100 * noise.outlier_size:g} %",
        _campaign("disturbed", noise, 12, ratios),
        1000,
        [
            *measures.falsely_equivalent(UPPER, AT_UPPER),
            measures.never(cost(COSTLY), SAME, FAR, SUPPORTED),
            measures.covered(EQUAL, 1.0),
            measures.unbiased(FAR, COSTLY, slack=0.0005),
        ],
    )


def failures() -> Scenario:
    """Failed, cut-off, invalid, interrupted and lost runs, with wrong numbers in all of them."""
    misfortune = Misfortune(
        failing=0.1, truncated=0.03, other_work=0.02, absent=0.1, killed=0.2, lost=0.05
    )
    ratios = {EQUAL: 1.0, UPPER: AT_UPPER, FAR: COSTLY}
    return _scenario(
        "failures",
        f"on four nodes, too; runs differ by {100 * USUAL.run:g} %; 10 % of the attempts fail, "
        "3 % are cut off, 2 % do other work; in 10 % of the blocks an arm is missing, in 20 % the "
        "runner is killed and resumes, 5 % are never made; "
        "what must not count is 35 % off, against the containers",
        _campaign("failures", FOUR_NODES, 10, ratios, misfortune),
        1000,
        [
            measures.miscounted(),
            *measures.falsely_equivalent(UPPER, AT_UPPER),
            measures.never(cost(COSTLY), SAME, FAR, SUPPORTED),
            measures.covered(EQUAL, 1.0),
            measures.unbiased(FAR, COSTLY),
        ],
    )


def spoiled_pair() -> Scenario:
    """The reference's double is slower than the reference: the harness itself differs."""
    ratios = {DOUBLE: 1.04, EQUAL: 1.0, FAR: COSTLY}
    campaign = _campaign("spoiled", USUAL, 10, ratios, claims=[Claimed(MORE, (FAR,))])
    return _scenario(
        "spoiled pair",
        f"on one node; runs differ by {100 * USUAL.run:g} %; the A/A pair differs from itself by "
        f"{cost(ratios[DOUBLE])}",
        campaign,
        550,
        [
            measures.never("the same", SAME, EQUAL, SUPPORTED),
            measures.never("the same", SAME, EQUAL, CONTRADICTED),
            measures.never(cost(COSTLY), SAME, FAR, SUPPORTED),
            measures.never(cost(COSTLY), SAME, FAR, CONTRADICTED),
            measures.never(cost(COSTLY), MORE, FAR, SUPPORTED),
            measures.consistent(FAR, COSTLY),
        ],
    )


def pair_at_margin() -> Scenario:
    """The A/A pair differs by exactly the margin: equal arms must hardly ever be found equal."""
    limit = acceptance.at_most(LEVEL)
    return _scenario(
        "pair at margin",
        f"on one node; runs differ by {100 * USUAL.run:g} %; the A/A pair differs from itself by "
        "exactly the margin",
        _campaign("pair", USUAL, 20, {DOUBLE: AT_UPPER, EQUAL: 1.0}),
        550,
        [measures.judged("the same", SAME, (EQUAL,), SUPPORTED, limit)],
    )


def seeing_control() -> Scenario:
    """A positive control that comes out: all is as without one."""
    ratios = {PLUS: 1.0, EQUAL: 1.0, UPPER: AT_UPPER}
    return _scenario(
        "seeing control",
        f"the same, with a positive control of {WORK_PERCENT} % more events",
        _campaign("seeing", USUAL, 20, ratios),
        550,
        [
            measures.judged("the same", SAME, (EQUAL,), SUPPORTED, acceptance.at_least(0.95)),
            measures.judged(cost(AT_UPPER), SAME, (UPPER,), SUPPORTED, acceptance.at_most(LEVEL)),
            measures.covered(PLUS, 1 + WORK_PERCENT / 100),
        ],
    )


def blind_control() -> Scenario:
    """A measurement that does not see the extra work: nothing may be called the same."""
    ratios = {PLUS: 1 / (1 + WORK_PERCENT / 100), EQUAL: 1.0, FAR: COSTLY}
    campaign = _campaign("blind", USUAL, 10, ratios, claims=[Claimed(MORE, (FAR,))])
    return _scenario(
        "blind control",
        f"the same, but {WORK_PERCENT} % more events take no more time",
        campaign,
        550,
        [
            measures.never("the same", SAME, EQUAL, SUPPORTED),
            measures.judged(cost(COSTLY), MORE, (FAR,), SUPPORTED, UNGATED),
            measures.consistent(EQUAL, 1.0),
        ],
    )


def scenarios() -> list[Scenario]:
    """All of them, in the order of the report."""
    in_memory = [each.scenario() for each in sketches()]
    return [*log_scenarios(), *in_memory, *drifts(), *sequential()]


def log_scenarios() -> list[Scenario]:
    """Those through the whole pipeline."""
    return [
        quiet(),
        bandwidth(),
        disturbed(),
        failures(),
        spoiled_pair(),
        pair_at_margin(),
        seeing_control(),
        blind_control(),
    ]
