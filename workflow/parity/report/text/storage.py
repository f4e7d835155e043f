"""Sentences about servers of files: traffic or double counting, more requests or as many."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from parity.analysis import outcomes
from parity.benchmarks import usage
from parity.benchmarks.figure_spec import FigureSpec, Form
from parity.core.wording import listed
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
    levels = levels[:1].upper() + levels[1:]
    if not times:
        return f"{levels}: bytes of interfaces were not counted."
    said = listed(f"{count} with {_arms(view, arms)}" for count, arms in times.items())
    if len(times) == 1:
        said = f"{next(iter(times))} in every arm"
    link = _on_the_link(view, case, [arm for arms in times.values() for arm in arms])
    again = f" {link}" if len(times) > 1 else ""
    return f"{levels}: the sum over all interfaces over the bytes of the one link is {said}.{again}"


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
            "counted again, and no traffic."
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
    return (
        f"Requests for the same data, medians per GiB of the files: {' '.join(said)}"
        if said
        else ""
    )


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
        f"{_span([counts[arm][way] for arm in native])} {word} natively and "
        f"{_span([counts[arm][way] for arm in others])} in the other arms"
        for way, word in ((1, "writes"), (0, "reads"))
    ]
    return f"{formatting.case_levels(view.plan, case)}: {'; '.join(parts)}."


def _span(values: list[float]) -> str:
    return " to ".join(dict.fromkeys(f"{pick(values):,.0f}" for pick in (min, max)))


OF_FORM: dict[Form, Callable[[View, FigureSpec], str]] = {Form.INTERFACES: of_interfaces}
