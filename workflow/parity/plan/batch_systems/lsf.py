"""LSF: variables name a job's hosts; mpiexec or jsrun starts ranks."""

from __future__ import annotations

import os

from parity.plan.batch_systems.model import BatchSystem, Job, from_environment


class Lsf(BatchSystem):
    """LSF; a variable has the host's name for each of its slots."""

    name, title, profile = "lsf", "LSF", "profiles/cluster-generic"
    programs = ("bsub", "bjobs", "bkill")
    asks = ("bqueues",)
    job_variable = "LSB_JOBID"
    variables = ("LSB_", "LSF_")

    def job(self) -> Job:
        """What LSF's variables say of it; a long list of hosts is only with their slots."""
        with_slots = os.environ.get("LSB_MCPU_HOSTS", "").split()
        hosts = os.environ.get("LSB_HOSTS", "").split() or with_slots[::2]
        return from_environment("LSB_JOBID", hosts, queue="LSB_QUEUE")


BATCH_SYSTEM = Lsf()
