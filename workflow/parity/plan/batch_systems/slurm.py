"""Slurm: its controller tells a job's nodes and facts, and srun starts ranks."""

from __future__ import annotations

import os

from parity.core.commands import output_of
from parity.plan.batch_systems.model import BatchSystem, Job

# Of `scontrol show job`; the rest names users and paths.
KEPT = {
    *("JobId", "JobState", "Partition", "NodeList", "BatchHost", "NumNodes", "NumCPUs", "NumTasks"),
    *("TRES", "OverSubscribe", "TimeLimit", "SubmitTime", "StartTime", "Features", "Reservation"),
}


class Slurm(BatchSystem):
    """Slurm; its own name of a node is in SLURMD_NODENAME there."""

    name, title, profile = "slurm", "Slurm", "slurm"
    programs = ("sbatch", "squeue", "scontrol", "srun")
    asks = ("squeue", "--noheader", "--me")
    job_variable = "SLURM_JOB_ID"
    variables = ("SLURM_CONF", "SLURM_JOB_ID", "SLURM_JOBID")
    trial = ", or try `make cluster-up` here"

    def job(self) -> Job:
        """What scontrol and squeue say of it."""
        number = os.environ[self.job_variable]
        said = output_of(["scontrol", "show", "job", "--oneliner", number]).splitlines()
        # The number of one task of an array is that of the array, too, and tells all of them.
        facts = job_facts(next((line for line in said if line.startswith(f"JobId={number} ")), ""))
        hosts = output_of(["scontrol", "show", "hostnames", facts.get("NodeList", "")]).split()
        form = "--format=%i|%P|%T|%D|%N|%h"
        queue = output_of(["squeue", "--noheader", f"--jobs={number}", form])
        return Job(number, tuple(hosts), facts | {"squeue": queue.strip()})


def job_facts(said: str) -> dict[str, str]:
    """The facts that we keep of the line that `scontrol show job --oneliner` prints."""
    pairs = (word.partition("=") for word in said.split())
    return {key: value for key, _, value in pairs if key in KEPT}


BATCH_SYSTEM = Slurm()
