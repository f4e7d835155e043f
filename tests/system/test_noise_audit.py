"""A short noise audit of this machine, through Snakemake, without a batch system.

Needs: sysbench, and no image.
"""

import re
from collections.abc import Iterable
from itertools import chain, combinations_with_replacement
from pathlib import Path

import numpy as np
import pytest
from clones import never_wait_for_quiet, succeeded

from parity.records.noise_audit import read_noise_audit

pytestmark = pytest.mark.system


def test_pairs_are_measured_and_a_second_audit_overwrites_nothing(clone: Path):
    never_wait_for_quiet(clone, "machine")
    words = ["harness", "--allowed-rules", "harness", "write_plan"]
    for _ in range(2):
        succeeded(clone, *words, "--set-resources", "harness:pairs=6", timeout=180)

    (result,) = (clone / "results/live").glob("torrez2019-*/harness.json")
    audit = read_noise_audit(result.parent)
    assert audit is not None
    assert (audit.program, audit.system) == ("SysBench cpu", "machine")
    assert (len(audit.values), audit.planned, audit.lost) == (6, 6, ())
    # How wide the interval is, is the machine's; that it is that of the pairs, is held here: of
    # six effects the exact one of 95 % goes from the smallest to the largest.
    logs = [np.log(pair.inside).mean() - np.log(pair.bare).mean() for pair in audit.values]
    centre = np.median([(one + other) / 2 for one, other in combinations_with_replacement(logs, 2)])
    assert np.log([audit.own.low95, audit.own.ratio, audit.own.high95]) == pytest.approx(
        [min(logs), centre, max(logs)]
    )
    for pair in audit.values:
        # The outer clock also sees the start of the program, and in a block the words before.
        for own, outer in ((pair.bare, pair.bare_outer), (pair.inside, pair.inside_outer)):
            assert len(own) == 2 and all(a < b for a, b in zip(own, outer, strict=True))
    audits = list((clone / "results/live").glob("harness-*"))
    assert len(audits) == 2
    assert all(len(list(folder.glob("*.stdout"))) == 12 for folder in audits)
    # Of the second audit: what each start printed itself, in the folder of its side.
    bare = (clone / f"results/live/{audit.campaign}").glob("*.stdout")
    assert _seconds(bare) == sorted(chain.from_iterable(pair.bare for pair in audit.values))
    for pair in audit.values:
        runs = clone / f"results/blocks/{pair.block}/runs"
        assert _seconds(runs.glob("*/attempt-1/stdout")) == sorted(pair.inside)
    assert len(list((clone / "results/blocks").glob("harness-*/block.json"))) == 12


def _seconds(files: Iterable[Path]) -> list[float]:
    """The total times that SysBench printed, in order of length."""
    printed = [re.findall(r"total time: +([0-9.]+)s$", path.read_text(), re.M) for path in files]
    return sorted(float(seconds) for (seconds,) in printed)
