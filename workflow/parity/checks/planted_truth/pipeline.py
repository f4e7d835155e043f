"""The whole real pipeline over planted logs: gathered, parsed, analysed, judged."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from parity.analysis import dataset
from parity.analysis.analysis import analyse
from parity.analysis.ledger import run_stages
from parity.checks.planted_truth.blocks import Planted, plant
from parity.checks.planted_truth.campaign import SYSTEM, Campaign, image_records
from parity.checks.planted_truth.claims import Claims
from parity.claims import system_kind
from parity.claims.verdicts import judge
from parity.plan.plan import write_plan
from parity.records import schema
from parity.records.dataset import parse_dataset
from parity.records.gather import gather_blocks, gather_raw
from parity.software.images import without_location, write_images


@dataclass(frozen=True)
class Outcome:
    """What the pipeline made of one planted study.

    Attributes:
        comparisons: `tables.COMPARISONS` of the metric that arms are compared by.
        verdicts: one row per claim: case, says, arms, verdict.
        stages: one row per planned run: block, run, stage, reason.
        planted: what was planted.
    """

    comparisons: pd.DataFrame
    verdicts: pd.DataFrame
    stages: pd.DataFrame
    planted: Planted


def run(campaign: Campaign, claims: Claims, golden: Path, seed: int) -> Outcome:
    """Plant a campaign, and take its logs through everything that real logs go through.

    Args:
        claims: those about the campaign.
        golden: folder of the golden outputs.
    """
    with tempfile.TemporaryDirectory(prefix="parity-planted-") as place:
        planted = plant(campaign, golden, Path(place) / "blocks", seed)
        folder = Path(place) / "live" / planted.plan.campaign
        collect(planted, folder)
        loaded, label = dataset.load(folder), system_kind.label(folder)
    analysis = analyse(loaded)
    judged = judge(claims.register, loaded, analysis, (), label).verdicts
    found = analysis.comparisons
    return Outcome(
        comparisons=found[found["metric"] == campaign.printer.metric].reset_index(drop=True),
        verdicts=_of_claims(judged, claims),
        stages=run_stages(loaded, analysis.pairs, analysis.exclusions),
        planted=planted,
    )


def collect(planted: Planted, folder: Path) -> None:
    """Gather and parse blocks into a dataset, as the rules of workflow/rules/collect.smk do."""
    records = folder / "records"
    records.mkdir(parents=True)
    write_plan(folder / "plan.json", planted.plan)
    write_images(folder / "images.json", without_location(image_records()))
    schema.write(schema.RAW, gather_raw(planted.folders), records / "raw.parquet")
    blocks = gather_blocks(planted.folders, SYSTEM)
    schema.write(schema.BLOCKS, blocks, records / "blocks.parquet")
    parse_dataset(folder, records)


def _of_claims(judged: pd.DataFrame, claims: Claims) -> pd.DataFrame:
    """The verdicts with what their claims are about."""
    rows = [
        (case, claimed.says, claimed.arms, verdict)
        for name, verdict in judged[["claim", "verdict"]].itertuples(index=False, name=None)
        for case, claimed in [claims.about[name]]
    ]
    return pd.DataFrame(rows, columns=["case", "says", "arms", "verdict"])
