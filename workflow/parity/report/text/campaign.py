"""Sentences about a campaign: what it planned, what it can answer, and what it rests on."""

from __future__ import annotations

from parity.analysis.stopping import LEAST_CHANCE
from parity.core.wording import counted, listed
from parity.plan.system_kind import kind_of
from parity.records.noise_audit import NoiseAudit
from parity.report.text import formatting
from parity.report.view import View

ENOUGH = 10  # blocks from which a mean of logarithms is near enough to normal


def design(view: View) -> str:
    """How many blocks and cases the plan has, and which of them belong together."""
    cases = view.plan.cases
    nodes = sorted({case.nodes for case in cases})
    if len(nodes) == 1:
        blocks, held = counted(view.blocks, "block"), counted(len(cases), "case")
        return f"The plan has {blocks} of {held}.{_looks(view)}"
    counts = listed([str(count) for count in nodes])
    each = " to ".join(map(str, sorted(set(view.blocks_of.values()))))
    return (
        f"A block is one allocation of nodes and holds the cases of that number of nodes. The plan "
        f"has {view.blocks}\u00a0blocks, {each} for each number of nodes ({counts}), and "
        f"{len(cases)}\u00a0cases in all.{_looks(view)}"
    )


def _looks(view: View) -> str:
    """When it is looked at and what that means; empty of a plan that is looked at once."""
    plan = view.plan
    if not plan.looks:
        return ""
    time = f", and is measured for {plan.minutes:g}\u00a0minutes at most" if plan.minutes else ""
    return (
        f" It is looked at after {listed([str(look) for look in plan.looks])}\u00a0blocks{time}. "
        f"What a look decides, or leaves a chance below {100 * LEAST_CHANCE:g}\u00a0% to be "
        "decided, is not measured any more. The error is spent over the looks (Lan and DeMets, "
        "1983), and intervals hold at all of them together (Jennison and Turnbull, 1989)."
    )


def few_blocks(view: View) -> str:
    """What must be said of a campaign that is too short to answer; empty if it is not."""
    if view.repetitions >= ENOUGH:
        return ""
    return (
        "With fewer than ten blocks the intervals rest on the normality of few values, and what "
        "comes in one block of ten may never have come."
    )


def excluded(runs: int) -> str:
    """How many runs a person excluded."""
    if not runs:
        return "No run was excluded by hand."
    return f"{counted(runs, 'run')} {'was' if runs == 1 else 'were'} excluded by hand."


def declared(view: View) -> str:
    """What the study declares and does not run; empty if there is nothing."""
    plan = view.plan
    names = [
        formatting.arm_title(plan, each.arm)
        if each.arm
        else formatting.benchmark_title(plan, each.benchmark)
        for each in plan.not_tested
        if each.arm not in plan.arms
    ]
    names = list(dict.fromkeys(names))
    them = "it" if len(names) == 1 else "them"
    return (
        f"The study declares {listed(names)} and does not run {them} in this campaign."
        if names
        else ""
    )


def positive_control(view: View) -> str:
    """Whether a known difference was planned to be seen, and what hangs on it."""
    control = view.plan.positive_control
    if control is None:
        return "There is no positive control, which would show that a difference can be seen."
    return (
        f"{formatting.arm_title(view.plan, control.arm)} is the positive control: where its cost "
        "does not come out beyond the margin, we claim no equivalence."
    )


def harness(audit: NoiseAudit | None) -> str:
    """What the harness costs: a block job's time over a bare script's, with all it rests on."""
    if audit is None:
        return "not measured on this system"
    found = audit.own
    ratio, low, high = map(formatting.number, (found.ratio, found.low95, found.high95))
    note = kind_of([audit.scale_label]).note.removesuffix(".")
    return (
        f"{ratio} [{low}, {high}] for {audit.program} over {len(audit.values)} pairs, measured "
        f"{audit.measured[:10]} on {audit.system} ({audit.scale_label})"
        + (f"; {note[0].lower()}{note[1:]}" if note else "")
    )
