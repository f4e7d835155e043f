"""The core with no extension there: it plans, makes arms and benchmarks, and reads an archive."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
CORE = """
import sys
from pathlib import Path
from parity.analysis.dataset import load
from parity.benchmarks import benchmarks
from parity.benchmarks.model import counted
from parity.claims.register import declared
from parity.measure import block, pilot
from parity.measure.attempt import companions
from parity.plan.making import make_plan
from parity.plan.study import load_study
from parity.records.dataset import differing_tables
from parity.runtimes import every_arm

root = Path(sys.argv[1])
plan = make_plan(load_study(root / "config/studies/guests.yaml", "smoke"))
assert plan.blocks and plan.arms
assert companions() == counted() == ()
assert not [name for name in declared().benchmarks if name.endswith("-replay")]
assert "stream" in benchmarks() and "netpipe" not in benchmarks()
assert "native-a-veth" not in every_arm() and "docker-bridge" not in every_arm()
archive = root / "results/archive/epyc2-guests-2026-11-22"
assert differing_tables(archive) == []
assert len(load(archive).runs) > 0
assert not [name for name in sys.modules if name.startswith("parity.extensions.")]
"""


def test_the_core_works_without_any_extension(tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("extensions", "__pycache__")
    shutil.copytree(ROOT / "workflow/parity", tmp_path / "parity", ignore=ignored)
    words = [sys.executable, "-c", CORE, str(ROOT)]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
