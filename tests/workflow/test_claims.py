"""The claims on the archive: offline, quick, expected, and amended once a margin is changed."""

import resource
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
SNAKEMAKE = Path(sys.executable).with_name("snakemake")
ARCHIVES = sorted(path.name for path in (ROOT / "results/archive").iterdir() if path.is_dir())
OFFLINE = ["unshare", "--map-root-user", "--net"]
# Of processor time, which a busy machine does not stretch as it does a clock's.
LIMIT_SECONDS = 20


def _cpu_seconds() -> float:
    """What all processes took that were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _offline(folder: Path, *words: str) -> subprocess.CompletedProcess:
    """Run Snakemake in a network namespace with no interface but a loopback that is down."""
    argv = [*OFFLINE, str(SNAKEMAKE), *words]
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ARCHIVES)
def test_every_claim_has_a_verdict_and_a_reason_and_it_is_quick(new_clone, name: str) -> None:
    folder, before = new_clone(), _cpu_seconds()
    done = _offline(folder, "claims", "--config", f"archive={name}")
    took = _cpu_seconds() - before
    assert done.returncode == 0, done.stderr
    assert took <= LIMIT_SECONDS
    found = pd.read_parquet(folder / "results/claims/claims.parquet")
    assert len(found) == found["claim"].nunique() == 85
    assert (found["reason"] != "").all()
    assert (found["dataset"] == f"archive/{name}").all()
    # One machine says nothing about sizes on a cluster.
    assert not len(found[(found["kind"] == "magnitude") & (found["verdict"] == "supported")])
    said = done.stdout + done.stderr
    for claim in found["claim"]:
        assert f"\n  {claim} " in said
    for kind in ("csv", "md", "tex", "html"):
        assert (folder / f"results/claims/claims.{kind}").stat().st_size > 1000


@pytest.mark.parametrize("name", ARCHIVES)
def test_the_archive_gives_the_expected_verdicts(clone, name: str) -> None:
    done = _offline(clone, "claims_expected", "--config", f"archive={name}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"archive/{name}: all 85 verdicts are those expected" in done.stdout + done.stderr


def test_another_verdict_fails_and_is_named(clone) -> None:
    path = clone / "config/expected_verdicts.csv"
    text = path.read_text()
    line = next(line for line in text.splitlines() if line.endswith("cpu-spread,inconclusive"))
    path.write_text(text.replace(line, line.replace("inconclusive", "supported")))
    done = _offline(clone, "claims_expected")
    assert done.returncode != 0
    said = done.stdout + done.stderr
    assert "torrez19-cpu-spread: expected supported, found inconclusive" in said
    assert "Traceback" not in said
    path.write_text(text)


def test_rules_are_registered_and_a_changed_margin_amends_the_verdict(clone) -> None:
    def registration(claim: str) -> str:
        assert _offline(clone, "claims").returncode == 0
        found = pd.read_parquet(clone / "results/claims/claims.parquet")
        return dict(zip(found["claim"], found["registration"], strict=True))[claim]

    listed, register = clone / "config/registration.csv", clone / "config/claims.yaml"
    before, text = listed.read_text(), register.read_text()
    # The archives are older than the register, which is said.
    assert registration("torrez19-cpu-spread") == "after-data"
    first = text.index("margin_percent: 1")
    register.write_text(text[:first] + "margin_percent: 3" + text[first + 17 :])
    assert registration("torrez19-cpu-spread") == "amended"
    assert registration("torrez19-stream-overlap") == "after-data"
    assert _offline(clone, "register").returncode == 0
    after = listed.read_text()
    assert after.startswith(before)
    assert after[len(before) :].startswith("torrez19-cpu-spread,")
    assert registration("torrez19-cpu-spread") == "amended"
