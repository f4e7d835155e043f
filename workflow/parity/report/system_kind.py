"""What must be said of results because of the kind of system that they come from.

A system file names its kind (`scale_label`); here stands, once, what follows from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """What follows from one kind of system.

    Attributes:
        note: what stands in every figure and table; empty where the system's name says it.
        threat: what it means for validity, for the paper.
    """

    note: str
    threat: str


SCALES = {
    "vm": Scale(
        "",
        "A virtual machine adds noise of its own and says nothing about magnitudes on a cluster.",
    ),
    "workstation": Scale("", "A workstation says nothing about magnitudes on a cluster."),
    "slurm": Scale("", ""),
    "virtual-cluster": Scale(
        "All nodes are network namespaces on one host.",
        "All nodes are network namespaces on one host. They share its processors, its memory and "
        "its kernel, and a message between them is copied in memory and crosses no wire. More "
        "nodes are no more machine here. Such numbers show that the programs ran as one world over "
        "several nodes, and what a runtime added to that; they say nothing about magnitudes on "
        "a cluster.",
    ),
}


def note(labels: Iterable[str]) -> str:
    """What figures and tables of results from these kinds of systems say; often nothing."""
    return _joined(SCALES[label].note for label in sorted(set(labels)))


def threat(labels: Iterable[str]) -> str:
    """What these kinds of systems mean for the validity of results."""
    return _joined(SCALES[label].threat for label in sorted(set(labels)))


def _joined(sentences: Iterable[str]) -> str:
    return " ".join(filter(None, sentences))
