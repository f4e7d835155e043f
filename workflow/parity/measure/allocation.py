"""The allocation that a block runs in: which nodes, and what the batch system says of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from parity.core.commands import output_of
from parity.core.errors import UserError
from parity.measure.kept import KEPT
from parity.measure.node import node_name
from parity.plan.system import System


@dataclass(frozen=True)
class Allocation:
    """The nodes that a block has for itself.

    Attributes:
        hosts: their names, the one that the runner is on first.
        job: the batch system's number of the job; empty without a batch system.
        facts: what the batch system says of the job, for the records.
    """

    hosts: tuple[str, ...]
    job: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)


def this_allocation(system: System, nodes: int) -> Allocation:
    """The allocation we are in.

    Raises:
        UserError: the block needs other nodes than these, or there is no job around us.
    """
    allocation = _slurm_job() if system.batch_system else Allocation((node_name(),))
    if system.launcher and len(allocation.hosts) != nodes:
        raise UserError(
            f"the block needs {nodes} nodes, and the allocation has {len(allocation.hosts)}",
            where=f"job {allocation.job}" if allocation.job else node_name(),
            action="let Snakemake submit it: snakemake --profile slurm all",
        )
    return allocation


def _slurm_job() -> Allocation:
    job = os.environ.get("SLURM_JOB_ID", "")
    if not job.isdigit():
        raise UserError(
            "this is not a Slurm job, and the system's file says that blocks are",
            where="SLURM_JOB_ID",
            action="let Snakemake submit it: snakemake --profile slurm all",
        )
    said = output_of(["scontrol", "show", "job", "--oneliner", job])
    facts = job_facts(said)
    hosts = output_of(["scontrol", "show", "hostnames", facts.get("NodeList", "")]).split()
    hosts.sort(key=lambda host: host != node_name())
    queue = output_of(["squeue", "--noheader", f"--jobs={job}", "--format=%i|%P|%T|%D|%N|%h"])
    named = {f"allocation.{key}": value for key, value in facts.items()}
    named |= {"allocation.squeue": queue.strip(), "allocation.hosts": ",".join(hosts)}
    return Allocation(tuple(hosts), job, named)


def job_facts(said: str) -> dict[str, str]:
    """The facts that we keep of the line that `scontrol show job --oneliner` prints."""
    pairs = (word.partition("=") for word in said.split())
    return {key: value for key, _, value in pairs if key in KEPT.job}
