"""Verdicts and evidence for tests of the dashboard: claims made up here, about real comparisons.

The numbers of a cell are those of the analysis that it is built from; the claims are
nobody's, and one of them tries to break out of the page.
"""

from typing import Any

import pandas as pd

from parity.analysis import outcomes
from parity.claims.verdicts import Judgement
from parity.report.dashboard import page
from parity.report.view import View

STUDIES = {
    "first2019": {"title": "A first", "authors": "First, Other", "venue": "One", "year": 2019},
    "second2021": {"title": "A second", "authors": "Second", "venue": "Two", "year": 2021},
}
HOSTILE = "</script><script>document.title='broken'</script><b>&amp;\u2028"
_OUTCOMES = {outcomes.EQUIVALENT: "supported", outcomes.DIFFERENT: "contradicted"}


def evidence(view: View, claim: str, test: int, case: str, metric: str) -> list[dict[str, Any]]:
    """A cell for each arm of a case, with the numbers of the analysis."""
    rows = view.comparisons(case, metric)
    control = rows[view.plan.double]
    return [
        {
            "claim": claim, "test": test, "rule": "equivalence", "case": case, "metric": metric,
            "arm": arm, "against": row.reference,
            "verdict": _OUTCOMES.get(row.outcome, "inconclusive"),
            "reason": f"The ratio is {row.estimate:.4f}.",
            **{key: getattr(row, key) for key in ("blocks", "estimate", "low95", "high95")},
            **{key: getattr(row, key) for key in ("low90", "high90", "margin", "smallest_margin")},
            "unit": "ratio" if row.kind == "ratio" else row.unit, "p_value": row.p_equivalence,
            "control": control.outcome, "control_estimate": control.estimate,
            "control_low95": control.low95, "control_high95": control.high95,
            "identity": row.identity, "coverage": "", "dataset": view.dataset.name,
        }
        for arm, row in rows.items()
        if arm != view.plan.double
    ]  # fmt: skip


def verdict(position: int, claim: str, verdict: str, cells: list[dict], **changes: Any) -> dict:
    """A verdict's row; its numbers are those of its first cell."""
    numbers = ("estimate", "low95", "high95", "unit", "margin", "smallest_margin", "p_value")
    last = cells[0] if cells else dict.fromkeys(numbers, None) | {"unit": "", "control": "none"}
    return {
        "position": position, "register": "claims", "claim": claim, "study": "first2019",
        "kind": "equivalence",
        "statement": f"The program of claim {claim} takes as long inside a container as outside.",
        "where": "Section 4, Fig. 1", "published": "medians 129.3 to 129.4 s", "scale": "vm",
        "capability": "full", "verdict": verdict,
        "reason": f"This is why claim {claim} is {verdict.replace('-', ' ')}.",
        **{key: last[key] for key in numbers},
        "blocks": min((cell["blocks"] for cell in cells), default=0), "cells": len(cells),
        "control": last["control"], "p_adjusted": None, "proxy": "", "registration": "after-data",
        "fingerprint": "f" * 64, "plan_sha256": "a" * 64, "coverage": "",
        "judged": "archive/sample", "dataset": cells[0]["dataset"] if cells else "",
        "datasets": cells[0]["dataset"] if cells else "",
    } | changes  # fmt: skip


def content(view: View, *more: Judgement) -> page.Content:
    """What the dashboard holds of them, and of other judgements on them."""
    return page.content([view], [judgement(view), *more], STUDIES)


def judgement(view: View) -> Judgement:
    compute = evidence(view, "compute", 1, "sysbench", "time")
    linear = evidence(view, "linear", 1, "hpcc", "hpl")
    linear += evidence(view, "linear", 2, "likwid-stream", "bandwidth")
    memory = evidence(view, "memory", 1, "memory", "node_used_increment")
    start = evidence(view, "start", 1, "startup-cold", "start_seconds")
    second = {"study": "second2021"}
    rows = [
        verdict(0, "compute", "supported", compute),
        verdict(1, "linear", "inconclusive", linear, registration="amended", proxy="HPL for HPCG"),
        verdict(2, "memory", "order-ok", memory, kind="magnitude", published="1200 MiB", **second),
        verdict(3, "start", "contradicted", start, kind="direction", **second),
        verdict(4, "size", "differs", memory, kind="magnitude", capability="direction"),
        verdict(5, "kernel", "not-tested", [], kind="mechanism", capability="none", **second),
        verdict(6, "hostile", "not-tested", [], statement=f"A claim {HOSTILE}", reason=HOSTILE),
    ]
    size = [cell | {"claim": "size"} for cell in memory]
    return Judgement(pd.DataFrame(rows), pd.DataFrame([*compute, *linear, *memory, *start, *size]))
