"""Gates: what must hold before a run counts. Pure functions on what was seen."""

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from parity.benchmarks.model import Program
from parity.measure.documents import Binary, Gate
from parity.measure.inner_command import cpu_list, namespaces
from parity.measure.timed_process import Orphan
from parity.runtimes.model import KERNEL, Arm

Ranks = Mapping[int, Mapping[str, str]]
MOST_LEFT_SECONDS = 0.05  # of left processes: less than disturbs, more than falling asleep takes
# Namespaces that an arm shares unless it says not: in another network it would measure another.
OURS = ("mnt", "net", "pid")


def where_gate(arm: Arm, evidence: Mapping[str, str], host: Mapping[str, str], recipe: str) -> Gate:
    """Whether the process ran where its arm says.

    `evidence`: of the run (`inner_command.evidence`). `host`: the runner's own namespaces, name to
    inode. `recipe`: the content of the image's marker file; empty outside of any container.
    """
    inside, other_kernel = namespaces(evidence), KERNEL in arm.isolates
    needed = set(arm.isolates) if other_kernel else {"mnt", "pid", *arm.isolates}
    if not (needed <= inside.keys() and {"marker", "root"} <= evidence.keys()):
        return Gate("where", False, "the run left no evidence of where it ran")
    if evidence["marker"] != recipe:
        seen = evidence["marker"] or "no marker"
        return Gate("where", False, f"expected marker {recipe or 'none'}, saw {seen}")
    if shared := [name for name in arm.isolates if inside.get(name) == host.get(name)]:
        return Gate("where", False, f"still in the host's namespaces: {', '.join(shared)}")
    own = [name for name in OURS if inside.get(name) not in (None, host.get(name))]
    if not other_kernel and (foreign := sorted(set(own) - set(arm.isolates))):
        return Gate("where", False, f"unexpectedly in other namespaces: {', '.join(foreign)}")
    # `fuse.squashfuse_ll` is a kind of `fuse`.
    filesystem = evidence["root"].partition(",")[0].partition(".")[0]
    if (expected := arm.root_filesystem) and filesystem != expected:
        return Gate("where", False, f"expected a root file system {expected}, saw {filesystem}")
    return Gate("where", True)


def binding_gate(cpus: Sequence[int], evidence: Mapping[str, str]) -> Gate:
    """Whether the process was bound to the CPUs that the program asks for."""
    seen = evidence.get("cpus_allowed", "")
    otherwise = f"expected CPUs {','.join(map(str, cpus))}, allowed were {seen or 'unknown'}"
    return _judged("binding", cpu_list(seen) == tuple(sorted(cpus)), otherwise)


def ranks_gate(program: Program, hosts: Sequence[str], ranks: Ranks) -> Gate:
    """Whether every rank was started once, on its node of `hosts`, in the order that ranks fill."""
    if sorted(ranks) != list(range(program.ranks)):
        seen = ", ".join(map(str, sorted(ranks))) or "none"
        return Gate("ranks", False, f"expected ranks 0 to {program.ranks - 1}, saw {seen}")
    for rank, evidence in ranks.items():
        expected, seen = hosts[rank // (program.ranks // program.nodes)], evidence["node"]
        if seen != expected:
            return Gate("ranks", False, f"expected rank {rank} on {expected}, saw it on {seen}")
    return Gate("ranks", True)


def of_ranks(judge: Callable[[int, Mapping[str, str]], Gate], ranks: Ranks) -> Gate:
    """One gate for all ranks: the first failure, with its rank, or that it held everywhere."""
    for rank, evidence in ranks.items():
        if not (gate := judge(rank, evidence)).passed:
            return replace(gate, detail=f"rank {rank}: {gate.detail}")
    return gate


def steal_gate(steal_fraction: float, limit: float) -> Gate:
    """Whether the hypervisor left the machine its CPU time during the run."""
    otherwise = f"stolen {steal_fraction:.3f} of CPU time, allowed {limit:g}"
    return _judged("steal", steal_fraction <= limit, otherwise)


def left_gate(left: Sequence[Orphan]) -> Gate:
    """Whether what the program left behind took no CPU time; noted if there was anything."""
    took = sum(orphan.cpu_seconds for orphan in left)
    names = ", ".join(sorted({orphan.name for orphan in left}))
    said = f"left {names}, which took {took:.2f} s of CPU time; ended" if left else ""
    return Gate("left", took <= MOST_LEFT_SECONDS, said)


def idle_gate(busy_fraction: float, limit: float) -> Gate:
    """Whether others left the node alone just before the block."""
    otherwise = f"others used {busy_fraction:.3f} of CPU time, allowed {limit:g}"
    return _judged("quiet", busy_fraction <= limit, otherwise)


def image_gate(location: str, expected: str, seen: str) -> Gate:
    """Whether the image is the one that the digest chain ends in."""
    return _judged("image", expected == seen, f"{location}: expected {expected}, found {seen}")


def _judged(name: str, held: bool, otherwise: str) -> Gate:
    return Gate(name, held, "" if held else otherwise)


def binary_gate(
    expected: Mapping[str, str], altered: Mapping[str, tuple[str, str]], binaries: Sequence[Binary]
) -> Gate:
    """Whether the audited programs are those that were built, where their build recorded it.

    `expected`: SHA-256 by path. `altered`: programs that are not their package's: the sum it has
    and the one found. `binaries`: as audited; a program that is not there has an empty hash.
    """
    for binary in binaries:
        path, seen = binary.path, binary.sha256 or "nothing"
        if path in expected and binary.sha256 != expected[path]:
            return Gate("binary", False, f"{path}: expected {expected[path]}, found {seen}")
        if path in altered:
            packaged, present = altered[path]
            return Gate("binary", False, f"{path}: expected MD5 {packaged}, found {present}")
    return Gate("binary", True)


def first_failure(gates: Sequence[Gate]) -> tuple[str, str]:
    """Reason code and detail of the first gate that did not hold; two empty texts if all did."""
    return next((gate.failure for gate in gates if not gate.passed), ("", ""))
