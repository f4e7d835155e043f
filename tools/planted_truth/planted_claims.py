"""Registers of claims about planted studies, which are read as config/claims.yaml is."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from parity.claims.published import COLUMNS
from parity.claims.register import Register, load_register
from planted_truth.campaign import MORE, SAME, Campaign, Claimed

# Nearly nothing, so that a false claim of more is a matter of the test and not of this bound.
SMALLEST_EFFECT_PERCENT = 0.1
_STUDY = {"title": "Planted", "authors": "nobody", "venue": "nowhere", "year": 2026}


def entry(name: str, study: str, test: Mapping[str, Any]) -> dict[str, Any]:
    """A claim of one test. Claims of one study and kind are a family."""
    return {
        "id": name,
        "study": study,
        "kind": test["rule"] if test["rule"] in ("direction", "magnitude") else "equivalence",
        "claim": "It is so.",
        "where": "nowhere",
        "published": "nothing",
        "scales": {"machine": "full", "cluster": "full"},
        "tests": [test],
    }


def register_of(entries: Sequence[Mapping[str, Any]], published: Sequence[str] = ()) -> Register:
    """The register of these claims, and of these lines of config/published/claims.csv."""
    document = {"studies": {each["study"]: _STUDY for each in entries}, "claims": entries}
    with tempfile.TemporaryDirectory(prefix="parity-planted-") as folder:
        claims, numbers = Path(folder) / "claims.yaml", Path(folder) / "published.csv"
        claims.write_text(json.dumps(document), encoding="utf-8")  # JSON is YAML, too
        numbers.write_text("\n".join([",".join(COLUMNS), *published, ""]), encoding="utf-8")
        return load_register(claims, numbers)


@dataclass(frozen=True)
class Claims:
    """A register, and what each claim is about: claim, case, says, arms."""

    register: Register
    about: pd.DataFrame


def claims_of(campaign: Campaign) -> Claims:
    """The claims about a campaign; those about one case make a study, and so a family."""
    parameters = campaign.parameters()
    each = [(case, claimed) for case in parameters for claimed in campaign.claims]
    about = pd.DataFrame(
        [(f"claim-{i}", case, said.says, said.arms) for i, (case, said) in enumerate(each)],
        columns=["claim", "case", "says", "arms"],
    )
    entries = [
        entry(f"claim-{i}", f"study-{case}", _test(said, campaign, parameters[case]))
        for i, (case, said) in enumerate(each)
    ]
    return Claims(register_of(entries), about)


def _test(claimed: Claimed, campaign: Campaign, parameters: Mapping[str, Any]) -> dict[str, Any]:
    counter = campaign.printer.counter
    decided = {
        SAME: {"rule": "equivalence", "margin_percent": 100 * campaign.margin},
        MORE: {
            "rule": "direction",
            "expect": "costs-more",
            "smallest_effect_percent": SMALLEST_EFFECT_PERCENT,
        },
    }[claimed.says]
    cells = {
        "benchmark": campaign.benchmark,
        "metric": campaign.printer.metric,
        "parameters": {counter: parameters[counter]},
        "arms": list(claimed.arms),
    }
    return {**decided, "cells": cells}
