"""Flux: a job of `flux batch` is an instance of its own, in which `flux run` starts ranks."""

from __future__ import annotations

from parity.core.commands import output_of
from parity.plan.batch_systems.model import BatchSystem, Job, from_environment

_NODES = ("flux", "resource", "list", "--states=all", "--no-header", "--format={nodelist}")


class Flux(BatchSystem):
    """Flux; inside of a job its commands are about the job's own instance."""

    name, title, profile = "flux", "Flux", "profiles/flux"
    programs = ("flux",)
    asks = ("flux", "resource", "info")
    job_variable = "FLUX_URI"
    variables = ("FLUX_",)

    def job(self) -> Job:
        """What the job's instance says of itself."""
        # A node may be called as a job could be, and is no job for that.
        expand = ["flux", "hostlist", "--fallback", "--expand", *output_of(_NODES).split()]
        told = from_environment("", output_of(expand).split())
        return told._replace(number=output_of(["flux", "getattr", "jobid"]).strip())


BATCH_SYSTEM = Flux()
