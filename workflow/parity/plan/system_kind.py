"""Kinds of systems: what follows for results from where they were measured.

A system file names its kind (`scale_label`); system_kinds.yaml says, once, what that means.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from parity.core.documents import Document
from parity.core.errors import UserError

# What a system may support: the two entries of `scales` in the register of claims.
MACHINE, CLUSTER = "machine", "cluster"


class SystemKind(Document, frozen=True):
    """What follows from one kind of system, or from several together.

    Attributes:
        label: its name, such as vm; several are joined by ` + `.
        note: what stands in every figure and table; empty where the system's name says it.
        threat: what it means for validity, for the paper.
        conduct: how the runs came about, for the paper's abstract; `{reference}` is its title.
        margin: what a test for equivalence is held against there.
        support: `cluster` where sizes measured on it can support a published size, else
            `machine`.
        one_host: whether its nodes are namespaces on one host, whose lock lets one block
            measure at a time.
    """

    label: str
    note: str = ""
    threat: str = ""
    conduct: str = (
        "We ran the same programs in the reference ({reference}) and in the runtimes of each plan "
        "that the machine offers, in randomised blocks."
    )
    margin: str = "a margin that was fixed before the measurement"
    support: str = MACHINE
    one_host: bool = False


_KINDS = Path(__file__).with_name("system_kinds.yaml").read_bytes()
# What documents up to 2026-11-22 call a cluster, whichever batch system it has.
_FORMER = {"slurm": "cluster"}
KINDS = {kind.label: kind for kind in msgspec.yaml.decode(_KINDS, type=list[SystemKind])}


def kind_of(labels: Iterable[str]) -> SystemKind:
    """The kind of the systems with these labels together; of several it is no cluster.

    Raises:
        UserError: there is no such kind.
    """
    names = sorted({_FORMER.get(label, label) for label in labels})
    if unknown := [name for name in names if name not in KINDS]:
        raise UserError(
            f"unknown kind of system: {', '.join(unknown)}",
            where="scale_label",
            allowed=", ".join(KINDS),
        )
    kinds = [KINDS[name] for name in names]
    if len(kinds) == 1:
        return kinds[0]
    return SystemKind(
        label=" + ".join(names),
        note=" ".join(kind.note for kind in kinds if kind.note),
        threat=" ".join(kind.threat for kind in kinds if kind.threat),
        conduct=" ".join(dict.fromkeys(kind.conduct for kind in kinds)),
        margin=" or ".join(dict.fromkeys(kind.margin for kind in kinds)),
        one_host=any(kind.one_host for kind in kinds),
    )
