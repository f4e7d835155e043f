"""Sentences about servers of files: traffic or double counting, more requests or as many."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from parity.analysis import outcomes
from parity.benchmarks.figure_spec import FigureSpec, Form
from parity.core.wording import capital, listed
from parity.extensions.servers.benchmarks import usage
from parity.report import ledgers
from parity.report.text import formatting
from parity.report.view import View


def stands_for(view: View) -> str:
    """On what these servers ran and what they stand for, as figures say it; else empty."""
    found = {
        said
        for spec in view.figures
        if spec.form is Form.INTERFACES and view.shown(spec)
        for said in [
            usage.surrogate(spec.benchmark, formatting.benchmark_title(view.plan, spec.benchmark))
        ]
    }
    return " ".join(sorted(found))


def of_interfaces(view: View, spec: FigureSpec) -> str:
    """How often the sum over interfaces has what the one link has once, and what that had."""
    found = ledgers.ledger(view)
    return " ".join(_counted_again(view, found, case) for case in view.shown(spec))


def _counted_again(view: View, found: pd.DataFrame, case: str) -> str:
    times: dict[str, list[str]] = {}
    for arm in view.arms_of([case]):
        moved = ledgers.both_ways(ledgers.of_arm(found, case, arm))
        if whole := moved.get(ledgers.LINK):
            count = formatting.number(sum(moved.values()) / whole, 2)
            times.setdefault(count, []).append(arm)
    levels = formatting.case_levels(view.plan, case)
    levels = capital(levels)
    if not times:
        return f"{levels}: bytes of interfaces were not counted."
    said = listed(f"{count} with {_arms(view, arms)}" for count, arms in times.items())
    head = f"{levels}: the sum over all interfaces is so many times the bytes of the one link:"
    if len(times) == 1:
        return f"{head} {next(iter(times))} in every arm."
    link = _on_the_link(view, case, [arm for arms in times.values() for arm in arms])
    return " ".join(filter(None, (f"{head} {said}.", _with_bridge(view, found, case), link)))


def _with_bridge(view: View, found: pd.DataFrame, case: str) -> str:
    """What somebody counts who adds the bridge to the card, and leaves out containers' ends."""
    counts = {}
    for arm in view.arms_of([case]):
        moved = ledgers.both_ways(ledgers.of_arm(found, case, arm))
        if ledgers.BRIDGE in moved and (whole := moved.get(ledgers.LINK)):
            counts[arm] = formatting.number((whole + moved[ledgers.BRIDGE]) / whole, 2)
    times = " to ".join(sorted({*counts.values()}))
    return (
        f"Link and bridge alone have {times} times its bytes with {_arms(view, [*counts])}."
        if counts
        else ""
    )


def _on_the_link(view: View, case: str, arms: list[str]) -> str:
    """Whether the link had more bytes in any arm: if not, a larger sum is double counting."""
    compared = view.comparisons(case, usage.LINK.metric)
    rows = [compared[arm] for arm in arms if arm in compared and compared[arm].blocks]
    if not rows:
        return ""
    if all(row.outcome == outcomes.EQUIVALENT for row in rows):
        return (
            "The link has as many bytes in every arm as natively, within the margin "
            f"({formatting.margin(rows[0].margin)}): what the sum has more is the same bytes "
            "counted again, and no more traffic."
        )
    other = [
        formatting.arm_title(view.plan, r.arm) for r in rows if r.outcome != outcomes.EQUIVALENT
    ]
    return f"That the link has as many bytes as natively is not shown of {listed(other)}."


def _arms(view: View, arms: list[str]) -> str:
    return listed(formatting.arm_title(view.plan, arm) for arm in arms)


def of_requests(view: View, spec: FigureSpec) -> str:
    """Whether there are more disk requests for the same data, in medians; no test is made of it."""
    found = ledgers.ledger(view)
    said = [told for case in view.shown(spec) if (told := _requests(view, found, case))]
    if not said:
        return ""
    return f"Requests for the same data, medians per GiB of the files. {' '.join(said)}"


def _requests(view: View, found: pd.DataFrame, case: str) -> str:
    counts: dict[str, tuple[float, float]] = {}
    for arm in view.arms_of([case]):
        values = ledgers.of_arm(found, case, arm)
        if ledgers.REQUESTS_READ in values and ledgers.REQUESTS_WRITTEN in values:
            counts[arm] = (values[ledgers.REQUESTS_READ], values[ledgers.REQUESTS_WRITTEN])
    native = [arm for arm in (view.plan.reference, view.plan.double) if arm in counts]
    others = [arm for arm in counts if arm not in native]
    if not native or not others:
        return ""
    parts = [
        f"{word} {_span([counts[arm][way] for arm in native])} natively, "
        + _ends(view, {arm: counts[arm][way] for arm in others})
        for way, word in ((1, "writes"), (0, "reads"))
    ]
    levels = formatting.case_levels(view.plan, case)
    most = max(sum(counts[arm]) for arm in native)
    faster = [arm for arm in others if sum(counts[arm]) > most and _is_cheaper(view, case, arm)]
    higher = f" More requests make a higher rate with {_arms(view, faster)}." if faster else ""
    return f"{capital(levels)}: {'; '.join(parts)}.{higher}"


def _is_cheaper(view: View, case: str, arm: str) -> bool:
    """Whether the rate of requests is higher beyond the margin, which counts as costing less."""
    row = view.comparisons(case, usage.REQUEST_RATE.metric).get(arm)
    return bool(row and row.outcome == outcomes.DIFFERENT and row.estimate < 1)


def _ends(view: View, counts: dict[str, float]) -> str:
    """The lowest and the highest count with their arms."""
    low, high = (pick(counts, key=lambda arm: counts[arm]) for pick in (min, max))
    ends = dict.fromkeys(
        f"{counts[arm]:,.0f} with {formatting.arm_title(view.plan, arm)}" for arm in (low, high)
    )
    return " to ".join(ends)


def _span(values: list[float]) -> str:
    return " to ".join(dict.fromkeys(f"{pick(values):,.0f}" for pick in (min, max)))


OF_FORM: dict[Form, Callable[[View, FigureSpec], str]] = {Form.INTERFACES: of_interfaces}
