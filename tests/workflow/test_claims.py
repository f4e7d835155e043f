"""The claims on the archive: offline, quick, expected, and amended once a margin is changed."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest
from clones import OFFLINE, refused, succeeded

from parity.records.dataset import archived

ROOT = Path(__file__).parents[2]
# One archive of each system: all of a system's are judged together.
OF_MACHINE = "archive/machine,torrez19-cpu-allruns,"
SYSTEMS = {
    system: name for name, (system, _) in sorted(archived(ROOT / "results/archive").items())
}  # fmt: skip
OWN = """claims:
  - id: our-stream
    kind: equivalence
    claim: STREAM copies as fast in Docker as outside.
    scales: {machine: full, cluster: full}
    tests:
      - rule: equivalence
        margin_percent: 3
        cells: {benchmark: stream, metric: copy, arms: [docker]}
"""


class Judged(NamedTuple):
    """A clone in which the claims of one system were asked for once."""

    folder: Path
    said: str


@pytest.fixture(scope="module")
def judged(new_clone) -> Callable[[str], Judged]:
    @cache
    def of_system(system: str) -> Judged:
        folder = new_clone()
        words = ["claims", "--config", f"archive={SYSTEMS[system]}"]
        return Judged(folder, succeeded(folder, *words, within=OFFLINE))

    return of_system


@pytest.fixture
def clone(judged) -> Path:
    """The clone of the system that config.yaml names, where its archives are analysed."""
    return judged("machine").folder


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_claim_has_a_verdict_and_a_reason(judged, system: str) -> None:
    folder, said = judged(system)
    found = pd.read_parquet(folder / "results/claims/claims.parquet")
    assert len(found) == found["claim"].nunique() == 85
    assert (found["reason"] != "").all()
    assert (found["judged"] == f"archive/{system}").all()
    tested = found[found["verdict"] != "not-tested"]
    known = {f"archive/{name}" for name in archived(folder / "results/archive")}
    assert set(tested["dataset"]) <= known
    # Nothing is supported beyond what was tested, and one machine says nothing about sizes.
    supported = found[found["verdict"] == "supported"]
    assert (supported["capability"] == "full").all() and "magnitude" not in set(supported["kind"])
    said = " ".join(said.split())
    for claim in tested["claim"]:
        assert f" ({claim})" in said
    for kind in ("csv", "md", "tex", "html"):
        assert (folder / f"results/claims/claims.{kind}").stat().st_size > 1000


def test_any_archive_of_a_system_gives_the_same_verdicts(clone) -> None:
    names = [n for n, (system, _) in archived(clone / "results/archive").items()
             if system == "machine"]  # fmt: skip
    made = []
    for name in (names[0], names[-1]):
        succeeded(clone, "claims", "--config", f"archive={name}", within=OFFLINE)
        made.append((clone / "results/claims/claims.csv").read_text())
    assert len(names) > 1 and made[0] == made[1]
    # The paper of one archive said that there was no case of hpcg, and reported it from another.
    assert "no case of hpcg," not in made[0] and "archive/machine-hpcg-2026-11-21" in made[0]


def test_claims_of_a_user_are_listed_apart(clone) -> None:
    (clone / "our-site.yaml").write_text(OWN)
    words = ["claims", "--config", "claims=['our-site.yaml']"]
    said = succeeded(clone, *words, within=OFFLINE)
    assert "Claims of our-site.yaml, not published ones, by archive/machine" in said
    found = pd.read_parquet(clone / "results/claims/our-site/claims.parquet")
    assert found["registration"].tolist() == ["unregistered"]
    published = pd.read_parquet(clone / "results/claims/claims.parquet")
    assert len(published) == 85 and set(published["register"]) == {"claims"}
    two = [*words[:2], "claims=['our-site.yaml','other/our-site.yaml']"]
    assert "have the same name" in refused(clone, *two, within=OFFLINE)
    said = refused(clone, *words[:2], "claims=['absent.yaml']", within=OFFLINE)
    assert "there is no such file\n  where:   config/config.yaml: claims: absent.yaml" in said
    # A claim is registered by its name, so it may not have that of a published one.
    (clone / "our-site.yaml").write_text(OWN.replace("our-stream", "torrez19-libaio"))
    said = refused(clone, *words, within=OFFLINE)
    assert "claims of several files have the same name: torrez19-libaio" in said


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_archives_give_the_expected_verdicts(judged, system: str) -> None:
    words = ["claims_expected", "--config", f"archive={SYSTEMS[system]}"]
    said = succeeded(judged(system).folder, *words, within=OFFLINE)
    assert said.count("verdicts are those expected") == 1
    assert re.search(rf"^archive/{system} +equal: all 85 verdicts are those expected$", said, re.M)


def test_without_an_archive_s_name_every_system_is_asked(clone) -> None:
    planned = succeeded(clone, "-n", "claims_expected", within=OFFLINE)
    (asked,) = re.findall(r"rule claims_expected:\n +input: (.*)", planned)
    assert asked.count("claims/verdicts.parquet") == len(SYSTEMS)


def test_another_verdict_fails_and_is_named(clone) -> None:
    path = clone / "config/expected_verdicts.csv"
    text = path.read_text()
    line = next(line for line in text.splitlines() if line.startswith(OF_MACHINE))
    path.write_text(text.replace(line, line.replace("inconclusive", "supported")))
    words = ["claims_expected", "--config", f"archive={SYSTEMS['machine']}"]
    said = refused(clone, *words, within=OFFLINE)
    assert "torrez19-cpu-allruns: expected supported, found inconclusive" in said
    path.write_text(text)


def test_rules_are_registered_and_a_changed_margin_amends_the_verdict(clone) -> None:
    # The table itself: what `claims` prints of it is asked above, and makes no other verdict.
    table = f"results/archive/{SYSTEMS['machine']}/claims/verdicts.parquet"

    def registrations() -> dict[str, str]:
        succeeded(clone, table, within=OFFLINE)
        found = pd.read_parquet(clone / table)
        return dict(zip(found["claim"], found["registration"], strict=True))

    listed, register = clone / "config/registration.csv", clone / "config/claims.yaml"
    text = register.read_text()
    listed.write_text(listed.read_text().splitlines(keepends=True)[0])
    # Nothing says when a rule was made that nobody registered.
    assert registrations()["torrez19-cpu-spread"] == "unregistered"
    succeeded(clone, "register", within=OFFLINE)
    before = listed.read_text()
    # The archives are older than the register, which is said.
    assert registrations()["torrez19-cpu-spread"] == "after-data"
    first = text.index("margin_percent: 1")
    register.write_text(text[:first] + "margin_percent: 3" + text[first + 17 :])
    changed = registrations()
    assert changed["torrez19-cpu-spread"] == "amended"
    assert changed["torrez19-stream-overlap"] == "after-data"
    succeeded(clone, "register", within=OFFLINE)
    after = listed.read_text()
    assert after.startswith(before)
    assert after[len(before) :].startswith("torrez19-cpu-spread,")
    assert registrations()["torrez19-cpu-spread"] == "amended"
