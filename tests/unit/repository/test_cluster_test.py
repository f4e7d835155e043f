"""`make cluster-test` without a cluster: how it waits, how it is interrupted, what a trial is."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from virtual_cluster import smoke

from parity.core.errors import UserError
from parity.measure.node import Idleness
from parity.plan.study import load_study
from parity.plan.system import load_system

ROOT = Path(__file__).parents[3]
# A Snakemake that needs a second to take its lock away.
SLOW = """\
import pathlib, sys, time
lock = pathlib.Path(sys.argv[1])
lock.touch()
try:
    print("begun", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    time.sleep(1)
    lock.unlink()
    sys.exit(1)
"""
WAITS = """\
import sys
from virtual_cluster import smoke
from parity.core.errors import shown_to_the_user
with shown_to_the_user():
    smoke._on_request(smoke._end)
    smoke.status_of(sys.argv[1:])
"""


@pytest.mark.parametrize("asked", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_waits_until_snakemake_took_its_lock_away(tmp_path: Path, asked) -> None:
    """Snakemake was killed a quarter of a second after Ctrl-C, and its lock stayed."""
    words = [sys.executable, "-c", WAITS, sys.executable, "-c", SLOW, tmp_path / "lock"]
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'workflow'}:{ROOT / 'tools'}"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, env=environment, **pipes) as started:
        assert started.stdout.readline() == "begun\n"
        for _ in range(2):
            started.send_signal(asked)
        said, complained = started.communicate(timeout=60)
    assert (started.returncode, complained) == (128 + asked, "")
    assert "interrupted" in said and not (tmp_path / "lock").exists()


def test_a_busy_machine_is_said_before_anything_is_started(monkeypatch) -> None:
    """Each of nine blocks waited for a minute, and only their logs said for what."""
    system = ROOT / smoke.SYSTEM
    monkeypatch.setattr(smoke, "wait_until_idle", lambda *_: Idleness(0.9, "make takes all"))
    with pytest.raises(UserError, match="busy, after 60 s") as refused:
        smoke.wait_for_quiet(system)
    assert refused.value.where == "make takes all" and "TRIAL=1" in refused.value.action
    monkeypatch.setattr(smoke, "wait_until_idle", lambda *_: Idleness(0.01, ""))
    smoke.wait_for_quiet(system)


def test_a_trial_waits_for_nothing_and_is_no_part_of_the_study(tmp_path: Path) -> None:
    study, system = ROOT / smoke.STUDY, ROOT / smoke.SYSTEM
    words = smoke.trial(study, system, tmp_path)
    paths = dict(word.split("=") for word in words[1:])
    assert load_study(paths["study"], "smoke").campaign == "trial-smoke"
    made = load_system(paths["system"])
    assert (made.max_busy_fraction, made.settle_seconds, made.max_steal_fraction) == (1, 0, 1)
    assert made.launcher == load_system(system).launcher
