"""Which rules were fixed when: an append-only list, and what it says of a verdict."""

import csv
from collections import ChainMap, Counter
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

from parity.analysis.decision import FEWEST_FOR_A_DIFFERENCE
from parity.claims.register import Register
from parity.claims.rules import rules
from parity.core.errors import UserError
from parity.core.files import moment, read_rows, row_of
from parity.core.wording import listed
from parity.plan.plan import Design, Plan, plan_digest, read_plan
from parity.records.dataset import CHECKSUMS

BEFORE, AFTER, AMENDED = "before-data", "after-data", "amended"
UNREGISTERED = "unregistered"
# The later ones say less for a verdict.
STATES = (BEFORE, AFTER, AMENDED, UNREGISTERED)
PLAN = "plan:"


@dataclass(frozen=True)
class Registration:
    """One line of config/registration.csv."""

    what: str  # id of a claim, or `plan:<campaign>`
    sha256: str  # of what decides it
    registered: str  # UTC, ISO 8601


COLUMNS = tuple(field.name for field in fields(Registration))


def load(path: Path) -> tuple[Registration, ...]:
    """The registrations of such a CSV file; raises UserError if one's time is none or runs back."""
    rows = [Registration(**row) for row in read_rows(path, COLUMNS)]
    times = [moment(row.registered, "registered", row_of(path, i)) for i, row in enumerate(rows)]
    if times != sorted(times):
        problem = "the registrations are not in the order of time"
        action = "lines are only ever added at the end: restore the file with git"
        raise UserError(problem, where=str(path), action=action)
    return tuple(rows)


def plan_name(plan: Plan) -> str:
    """What a plan is registered as."""
    return f"{PLAN}{plan.campaign}"


def refuse_shared_ids(registers: Sequence[Register]) -> None:
    """Refuse (UserError) files with a claim's name in common: claims are registered by it."""
    counts = Counter(claim.id for register in registers for claim in register.claims)
    if shared := [name for name, count in counts.items() if count > 1]:
        problem = f"claims of several files have the same name: {', '.join(shared)}"
        where = ", ".join(f"{register.name}.yaml" for register in registers)
        action = "rename your own; those of config/claims.yaml are registered"
        raise UserError(problem, where=where, action=action)


def short_of(register: Register, plan: Design, blocks: Mapping[str, int]) -> dict[str, int]:
    """The claims that a plan holds cells of and cannot decide, with the blocks that it takes.

    `blocks`: of each case; fewer than show any difference are a rehearsal, to decide nothing.
    """
    short: dict[str, int] = {}
    for claim, test in ((one, test) for one in register.claims for test in one.tests):
        needs = rules()[test.rule].needed
        if needs is None or set(test.cells.arms or ()).isdisjoint(plan.arms):
            continue
        needed = needs(test.options)
        for case in filter(test.cells.holds, plan.cases):
            if FEWEST_FOR_A_DIFFERENCE <= blocks[case.name] < needed:
                short[claim.id] = max(needed, short.get(claim.id, 0))
    return short


def refuse_short_plans(
    registers: Sequence[Register], plans: Sequence[Path], registered: Sequence[Registration]
) -> None:
    """Refuse (UserError) new plans that cannot decide a claim whose cells they hold.

    An archived one is not new: its blocks are what they are, and the verdict tells it.
    """
    known = {(row.what, row.sha256) for row in registered}
    for path in plans:
        plan = read_plan(path)
        if (plan_name(plan), plan_digest(path)) in known or (path.parent / CHECKSUMS).exists():
            continue
        held = Counter(case for block in plan.blocks for case in {run.case for run in block.runs})
        if short := ChainMap(*(short_of(each, plan, held) for each in reversed(registers))):
            told = ", ".join(f"{claim} takes {needed} blocks" for claim, needed in short.items())
            problem = f"the plan of {plan.campaign} cannot decide what it measures: {told}"
            allowed = f"its cases are held by {listed(sorted(set(held.values())))}"
            action = "raise `blocks` of the scale, or let the claim ask for a smaller share"
            raise UserError(problem, where=str(path), allowed=allowed, action=action)


def wanted(registers: Sequence[Register], plans: Sequence[Path]) -> list[tuple[str, str]]:
    """What is to be registered: name and digest of every claim, and of the plan in each file."""
    refuse_shared_ids(registers)
    claims = [(claim.id, claim.sha256) for register in registers for claim in register.claims]
    return claims + [(plan_name(read_plan(path)), plan_digest(path)) for path in plans]


def missing(
    registered: Sequence[Registration], current: Sequence[tuple[str, str]], now: str
) -> list[Registration]:
    """The lines to add: what is new, and claims that are not what was registered last."""
    # A campaign may have several plans, an archived and a newer one; each is registered once.
    newest = {row.what: row.sha256 for row in registered}
    known = {(row.what, row.sha256) for row in registered}
    return [
        Registration(what, digest, now)
        for what, digest in dict.fromkeys(current)
        if (what, digest) not in known or (not what.startswith(PLAN) and newest[what] != digest)
    ]


def refuse_another_plan(path: Path, registered: Sequence[Registration]) -> None:
    """Refuse (UserError) a plan that is none of those registered for its campaign, if any are."""
    what = plan_name(read_plan(path))
    known = {row.sha256 for row in registered if row.what == what}
    if known and plan_digest(path) not in known:
        problem = "this plan is none of those that were registered for its campaign: its margins,"
        problem += " its pair or what else it says of the data was changed"
        action = "restore it with git; of a new plan, register it before its data"
        raise UserError(problem, where=str(path), action=action)


def append(path: Path, rows: Sequence[Registration]) -> None:
    """Add lines at the end of the file; nothing in it is changed."""
    with path.open("a", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(astuple(row) for row in rows)


def status(
    registered: Sequence[Registration], claim: tuple[str, str], plan: tuple[str, str],
    first_run: str,
) -> str:  # fmt: skip
    """Whether a verdict rests on what was fixed before its data.

    before-data: claim and plan are as they were last registered before the first run, and the claim
    was not changed since. after-data: the claim is as it was registered, once, but it or the plan
    not before the data. amended: the claim is another than was registered first, or the plan none
    of its campaign's. unregistered: nobody ever registered the claim. `claim`, `plan`: name and
    digest as they are now. `first_run`: its start, ISO 8601; empty if none started.
    """
    of_claim = [row for row in registered if row.what == claim[0]]
    if not of_claim:
        return UNREGISTERED
    of_plan = [row for row in registered if row.what == plan[0]]
    if of_plan and plan[1] not in {row.sha256 for row in of_plan}:
        return AMENDED
    start = datetime.fromisoformat(first_run) if first_run else datetime.max.replace(tzinfo=UTC)
    before = [row for row in registered if datetime.fromisoformat(row.registered) < start]
    plans_before = [row.sha256 for row in before if row.what == plan[0]]
    unchanged = of_claim[-1].sha256 == claim[1]
    if unchanged and of_claim[-1] in before and plans_before[-1:] == [plan[1]]:
        return BEFORE
    return AFTER if {row.sha256 for row in of_claim} == {claim[1]} else AMENDED
