"""The record of an attempt: what was ordered, what was seen, and whether the gates held."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from parity.benchmarks.model import Program
from parity.measure import gates, inner_command
from parity.measure.documents import ArmState, Gate, RunRecord
from parity.measure.history import LIMIT_REFUSED
from parity.measure.orphans import Orphan
from parity.measure.session import Session
from parity.measure.timed_process import Finished
from parity.plan.plan import Case
from parity.runtimes import every_arm
from parity.runtimes.limits import NO_LIMIT, refusal
from parity.runtimes.model import Arm


@dataclass(frozen=True)
class Order:
    """What an attempt is to do: a run of a case in an arm, whose state the session found out."""

    run: str
    case: Case
    arm: Arm
    state: ArmState
    program: Program
    session: Session

    @property
    def hosts(self) -> tuple[str, ...]:
        """The allocation's nodes, the one that we are on first."""
        return self.session.allocation.hosts

    @property
    def program_arm(self) -> Arm:
        """Where the program runs: natively where the arm holds what is beside it instead."""
        return self.arm if self.program.beside.is_in_arm(self.case.parameters) else self.native

    @property
    def native(self) -> Arm:
        """The plain program's arm."""
        known = (self.arm, *(every_arm()[name] for name in self.session.states))
        return next(arm for arm in known if arm.is_native)

    def where(self, host: str, evidence: Mapping[str, str], arm: Arm | None = None) -> Gate:
        """Whether a process of it ran on that node where its arm says; the program's by default."""
        arm, ours = arm or self.program_arm, self.session.namespaces[host]
        return gates.where_gate(arm, evidence, ours, self.state.recipe if arm.image_format else "")


@dataclass
class Seen:
    """What is gathered on the way to the record.

    Attributes:
        steal: share of CPU time that the hypervisor took meanwhile, 0 to 1.
        beside: the gates of its companions.
        evidence: what they read and counted.
    """

    commands: list[list[str]]
    finished: list[Finished]
    error: str = ""
    left: tuple[Orphan, ...] = ()
    steal: float = 0.0
    beside: list[Gate] = field(default_factory=list)
    evidence: dict[str, str] = field(default_factory=dict)


def _gates_of_one(order: Order, evidence: Mapping[str, str]) -> list[Gate]:
    """The gates of a program that was started once, here."""
    if order.program.as_given:
        return []
    where = order.where(order.hosts[0], evidence)
    # Timed starts of several are the program's bare words, bound by nobody.
    bound = order.program.repetitions == 1
    return [where, gates.binding_gate(order.program.cpus, evidence)] if bound else [where]


def _gates_of_ranks(order: Order, ranks: gates.Ranks) -> list[Gate]:
    """The gates of a program with ranks; where one is missing, nothing else is judged."""
    complete = gates.ranks_gate(order.program, order.hosts, ranks)
    if not complete.passed:
        return [complete]

    def where(_rank: int, evidence: Mapping[str, str]) -> Gate:
        return order.where(evidence["node"], evidence)

    def binding(rank: int, evidence: Mapping[str, str]) -> Gate:
        cpus = order.program.cpus
        own = [cpus[rank % len(cpus)]] if order.program.is_bound else cpus
        return gates.binding_gate(own, evidence)

    bound = gates.of_ranks(binding, ranks)
    if bound.passed and not order.program.is_bound:
        bound = Gate("binding", True, "each rank on any of the node's CPUs, as its arm says")
    return [complete, gates.of_ranks(where, ranks), bound]


def record(order: Order, seen: Seen, stderr: str, load: float, started: str) -> RunRecord:
    """What became of the attempt.

    Args:
        load: one-minute load average just before.
        started: time of the start, UTC, ISO 8601.
    """
    # Timed starts of several are the program's bare words: neither bound nor with an
    # environment of ours, and the record does not say that they were.
    several = order.program.repetitions > 1 or order.program.as_given
    ranks = inner_command.rank_evidence(stderr) if order.program.ranks else {}
    evidence = ranks.get(0, {}) if order.program.ranks else inner_command.evidence(stderr)
    inside = _gates_of_ranks(order, ranks) if order.program.ranks else None
    judged = (
        *order.session.block_gates,
        order.state.gate,
        *(inside or _gates_of_one(order, evidence)),
        gates.steal_gate(seen.steal, order.session.system.max_steal_fraction),
        gates.left_gate(seen.left),
        *seen.beside,
    )
    reason, detail = _reason(seen, judged)
    if seen.error or (reason == "exit-status" and not evidence):
        # Nothing of the program ran, and its arm says why.
        said = refusal(seen.error or stderr) if order.arm.limit != NO_LIMIT else ""
        reason, detail = (LIMIT_REFUSED, said) if said else (reason, detail)
    environment = {} if several else inner_command.program_environment(order.program)
    variables = "".join(f"{name}={value}\n" for name, value in environment.items())
    timed = (
        seen.finished[1:]
        if order.program.repetitions > 1
        else seen.finished[: 1 + len(order.program.then)]
    )
    walls = tuple(start.wall_seconds for start in timed)
    if timed and order.program.ranks:
        own = _seconds_of_ranks(ranks, order.hosts[0], walls[0])
        # The launcher's time is never taken for the ranks': who needs theirs refuses the run.
        took = "not told" if own is None else f"{walls[0] - own:.3f}"
        evidence = {**evidence, "launcher_seconds": took}
        walls = () if own is None else (own,)
    return RunRecord(
        session=order.session.number,
        run=order.run,
        case=order.case.name,
        arm=order.arm.name,
        parameters=dict(order.case.parameters),
        reason=reason,
        detail=detail,
        exit_code=seen.finished[-1].exit_code if seen.finished else None,
        started=started,
        starts_wall_seconds=walls,
        wall_seconds=sum(start.wall_seconds for start in timed) if timed else None,
        user_seconds=sum(start.user_seconds for start in timed) if timed else None,
        system_seconds=sum(start.system_seconds for start in timed) if timed else None,
        steal_fraction=seen.steal,
        load_before=load,
        commands=tuple(map(tuple, seen.commands)),
        environment=environment,
        environment_sha256="" if several else hashlib.sha256(variables.encode()).hexdigest(),
        evidence={**evidence, **seen.evidence},
        ranks=inner_command.rank_differences(ranks),
        image_digest=order.state.image_digest,
        gates=judged,
    )


def _seconds_of_ranks(ranks: gates.Ranks, host: str, outer: float) -> float | None:
    """From the first start to the last end of the ranks on a node; None if they do not tell.

    Of one node alone, because the clocks of several differ; programs end together.

    Args:
        outer: seconds of the whole start, the launcher's own time included.
    """
    there = [each for each in ranks.values() if each["node"] == host]
    began, ended = ([each.get(name, "") for each in there] for name in ("began", "ended"))
    if not there or not all(time.isdecimal() for time in began + ended):
        return None
    seconds = (max(map(int, ended)) - min(map(int, began))) / 1e9
    # A clock that was set meanwhile is no clock.
    return seconds if 0 < seconds <= outer else None


def _reason(seen: Seen, judged: Sequence[Gate]) -> tuple[str, str]:
    """Reason code and detail of an attempt; how it ended comes before the gates."""
    if seen.error:
        return "not-started", seen.error
    # A program whose server ended fails by it.
    if any(gate.name == "service" and not gate.passed for gate in seen.beside):
        return gates.first_failure([gate for gate in seen.beside if gate.name == "service"])
    last = seen.finished[-1]
    if last.timed_out:
        return "timeout", f"stopped after {last.wall_seconds:.1f} s"
    if last.exit_code < 0:
        return "signal", f"ended by signal {-last.exit_code}"
    if last.exit_code > 0:
        return "exit-status", f"exit status {last.exit_code}"
    return gates.first_failure(judged)
