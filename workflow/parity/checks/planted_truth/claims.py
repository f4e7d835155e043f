"""Claims about a planted study, in a register of the real form, read by the real reader."""

from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parity.checks.planted_truth.campaign import MORE, SAME, Campaign, Claimed
from parity.claims.published import COLUMNS
from parity.claims.register import Register, load_register

# Nearly nothing, so that a false claim of more is a matter of the test and not of this bound.
SMALLEST_EFFECT_PERCENT = 0.1
_STUDY = {"title": "Planted", "authors": "nobody", "venue": "nowhere", "year": 2026}
_KINDS = {SAME: "equivalence", MORE: "direction"}


@dataclass(frozen=True)
class Claims:
    """A register, and the case and content of each of its claims, by its id."""

    register: Register
    about: Mapping[str, tuple[str, Claimed]]


def claims_of(campaign: Campaign) -> Claims:
    """The claims about a campaign; those about one case make a study, and so a family."""
    parameters = campaign.parameters()
    each = [(case, claimed) for case in parameters for claimed in campaign.claims]
    about = {f"claim-{number}": pair for number, pair in enumerate(each)}
    document = {
        "studies": {_study(case): _STUDY for case in parameters},
        "claims": [
            _entry(name, _study(case), claimed, campaign, parameters[case])
            for name, (case, claimed) in about.items()
        ],
    }
    with tempfile.TemporaryDirectory(prefix="parity-planted-") as folder:
        path, published = Path(folder) / "claims.yaml", Path(folder) / "published.csv"
        path.write_text(json.dumps(document), encoding="utf-8")  # JSON is YAML, too
        with published.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerow(COLUMNS)
        return Claims(load_register(path, published), about)


def _study(case: str) -> str:
    return f"study-{case}"


def _entry(
    name: str, study: str, claimed: Claimed, campaign: Campaign, parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """A claim as config/claims.yaml has it."""
    counter = campaign.printer.counter
    decided = {
        SAME: {"rule": "equivalence", "margin_percent": 100 * campaign.margin},
        MORE: {
            "rule": "direction",
            "expect": "costs-more",
            "smallest_effect_percent": SMALLEST_EFFECT_PERCENT,
        },
    }
    cells = {
        "benchmark": campaign.benchmark,
        "metric": campaign.printer.metric,
        "parameters": {counter: parameters[counter]},
        "arms": list(claimed.arms),
    }
    return {
        "id": name,
        "study": study,
        "kind": _KINDS[claimed.says],
        "claim": f"{', '.join(claimed.arms)}: {claimed.says}",
        "where": "nowhere",
        "published": "nothing",
        "scales": {"machine": "full", "cluster": "full"},
        "tests": [{**decided[claimed.says], "cells": cells}],
    }
