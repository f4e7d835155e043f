"""Whether the same comparison in two datasets is of the same thing."""

from __future__ import annotations

from collections.abc import Collection

from parity.analysis import outcomes
from parity.analysis.analysis import Analysed
from parity.analysis.conclusions import Conclusion
from parity.analysis.pairing import DIFFERENCE
from parity.records.sizes import choosing_size

ABSOLUTE = "an absolute difference, which is not compared between machines"


def obstacle(here: Conclusion, there: Conclusion) -> str:
    """Why two comparisons cannot be compared; empty if they can."""
    if DIFFERENCE in (here.kind, there.kind):
        return ABSOLUTE
    if here.reference != there.reference:
        return f"against {here.reference} here, against {there.reference} in the archive"
    for decision, where in ((here.decision, "here"), (there.decision, "in the archive")):
        if decision.outcome == outcomes.NOT_TESTED:
            return f"not tested {where}: {decision.reason}"
        if decision.blocks < 2:
            return f"fewer than two blocks {where}: {decision.reason}"
    return ""


def another_problem(case: str, fresh: Analysed, archive: Analysed) -> str:
    """Why a case is not the same in both: parameters, or a size chosen by the node; or empty.

    How often the same work is done is no other problem: each machine's pilot finds its own amount.
    """
    here_size, there_size = (each.dataset.sizes.get(case, "") for each in (fresh, archive))
    planned = fresh.dataset.plan.case(case)
    # However a size was chosen: the runs tell which it was.
    told = choosing_size(planned.definition) if here_size and there_size else set()
    here, there = planned.parameters, archive.dataset.plan.case(case).parameters
    asked = (here.keys() | there.keys()) - told - {planned.definition.sized_by}
    if parts := _differing(asked, case, fresh, archive):
        return f"other parameters: {parts}"
    if here_size == there_size:
        return ""
    return f"another size: {here_size or 'none'} here, {there_size or 'none'} in the archive"


def other_amounts(case: str, fresh: Analysed, archive: Analysed) -> str:
    """How much more often a case does its work in one of both, in words; empty if in none."""
    amount = fresh.dataset.plan.case(case).definition.sized_by
    return _differing({amount} - {""}, case, fresh, archive)


def _differing(names: Collection[str], case: str, fresh: Analysed, archive: Analysed) -> str:
    """Those of the parameters of a case that both plans give otherwise."""
    here, there = (each.dataset.plan.case(case).parameters for each in (fresh, archive))
    return "; ".join(
        f"{name} {here.get(name, 'not set')} here, {there.get(name, 'not set')} in the archive"
        for name in sorted(names)
        if here.get(name) != there.get(name)
    )
