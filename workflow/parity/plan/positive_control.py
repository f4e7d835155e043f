"""The positive control of a study: how much more work its arm does in each case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from parity.core.errors import UserError, refuse_unknown
from parity.plan.plan import Case, NotTested, PositiveControl
from parity.runtimes import every_arm as known_arms


def positive_control(
    document: Mapping[str, Any], arms: Sequence[str], cases: Sequence[Case], scale: str, where: str
) -> tuple[PositiveControl | None, list[NotTested]]:
    """The positive control with its parameters in each case, and where it cannot be, and why.

    Raises:
        UserError: its arm is none that does more work, or there is no case that it can be
            in; or such an arm is there and the study does not say how much more it does.
    """
    key = f"{where}: positive_control"
    doing_more = [name for name, arm in known_arms().items() if arm.does_more]
    given = document.get("positive_control")
    if given is None:
        if asked := [arm for arm in document["arms"] if arm in doing_more]:
            raise UserError(
                f"{asked[0]} does more work, and the study does not say how much",
                where=key,
                allowed="{arm: …, work_percent: …}",
            )
        return None, []
    arm, percent = given["arm"], given["work_percent"]
    refuse_unknown([arm], doing_more, f"{key}.arm", "arm that does more work")
    refuse_unknown([arm], document["arms"], f"{key}.arm", "arm of this study")
    if arm not in arms:
        return None, []
    more = {case.name: _more_work(case, percent) for case in cases}
    parameters = {name: each for name, each in more.items() if not isinstance(each, str)}
    if not parameters:
        raise UserError(
            f"no case can have a positive control: {next(iter(more.values()))}",
            where=f"{key}, at scale {scale}",
            action="leave it out at this scale, or give a benchmark more work to add to",
        )
    reasons = {case.benchmark: each for case in cases if isinstance(each := more[case.name], str)}
    without = [NotTested(arm=arm, benchmark=name, reason=why) for name, why in reasons.items()]
    return PositiveControl(arm=arm, work_percent=percent, parameters=parameters), without


def _more_work(case: Case, percent: float) -> dict[str, Any] | str:
    """The parameter of a case with so much more work, or why there is none.

    Work comes in whole units; it may miss what is asked for by a tenth of it.
    """
    work = case.definition.work
    if not work:
        return "its work has no unit to add to"
    if case.margin is None or percent <= 100 * case.margin:
        return f"{percent:g} % more work is not beyond its margin"
    units = case.parameters[work]
    more = round(units * (1 + percent / 100))
    if abs(100 * (more / units - 1) - percent) > percent / 10:
        return f"{units} {work} have no whole unit for {percent:g} % more"
    return {work: more}
