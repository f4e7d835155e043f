"""A scenario for each decision rule: at the edge of what it says, well within, and against it."""

from __future__ import annotations

from typing import Any

from parity.checks.planted_truth import acceptance, former_method
from parity.checks.planted_truth.campaign import CONTAINERS, DOUBLE, REFERENCE
from parity.checks.planted_truth.in_memory import NODE_MIB
from parity.checks.planted_truth.planted_numbers import Chance
from parity.checks.planted_truth.sketches import ADDED, ALWAYS, EDGE, NEVER, SHARE, Sketch, Truth
from parity.claims.terms import CONTRADICTED, DIFFERS, ORDER_OK, SUPPORTED

ARM, OTHER, THIRD = CONTAINERS[:3]
# The A/A pair has a trend of its own in one of twenty studies, and then nothing is concluded.
MOSTLY = acceptance.between(0.85, 1.0)
# Tests of scatter hold their level only nearly.
NEARLY = acceptance.at_most(0.06, slack=0.03)
STILL, CALM = Chance(run=0.003), Chance(run=0.0015)


def group_equivalence() -> Sketch:
    """Every pair of arms, of which one may be apart."""
    return Sketch(
        "group-equivalence",
        "three arms, each pair of which must be the same within 1 %",
        {"rule": "group-equivalence", "margin_percent": 1},
        (ARM, OTHER, THIRD),
        [
            Truth("all the same", {SUPPORTED: ALWAYS}, chance=STILL),
            Truth("one of three +1 %", {SUPPORTED: EDGE}, {THIRD: 1.01}, STILL),
            Truth(
                "one of three +5 %", {SUPPORTED: NEVER, CONTRADICTED: ALWAYS}, {THIRD: 1.05}, STILL
            ),
        ],
    )


def non_inferiority() -> Sketch:
    """At most so much more; a gain of any size is in order."""
    former = former_method.equivalent(0.01)
    return Sketch(
        "non-inferiority",
        'a claim of "at most 1 %"; formerly, such claims were held to equivalence',
        {"rule": "non-inferiority", "margin_percent": 1},
        (ARM,),
        [
            Truth("+1 %", {SUPPORTED: EDGE, CONTRADICTED: EDGE}, {ARM: 1.01}),
            Truth("-5 %", {SUPPORTED: ALWAYS}, {ARM: 0.95}, STILL, {SUPPORTED: former}),
            Truth("+5 %", {SUPPORTED: NEVER, CONTRADICTED: ALWAYS}, {ARM: 1.05}),
        ],
    )


def direction() -> Sketch:
    """It costs more, by 1 % at least by its estimate."""
    return Sketch(
        "direction",
        "a claim of a higher cost; 1 % is the smallest effect that counts",
        {"rule": "direction", "expect": "costs-more", "smallest_effect_percent": 1},
        (ARM,),
        [
            Truth("the same", {SUPPORTED: EDGE}),
            Truth("+5 %", {SUPPORTED: ALWAYS, CONTRADICTED: NEVER}, {ARM: 1.05}),
            Truth("-5 %", {SUPPORTED: NEVER, CONTRADICTED: ALWAYS}, {ARM: 0.95}),
        ],
    )


def minimum_effect() -> Sketch:
    """It costs 30 % more at least."""
    former = former_method.costs_more(0.30)
    return Sketch(
        "minimum-effect",
        'a claim of "from 30 % on"; formerly the estimate alone had to be beyond it',
        {"rule": "minimum-effect", "expect": "costs-more", "minimum_percent": 30},
        (ARM,),
        [
            Truth("+30 %", {SUPPORTED: EDGE}, {ARM: 1.30}, former={SUPPORTED: former}),
            Truth("+40 %", {SUPPORTED: ALWAYS}, {ARM: 1.40}),
            Truth("+20 %", {SUPPORTED: NEVER, CONTRADICTED: ALWAYS}, {ARM: 1.20}),
        ],
    )


def magnitude() -> Sketch:
    """A published 5 %, on one machine."""
    return Sketch(
        "magnitude",
        "a published +5 %, beside what one machine gives",
        {"rule": "magnitude", "published": "cost/box", "scale": "ratio"},
        (ARM,),
        [
            Truth("+5 %", {ORDER_OK: ALWAYS, SUPPORTED: NEVER}, {ARM: 1.05}),
            Truth("the same", {ORDER_OK: EDGE, DIFFERS: ALWAYS}),
            Truth("+20 %", {ORDER_OK: NEVER, DIFFERS: ALWAYS}, {ARM: 1.20}),
        ],
        published="{claim},{study},planted,box,1,cost,5,percent,nowhere",
    )


def interaction() -> Sketch:
    """A factor makes the difference: which way, and by how much."""
    former = {SUPPORTED: former_method.factor_makes_it(0.01)}

    def costs(of_factor: float, of_arm: float = 0.0) -> dict[str, Any]:
        both = (1.0, 1.0 + of_factor)
        return {REFERENCE: both, DOUBLE: both, ARM: (1.0, (1 + of_factor) * (1 + of_arm))}

    return Sketch(
        "interaction",
        "a factor of two levels, the second of which is said to cost more; the container costs the "
        "same at both",
        {
            "rule": "interaction",
            "factor": "level",
            "levels": ["first", "second"],
            "expect": "second-costs-more",
            "smallest_effect_percent": 1,
            "margin_percent": 1,
        },
        (ARM,),
        [
            Truth("the second +3 %", {SUPPORTED: ALWAYS}, costs(0.03), CALM, former),
            Truth("the second -3 %", {SUPPORTED: NEVER}, costs(-0.03), STILL, former),
            Truth("the second the same", {SUPPORTED: EDGE}, costs(0.0), STILL, former),
            Truth("the container +1 % at the second", {SUPPORTED: EDGE}, costs(0.03, 0.01), STILL),
        ],
        levels=("first", "second"),
    )


def trend() -> Sketch:
    """The cost rises with the nodes, and matters at the most of them."""
    former = {SUPPORTED: former_method.rises}
    return Sketch(
        "trend",
        "a claim that the cost rises along 1, 2, 4 and 8 nodes, to 1 % at least",
        {"rule": "trend", "along": "nodes", "expect": "rising", "smallest_effect_percent": 1},
        (ARM,),
        [
            Truth("no trend", {SUPPORTED: EDGE}, chance=STILL),
            Truth("from 0 to +6 %", {SUPPORTED: MOSTLY}, {ARM: (1, 1.02, 1.04, 1.06)}, STILL),
            Truth(
                "from 0 to +0.6 %",
                {SUPPORTED: EDGE},
                {ARM: (1, 1.002, 1.004, 1.006)},
                Chance(run=0.0015),
                former,
            ),
            Truth(
                "from +6 % to 0",
                {SUPPORTED: NEVER, CONTRADICTED: MOSTLY},
                {ARM: (1.06, 1.04, 1.02, 1)},
                STILL,
            ),
        ],
        along="nodes",
        levels=(1, 2, 4, 8),
    )


def slope() -> Sketch:
    """The cost does not change with the nodes."""

    def doubling(percent: float) -> dict[str, Any]:
        return {ARM: tuple((1 + percent / 100) ** power for power in range(4))}

    return Sketch(
        "slope",
        "a claim that the cost does not change along 1, 2, 4 and 8 nodes, within 0.5 % a doubling",
        {"rule": "slope", "along": "nodes", "margin_percent": 0.5},
        (ARM,),
        [
            Truth("no slope", {SUPPORTED: ALWAYS}, chance=STILL),
            Truth("+0.5 % a doubling", {SUPPORTED: EDGE}, doubling(0.5), STILL),
            Truth("+2 % a doubling", {SUPPORTED: NEVER, CONTRADICTED: ALWAYS}, doubling(2), STILL),
        ],
        along="nodes",
        levels=(1, 2, 4, 8),
    )


def rank() -> Sketch:
    """Kernels lose in the published order."""
    kernels = ("a", "b", "c", "d")
    return Sketch(
        "rank",
        "a claim that four kernels lose in a certain order, with a tau of 0.6",
        {"rule": "rank", "along": "kernel", "order": list(kernels), "minimum_tau": 0.6},
        (ARM,),
        [
            Truth("no order", {SUPPORTED: EDGE}),
            Truth("that order", {SUPPORTED: ALWAYS}, {ARM: (1.06, 1.04, 1.02, 1)}),
            Truth(
                "its opposite",
                {SUPPORTED: NEVER, CONTRADICTED: ALWAYS},
                {ARM: (1, 1.02, 1.04, 1.06)},
            ),
        ],
        along="kernel",
        levels=kernels,
    )


def coefficient_of_variation() -> Sketch:
    """Runs scatter by less than 1 %."""

    def scatter(percent: float, law: str = "normal") -> Chance:
        return Chance(run=0.003, block=0.0, law=law, times={ARM: percent / 0.3})

    former = {SUPPORTED: former_method.scatters_below(0.01)}
    tailed = "1 %, of Student's t with 3 degrees of freedom"
    return Sketch(
        "coefficient-of-variation",
        "a claim that runs scatter by less than 1 %",
        {"rule": "coefficient-of-variation", "bound_percent": 1},
        (ARM,),
        [
            Truth("1 %", {SUPPORTED: NEARLY, CONTRADICTED: NEARLY}, {}, scatter(1), former),
            Truth("0.4 %", {SUPPORTED: ALWAYS}, chance=scatter(0.4)),
            Truth("3 %", {SUPPORTED: NEVER, CONTRADICTED: ALWAYS}, chance=scatter(3)),
            Truth(tailed, {SUPPORTED: acceptance.not_controlled()}, {}, scatter(1, "t3"), former),
        ],
        blocks=30,
    )


def _scatter(times: float, law: str = "normal", spikes: bool = False) -> Chance:
    """Runs of the arm deviate so many times as much as those of the others."""
    disturbed = (REFERENCE, DOUBLE, ARM)
    return Chance(
        run=0.006,
        block=0.003,
        law=law,
        times={ARM: times},
        spikes={arm: (0.1, 0.05 * (times if arm == ARM else 1)) for arm in disturbed}
        if spikes
        else {},
    )


# What is said of a law, and how `_scatter` makes it.
LAWS: dict[str, dict[str, Any]] = {
    "normal": {},
    "Student's t, 5 degrees of freedom": {"law": "t5"},
    "Student's t, 3 degrees of freedom": {"law": "t3"},
    "spikes in every arm": {"spikes": True},
}


def spread_ratio(blocks: int = 30) -> Sketch:
    """An arm scatters at most twice as much."""
    former = {SUPPORTED: former_method.scatters_within(2)}
    edges = [
        Truth(f"twice as much; {law}", {SUPPORTED: NEARLY}, {}, _scatter(2.0, **traits), former)
        for law, traits in LAWS.items()
    ]
    return Sketch(
        "spread-ratio",
        "a claim that an arm scatters at most twice as much as the reference",
        {"rule": "spread-ratio", "factor": 2},
        (ARM,),
        [
            *edges,
            Truth("as much", {SUPPORTED: acceptance.between(0.5, 1.0)}, {}, _scatter(1.0), former),
            Truth(
                "five times as much", {SUPPORTED: NEVER, CONTRADICTED: MOSTLY}, {}, _scatter(5.0)
            ),
        ],
        blocks=blocks,
    )


def less_variable(blocks: int = 30) -> Sketch:
    """An arm scatters less than another."""
    former = {SUPPORTED: former_method.scatters_less}
    edges = [
        Truth(f"as much; {law}", {SUPPORTED: NEARLY}, {}, _scatter(1.0, **traits), former)
        for law, traits in LAWS.items()
    ]
    return Sketch(
        "less-variable",
        "a claim that an arm scatters less than the reference",
        {"rule": "less-variable", "than": REFERENCE},
        (ARM,),
        [
            *edges,
            Truth(
                "a third as much",
                {SUPPORTED: acceptance.between(0.8, 1.0)},
                {},
                _scatter(1 / 3),
                former,
            ),
            Truth("three times as much", {SUPPORTED: NEVER}, {}, _scatter(3.0)),
        ],
        blocks=blocks,
    )


def quantile_ratio() -> Sketch:
    """Medians are the same."""
    chance = Chance(run=0.003, block=0.0)
    return Sketch(
        "quantile-ratio",
        "a claim that the medians agree within 1 %",
        {"rule": "quantile-ratio", "quantiles": [0.5], "margin_percent": 1},
        (ARM,),
        [
            Truth("the same", {SUPPORTED: ALWAYS}, {}, chance),
            Truth("+1 %", {SUPPORTED: EDGE}, {ARM: 1.01}, chance),
            Truth("+5 %", {SUPPORTED: NEVER, CONTRADICTED: ALWAYS}, {ARM: 1.05}, chance),
        ],
        blocks=20,
    )


def share_of_node() -> Sketch:
    """What an arm adds is below a hundredth of the node's memory."""
    chance, bound = Chance(run=20.0, block=50.0), NODE_MIB / 100
    return Sketch(
        "share-of-node",
        "a claim that an arm adds less than 1 % of the node's memory",
        {"rule": "share-of-node", "bound_percent": 1},
        (ARM,),
        [
            Truth("1 %", {SUPPORTED: EDGE, CONTRADICTED: EDGE}, {ARM: bound}, chance),
            Truth("0.1 %", {SUPPORTED: ALWAYS}, {ARM: bound / 10}, chance),
            Truth("3 %", {SUPPORTED: NEVER, CONTRADICTED: ALWAYS}, {ARM: 3 * bound}, chance),
        ],
        cost=ADDED,
    )


def exists(name: str = "exists", blocks: int = 14) -> Sketch:
    """Something happens in more than half of all runs."""
    former = {SUPPORTED: former_method.happens_in_all}
    rare = Truth("in 2 % of all runs", {SUPPORTED: NEVER, CONTRADICTED: ALWAYS}, {ARM: 0.02})
    often = Truth("in 98 % of all runs", {SUPPORTED: ALWAYS}, {ARM: 0.98})
    return Sketch(
        name,
        f"a claim that something happens in more than half of all runs, of which {blocks} are made",
        {"rule": "exists", "expect": True},
        (ARM,),
        [
            Truth(
                "in half of all runs",
                {SUPPORTED: EDGE, CONTRADICTED: EDGE},
                {ARM: 0.5},
                former=former,
            ),
            *((rare, often) if blocks >= 14 else ()),
        ],
        cost=SHARE,
        blocks=blocks,
    )


def rule_scenarios() -> list[Sketch]:
    """All of them, in the order of the report."""
    return [
        group_equivalence(),
        non_inferiority(),
        direction(),
        minimum_effect(),
        magnitude(),
        interaction(),
        trend(),
        slope(),
        rank(),
        coefficient_of_variation(),
        spread_ratio(),
        less_variable(),
        quantile_ratio(),
        share_of_node(),
        exists(),
        exists("exists, twice", 2),
    ]
