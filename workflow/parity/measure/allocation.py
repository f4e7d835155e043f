"""The allocation that a block runs in: which nodes, and what the batch system says of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from parity.core.errors import UserError
from parity.measure.node import node_name
from parity.plan.system import BATCH_SYSTEMS, BatchSystem, System


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
    around = BATCH_SYSTEMS.get(system.batch_system)
    allocation = _job(around) if around else Allocation((node_name(),))
    if system.launcher and len(allocation.hosts) != nodes:
        raise UserError(
            f"the block needs {nodes} nodes, and the allocation has {len(allocation.hosts)}",
            where=f"job {allocation.job}" if allocation.job else node_name(),
            action=around.advice if around else "name a batch system in the system's file",
        )
    return allocation


def _job(around: BatchSystem) -> Allocation:
    if not os.environ.get(around.job_variable):
        raise UserError(
            f"this is not a {around.title} job, and the system's file says that blocks are",
            where=around.job_variable,
            action=around.advice,
        )
    number, found, facts = around.job()
    hosts = tuple(sorted(found, key=lambda host: host != node_name()))
    facts = {**facts, "hosts": ",".join(hosts)}
    return Allocation(hosts, number, {f"allocation.{key}": facts[key] for key in facts})
