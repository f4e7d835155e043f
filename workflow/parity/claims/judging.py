"""A claim judged by its tests, from all datasets of one system: all must hold, or most cells."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from parity.analysis.decision import CONTROL_DIFFERS
from parity.analysis.estimate import ALPHA
from parity.analysis.methods import holm
from parity.claims import terms
from parity.claims.cells import NODES, Absent, JudgingData, Scope, Selection, nearest, resolve
from parity.claims.finding import AGAINST, JOINED, PASSED, Finding, gated, looked_at_once, untested
from parity.claims.register import Claim, Test
from parity.claims.rules import WORDS, Rule, rules
from parity.core.wording import counted, listed, number
from parity.plan.plan import Plan
from parity.plan.system import CLUSTER, MACHINE

# What a system can test of a claim: all of it, or nothing; in between stands what PARTLY says.
FULL, NO_CAPABILITY = "full", "none"
PARTLY = {"direction": "only its direction", "proxy": "only what stands in for it"}
SECONDS = "seconds"
MAGNITUDE, ANCHOR, MOST = "magnitude", "anchor", "most"
# What a system that can test only a part of a claim says: never that it holds, or that it is wrong.
SHORT_OF_FULL = {terms.CONTRADICTED: terms.DIFFERS, **dict.fromkeys(PASSED, terms.ORDER_OK)}
UNDECIDED = (terms.NOT_TESTED, terms.INCONCLUSIVE)
CALLED, ENDED = WORDS["called"], WORDS["ended"]
# Arm with that which it is compared with, and the parameters of the case.
DecidedCell = tuple[tuple[str, str], Mapping[str, Any]]


@dataclass(frozen=True)
class Verdict:
    """What a claim ends as, with all that it rests on."""

    claim: Claim
    capability: str  # what this kind of system can test of the claim
    verdict: str
    reason: str
    findings: tuple[Finding, ...] = ()
    coverage: str = ""  # how much of what it speaks of was decided; empty if nothing is said
    p_adjusted: float | None = None  # Holm's within study and kind; None outside of such a family

    @property
    def datasets(self) -> tuple[str, ...]:
        """Names of the datasets that hold a cell of it."""
        tested = (finding for finding in self.all if finding.verdict != terms.NOT_TESTED)
        return tuple(dict.fromkeys(finding.dataset for finding in tested))

    @property
    def all(self) -> tuple[Finding, ...]:
        """The findings that the verdict rests on."""
        return tuple(finding for finding in self.findings if finding.counts)

    @property
    def p_values(self) -> tuple[float | None, float | None]:
        """P of what is for the claim and of what is against it; None without any.

        For it is the largest p of all (intersection-union test: Berger, Technometrics 1982),
        against it the smallest one, times how many there are (Bonferroni). The cells of which
        most have to pass are one of them.
        """
        of_most = _tests_of_most(self.claim)
        rest = [found for found in self.all if found.test not in of_most]
        pool = [found for found in self.findings if found.test in of_most]
        p = [f.p_value for f in rest if f.p_value is not None]
        of_each = [f.p_against for f in rest if f.p_against is not None]
        against = [min(1.0, len(of_each) * min(of_each))] if of_each else []
        if pool:
            worst = _worst(pool).values()
            p.append(p_of_most(pool))
            against.append(_partial(worst, AGAINST, (len(worst) + 1) // 2))
        return max(p, default=None), min(1.0, len(against) * min(against)) if against else None


def judged(claim: Claim, datasets: Sequence[JudgingData]) -> Verdict:
    """A claim before its family is looked at."""
    kind = datasets[0].dataset.kind
    claim, capability = claim.on(kind.support), claim.capability[kind.support]
    can = capability != NO_CAPABILITY or all(test.rule == ANCHOR for test in claim.tests)
    needs = claim.needs and f"it needs {claim.needs}"
    if not (claim.tests and can):
        reason = f"this kind of system ({kind.label}) cannot test it"
        if kind.support == MACHINE and claim.capability[CLUSTER] != NO_CAPABILITY:
            reason += "; a cluster can"
        return Verdict(claim, capability, terms.NOT_TESTED, claim.not_tested or needs or reason)
    numbers = (test for test in claim.tests if not test.reading)
    found = corrected([f for test in numbers for f in _findings(test, claim, datasets)])
    of_most = _tests_of_most(claim)
    pool = iter(most_hold([finding for finding in found if finding.test in of_most]))
    found = [next(pool) if finding.test in of_most else finding for finding in found]
    # An arm that is not there takes its part from the claim, and not the rest of it.
    lacking = [f for f in found if f.of_arm and f.test not in of_most]
    rest = [finding for finding in found if finding not in lacking]
    if all(finding.verdict == terms.NOT_TESTED for finding in rest):
        lacking, rest = [], found
    deciding = [finding for finding in rest if finding.counts]
    verdict, reason = verdict_of(deciding), reason_of(deciding)
    benchmarks = {test.number: test.cells.benchmark for test in claim.tests}
    of_words = {f.coverage: benchmarks[f.test] for f in deciding if f.coverage}
    several = len(of_words) > 1
    covered = "; ".join(f"{of}: {words}" if several else words for words, of in of_words.items())
    if verdict == terms.NOT_TESTED:
        return Verdict(claim, capability, verdict, needs or reason, tuple(found), covered)
    if lacking:
        verdict = min(verdict, terms.HOLDS_IN_PART, key=terms.VERDICTS.index)
        reason += f"; not tested: {'; '.join(dict.fromkeys(f.reason for f in lacking))}"
    if covered and verdict in (terms.HOLDS_IN_PART, terms.ORDER_OK):
        reason = f"{covered}; {reason}"
    # A size that differs says itself which way it goes.
    told = (terms.ORDER_OK,) if claim.kind == MAGNITUDE else (terms.ORDER_OK, terms.DIFFERS)
    if capability in PARTLY and verdict in told:
        reason += f"; {PARTLY[capability]} can be tested here"
    aside = lacking
    for test in filter(lambda test: test.reading, claim.tests):
        aside += (read := _findings(test, claim, datasets))
        reason += f"; {test.reading}: {verdict_of(read)}, {reason_of(read)}"
    shown = (*rest, *(replace(finding, counts=False) for finding in aside))
    return Verdict(claim, capability, verdict, reason, shown, covered)


def _tests_of_most(claim: Claim) -> set[int]:
    return {test.number for test in claim.tests if test.options.get("of_cells") == MOST}


def _findings(test: Test, claim: Claim, datasets: Sequence[JudgingData]) -> list[Finding]:
    """What a test finds in all datasets, after all gates, and no more than they can say.

    Coverage lessens only what is for the claim; one cell is enough against it, of runs as long as
    the shortest that the claim speaks of. A system that cannot test all of a claim lessens both.
    """
    nothing = Absent(test.cells.metric, "", "", "the dataset has too few arms for it")
    if test.waits_for:
        return [replace(untested(nothing, f"waits for {listed(test.waits_for)}"), test=test.number)]
    rule, support = rules()[test.rule], datasets[0].dataset.kind.support
    scopes = [resolve(test.cells, data, test.than, claim.values) for data in datasets]
    found = of_datasets([_of_dataset(rule, test, scope) for scope in scopes], rule.every_pair)
    missing = [] if any(scope.cells for scope in scopes) else nearest(scopes)
    found = found or [*map(untested, missing or [nothing])]
    is_full = claim.capability[support] == FULL and (claim.kind, support) != (MAGNITUDE, MACHINE)
    plans = {data.dataset.name: data.plan for data in datasets}
    decided = [
        ((one.arm, one.against), {NODES: case.nodes, **case.parameters})
        for one in found
        if one.verdict not in UNDECIDED
        for case in map(plans[one.dataset].case, one.cases)
    ]
    covered, most = coverage(test.cells, decided)
    after = []
    for one in found:
        ended = most if one.verdict in (terms.SUPPORTED, terms.HOLDS_IN_PART) else one.verdict
        if one.verdict in AGAINST and (short := _shorter(test.cells, plans[one.dataset], one)):
            one, ended = one.opened(short), terms.INCONCLUSIVE
        ended = ended if is_full else SHORT_OF_FULL.get(ended, ended)
        after.append(replace(one, verdict=ended, coverage=covered, test=test.number))
    return after


def _of_dataset(rule: Rule, test: Test, scope: Scope) -> list[Finding]:
    """What a test finds in one dataset, after its gates; nothing if it holds no cell at all."""
    if not scope.cells:
        return [untested(absent) for absent in scope.absent if absent.of_arm]
    data, least, after = scope.data, test.cells.shortest_seconds, list[Finding]()
    brief = {cell.case: took for cell in scope.cells if least and (took := cell.seconds) < least}
    for one in (*map(untested, scope.absent), *rule.find(test.options, scope)):
        if rule.compares:
            one = gated(one, rule.proves_sameness)
            # The rule's own A/A pair has the claim's margin, which may be wider than the plan's.
            if one.verdict not in UNDECIDED and not data.unsteady.isdisjoint(one.cases):
                one = one.opened(f"{CONTROL_DIFFERS} in this case")
        short = brief.keys() & set(one.cases)
        if short and one.verdict != terms.NOT_TESTED:
            told = "nothing tells how long its timed section took"
            if took := brief[min(short)]:
                told = f"a timed section of {number(took)} s cannot tell"
            one = one.opened(f"{told}, it takes {least:g} s")
        if data.plan.looks and not rule.for_looks:
            one = looked_at_once(one)
        after.append(replace(one, dataset=data.dataset.name) if one.case else one)
    return after


def _shorter(chosen: Selection, plan: Plan, found: Finding) -> str:
    """What a finding's runs lack of the time that the statement speaks of; empty for nothing."""
    least = min(map(float, chosen.levels.get(SECONDS, ())), default=0.0)
    looked = [plan.case(case).parameters.get(SECONDS, least) for case in found.cases]
    if (shortest := min(map(float, looked), default=least)) >= least:
        return ""
    return f"runs of {shortest:g} s cannot contradict what was seen in {least:g} s"


def coverage(chosen: Selection, decided: Iterable[DecidedCell]) -> tuple[str, str]:
    """How much of what a test's statement speaks of was decided, and the most it can end as.

    In words, such as `1 of 10 node counts, size 24 for 104`; empty if no level is declared. A level
    counts if it was decided for every arm, what one arm shows at 512 nodes says nothing of another
    that ran on one, and at declared levels of the other parameters. One of these that was decided
    at none of its levels says so itself and takes nothing from the rest.
    """
    several = {name: levels for name, levels in chosen.parameters.items() if len(levels) > 1}
    wanted = {name: [*map(str, of)] for name, of in {**several, **chosen.levels}.items()}
    cells = [(arms, {name: str(level) for name, level in at.items()}) for arms, at in decided]
    every = {arms for arms, _ in cells}

    def there(name: str, among: Sequence[DecidedCell]) -> list[str]:
        """The declared levels of a parameter that these cells have of each of the arms."""
        held = {one: {arms for arms, at in among if at.get(name) == one} for one in wanted[name]}
        return [one for one, arms in held.items() if arms and arms == every]

    reached, said = [name for name in wanted if there(name, cells)], []
    for name, declared in wanted.items():
        others = [other for other in reached if other != name]
        fitting = [cell for cell in cells if all(cell[1].get(o) in wanted[o] for o in others)]
        seen = dict.fromkeys(at[name] for _, at in cells if name in at)
        said.append(_covered(name, declared, there(name, fitting), seen))
    words = ", ".join(told for told, _ in said) if cells or not said else "nothing decided"
    ends = (most for _, most in said)
    return words, min(ends, key=terms.VERDICTS.index, default=terms.SUPPORTED)


def _covered(
    name: str, declared: Sequence[str], there: Sequence[str], seen: Iterable[str]
) -> tuple[str, str]:
    """In words: `1 of 10 node counts`, `the same size`, `size 24 for 104`; and the most for it."""

    def called(count: int) -> str:
        several = "s" * (count != 1)
        return f"{CALLED[name]}{several}" if name in CALLED else f"level{several} of {name}"

    def told(levels: Sequence[str]) -> str:
        return listed(levels if len(levels) <= 3 else [f"{levels[0]} to {levels[-1]}"])

    planned, reached = len(declared), len(there)
    if reached == planned:
        share = f"all {planned}" if planned > 1 else "the same"
        return f"{share} {called(planned)}", terms.SUPPORTED
    if there:
        return f"{reached} of {planned} {called(planned)}", terms.HOLDS_IN_PART
    if instead := [level for level in seen if level not in declared]:
        return f"{called(len(instead))} {told(instead)} for {told(declared)}", terms.ORDER_OK
    return f"not {called(planned)} {told(declared)}", terms.ORDER_OK


def of_datasets(found: Sequence[Sequence[Finding]], every_pair: bool = False) -> list[Finding]:
    """The findings of one test in several datasets, less what only one of them cannot test.

    A cell that is absent in one may be there in another. Where a rule compares `every_pair` of its
    arms, each two of them have to be in one dataset.
    """
    tested = [[f for f in findings if f.verdict != terms.NOT_TESTED] for findings in found]
    arms_in = [
        {side for f in there for both in (f.arm, f.against) for side in both.split(JOINED)}
        for there in tested
    ]
    everywhere = set().union(*arms_in)
    kept = [
        finding
        for findings, arms in zip(found, arms_in, strict=True)
        for finding in findings
        if finding.verdict != terms.NOT_TESTED or finding.arm not in everywhere - arms
    ]
    compared = {frozenset((finding.arm, finding.against)) for finding in kept}
    for pair in combinations(sorted(everywhere), 2) if every_pair else ():
        if frozenset(pair) not in compared:
            reason = f"no dataset compares {listed(pair)}"
            kept.append(untested(Absent(kept[0].metric, *pair, reason)))
    return list(dict.fromkeys(kept))


def corrected(findings: Sequence[Finding]) -> list[Finding]:
    """The findings of a claim, less those against it that chance alone could give.

    A claim about many cells falls with any of them, so what speaks against it is adjusted
    for their number (Holm). What speaks for it is not: there all of them have to pass.
    """
    tested = {place: f.p_against for place, f in enumerate(findings) if f.p_against is not None}
    after = list(findings)
    for place, p in zip(tested, holm(tested.values()), strict=True):
        if findings[place].verdict in AGAINST and p >= ALPHA:
            chance = f"to be expected of one among {counted(len(tested), 'comparison')}"
            reason = f"{findings[place].reason}, {chance} (p = {number(p)})"
            after[place] = findings[place].ended(terms.INCONCLUSIVE, reason)
    return after


def verdict_of(findings: Sequence[Finding]) -> str:
    """The verdict on all: the first name in `terms.VERDICTS` that any finding has."""
    return min((f.verdict for f in findings), key=terms.VERDICTS.index)


def decisive(findings: Sequence[Finding]) -> Finding:
    """The finding that says most about the verdict: of those that have it, the most strained."""
    ended = verdict_of(findings)
    return max((f for f in findings if f.verdict == ended), key=lambda f: f.strain)


def reason_of(findings: Sequence[Finding]) -> str:
    """Why the verdict is what it is, in words."""
    ended, most = verdict_of(findings), decisive(findings)
    if ended == terms.NOT_TESTED:
        missing = "; ".join(dict.fromkeys(f.reason for f in findings if f.verdict == ended))
        others = Counter(f.verdict for f in findings if f.verdict != ended)
        gave = listed(f"{count} {name}" for name, count in sorted(others.items()))
        return f"{missing}; of what is there: {gave}" if gave else missing
    if len(findings) == 1:
        return most.reason
    several = most.against and len({f.against for f in findings if f.against}) > 1
    against = f" against {most.against}" if several else ""
    alike = sum(finding.verdict == ended for finding in findings)
    share = f"{alike} of {counted(len(findings), 'comparison')} {ENDED[ended]}"
    return f"{most.arm}{against} in {most.case}: {most.reason}; {share}"


def most_hold(pool: Sequence[Finding]) -> list[Finding]:
    """The findings of a claim that speaks of most cells, saying which of them it rests on.

    It holds if more than half of the cells pass, and if that is no chance (`p_of_most`). Cells
    that do not pass are then shown only, but for one that is against it by more than twice the
    margin. It is contradicted if half of the cells or more are against it. A cell that several
    datasets hold is one, by the worst of its findings. Where something of it was not tested,
    nobody knows how many cells that is, and the claim stays not-tested.
    """
    worst = _worst(pool)
    passed = sum(found.verdict in PASSED for found in worst.values())
    against = sum(found.verdict in AGAINST for found in worst.values())
    is_whole = not any(found.verdict == terms.NOT_TESTED for found in pool)
    holds = is_whole and p_of_most(pool) < ALPHA
    if is_whole and not holds and 2 * against >= len(worst):
        return [replace(found, counts=found.verdict in AGAINST) for found in pool]
    after = []
    for found in pool:
        if found.verdict in AGAINST and not (holds and found.is_near):
            after.append(found.opened(f"against it, but {passed} of {len(worst)} pass"))
        else:
            after.append(replace(found, counts=not holds or worst[found.of].verdict in PASSED))
    return after


def p_of_most(pool: Iterable[Finding]) -> float:
    """P of that more than half of the cells hold; 1 where fewer pass."""
    worst = _worst(pool).values()
    return _partial(worst, PASSED, len(worst) // 2 + 1)


def _partial(worst: Iterable[Finding], ended: Sequence[str], least: int) -> float:
    """P of that so many cells at least ended so in truth, with p of 1 for those that did not.

    Partial conjunction (Benjamini & Heller, Biometrics 2008), with Hochberg's steps.
    """
    cells = list(worst)
    own = [f.p_value if ended is PASSED else f.p_against for f in cells if f.verdict in ended]
    p = sorted(1.0 if one is None else one for one in own)
    return min((1.0, *((len(cells) - k + 1) * p[k - 1] for k in range(least, len(p) + 1))))


def _worst(pool: Iterable[Finding]) -> dict[tuple[object, ...], Finding]:
    """The worst finding of each cell: by its verdict, then by its p."""

    def goodness(found: Finding) -> tuple[int, float]:
        p = 1.0 if found.p_value is None else found.p_value
        return terms.VERDICTS.index(found.verdict), -p

    worst: dict[tuple[object, ...], Finding] = {}
    for found in pool:
        worst[found.of] = min(worst.get(found.of, found), found, key=goodness)
    return worst
