"""The noise audit: the order of its pairs, its script, and what the pairs amount to."""

import math
import shutil
import subprocess
from pathlib import Path

import harness
import pytest
from plans import study_of

from parity.core.errors import UserError
from parity.plan.making import make_plan
from parity.plan.plan import Plan
from parity.plan.system import System
from parity.records.dataset import CHECKSUMS, archive_dataset, broken_files
from parity.records.noise_audit import NOISE_AUDIT, PairTimes

ROOT = Path(__file__).parents[3]
MACHINE = System("machine", "vm", "bootstrap", 0.1, 60, 0.1)
CLUSTER = System("site", "cluster", "bootstrap", 0.1, 60, 0.1, batch_system="slurm")
CONFIG = {"study": "study.yaml", "scale": "a1", "system": "config/systems/site.yaml"}


def plan_of(folder: Path, pairs: int, seed: int = 1) -> Plan:
    return make_plan(study_of(folder, **harness.study_of("sysbench", pairs, "a1", seed)))


def times(pair: int, ratio: float) -> PairTimes:
    bare = (1.0 + pair / 10, 1.1 + pair / 10)
    inside = tuple(seconds * ratio for seconds in bare)
    outer = tuple(seconds * ratio * 1.01 for seconds in bare)
    sides = {"bare": bare, "inside": inside, "bare_outer": bare, "inside_outer": outer}
    return PairTimes(pair=pair, block=f"b{pair}", bare_first=True, **sides)


def test_each_block_is_one_side_of_a_pair_and_half_of_the_bare_sides_come_first(tmp_path) -> None:
    plan = plan_of(tmp_path, pairs=30)
    pairs = harness.pairs_of(plan)
    assert [pair.block for pair in pairs] == [block.name for block in plan.blocks]
    assert sum(pair.bare_first for pair in pairs) == 15
    assert {len(block.runs) for block in plan.blocks} == {2}
    assert pairs == harness.pairs_of(plan)
    assert pairs != harness.pairs_of(plan_of(tmp_path, pairs=30, seed=2))


def test_the_script_is_a_shell_script_and_makes_every_side_once(tmp_path) -> None:
    pairs = harness.pairs_of(plan_of(tmp_path, pairs=4))
    folder = tmp_path / "a folder's name"
    folder.mkdir()
    block = ["/bin/sh", "-c", 'echo "block $1"', "sh", "@block@"]
    words = ["/bin/echo", "two words", "$HOME"]
    text = harness.script_of(pairs, words, 2, block, folder, ())
    # The same sides without the second of quiet before each.
    done = subprocess.run(
        ["/bin/sh"], input=text.replace("sleep 1", ":"), text=True, capture_output=True, check=True
    )
    assert (done.stdout, done.stderr) == ("", "")
    for pair in pairs:
        assert (folder / f"{pair.block}.log").read_text() == f"block {pair.block}\n"
        for start in (1, 2):
            left = folder / f"{pair.number:04d}-{start}"
            assert left.with_suffix(".stdout").read_text() == "two words $HOME\n"
            began, ended, status = left.with_suffix(".times").read_text().split()
            assert float(began) < float(ended) and status == "0"


def test_nothing_of_ours_stands_before_the_bare_program(tmp_path) -> None:
    pairs = harness.pairs_of(plan_of(tmp_path, pairs=2))
    text = harness.script_of(pairs, ["/usr/bin/program", "-n"], 2, ["block"], tmp_path, ["mpi/4"])
    (line,) = [line.strip() for line in text.splitlines() if "/usr/bin/program" in line]
    assert line == '/usr/bin/program -n > "$left.stdout" 2> "$left.stderr"'
    assert "\nmodule load mpi/4\n" in text


def test_a_block_is_started_as_in_a_job_of_the_plugin_or_as_on_a_machine() -> None:
    here = harness.block_words(MACHINE, CONFIG, "harness-a1", "workflow/Snakefile")
    assert here[-2:] == ["--", "results/live/harness-a1/batches/@block@.json"]
    assert "--executor" not in here
    job = harness.block_words(CLUSTER, CONFIG, "harness-a1", "workflow/Snakefile")
    assert job[-6:] == ["--executor", "slurm-jobstep", "--jobs", "1", "--mode", "remote"]
    assert "run_batch:batch=@block@" in job and "scale=a1" in job


def test_the_job_has_a_node_for_itself_and_the_sites_words(tmp_path) -> None:
    site = {"slurm_partition": "standard", "constraint": "cpu", "slurm_account": "", "pairs": 30}
    words = harness.submit_words(tmp_path, 30, site)
    assert words[:4] == ["sbatch", "--wait", "--exclusive", "--nodes=1"]
    assert {"--partition=standard", "--constraint=cpu", "--time=45"} <= set(words)
    assert not [word for word in words if word.startswith("--account")]
    assert words[-1] == str(tmp_path / "script.sh")


def test_a_planted_ratio_is_found_by_each_clock() -> None:
    planted = [times(pair, math.exp(0.02 + 0.001 * (-1) ** pair)) for pair in range(6)]
    own, outer = harness.ratios(planted)
    assert own.ratio == pytest.approx(math.exp(0.02))
    assert outer.ratio == pytest.approx(1.01 * math.exp(0.02))
    assert own.low95 <= own.low90 < own.ratio < own.high90 <= own.high95
    with pytest.raises(UserError, match="5 of the pairs are good: an interval needs 6"):
        harness.ratios(planted[:5])


def test_a_pair_without_its_block_is_lost_with_the_reason(tmp_path) -> None:
    plan = plan_of(tmp_path, pairs=2)
    (pair, _) = harness.pairs_of(plan)
    for start in (1, 2):
        (tmp_path / f"0001-{start}.times").write_text("1.0 2.0 0\n")
        (tmp_path / f"0001-{start}.stdout").write_text("not what the program prints\n")
    with pytest.raises(UserError, match="unparsable"):
        harness.times_of(pair, plan, tmp_path, tmp_path / "blocks")
    (tmp_path / "0001-1.times").write_text("1.0 2.0 137\n")
    with pytest.raises(UserError, match="exit status 137"):
        harness.times_of(pair, plan, tmp_path, tmp_path / "blocks")


def test_the_audit_goes_into_the_archive_with_its_checksum(tmp_path) -> None:
    live = ROOT / "results/archive/machine-2026-11-20"
    copy = shutil.copytree(live, tmp_path / "live")
    (copy / NOISE_AUDIT).write_text("{}\n")
    archive = archive_dataset(copy, tmp_path, "machine")
    assert archive.name == "machine-torrez2019-2026-11-20"
    assert NOISE_AUDIT in (archive / CHECKSUMS).read_text()
    assert broken_files(archive) == []
    (archive / NOISE_AUDIT).write_text("{ }\n")
    assert broken_files(archive) == [NOISE_AUDIT]
    (archive / NOISE_AUDIT).unlink()
    assert broken_files(archive) == [NOISE_AUDIT]
    # One that was put there later belongs to no archive, either.
    (live_result := copy / NOISE_AUDIT).write_text("{}\n")
    assert broken_files(copy) == [NOISE_AUDIT]
    live_result.unlink()
    assert broken_files(copy) == []
