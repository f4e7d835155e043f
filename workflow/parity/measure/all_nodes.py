"""What the nodes of an allocation are together: fit for a block, or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from parity.core.errors import UserError
from parity.measure import gates
from parity.measure.documents import ArmState, Binary, Gate, NodeAnswer, NodeState
from parity.plan.system import System


def refuse_other_processors(nodes: Sequence[NodeState]) -> None:
    """Measure nothing on processors that differ: ranks of one program would wait for the slower."""
    models = {node.node_name: node.facts["cpu_model"] for node in nodes}
    if len(set(models.values())) > 1:
        raise UserError(
            "the processors of this allocation differ",
            where="; ".join(f"{name}: {model or 'not told'}" for name, model in models.items()),
            action="ask for nodes of one kind in the profile, as with Slurm's `constraint`",
        )


def refuse_other_images(states: Mapping[str, ArmState]) -> None:
    """Measure nothing of a block where an arm's image is another: its runs were lost for good."""
    broken = {name: state.gate.detail for name, state in states.items() if not state.gate.passed}
    if broken:
        raise UserError(
            f"the image of {', '.join(broken)} is not the one that was made",
            where="; ".join(dict.fromkeys(broken.values())),
            action="snakemake images --forcerun convert_image, and start Snakemake again: nothing"
            " is lost, and it goes on with this block",
        )


def refuse_busy(answers: Sequence[NodeAnswer], gate: Gate, system: System) -> None:
    """Measure nothing beside other programs: no run would count, and the block were spent."""
    if gate.passed:
        return
    busiest = max(answers, key=lambda answer: answer.state.busy_fraction)
    raise UserError(
        f"the node is busy: {gate.detail}, after {system.settle_seconds:g} s of waiting",
        where=f"{busiest.state.node_name}: {busiest.taken_by}",
        action="end that, or wait, and start Snakemake again: nothing is lost, and it goes on with"
        " this block; quiet_node.settle_seconds of the system's file waits longer, and"
        " quiet_node.max_busy_fraction allows more",
    )


def arm_of_all(name: str, nodes: Sequence[NodeState]) -> ArmState:
    """The state of an arm in the whole allocation: the first node's, if no node objects.

    Ranks of one program must be the same program: an arm that resolves to other binaries
    on one of the nodes cannot be used.
    """
    first = nodes[0].arms[name]
    expected = _identities(nodes[0].binaries, name)
    for node in nodes:
        state, host = node.arms[name], node.node_name
        if state.reason:
            return replace(state, detail=_at(host, state.detail, nodes))
        if not state.gate.passed:
            gate = replace(state.gate, detail=_at(host, state.gate.detail, nodes))
            return replace(state, gate=gate)
        if other := sorted(expected ^ _identities(node.binaries, name)):
            paths = sorted({path for path, *_ in other})
            return replace(
                first,
                reason="nodes-differ",
                detail=f"other binaries or libraries on {host}: {', '.join(paths)}",
            )
    return first


def _identities(binaries: Sequence[Binary], arm: str) -> set[tuple[str, str, str]]:
    return {(each.path, each.sha256, each.closure_sha256) for each in binaries if each.arm == arm}


def _at(host: str, detail: str, nodes: Sequence[NodeState]) -> str:
    return f"{host}: {detail}" if len(nodes) > 1 else detail


def idle_gate_of_all(nodes: Sequence[NodeState], limit: float) -> Gate:
    """The gate of the busiest node."""
    busiest = max(nodes, key=lambda node: node.busy_fraction)
    gate = gates.idle_gate(busiest.busy_fraction, limit)
    return gate if gate.passed else replace(gate, detail=_at(busiest.node_name, gate.detail, nodes))
