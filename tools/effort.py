"""What a reviewer's commands take: `PYTHONPATH=workflow python tools/effort.py`, docs/effort.json.

They run one after the other in a new clone of HEAD with nothing else running, and take a quarter of
an hour, most of which is the measuring itself. The paper's appendix on the artifact prints them.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import psutil
from msgspec import to_builtins

from parity.core.errors import shown_to_the_user
from parity.core.files import write_json
from parity.core.wording import counted
from parity.measure import node
from parity.report.text import formatting
from parity.report.text.artifact import Effort, Step

ROOT = Path(__file__).parents[1]
COMMITTED = ROOT / "docs/effort.json"
COMMANDS = {
    "make environment": "the locked Python environment",
    "make figures": "figures and tables of all archives",
    "snakemake claims": "the verdicts of the system machine",
    "snakemake claims_expected": "whether they are the expected ones",
    "snakemake reparse": "whether the tables follow from the raw outputs",
    "snakemake dashboard": "all comparisons and claims to look around in",
    "snakemake paper": "the paper of machine, whose figures are drawn",
    "make all": "image, measuring, analysis and paper of this machine",
}


def machine() -> str:
    """The processor, how many of it, and the memory."""
    model = node.facts()["cpu_model"] or "a processor that tells no model"
    memory = formatting.size(psutil.virtual_memory().total)
    return f"{model}, {counted(psutil.cpu_count() or 0, 'CPU')}, {memory}"


def held(folder: Path) -> int:
    """Bytes on disk of all that a folder holds."""
    inside = (Path(at) / name for at, _, names in os.walk(folder) for name in names)
    return sum(path.lstat().st_blocks * 512 for path in inside)


def took(command: str, clone: Path) -> Step:
    """Run one command in the clone.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    found = {"PATH": f"{clone}/.venv/bin:{os.environ['PATH']}"}
    began = time.monotonic()
    subprocess.run(command.split(), cwd=clone, check=True, env=os.environ | found)
    seconds = time.monotonic() - began
    return Step(
        command=command, does=COMMANDS[command], seconds=round(seconds, 1), bytes=held(clone)
    )


def main() -> None:
    """Run all commands, and write what they took."""
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "parity"
        subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
        steps = tuple(took(command, clone) for command in COMMANDS)
    day = datetime.now(UTC).date().isoformat()
    write_json(COMMITTED, to_builtins(Effort(machine=machine(), day=day, steps=steps)))


if __name__ == "__main__":
    with shown_to_the_user():
        main()
