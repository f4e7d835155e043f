"""Two pairs of the noise audit on this machine, through Snakemake, without a batch system.

Needs: sysbench, and no image.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from clones import never_wait_for_quiet
from scipy import stats

from parity.records.noise_audit import read_noise_audit

pytestmark = pytest.mark.system
SNAKEMAKE = Path(sys.executable).with_name("snakemake")


def test_two_pairs_are_measured_and_a_second_audit_overwrites_nothing(
    clone: Path,
) -> None:
    never_wait_for_quiet(clone, "machine")
    words = [SNAKEMAKE, "harness", "--allowed-rules", "harness", "write_plan"]
    words += ["--set-resources", "harness:pairs=2"]
    environment = os.environ | {"PATH": f"{SNAKEMAKE.parent}:{os.environ['PATH']}"}
    for _ in range(2):
        subprocess.run(words, cwd=clone, env=environment, check=True, timeout=180)

    (result,) = (clone / "results/live").glob("torrez2019-*/harness.json")
    audit = read_noise_audit(result.parent)
    assert audit is not None
    assert (audit.program, audit.system) == ("SysBench cpu", "machine")
    assert (len(audit.values), audit.planned, audit.lost) == (2, 2, ())
    # How wide the interval of two pairs is, is the machine's; that it is theirs, is held here.
    mean_logs = [
        [np.log(side).mean() for side in (pair.inside, pair.bare)] for pair in audit.values
    ]
    logs = [inside - bare for inside, bare in mean_logs]
    low, high = stats.t.interval(0.95, 1, np.mean(logs), stats.sem(logs))
    assert np.log([audit.own.low95, audit.own.ratio, audit.own.high95]) == pytest.approx(
        [low, np.mean(logs), high]
    )
    assert 0.5 < audit.own.ratio < 2
    for pair in audit.values:
        # The outer clock also sees the start of the program, and in a block the words before.
        for own, outer in ((pair.bare, pair.bare_outer), (pair.inside, pair.inside_outer)):
            assert len(own) == 2 and all(a < b for a, b in zip(own, outer, strict=True))
    audits = list((clone / "results/live").glob("harness-*"))
    assert len(audits) == 2
    assert all(len(list(folder.glob("*.stdout"))) == 4 for folder in audits)
    assert len(list((clone / "results/blocks").glob("harness-*/block.json"))) == 4
