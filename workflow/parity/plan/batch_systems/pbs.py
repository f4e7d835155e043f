"""PBS (OpenPBS, PBS Professional, Torque): a file names a job's nodes, mpiexec starts ranks."""

from __future__ import annotations

import os
from pathlib import Path

from parity.core.errors import UserError
from parity.plan.batch_systems.model import BatchSystem, Job, from_environment


class Pbs(BatchSystem):
    """PBS; the node file has a line for each slot of a node."""

    name, title, profile = "pbs", "PBS", "profiles/cluster-generic"
    programs = ("qsub", "qstat", "qdel")
    asks = ("qstat", "-B")
    job_variable = "PBS_NODEFILE"
    variables = ("PBS_",)

    def job(self) -> Job:
        """What PBS's variables say of it, and the file that one of them names."""
        file = Path(os.environ[self.job_variable])
        try:
            hosts = file.read_text(encoding="utf-8").split()
        except OSError as error:
            raise UserError(
                f"PBS's file of nodes cannot be read: {error.strerror}", where=str(file)
            ) from None
        return from_environment("PBS_JOBID", hosts, queue="PBS_QUEUE")


BATCH_SYSTEM = Pbs()
