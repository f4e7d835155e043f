"""What Parity has to know of a batch system: whether it is there, and what a job has of it."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import ClassVar, NamedTuple


class Job(NamedTuple):
    """The job that we are in.

    Attributes:
        hosts: the names of its nodes, each once, as `node_name` of measure/node.py gives them.
        facts: what the batch system says of it, for the records; of nobody's name or folders.
    """

    number: str
    hosts: tuple[str, ...]
    facts: Mapping[str, str]


class BatchSystem(ABC):
    """A batch system, as one file of this folder describes it.

    Attributes:
        name: what `batch_system` of a system's file calls it.
        title: what people call it.
        profile: the value of --profile with which Snakemake submits to it.
        programs: what has to be on PATH where Snakemake is started.
        asks: a command that succeeds where it would take a job now.
        job_variable: the environment variable that tells a job that it is one.
        variables: beginnings of the names of those by which a launcher finds its job.
        trial: what tries it where there is none; empty where nothing does.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    profile: ClassVar[str]
    programs: ClassVar[tuple[str, ...]]
    asks: ClassVar[tuple[str, ...]]
    job_variable: ClassVar[str]
    variables: ClassVar[tuple[str, ...]]
    trial: ClassVar[str] = ""

    @property
    def advice(self) -> str:
        """How to come into a job."""
        return f"let Snakemake submit it: snakemake --profile {self.profile} all"

    @abstractmethod
    def job(self) -> Job:
        """The job that we are in; `job_variable` is set. Raises UserError: nobody tells."""


def from_environment(number: str, hosts: Iterable[str], **facts: str) -> Job:
    """A job of which variables tell everything.

    Hosts are named once for each of their slots, and with or without a domain.

    Args:
        number: the name of the variable with the job's number.
        facts: names of variables, by what they tell.
    """
    short = tuple(dict.fromkeys(host.partition(".")[0] for host in hosts))
    told = {name: os.environ.get(variable, "") for name, variable in facts.items()}
    return Job(os.environ.get(number, ""), short, told)
