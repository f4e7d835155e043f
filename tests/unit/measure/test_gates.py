"""Gates fail when they should: not inside, inside where it should not be, unbound, stolen from."""

import pytest

from parity.benchmarks.model import Program
from parity.measure import gates, inner_command
from parity.measure.documents import Binary, Gate
from parity.runtimes import arms

HOST = {"kernel": "0", "mnt": "1", "pid": "2", "user": "3", "net": "4", "ipc": "5", "uts": "6"}
RECIPE = "sha256:feed"


def _evidence(marker, cpus="0-1", root="ext4,rw", **namespaces) -> dict[str, str]:
    inside = {f"namespace./proc/self/ns/{n}": i for n, i in (HOST | namespaces).items()}
    said = {"marker": marker, "Cpus_allowed_list:": cpus, "root": root} | inside
    lines = [f"{inner_command.EVIDENCE}{name}={value}\n" for name, value in said.items()]
    return inner_command.evidence("".join(["noise\n", *lines, "more noise\n"]))


def _isolated(name: str) -> dict[str, str]:
    arm = arms()[name]
    root = f"{arm.root_filesystem or 'overlay'},ro"
    return _evidence(RECIPE, root=root, **{space: "99" for space in arm.isolates})


CONTAINERS = [name for name, arm in arms().items() if arm.image_format]
# Of the others the image's marker alone tells.
ISOLATING = [name for name in CONTAINERS if arms()[name].isolates]


SPOILED = {
    "silently native": (CONTAINERS, lambda name: _evidence(""), "no marker"),
    "in the host's namespaces": (ISOLATING, lambda name: _evidence(RECIPE), "host's namespaces"),
    "from another image": (
        CONTAINERS,
        lambda name: _isolated(name) | {"marker": "sha256:beef"},
        "expected marker sha256:feed, saw sha256:beef",
    ),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_run_inside_its_runtime_passes_and_no_other_does(name: str) -> None:
    assert gates.where_gate(arms()[name], _isolated(name), HOST, RECIPE).passed
    for names, evidence, said in SPOILED.values():
        if name in names:
            gate = gates.where_gate(arms()[name], evidence(name), HOST, RECIPE)
            assert not gate.passed and said in gate.detail


def test_native_passes_outside_and_fails_inside() -> None:
    native = arms()["native-a"]
    assert gates.where_gate(native, _evidence(""), HOST, "").passed
    assert not gates.where_gate(native, _evidence("", mnt="9"), HOST, "").passed
    assert not gates.where_gate(native, _evidence(RECIPE), HOST, "").passed


@pytest.mark.parametrize("name", CONTAINERS)
def test_evidence_without_one_of_its_namespaces_or_with_one_not_asked_for_fails(name: str) -> None:
    arm = arms()[name]
    for space in arm.isolates:
        found = _isolated(name)
        del found[f"namespace.{space}"]
        assert not gates.where_gate(arm, found, HOST, RECIPE).passed
    if not {"pid", "kernel"}.intersection(arm.isolates):
        found = _isolated(name) | {"namespace.pid": "99"}
        gate = gates.where_gate(arm, found, HOST, RECIPE)
        assert not gate.passed and "unexpectedly" in gate.detail


def test_another_kernel_is_told_by_what_it_calls_its_boot_and_not_by_numbers_of_its_own() -> None:
    # Namespaces that a kernel makes first have the same numbers in every guest.
    guest = _evidence(RECIPE, root="virtiofs,rw", **HOST | {"kernel": "1"})
    assert gates.where_gate(arms()["qemu-tcg"], guest, HOST, RECIPE).passed
    # LXC gives its containers a number of their own, on the same kernel.
    lxc = _isolated("lxc") | {"namespace.kernel": "1"}
    assert gates.where_gate(arms()["lxc"], lxc, HOST, RECIPE).passed


def test_a_squashfs_that_was_silently_unpacked_fails_and_so_does_no_evidence() -> None:
    arm = arms()["charliecloud-sqfs"]
    found = _isolated(arm.name)
    assert gates.where_gate(arm, found | {"root": "fuse.squashfuse_ll,ro"}, HOST, RECIPE).passed
    gate = gates.where_gate(arm, found | {"root": "ext4,ro"}, HOST, RECIPE)
    assert not gate.passed and "expected a root file system fuse, saw ext4" in gate.detail
    for arm in arms().values():
        assert not gates.where_gate(arm, {}, HOST, RECIPE if arm.image_format else "").passed


@pytest.mark.parametrize(
    ("cpus", "allowed", "passes"),
    [((0, 1), "0-1", True), ((1,), "1", True), ((1,), "0-1", False), ((0,), "", False)],
)
def test_binding(cpus: tuple[int, ...], allowed: str, passes: bool) -> None:
    assert gates.binding_gate(cpus, _evidence("", cpus=allowed)).passed is passes


def test_limits_are_inclusive_and_name_both_numbers_and_the_first_failure_is_the_reason() -> None:
    assert gates.steal_gate(0.1, 0.1).passed and gates.idle_gate(0.1, 0.1).passed
    assert "0.200" in gates.steal_gate(0.2, 0.1).detail
    assert "0.1" in gates.idle_gate(0.2, 0.1).detail
    gate = gates.image_gate("image.sif", "sha256:aa", "sha256:bb")
    assert not gate.passed
    assert all(word in gate.detail for word in ("image.sif", "sha256:aa", "sha256:bb"))
    held, failed = Gate("where", True), Gate("binding", False, "why")
    assert gates.first_failure([held, failed]) == ("gate-binding", "why")
    assert gates.first_failure([held]) == ("", "")


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("0-3", (0, 1, 2, 3)), ("0,2-3", (0, 2, 3)), ("7", (7,)), ("", ()), ("x-2", ()), ("1-", (1,))],
)
def test_cpu_lists(text: str, cpus: tuple[int, ...]) -> None:
    assert inner_command.cpu_list(text) == cpus


RANKS = Program(argv=("/bin/true",), cpus=(0, 1), ranks=4, nodes=2)


def _ranks(*nodes: str) -> dict[int, dict[str, str]]:
    return {rank: _evidence("") | {"node": node} for rank, node in enumerate(nodes)}


@pytest.mark.parametrize(("nodes", "said"), [
    (("n1", "n1", "n2", "n2"), ""), (("n1", "n1", "n2"), "saw 0, 1, 2"), ((), "saw none"),
    (("n1", "n2", "n1", "n2"), "expected rank 1 on n1, saw it on n2"),
    (("n1", "n1", "n2", "n3"), "expected rank 3 on n2, saw it on n3"),
])  # fmt: skip
def test_ranks_that_are_missing_or_elsewhere_fail(nodes, said) -> None:
    gate = gates.ranks_gate(RANKS, ("n1", "n2"), _ranks(*nodes))
    assert gate.passed == (not said) and said in gate.detail


def test_the_first_rank_that_fails_a_gate_is_named() -> None:
    found = _ranks("n1", "n1", "n2", "n2")
    found[2]["cpus_allowed"] = "0-1"
    found[0]["cpus_allowed"] = found[1]["cpus_allowed"] = found[3]["cpus_allowed"] = "1"
    gate = gates.of_ranks(lambda _, evidence: gates.binding_gate([1], evidence), found)
    assert gate.name == "binding" and gate.detail.startswith("rank 2: expected CPUs 1")


def test_a_container_in_another_network_is_not_where_it_says() -> None:
    elsewhere = _evidence(RECIPE, net="99", **{s: "99" for s in arms()["docker"].isolates})
    gate = gates.where_gate(arms()["docker"], elsewhere, HOST, RECIPE)
    assert not gate.passed and "net" in gate.detail


def _binary(path: str, sha256: str) -> Binary:
    known = {"arm": "native-a", "benchmark": "x", "build_id": "", "closure_sha256": ""}
    return Binary(path=path, sha256=sha256, closure=(), **known)


def test_a_program_that_is_not_the_one_that_was_built_is_named_with_both_hashes() -> None:
    rows = [_binary("/a", "1"), _binary("/b", "2")]
    assert gates.binary_gate({"/a": "1", "/b": "2"}, {}, rows).passed
    assert gates.binary_gate({}, {}, rows).passed  # nothing was recorded
    gate = gates.binary_gate({"/a": "1", "/b": "3"}, {}, rows)
    assert (gate.passed, gate.detail) == (False, "/b: expected 3, found 2")
    gone = gates.binary_gate({"/a": "1"}, {}, [_binary("/a", "")])
    assert gone.detail == "/a: expected 1, found nothing"
    altered = gates.binary_gate({}, {"/b": ("5", "6")}, rows)
    assert altered.detail == "/b: expected MD5 5, found 6"
