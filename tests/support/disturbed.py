"""A small study on the virtual cluster, and what must hold of it whatever happened to it."""

import os
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import yaml
from clones import NATIVES, SNAKEMAKE, USUAL, Call, borrow_images, never_wait_for_quiet, own_package
from cluster import LONGEST_SECONDS, jobs, run, wait_for
from msgspec.structs import replace

from parity.core.files import digest, read_json
from parity.plan.plan import read_plan
from parity.runtimes import every_arm
from parity.software.images import ImageRecord

FILE, SYSTEM = "config/studies/faults.yaml", "config/systems/slurm.yaml"
# What a program leaves behind.
LEFT = "tail"
STUDY = USUAL | {
    "study": "faults", "title": "A study that is disturbed",
    "arms": [*NATIVES, "charliecloud-sqfs"],
    "benchmarks": {
        "sysbench": {"margin_percent": 5, "parameters": {"events": 6000}, "timeout_seconds": 240},
        "hpcc": {"margin_percent": 5, "allocations": ["2x2"], "parameters": {"n": 1000}},
        "likwid": {"margin_percent": 5, "factors": {"kernel": ["copy"]}},
    },
    "scales": {
        "one": {"blocks": 1, "arms": NATIVES, "benchmarks": ["sysbench"]},
        "two": {"blocks": 2, "arms": NATIVES, "benchmarks": ["sysbench"]},
        "nodes": {"blocks": 1, "arms": NATIVES, "benchmarks": ["hpcc"]},
        "image": {"blocks": 1, "benchmarks": ["sysbench"]},
        "memory": {"blocks": 1, "arms": NATIVES, "benchmarks": ["likwid"],
                   "parameters": {"likwid": {"working_set_mib": 900, "iterations": 30}}},
    },
}  # fmt: skip


class Workflow:
    """One `snakemake --profile slurm` in a clone."""

    def __init__(self, folder: Path, log: Path, words: tuple[str, ...]) -> None:
        # Asked every two seconds in place of ten: nobody else burdens this controller.
        profile = ["--profile", "slurm", "--slurm-init-seconds-before-status-checks", "1"]
        profile += ["--seconds-between-status-checks", "2"]
        self._log = log
        with log.open("w") as file:
            self.process = subprocess.Popen(
                [SNAKEMAKE, *words[:1], *profile, *words[1:]], cwd=folder, env=own_package(),
                stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip

    def ended(self) -> Call:
        # While no job ends the executor asks ever more rarely, down to once in 180 s.
        try:
            return Call(self.process.wait(3 * LONGEST_SECONDS), self.said(), stderr="")
        except subprocess.TimeoutExpired as late:
            raise AssertionError(f"it does not end; it said:\n{self.said()}") from late

    def said(self) -> str:
        return self._log.read_text()

    def kill(self) -> None:
        """Kill it as a crash of the login node would."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(LONGEST_SECONDS)


class Study:
    """The small study at one of its scales, in a clone of its own."""

    def __init__(self, clone: Path, scale: str) -> None:
        self.folder, self._started = clone, 0
        self.dataset = clone / f"results/live/faults-{scale}"
        self.blocks = clone / "results/blocks"
        # The table of all runs, and the image that `take_image` gives it.
        self.target = f"results/live/faults-{scale}/records/runs.parquet"
        self.image = clone.with_name("image.sqfs")
        never_wait_for_quiet(clone, "slurm")
        (clone / FILE).write_text(yaml.safe_dump(STUDY))
        config = {"study": FILE, "scale": scale, "system": SYSTEM}
        (clone / "config/slurm.yaml").write_text(yaml.safe_dump(config))

    def take_image(self, images: Mapping[str, ImageRecord]) -> None:
        """Use a copy of the image that its arm runs from."""
        name = every_arm()["charliecloud-sqfs"].image_format
        shutil.copy(images[name].location, self.image)
        own = {name: replace(images[name], location=str(self.image))}
        borrow_images(self.folder, own, f"study={FILE}", "scale=image", f"system={SYSTEM}")

    def take_a_program_that_leaves_another(self) -> None:
        """Measure a program that starts another one, which does not end with it."""
        script = f"setsid {LEFT} --follow /dev/null & exec sleep 0.5"
        command = {"title": "Left", "program": ["/bin/sh", "-c", script], "binaries": ["/bin/sh"]}
        measured = {"leaves": {"margin_percent": 25, "command": command}}
        scales = {"one": {"blocks": 1, "arms": NATIVES}}
        study = STUDY | {"benchmarks": measured, "scales": scales}
        (self.folder / FILE).write_text(yaml.safe_dump(study))

    @contextmanager
    def started(self, *words: str, target: str = "") -> Iterator[Workflow]:
        """A workflow that is at work; it does not outlive its test."""
        self._started += 1
        log = self.folder / f"workflow-{self._started}.log"
        workflow = Workflow(self.folder, log, (target or self.target, *words))
        try:
            yield workflow
        finally:
            if workflow.process.poll() is None:
                workflow.kill()

    def complete(self, *words: str) -> Call:
        with self.started(*words) as workflow:
            return workflow.ended()

    def jobs(self) -> list[str]:
        """The jobs of this study that wait or run."""
        return jobs(self.folder)

    def cancel_jobs(self) -> None:
        """End what a test that failed left in the queue."""
        if left := self.jobs():
            run("scancel", "--quiet", *left)

    def attempt(self, run_number: int) -> Path | None:
        """The folder of the first attempt of the nth run that was begun, once it has output."""
        begun = sorted(self.blocks.glob("*/runs/*/attempt-1/stdout"), key=_birth)
        return begun[run_number - 1].parent if len(begun) >= run_number else None

    def wait_until_in_the_middle(self, workflow: Workflow) -> Path:
        """Wait until the second run is at work, and return its attempt's folder."""

        def second() -> Path | None:
            assert workflow.process.poll() is None, workflow.ended().said
            return self.attempt(2)

        attempt = wait_for(second, "the second run was not begun")
        assert not (attempt / "record.json").exists()
        return attempt

    def wait_until_a_job_waits(self) -> None:
        """Wait until a job finds its block taken by another one."""
        words = "waiting for another job that runs this block"
        logs = self.folder / "results/slurm-logs"
        wait_for(
            lambda: any(words in log.read_text() for log in logs.rglob("*.log")),
            "no job waits for another",
        )

    def attempts(self) -> int:
        return len(list(self.blocks.glob("*/runs/*/attempt-*")))

    def _allocation(self, attempt: Path) -> dict[str, str]:
        starts = sorted(attempt.parents[2].glob("session-*-start.json"))
        return read_json(starts[-1])["allocation"]

    def job_of(self, attempt: Path) -> str:
        return self._allocation(attempt)["allocation.JobId"]

    def hosts_of(self, attempt: Path) -> list[str]:
        return self._allocation(attempt)["allocation.hosts"].split(",")

    def evidence(self, at_work: Path | None = None) -> dict[str, str]:
        """Checksums of all that attempts have left so far, but for one that is at work."""
        found = self.blocks.glob("*/runs/*/*/**/*")
        files = [path for path in found if path.is_file() and at_work not in path.parents]
        return {str(path.relative_to(self.folder)): digest(path) for path in files}

    def accounts(self, evidence: dict[str, str]) -> dict[str, int]:
        """What became of the runs, after checks that hold after every fault.

        Args:
            evidence: the checksums right after the fault.
        """
        now = self.evidence()
        assert {name: now.get(name) for name in evidence} == evidence
        plan = read_plan(self.dataset / "plan.json")
        rows = pq.read_table(self.dataset / "records/runs.parquet").to_pylist()
        planned = Counter((block.name, run.name) for block in plan.blocks for run in block.runs)
        final = Counter((row["block"], row["run"]) for row in rows if row["final"])
        for row in rows:
            assert row["final"] or row["reason"], row
            assert not row["final"] or row["stage"] == "valid", row
        reasons = Counter(row["reason"] for row in rows if not row["final"])
        return {
            "interrupted": reasons.pop("interrupted", 0),
            "made anew": reasons.pop("other-session", 0),
            "failed": reasons.total(),
            "lost": (planned - final).total(),
            "doubled": (final - planned).total(),
        }


def _birth(path: Path) -> str:
    return read_json(path.parent / "started.json")["started"]
