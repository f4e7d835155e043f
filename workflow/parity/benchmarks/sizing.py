"""How benchmarks size themselves by the node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from parity.benchmarks.model import NodeFacts, Program
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


def placed(program: Program, parameters: Mapping[str, Any], node: NodeFacts, where: str) -> Program:
    """A program with the ranks of its allocation, and the CPUs that those of a node are bound to.

    In containers that share a node there may be more ranks than CPUs, and rank r of R has the
    one at ⌊r·C/R⌋ of C: it is in the equal part of its container, however many containers
    there are. Elsewhere each rank has one of its own.

    Args:
        parameters: with `nodes` and `ranks` in all, maybe with `containers_per_node`.

    Raises:
        UserError: a node would get more ranks than it has CPUs, or several have containers.
    """
    nodes, ranks = parameters["nodes"], parameters["ranks"]
    containers, cpus = parameters.get("containers_per_node", 0), node.cpus
    if containers and nodes > 1:
        raise UserError(
            "containers that hold several ranks are started on one node only",
            where=where,
            allowed=f"1x{ranks // nodes}/{containers}",
        )
    if containers:
        cpus = tuple(cpus[rank * len(cpus) // ranks] for rank in range(ranks))
    else:
        first_cpus(node, ranks // nodes, where)
    return replace(program, cpus=cpus, ranks=ranks, nodes=nodes, containers=containers)


def part_of(cpus: Sequence[int], number: int, parts: int) -> tuple[int, ...]:
    """One of equal parts of a node's CPUs; parts that CPUs do not divide into share some."""
    first, last = number * len(cpus) // parts, -(-(number + 1) * len(cpus) // parts)
    return tuple(cpus[first:last])
