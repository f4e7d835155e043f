"""How likely each claim is to come out as it says, if no container costs anything.

A claim is about several arms and cases at once, and passes gates: that all of it passes is
far less likely than that one comparison does. So data are drawn (`simulated.py`) and judged
by the very rules, as often as it takes.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from scipy import stats

from parity.analysis.estimate import Interval
from parity.claims import terms
from parity.claims.cells import Scope, resolve
from parity.claims.finding import PASSED
from parity.claims.judging import judged
from parity.claims.register import Claim, Test
from parity.claims.rules import rules
from parity.core.wording import span
from parity.preview.proof import Proof, Takes, arms_of
from parity.preview.simulated import ASSUMED, ENOUGH_BLOCKS, Key, Noise, Simulated, Simulator
from parity.preview.terminal import aligned, said

ENOUGH_PASSES, MOST_DRAWS = 30, 300  # Draws end when a claim held so often, or after so many.
FEW_DRAWS = 3  # What holds with a power of 80 % fails in all of so many less than once in 100.
FEASIBLE_BLOCKS = 1000  # More are not to be expected of anybody.
POWER, MARGIN = 0.8, "margin_percent"
HEAD = ("claim", "tests", "cells", "holds", "95 %", "blocks", "time")
SHORT_HEAD = HEAD[:5]


@dataclass(frozen=True)
class Reach:
    """What the case of a claim that scatters most for its margin needs, at POWER."""

    key: Key
    margin: float
    noise: Noise
    blocks: int | None  # fewest for its A/A pair, which has to pass; None above FEASIBLE_BLOCKS
    provable: float  # smallest margin that FEASIBLE_BLOCKS prove of it


@dataclass(frozen=True)
class Chance:
    """How often a claim held in draws of what costs nothing."""

    claim: Claim
    of_tests: str  # how many of its tests the plan can decide, such as `1 of 3`; only these were
    sameness: bool  # whether it says that things are the same; else it would hold wrongly
    planned: int  # blocks of the case that has fewest
    comparisons: int  # how many cells its tests look at
    passes: int
    draws: int
    verdict: str  # what it is called where it holds; empty if it never did
    weakest: str  # what fails most; empty if nothing ever did
    beyond: bool  # whether that fails in FEASIBLE_BLOCKS, too, of a claim that never held
    reach: Reach | None  # which says so of a margin; None for a claim without one of ratios

    @property
    def share(self) -> float:
        """Estimate: unbiased, also where draws ended by the passes (Haldane, Biometrika 1945)."""
        last = self.passes >= ENOUGH_PASSES
        return (self.passes - last) / (self.draws - last)

    @property
    def interval95(self) -> Interval:
        """Exact interval of the share (Clopper & Pearson, Biometrika 1934), of either ending."""
        missed, ended = self.draws - self.passes, self.passes >= ENOUGH_PASSES
        low = stats.beta.ppf(0.025, self.passes, missed + 1) if self.passes else 0.0
        high = stats.beta.ppf(0.975, self.passes + (not ended), missed) if missed else 1.0
        return float(low), float(high)


def chances(claims: Iterable[Claim], simulator: Simulator) -> list[Chance]:
    """The chance of each claim of which the plan can decide a part, if its rules compare arms."""
    found, plan = [], simulator.plan
    there = [(case, of.metric) for case in plan.cases for of in plan.quantities(case)]
    for claim in claims:
        # The cases and metrics of the plan that it may look at.
        asked = {(test.cells.benchmark, test.cells.metric) for test in claim.tests}
        keys = [(case.name, of) for case, of in there if (case.benchmark, of) in asked]
        if not keys or not all(rules()[test.rule].compares for test in claim.tests):
            continue
        first = simulator.draw(keys, 0)
        here = [replace(claim, tests=(test,)) for test in claim.tests]
        here = [part for part in here if judged(part, [first]).verdict != terms.NOT_TESTED]
        if here:
            tests = tuple(test for part in here for test in part.tests)
            of_tests = f"{len(tests)} of {len(claim.tests)}"
            found.append(_chance(replace(claim, tests=tests), of_tests, keys, simulator))
    return found


def _chance(claim: Claim, of_tests: str, keys: Sequence[Key], simulator: Simulator) -> Chance:
    first = simulator.draw(keys, 0)
    cells = [cell for test in claim.tests for cell in _scope(test, claim, first).cells]
    asked, waiting = [rules()[test.rule] for test in claim.tests], _parts(claim, first)
    passes, draws, verdict, failed_in = 0, 0, "", Counter[int]()
    while passes < ENOUGH_PASSES and draws < MOST_DRAWS:
        data = [simulator.draw(keys, draws)]
        draws += 1
        failed = next((p for p in waiting if judged(p, data).verdict not in PASSED), None)
        if failed is None:
            passes += 1
            verdict = verdict or judged(claim, data).verdict
        else:
            # What fails most is looked at first: the rest need not be.
            waiting.remove(failed)
            waiting.insert(0, failed)
            failed_in[id(failed)] += 1
    weakest = max(waiting, key=lambda part: failed_in[id(part)])
    fails, is_beyond = weakest.tests[0], False
    if not passes and MARGIN not in fails.options:
        # Whether it holds in none of a few draws of as many blocks as are feasible.
        cases = {c.case for test in weakest.tests for c in _scope(test, weakest, first).cells}
        larger = simulator.enlarged(cases, FEASIBLE_BLOCKS)
        wanted = [key for key in keys if key[0] in cases]
        more = (larger.draw(wanted, number) for number in range(FEW_DRAWS))
        is_beyond = not any(judged(weakest, [data]).verdict in PASSED for data in more)
    return Chance(
        claim=claim, of_tests=of_tests, planned=min(cell.blocks for cell in cells),
        sameness=all(rule.proves_sameness and not rule.one_sided for rule in asked),
        comparisons=len(cells), passes=passes, draws=draws, verdict=verdict, beyond=is_beyond,
        weakest=f"{fails.rule} of {fails.cells.benchmark} {fails.cells.metric}" * (passes < draws),
        reach=_reach(claim, first, simulator),
    )  # fmt: skip


def _scope(test: Test, claim: Claim, data: Simulated) -> Scope:
    return resolve(test.cells, data, test.than, claim.values)


def _parts(claim: Claim, data: Simulated) -> list[Claim]:
    """A claim in parts all of which must hold for it to hold, as small as its rules allow."""
    # Tests of which most cells must pass are looked at together.
    if any(test.options.get("of_cells") == "most" for test in claim.tests):
        return [claim]
    parts = (part for test in claim.tests for part in _split(test, claim, data))
    return [replace(claim, tests=(part,)) for part in parts]


def _split(test: Test, claim: Claim, data: Simulated) -> Iterator[Test]:
    rule = rules()[test.rule]
    if not (rule.by_cell or rule.every_pair):
        yield test
        return
    by_case: dict[str, list[tuple[str, str]]] = {}
    for cell in _scope(test, claim, data).cells:
        by_case.setdefault(cell.case, []).append((cell.arm, cell.against))
    for name, sides in by_case.items():
        parameters = {key: (value,) for key, value in data.plan.case(name).parameters.items()}
        for some in combinations(sides, 2 if rule.every_pair else 1):
            arms, against = zip(*some, strict=True)
            cells = replace(test.cells, parameters=parameters, arms=arms, against=against)
            yield replace(test, cells=cells)


def _reach(claim: Claim, data: Simulated, simulator: Simulator) -> Reach | None:
    """What the most demanding case of a claim's equivalences needs."""
    found = []
    for test in claim.tests:
        rule = rules()[test.rule]
        is_equivalence = rule.proves_sameness and (rule.by_cell or rule.every_pair)
        if not (is_equivalence and MARGIN in test.options):
            continue
        margin = test.options[MARGIN] / 100
        for key in {(cell.case, cell.metric) for cell in _scope(test, claim, data).cells}:
            noise = simulator.noises.of(simulator.plan.case(key[0]), key[1])
            found.append((noise.deviation / margin, key, margin, noise))
    if not found:
        return None
    _, key, margin, noise = max(found, key=lambda each: each[:2])
    plan = simulator.plan
    proof = Proof(noise, arms_of(plan), plan.looks, plan.in_pairs(key[0]))
    provable = proof.margin(FEASIBLE_BLOCKS, POWER)
    blocks = proof.blocks(margin, POWER) if provable <= margin else None
    return Reach(key, margin, noise, blocks, provable)


def chance_lines(found: Sequence[Chance], known: Mapping[Key, Noise], takes: Takes) -> list[str]:
    """The chances of claims of no cost, what no plan can prove, and claims that would err.

    `known`: the scatter that was drawn from. `takes`: how long so many blocks of a case take.
    """
    if not found:
        return ["Chances of claims: this plan can decide no claim that compares arms"]
    alike, differing = ([one for one in found if one.sameness == same] for same in (True, False))
    head, *rows = aligned([HEAD, *((*_row(one), *_needed(one, takes)) for one in alike)])
    fewest: dict[str, int] = {}
    for noise in known.values():
        fewest[noise.dataset] = min(noise.blocks, fewest.get(noise.dataset, noise.blocks))
    fewest.pop("", None)
    return said(
        "chances.txt.j2", planned=span([one.planned for one in found]), head=head,
        alike=list(zip(alike, rows, strict=True)), fewest=fewest, enough=ENOUGH_BLOCKS,
        differing=aligned([SHORT_HEAD, *map(_row, differing)]) if differing else [],
        assumed=[" ".join(key) for key, noise in known.items() if not noise.dataset],
        assumed_scatter=ASSUMED, feasible=f"{FEASIBLE_BLOCKS:,}",
    )  # fmt: skip


def _row(one: Chance) -> tuple[str, ...]:
    # Shares in per cent: whole ones, and tenths below one.
    shares = ((each, int(0 < each < 0.0095)) for each in (one.share, *one.interval95))
    share, low, high = (f"{100 * each:.{digits}f}" for each, digits in shares)
    return one.claim.id, one.of_tests, f"{one.comparisons}", f"{share} %", f"{low} to {high} %"


def _needed(one: Chance, takes: Takes) -> tuple[str, str]:
    if one.reach is None:
        return "–", "–"
    (case, _), blocks = one.reach.key, one.reach.blocks
    return ("none", "–") if blocks is None else (str(blocks), takes(case, blocks))
