"""An archive of somebody whose Parity has a benchmark that this one lacks breaks nothing here."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from parity.claims.verdicts import Judgement
from parity.command_line.analysis import analyse
from parity.command_line.claims import judge
from parity.core.errors import UserError
from parity.records.dataset import archived, differing_tables
from parity.report import view, write
from parity.report.dashboard import page

ROOT = Path(__file__).parents[3]
OWN = "machine-2026-11-20"
KEPT = ("plan.json", "provenance.json", "images.json", "records/*.parquet")


@pytest.fixture(scope="module")
def foreign(tmp_path_factory) -> Path:
    """An archive in which likwid is another's benchmark, analysed, beside one of our own."""
    root = tmp_path_factory.mktemp("foreign")
    for name in ("theirs-2026-11-20", OWN):
        for path in (p for kept in KEPT for p in (ROOT / "results/archive" / OWN).glob(kept)):
            target = root / name / path.relative_to(ROOT / "results/archive" / OWN)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    folder = root / "theirs-2026-11-20"
    plan = json.loads((folder / "plan.json").read_text())
    for case in plan["cases"]:
        case["benchmark"] = case["benchmark"].replace("likwid", "nosuch")
    plan["benchmark_titles"]["nosuch"] = plan["benchmark_titles"].pop("likwid")
    (folder / "plan.json").write_text(json.dumps(plan, indent=1, sort_keys=True) + "\n")
    for name in (folder, root / OWN):
        analyse(name / "plan.json", ROOT / "config/exclusions.yaml", name / "events")
    return folder


def test_it_is_drawn_from_its_plan_and_its_tables(foreign, tmp_path) -> None:
    seen = view.load(foreign)
    write.write(seen, [], tmp_path)
    assert "stream, bandwidth" in (tmp_path / "summary.txt").read_text()
    assert (tmp_path / "figures/overview.pdf").exists()
    assert not list(tmp_path.glob("figures/*nosuch*"))


def test_claims_of_its_system_are_judged_without_it(foreign, tmp_path) -> None:
    assert set(archived(foreign.parent)) == {foreign.name, OWN}
    plans = [folder / "plan.json" for folder in (foreign, foreign.parent / OWN)]
    config = ROOT / "config"
    judge(config / "claims.yaml", config / "published/claims.csv", [], plans[0], plans[1:],
          config / "registration.csv", tmp_path)  # fmt: skip
    verdicts = pd.read_parquet(tmp_path / "verdicts.parquet")
    assert len(verdicts) == 85 and "not-tested" in set(verdicts["verdict"])
    shown = page.content([view.load(foreign)], [Judgement.read(tmp_path)], {})
    assert shown.archives[0].cases["likwid-stream"]["benchmark"] == "nosuch"


def test_that_it_cannot_be_read_anew_is_one_message(foreign) -> None:
    with pytest.raises(UserError, match="no benchmark is called nosuch"):
        differing_tables(foreign)
