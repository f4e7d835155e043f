"""How benchmarks size themselves by the node."""

from __future__ import annotations

from parity.benchmarks.model import NodeFacts
from parity.core.errors import UserError


def first_cpus(node: NodeFacts, count: int, where: str) -> tuple[int, ...]:
    """The first `count` logical CPUs that we may use.

    Raises:
        UserError: the node has fewer; threads on one CPU would measure the scheduler.
    """
    if count > len(node.cpus):
        raise UserError(
            f"{count} logical CPUs are asked for, and {len(node.cpus)} may be used on this node",
            where=where,
            allowed=f"1 to {len(node.cpus)}",
            action="lower it in the study, or run on a node with more CPUs",
        )
    return node.cpus[:count]


def cpus_for_ranks(node: NodeFacts, nodes: int, ranks: int, where: str) -> tuple[int, ...]:
    """The CPUs that the ranks of a node are bound to: all of it, one for each rank or more.

    Raises:
        UserError: a node would get more ranks than it has CPUs.
    """
    first_cpus(node, ranks // nodes, where)
    return node.cpus
