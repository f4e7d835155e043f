"""The batch systems: how each says that it is there, and what a job of it has."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from parity.core.commands import output_of
from parity.core.errors import UserError


class Job(NamedTuple):
    """The job that we are in.

    Attributes:
        hosts: the names of its nodes, each once, as `node_name` of measure/node.py gives them.
        facts: what the batch system says of it, for the records; of nobody's name or folders.
    """

    number: str
    hosts: tuple[str, ...]
    facts: Mapping[str, str]


@dataclass(frozen=True)
class BatchSystem:
    """What has to be known of a batch system.

    Attributes:
        title: what people call it.
        profile: the value of --profile with which Snakemake submits to it.
        programs: what has to be on PATH where Snakemake is started.
        asks: a command that succeeds where it would take a job now.
        job_variable: the environment variable that tells a job that it is one.
        variables: beginnings of the names of those by which a launcher finds its job.
        job: tells the job that we are in, where `job_variable` is set; raises UserError.
        trial: what tries it where there is none; empty where nothing does.
    """

    title: str
    profile: str
    programs: tuple[str, ...]
    asks: tuple[str, ...]
    job_variable: str
    variables: tuple[str, ...]
    job: Callable[[], Job]
    trial: str = ""

    @property
    def advice(self) -> str:
        """How to come into a job."""
        return f"let Snakemake submit it: snakemake --profile {self.profile} all"


def _named(number: str, hosts: Iterable[str], **facts: str) -> Job:
    """A job; its hosts are named once for each of their slots, with or without a domain."""
    short = tuple(dict.fromkeys(host.partition(".")[0] for host in hosts))
    return Job(number, short, facts)


def _of_flux() -> Job:
    """Inside of a job Flux's commands are about the job's own instance."""
    listed = output_of(
        ["flux", "resource", "list", "--states=all", "--no-header", "--format={nodelist}"]
    )
    # A node may be called as a job could be, and is no job for that.
    expand = ["flux", "hostlist", "--fallback", "--expand", *listed.split()]
    number = output_of(["flux", "getattr", "jobid"]).strip()
    return _named(number, output_of(expand).split())


def _of_lsf() -> Job:
    """LSF names a host for each of its slots; a long list is only with their numbers."""
    with_slots = os.environ.get("LSB_MCPU_HOSTS", "").split()
    hosts = os.environ.get("LSB_HOSTS", "").split() or with_slots[::2]
    return _named(os.environ["LSB_JOBID"], hosts, queue=os.environ.get("LSB_QUEUE", ""))


def _of_pbs() -> Job:
    """The node file of OpenPBS, PBS Professional and Torque has a line for each slot of a node."""
    file = Path(os.environ["PBS_NODEFILE"])
    try:
        hosts = file.read_text(encoding="utf-8").split()
    except OSError as error:
        raise UserError(
            f"PBS's file of nodes cannot be read: {error.strerror}", where=str(file)
        ) from None
    return _named(os.environ.get("PBS_JOBID", ""), hosts, queue=os.environ.get("PBS_QUEUE", ""))


def _of_slurm() -> Job:
    """Slurm's controller tells a job's nodes and facts."""
    number = os.environ["SLURM_JOB_ID"]
    told = output_of(["scontrol", "show", "job", "--oneliner", number]).splitlines()
    # The number of one task of an array is that of the array, too, and tells all of them.
    facts = job_facts(next((line for line in told if line.startswith(f"JobId={number} ")), ""))
    hosts = output_of(["scontrol", "show", "hostnames", facts.get("NodeList", "")]).split()
    form = "--format=%i|%P|%T|%D|%N|%h"
    queue = output_of(["squeue", "--noheader", f"--jobs={number}", form])
    return Job(number, tuple(hosts), facts | {"squeue": queue.strip()})


# Of `scontrol show job`; the rest names users and paths.
_KEPT = {
    *("JobId", "JobState", "Partition", "NodeList", "BatchHost", "NumNodes", "NumCPUs", "NumTasks"),
    *("TRES", "OverSubscribe", "TimeLimit", "SubmitTime", "StartTime", "Features", "Reservation"),
}


def job_facts(line: str) -> dict[str, str]:
    """The facts that we keep of the line that `scontrol show job --oneliner` prints."""
    pairs = (word.partition("=") for word in line.split())
    return {key: value for key, _, value in pairs if key in _KEPT}


# By what `batch_system` of a system's file calls them.
BATCH_SYSTEMS = {
    "flux": BatchSystem(
        title="Flux",
        profile="profiles/flux",
        programs=("flux",),
        asks=("flux", "resource", "info"),
        job_variable="FLUX_URI",
        variables=("FLUX_",),
        job=_of_flux,
    ),
    "lsf": BatchSystem(
        title="LSF",
        profile="profiles/cluster-generic",
        programs=("bsub", "bjobs", "bkill"),
        asks=("bqueues",),
        job_variable="LSB_JOBID",
        variables=("LSB_", "LSF_"),
        job=_of_lsf,
    ),
    "pbs": BatchSystem(
        title="PBS",
        profile="profiles/cluster-generic",
        programs=("qsub", "qstat", "qdel"),
        asks=("qstat", "-B"),
        job_variable="PBS_NODEFILE",
        variables=("PBS_",),
        job=_of_pbs,
    ),
    "slurm": BatchSystem(
        title="Slurm",
        profile="slurm",
        programs=("sbatch", "squeue", "scontrol", "srun"),
        asks=("squeue", "--noheader", "--me"),
        job_variable="SLURM_JOB_ID",
        variables=("SLURM_CONF", "SLURM_JOB_ID", "SLURM_JOBID"),
        job=_of_slurm,
        trial=", or try `make cluster-up` here",
    ),
}
