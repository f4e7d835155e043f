"""Short real studies, for tests of what measures: planned, measured and parsed."""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from benchmark_help import wait_for

from parity.benchmarks import benchmarks
from parity.core.commands import output_of
from parity.measure.block import run_block
from parity.plan.making import make_plan
from parity.plan.plan import Case, Plan, write_plan
from parity.plan.study import Study
from parity.plan.system import System
from parity.records.dataset import gather_blocks, gather_raw
from parity.records.parse import parse_block
from parity.runtimes import arms
from parity.runtimes.model import Arm, Image
from parity.software.images import ImageRecord, write_images

# Where it neither matters who else is there nor what the hypervisor takes.
ANYWHERE = System("test", "vm", "bootstrap", 1.0, 0.0, 1.0)


WORKFLOW = Path(__file__).parents[2] / "workflow"
PAIR = ("native-a", "native-b")
SHORT = {"prime": 1000, "events": 200, "threads": 1}
NO_IMAGES = {
    arm.image_format: ImageRecord(arm.image_format, reason="no image")
    for arm in arms().values()
    if arm.image_format
}
# The file of such a system.
QUIET = "{max_busy_fraction: 1, settle_seconds: 0, max_steal_fraction: 1}"
SYSTEM_FILE = f"{{system: test, scale_label: vm, base_image: bootstrap, quiet_node: {QUIET}}}"


def image_of(arm: Arm, images: Mapping[str, ImageRecord]) -> Image | None:
    """An arm's image as it was made here; where either is not there the test is skipped."""
    presence, record = arm.probe(), images[arm.image_format] if arm.image_format else None
    reason = presence.reason if not presence.available else record and record.reason
    if reason:
        pytest.skip(f"{arm.name}: {reason}")
    return Image(arm.image_format, record.location, record.digest) if record else None


def case_of(
    name: str = "sysbench",
    parameters: Mapping[str, Any] = SHORT,
    margin: float | None = 0.01,
    timeout: float = 60,
) -> Case:
    """A case of the benchmark that its name begins with."""
    benchmark = name if name in benchmarks() else name.split("-")[0]
    return Case(
        name=name, benchmark=benchmark, parameters=dict(parameters), margin=margin,
        primary=benchmarks()[benchmark].primary, differences=(), timeout_seconds=timeout,
    )  # fmt: skip


def trial(*cases: Case, arms: tuple[str, ...] = PAIR, attempts: int = 1, **design: Any) -> Plan:
    """The plan of these cases in these arms; of one block, unless the design says more."""
    return make_plan(
        Study(
            study="trial", scale="test", title="A trial", reproduces="none", seed=1,
            reference=PAIR[0], aa_pair=PAIR, arms=arms, cases=cases, attempts=attempts,
            **{"blocks": 1, **design},
        )
    )  # fmt: skip


def parsed(plan: Plan, folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The tables of a block that was measured into a folder."""
    return parse_block(plan, *gather_blocks([folder], "test"), gather_raw([folder]))


def measured(plan: Plan, folder: Path, images=NO_IMAGES, system=ANYWHERE, expected=None) -> dict:
    """The tables of the plan's first block, which is measured into a folder."""
    run_block(plan, plan.blocks[0].name, images, expected or {}, system, folder)
    return parsed(plan, folder)


def runner_of(plan: Plan, folder: Path, images=NO_IMAGES) -> dict[str, Any]:
    """The process that measures the plan's first block as a job does, for `subprocess`."""
    write_plan(folder / "plan.json", plan)
    write_images(folder / "images.json", images)
    (folder / "system.yaml").write_text(SYSTEM_FILE)
    words = [sys.executable, "-m", "parity", "run-batch", f"--batch={plan.blocks[0].name}"]
    words += [f"--{word}={folder}/{word}.json" for word in ("plan", "images")]
    words += [f"--folder={folder}", f"--system={folder}/system.yaml"]
    words += [f"--record={folder}/batch.json"]
    return {"args": words, "env": os.environ | {"PYTHONPATH": str(WORKFLOW)}}


def killed(
    command: Mapping[str, Any], begun: Callable[[], Any], stop: int = signal.SIGKILL,
    seconds: float = 180,
) -> int:  # fmt: skip
    """Send a runner a signal once it has begun, and wait for its end; its process's number."""
    with subprocess.Popen(**command) as runner:
        try:
            wait_for(begun, seconds=seconds)
            assert runner.poll() is None, "the runner ended before it was stopped"
        finally:
            runner.send_signal(stop)
    return runner.pid


def containers(pid: int) -> list[str]:
    """The names of a runner's containers that an engine which works here still knows."""
    words = ["ps", "--all", "--format={{.Names}}", f"--filter=name=parity-{pid}-"]
    engines = (name for name in ("docker", "podman") if arms()[name].probe().available)
    return [name for engine in engines for name in output_of([engine, *words]).split()]


def require_each_once(
    plan: Plan, rows: list[dict[str, Any]], interrupted: str
) -> list[dict[str, Any]]:
    """The rows that count of a block with an interrupted run: one for each run, and all valid."""
    final = [row for row in rows if row["final"]]
    assert Counter(row["run"] for row in final) == Counter(run.name for run in plan.blocks[0].runs)
    assert {row["stage"] for row in final} == {"valid"}
    lost = [(row["run"], row["reason"]) for row in rows if not row["final"]]
    assert (interrupted, "interrupted") in lost
    return final
