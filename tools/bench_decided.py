"""How much the default study decides in its minutes, with the scatter of archived machines planted.

`python tools/bench_decided.py` draws the blocks of an archive anew, arms that cost the same, and
walks through the looks as a campaign does; `make bench` prints it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from planted_truth import in_memory
from planted_truth.in_memory import Layout
from planted_truth.sequential_scenarios import concluded

from parity.analysis import comparisons
from parity.analysis.analysis import analysed
from parity.analysis.look import stops_in_time
from parity.analysis.outcomes import EQUIVALENT
from parity.analysis.pairing import numbers
from parity.core.errors import shown_to_the_user
from parity.plan.looks import Stop
from parity.plan.study import Study, load_study
from parity.preview.noise import noise_of

ROOT = Path(__file__).parents[1]
ARCHIVES = ("machine-2026-11-20", "epyc2-torrez2019-2026-11-22")
# Runs of the length that the pilot gives them.
TAKEN_FROM = ROOT / "results/archive/epyc2-torrez2019-2026-11-22/records/runs.parquet"
MARGIN = 0.01
CAMPAIGNS = 20

Run = tuple[str, str]


class Planted(NamedTuple):
    """What is planted of the cases that have a margin.

    Attributes:
        layout: all cases at the same margin; their logs are stretched to it.
        values: in the shape (blocks, cases, arms).
        seconds: of a run, by case and arm.
        beside: seconds of a block's runs without a margin, which the first look stops.
    """

    layout: Layout
    values: np.ndarray
    seconds: pd.Series
    beside: float


def planted(study: Study, archive: str, random: np.random.Generator) -> Planted:
    """One campaign of a study with looks, scattering as an archive does."""
    found = analysed(ROOT / "results/archive" / archive)
    known = numbers(found.analysis.values)
    taken = pd.read_parquet(TAKEN_FROM, columns=["case", "arm", "wall_seconds"])
    seconds = taken.groupby(["case", "arm"])["wall_seconds"].median()
    cases = {case.name: case for case in study.cases if case.margin is not None}
    arms = tuple(arm for arm in study.arms if arm not in study.aa_pair)
    blocks = study.looks[-1]
    layout = Layout({name: {} for name in cases}, arms, (0,) * blocks, MARGIN, looks=study.looks)
    values = np.empty((blocks, len(cases), len(layout.all_arms)))
    for number, (name, case) in enumerate(cases.items()):
        metric = next(metric for metric in case.primary if metric not in case.differences)
        noise = noise_of(known[name, metric], study.reference, archive)
        assert noise is not None
        drawn = noise.drawn(layout.all_arms, blocks, random)
        stretched = math.log1p(MARGIN) / math.log1p(case.margin or MARGIN)
        for place, arm in enumerate(layout.all_arms):
            values[:, number, place] = np.exp(stretched * (np.log(drawn[arm]) - noise.level))
    rest = [case.name for case in study.cases if case.margin is None]
    return Planted(layout, values, seconds[list(cases)], float(seconds[rest].sum()))


def decided(campaign: Planted, minutes: float) -> int:
    """How many comparisons with the reference are equivalent when the time is over."""
    layout, values = campaign.layout, campaign.values.copy()
    cases, arms = list(layout.parameters), layout.all_arms
    reasons = np.full(values.shape, "", dtype=object)
    gone: dict[Run, Stop] = {}
    made, left, beside = 0, 60 * minutes, campaign.beside
    for look in layout.looks:
        going = campaign.seconds[[run not in gone for run in campaign.seconds.index]]
        block = beside + going.sum()
        more = min(look - made, int(left / block)) if block else 0
        made, left, beside = made + more, left - more * block, 0.0
        dataset = in_memory.dataset(layout, values[:made], reasons[:made])
        table = concluded(dataset)

        def most(
            share: float, now: float = going.sum(), made: int = made, left: float = left
        ) -> int:
            return min(layout.looks[-1], made + int(left / (now * share))) if now * share else made

        compared, before = comparisons.of_table(table), tuple(gone.values())
        for stop in stops_in_time(dataset.plan, compared, before, campaign.seconds, most):
            gone[stop.case, stop.arm] = stop
            place = slice(made, None), cases.index(stop.case), arms.index(stop.arm)
            reasons[place], values[place] = stop.reason, np.nan
        if made < look:
            break
    others = table[~table["arm"].isin(arms[:2])]
    return int((others["outcome"] == EQUIVALENT).sum())


def lines() -> Iterator[str]:
    """A line for each archive."""
    study = load_study(ROOT / "config/studies/torrez2019.yaml", "quick")
    minutes = study.minutes or 0.0
    for archive in ARCHIVES:
        random = np.random.default_rng(20_261_122)
        campaigns = [planted(study, archive, random) for _ in range(CAMPAIGNS)]
        counts = [decided(each, minutes) for each in campaigns]
        layout = campaigns[0].layout
        of = len(layout.arms) * len(layout.parameters)
        yield (
            f"decided in {minutes:g} min      {np.mean(counts):.1f} of {of}  (equal arms, scatter "
            f"of {archive}; {min(counts)} to {max(counts)})"
        )


def main() -> None:
    """Print them."""
    for line in lines():
        print(line, flush=True)


if __name__ == "__main__":
    with shown_to_the_user():
        main()
