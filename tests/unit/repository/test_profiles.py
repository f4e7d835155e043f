"""Profiles of batch systems fit what they name; their scripts, with clients that only speak."""

import subprocess
from pathlib import Path

import pytest
import yaml

from parity.plan.study import load_study
from parity.plan.system import BATCH_SYSTEMS, load_system

ROOT = Path(__file__).parents[3]
PROFILES = sorted(path.parent.name for path in ROOT.glob("profiles/*/profile.yaml"))


@pytest.mark.parametrize("name", [name for name in PROFILES if name != "default"])
def test_a_profile_s_system_is_one_of_its_batch_system(name: str) -> None:
    profile = yaml.safe_load((ROOT / f"profiles/{name}/profile.yaml").read_text())
    config = yaml.safe_load((ROOT / profile["configfile"]).read_text())
    system = load_system(ROOT / config["system"])
    assert Path(BATCH_SYSTEMS[system.batch_system].profile).name == name
    load_study(ROOT / config["study"], config["scale"])
    for key in ("status", "cancel"):
        words = profile.get(f"cluster-generic-{key}-cmd", "")
        assert "/" not in words or (ROOT / words).stat().st_mode & 0o111


def test_every_batch_system_s_profile_is_there() -> None:
    assert {Path(each.profile).name for each in BATCH_SYSTEMS.values()} <= set(PROFILES)


ENDED = "    job_state = F\\n    Exit_status = {}\\n"


@pytest.mark.parametrize("profile, client, said, expected", [
    ("cluster-generic", "qstat", "    job_state = Q\\n", "running"),
    ("cluster-generic", "qstat", "    job_state = R\\n", "running"),
    ("cluster-generic", "qstat", ENDED.format(0), "success"),
    ("cluster-generic", "qstat", ENDED.format(1), "failed"),
    ("cluster-generic", "qstat", ENDED.format(271), "failed"),
    ("cluster-generic", "qstat", "qstat: Unknown Job Id 8\\n", "failed"),
    ("cluster-generic", "qstat", "qstat: cannot connect to server\\n", "running"),
    *[("flux", "flux", said, "running") for said in ("DEPEND", "SCHED", "RUN", "CLEANUP", "")],
    *[("flux", "flux", said, "failed") for said in ("FAILED", "CANCELED", "TIMEOUT")],
    ("flux", "flux", "COMPLETED", "success"),
])  # fmt: skip
def test_what_became_of_a_job(tmp_path, profile, client, said, expected) -> None:
    """Where nobody answers the job is kept: a plugin that forgets it waits forever."""
    (tmp_path / client).write_text(f"#!/bin/sh\nprintf '{said}'\n")
    (tmp_path / client).chmod(0o755)
    words, path = [ROOT / f"profiles/{profile}/status", "8"], f"{tmp_path}:/usr/bin:/bin"
    done = subprocess.run(words, env={"PATH": path}, capture_output=True, text=True)
    assert done.stdout.split() == [expected]
