"""Plans of studies that never were: from as little as somebody has to say of them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from parity.plan.plan import PLAN_VERSION, Plan

_FILLED_IN = msgspec.yaml.decode(Path(__file__).with_suffix(".yaml").read_bytes())


def plan_of(content: Mapping[str, Any]) -> Plan:
    """A plan with these keys of plan.json; all others are filled in."""
    cases = [_FILLED_IN["case"] | dict(case) for case in content.get("cases", ())]
    blocks = [{"nodes": 1} | dict(block) for block in content.get("blocks", ())]
    whole = {"version": PLAN_VERSION} | _FILLED_IN["plan"] | dict(content)
    return msgspec.convert(whole | {"cases": cases, "blocks": blocks}, Plan)


def crossed(
    campaign: str, cases: Sequence[Mapping[str, Any]], arms: Iterable[str], blocks: int, *,
    reported: Collection[str] = (), node_counts: Sequence[int] = (), **content: Any,
) -> Plan:  # fmt: skip
    """A plan whose blocks hold all cases in all arms, in this order.

    Every arm is compared with the first by every primary metric of a case, at its margin; of the
    metrics that are only `reported` without one. With `node_counts` there are so many blocks for
    each, of its cases alone. `content`: further keys of plan.json.
    """
    reference, *others = arms
    numbered = []
    for number in range(1, blocks + 1):
        for nodes in node_counts or (None,):
            part = "" if nodes is None else f"n{nodes}-"
            held = [case["case"] for case in cases
                    if nodes in (None, case.get("parameters", {}).get("nodes"))]  # fmt: skip
            runs = [{"run": f"{case}.{arm}", "case": case, "arm": arm}
                    for case in held for arm in (reference, *others)]  # fmt: skip
            name = f"{campaign}-{part}b{number:04d}-00000000"
            numbered.append({"block": name, "number": number, "nodes": nodes or 1, "runs": runs})
    compared = [
        {"case": case["case"], "metric": metric, "arm": arm, "reference": reference,
         "margin": None if metric in reported else case.get("margin")}
        for case in cases for metric in case.get("primary", ()) for arm in others
    ]  # fmt: skip
    made = {
        "campaign": campaign, "study": campaign.partition("-")[0], "arms": [reference, *others],
        "cases": cases, "blocks": numbered, "comparisons": compared,
    }  # fmt: skip
    return plan_of(made | content)
