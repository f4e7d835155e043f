"""Everything that the page holds, as one document of plain values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from parity.plan.system_kind import kind_of
from parity.report.dashboard import runs, wording
from parity.report.dashboard.texts import Texts
from parity.report.figures.specs import MACHINE_FACTS
from parity.report.text import formatting
from parity.report.view import View


def content(
    view: View,
    verdicts: pd.DataFrame,
    evidence: pd.DataFrame,
    studies: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    """The page's data.

    Args:
        verdicts, evidence: the tables of these names in parity.claims.tables.
        studies: title, authors, venue and year of each study, by its id.
    """
    texts = Texts()
    rows = runs.runs(view.dataset, view.analysis, texts)
    return {
        "dataset": dataset(view),
        "studies": studies,
        "verdicts": runs.records(verdicts.sort_values("position")),
        "evidence": runs.records(evidence),
        "wording": {
            "verdicts": wording.VERDICTS,
            "kinds": wording.KINDS,
            "registrations": wording.REGISTRATIONS,
            "capabilities": wording.CAPABILITIES,
            "controls": wording.CONTROLS,
            "facts": MACHINE_FACTS,
        },
        "arms": {arm: formatting.arm_title(view.plan, arm) for arm in view.arms},
        "cases": {
            case["case"]: {
                "title": formatting.case_title(view.plan, case["case"]),
                "benchmark": case["benchmark"],
            }
            for case in view.plan.cases
        },
        "quantities": quantities(view),
        "blocks": runs.blocks(view.dataset),
        "nodes": runs.nodes(view.dataset),
        "images": runs.images(view.dataset),
        "fields": {"texts": runs.TEXTS, "all": runs.FIELDS},
        "runs": rows,
        "texts": texts.listed,
    }


def dataset(view: View) -> dict[str, Any]:
    """What the page's head says of the dataset."""
    facts = view.origin.facts
    return {
        "name": view.dataset.name,
        "title": view.plan.title,
        "reproduces": view.plan.reproduces,
        "systems": list(view.origin.systems),
        "measured": formatting.period(facts.began, facts.ended),
        "blocks": len(view.plan.blocks),
        "runs": len(view.dataset.planned),
        "commits": [program.commit for program in facts.programs],
        "reference": view.plan.reference,
        "double": view.dataset.double,
        "scale_note": kind_of(view.origin.scale_labels).threat,
    }


def quantities(view: View) -> dict[str, dict[str, Any]]:
    """How each metric is called and shown, by `<benchmark>/<metric>`.

    `factor` turns a value in the `recorded` unit into one in `unit`.
    """
    found = {}
    for name, entry in runs.metrics(view.dataset).items():
        known = formatting.quantity(name.split("/")[1], entry["unit"])
        found[name] = {
            "label": known.label,
            "unit": known.unit,
            "factor": known.factor,
            "recorded": entry["unit"],
            "better": entry["better"],
        }
    return found
