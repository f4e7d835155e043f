"""What spoils intervals of means, planted where it hurts: at the edge of a claim of equivalence.

The truth lies exactly at the margin, so a claim of equivalence may be supported in 5 % of the
cases and one of a difference in hardly any. Beside each stands what plain t said of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from parity.checks.planted_truth import acceptance, former_method
from parity.checks.planted_truth.acceptance import Promise
from parity.checks.planted_truth.campaign import CONTAINERS, PLUS
from parity.checks.planted_truth.planted_numbers import Chance
from parity.checks.planted_truth.sketches import EDGE, NEVER, Sketch, Truth
from parity.claims.terms import CONTRADICTED, SUPPORTED

ARM = CONTAINERS[0]
MARGIN = 0.01
TEST = {"rule": "equivalence", "margin_percent": 100 * MARGIN}
UPPER, LOWER = 1 + MARGIN, 1 / (1 + MARGIN)
FORMER = {
    SUPPORTED: former_method.equivalent(MARGIN),
    CONTRADICTED: former_method.different(MARGIN),
}


def _at_margin(words: str, chance: Chance, promise: Promise = EDGE) -> list[Truth]:
    """A cost at the upper end of the margin, and one at the lower."""
    return [
        Truth(
            f"{words}; {cost}",
            {SUPPORTED: promise, CONTRADICTED: promise},
            {ARM: ratio},
            chance,
            FORMER,
        )
        for cost, ratio in (("+1 %", UPPER), ("-0.99 %", LOWER))
    ]


def tails(blocks: int) -> Sketch:
    """Runs that deviate by Student's t."""
    return Sketch(
        f"long tails, {blocks}",
        "runs deviate by Student's t, in all arms alike",
        TEST,
        (ARM,),
        [
            Truth(f"{law}; +1 %", {SUPPORTED: EDGE}, {ARM: UPPER}, Chance(law=law), FORMER)
            for law in ("t5", "t3")
        ],
        blocks=blocks,
    )


def spikes(blocks: int) -> Sketch:
    """Something disturbs runs of one arm only.

    Where so many blocks may well hold none of the spikes, nothing in the data can widen an
    interval (`parity.analysis.estimate.mean_of`): they are only shown.
    """
    return Sketch(
        f"spikes in one arm, {blocks}",
        "some runs of the container alone are disturbed; the mean, spikes included, is at the edge",
        TEST,
        (ARM,),
        [
            truth
            for share, size in ((0.1, 0.02), (0.1, 0.05), (0.05, 0.1))
            for truth in _at_margin(
                f"{100 * share:g} % of its runs +{100 * size:g} %",
                Chance(spikes={ARM: (share, size)}),
                EDGE if share * blocks >= 3 else acceptance.not_controlled(),
            )
        ],
        blocks=blocks,
    )


def clusters(nodes: int, blocks: int = 24) -> Sketch:
    """The container costs more on some nodes than on others."""
    return Sketch(
        f"clusters, {nodes} nodes",
        f"blocks on {nodes} nodes in turn; what the container costs differs between them",
        TEST,
        (ARM,),
        _at_margin(
            "by 0.5 %",
            Chance(by_node=0.005),
            EDGE if nodes > 2 else acceptance.not_controlled(),
        ),
        blocks=blocks,
        nodes=nodes,
    )


def serial() -> Sketch:
    """What deviates in one block does so in the next."""
    return Sketch(
        "serial correlation",
        "a run's deviation correlates by 0.2 with that of the same arm in the block before",
        TEST,
        (ARM,),
        _at_margin("0.2", Chance(serial=0.2)),
        blocks=30,
    )


def losses() -> Sketch:
    """The slowest runs of one arm are those that are lost."""
    return Sketch(
        "losses of slow runs",
        "the slowest runs of the container end in a time limit",
        TEST,
        (ARM,),
        [
            Truth(
                f"{lost} of 30 lost; +{cost:g} %",
                {SUPPORTED: promise},
                {ARM: 1 + cost / 100},
                Chance(lost={ARM: lost / 30}),
                FORMER,
            )
            for lost, cost, promise in (
                (1, 1, acceptance.not_controlled()),
                (3, 1, NEVER),
                (14, 1, NEVER),
                (14, 1.5, NEVER),
            )
        ],
        blocks=30,
    )


def few_blocks(blocks: int) -> Sketch:
    """Fewer blocks than any test without a law can conclude from."""
    chance = Chance(run=0.0005)
    promises = {SUPPORTED: NEVER, CONTRADICTED: NEVER}
    return Sketch(
        f"{blocks} blocks",
        f"{blocks} blocks, however clear they seem",
        TEST,
        (ARM,),
        [Truth("+5 %", promises, {ARM: 1.05}, chance, FORMER)],
        blocks=blocks,
    )


def no_control() -> Sketch:
    """A positive control that fails to run, or to be seen."""
    still, lost = Chance(run=0.003), Chance(run=0.003, lost={PLUS: 1.0})
    truths: Mapping[str, dict[str, Any]] = {
        "seen": {"costs": {PLUS: 1.04}, "chance": still},
        "not seen": {"chance": still},
        "a gain": {"costs": {PLUS: 0.96}, "chance": still},
        "lost in every block": {"costs": {PLUS: 1.04}, "chance": lost},
    }
    often = {"seen": {SUPPORTED: acceptance.between(0.95, 1.0)}}
    return Sketch(
        "positive control",
        "4 % more work in an arm beside the A/A pair, which must be seen before equal is equal",
        TEST,
        (ARM,),
        [
            Truth(
                f"{words}; the same", often.get(words, {SUPPORTED: NEVER}), former=FORMER, **traits
            )
            for words, traits in truths.items()
        ],
        present=(PLUS,),
    )


def hazard_scenarios() -> list[Sketch]:
    """All of them, in the order of the report."""
    made = [
        tails(10),
        spikes(10),
        spikes(30),
        clusters(2),
        clusters(4),
        clusters(8),
        serial(),
        losses(),
        few_blocks(3),
        few_blocks(5),
        no_control(),
    ]
    return [replace(each, part="hazards") for each in made]
