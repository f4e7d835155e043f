"""Gates fail when they should: not inside, inside where it should not be, unbound, stolen from."""

import pytest

from parity.benchmarks.model import Program
from parity.measure import gates, inner_command
from parity.measure.documents import Binary, Gate
from parity.measure.timed_process import Orphan
from parity.runtimes import arms

HOST = {"kernel": "0", "mnt": "1", "pid": "2", "user": "3", "net": "4", "ipc": "5", "uts": "6"}
RECIPE = "sha256:feed"


def _evidence(marker, cpus="0-1", root="ext4,rw", **namespaces) -> dict[str, str]:
    inside = {f"namespace./proc/self/ns/{n}": i for n, i in (HOST | namespaces).items()}
    said = {"marker": marker, "Cpus_allowed_list:": cpus, "root": root} | inside
    lines = [f"{inner_command.EVIDENCE}{name}={value}\n" for name, value in said.items()]
    return inner_command.evidence("".join(["noise\n", *lines, "more noise\n"]))


def _isolated(name: str, **also: str) -> dict[str, str]:
    arm = arms()[name]
    root = f"{arm.root_filesystem or 'overlay'},ro"
    return _evidence(RECIPE, root=root, **dict.fromkeys(arm.isolates, "99") | also)


CONTAINERS = [name for name, arm in arms().items() if arm.image_format]


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_run_inside_its_runtime_passes_and_no_other_does(name: str) -> None:
    arm, inside = arms()[name], _isolated(name)
    assert gates.where_gate(arm, inside, HOST, RECIPE).passed
    spoiled = [
        # Silently native, from another image, and without one of its namespaces.
        (_evidence(""), "no marker"),
        (inside | {"marker": "sha256:beef"}, "expected marker sha256:feed, saw sha256:beef"),
        *(({k: v for k, v in inside.items() if k != f"namespace.{space}"}, "no evidence")
          for space in arm.isolates),
    ]  # fmt: skip
    # Of an arm that isolates nothing the image's marker alone tells.
    if arm.isolates:
        spoiled.append((_evidence(RECIPE), "host's namespaces"))
    if not {"pid", "kernel"}.intersection(arm.isolates):
        spoiled.append((inside | {"namespace.pid": "99"}, "unexpectedly"))
    for evidence, said in spoiled:
        gate = gates.where_gate(arm, evidence, HOST, RECIPE)
        assert not gate.passed and said in gate.detail


SQUASHFS = _isolated("charliecloud-sqfs")
UNPACKED = "expected a root file system fuse, saw ext4"


@pytest.mark.parametrize(("name", "evidence", "said"), [
    ("native-a", _evidence(""), ""),
    ("native-a", _evidence("", mnt="9"), "unexpectedly in other namespaces: mnt"),
    ("native-a", _evidence(RECIPE), "expected marker none"),
    # Namespaces that a kernel makes first have the same numbers in every guest.
    ("qemu-tcg", _evidence(RECIPE, root="virtiofs,rw", kernel="1"), ""),
    # LXC gives its containers a number of their own, on the same kernel.
    ("lxc", _isolated("lxc") | {"namespace.kernel": "1"}, ""),
    # Of a squashfs that was silently unpacked, and of another network.
    ("charliecloud-sqfs", SQUASHFS | {"root": "fuse.squashfuse_ll,ro"}, ""),
    ("charliecloud-sqfs", SQUASHFS | {"root": "ext4,ro"}, UNPACKED),
    ("docker", _isolated("docker", net="99"), "namespaces: net"),
    *((name, {}, "no evidence") for name in arms()),
])  # fmt: skip
def test_where_a_run_was_is_told_by_its_evidence(name: str, evidence, said: str) -> None:
    arm = arms()[name]
    gate = gates.where_gate(arm, evidence, HOST, RECIPE if arm.image_format else "")
    assert gate.passed == (not said) and said in gate.detail


def _binary(path: str, sha256: str) -> Binary:
    known = {"arm": "native-a", "benchmark": "x", "build_id": "", "closure_sha256": ""}
    return Binary(path=path, sha256=sha256, closure=(), **known)


def _of_ranks(*nodes: str) -> Gate:
    ranks = {rank: _evidence("") | {"node": node} for rank, node in enumerate(nodes)}
    return gates.ranks_gate(RANKS, ("n1", "n2"), ranks)


def _binding(cpus: tuple[int, ...], allowed: str) -> Gate:
    return gates.binding_gate(cpus, _evidence("", cpus=allowed))


RANKS = Program(argv=("/bin/true",), cpus=(0, 1), ranks=4, nodes=2)
ROWS = [_binary("/a", "1"), _binary("/b", "2")]


@pytest.mark.parametrize(("judge", "seen", "said"), [
    (_binding, ((0, 1), "0-1"), ""), (_binding, ((1,), "1"), ""),
    (_binding, ((1,), "0-1"), "expected CPUs 1, allowed were 0-1"),
    (_binding, ((0,), ""), "expected CPUs 0, allowed were unknown"),
    # Limits are inclusive.
    (gates.steal_gate, (0.1, 0.1), ""), (gates.idle_gate, (0.1, 0.1), ""),
    (gates.steal_gate, (0.2, 0.1), "stolen 0.200 of CPU time, allowed 0.1"),
    (gates.idle_gate, (0.2, 0.1), "others used 0.200 of CPU time, allowed 0.1"),
    (gates.image_gate, ("a.sif", "md:a", "md:b"), "a.sif: expected md:a, found md:b"),
    # Ranks that are missing or elsewhere.
    (_of_ranks, ("n1", "n1", "n2", "n2"), ""), (_of_ranks, (), "expected ranks 0 to 3, saw none"),
    (_of_ranks, ("n1", "n1", "n2"), "expected ranks 0 to 3, saw 0, 1, 2"),
    (_of_ranks, ("n1", "n2", "n1", "n2"), "expected rank 1 on n1, saw it on n2"),
    (_of_ranks, ("n1", "n1", "n2", "n3"), "expected rank 3 on n2, saw it on n3"),
    # A program that is not the one that was built, as far as its build recorded it.
    (gates.binary_gate, ({"/a": "1", "/b": "2"}, {}, ROWS), ""),
    (gates.binary_gate, ({}, {}, ROWS), ""),
    (gates.binary_gate, ({"/a": "1", "/b": "3"}, {}, ROWS), "/b: expected 3, found 2"),
    (gates.binary_gate, ({"/a": "1"}, {}, [_binary("/a", "")]), "/a: expected 1, found nothing"),
    (gates.binary_gate, ({}, {"/b": ("5", "6")}, ROWS), "/b: expected MD5 5, found 6"),
])  # fmt: skip
def test_a_gate_fails_when_it_should_and_says_what_it_expected_and_saw(judge, seen, said) -> None:
    gate = judge(*seen)
    assert (gate.passed, gate.detail) == (not said, said)


def test_the_first_failure_is_the_reason() -> None:
    held, failed = Gate("where", True), Gate("binding", False, "why")
    assert gates.first_failure([held, failed]) == ("gate-binding", "why")
    assert gates.first_failure([held]) == ("", "")


@pytest.mark.parametrize(("left", "passed", "said"), [
    ((), True, ""),
    ((Orphan("b", 0.01), Orphan("a", 0.0)), True, "left a, b, which took 0.01 s"),
    ((Orphan("a", 0.03), Orphan("a", 0.03)), False, "left a, which took 0.06 s"),
])  # fmt: skip
def test_the_gate_notes_what_was_left(left, passed: bool, said: str) -> None:
    gate = gates.left_gate(left)
    assert (gate.passed, gate.detail) == (passed, said and f"{said} of CPU time; ended")


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("0-3", (0, 1, 2, 3)), ("0,2-3", (0, 2, 3)), ("7", (7,)), ("", ()), ("x-2", ()), ("1-", (1,))],
)
def test_cpu_lists(text: str, cpus: tuple[int, ...]) -> None:
    assert inner_command.cpu_list(text) == cpus


def test_the_first_rank_that_fails_a_gate_is_named() -> None:
    found = {rank: _evidence("", cpus="0-1" if rank == 2 else "1") for rank in range(4)}
    gate = gates.of_ranks(lambda _, evidence: gates.binding_gate([1], evidence), found)
    assert gate.name == "binding" and gate.detail.startswith("rank 2: expected CPUs 1")
