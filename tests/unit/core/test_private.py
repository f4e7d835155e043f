"""What stands for names of a machine and of a person in what others read."""

import pytest

from parity.core import private
from parity.core.private import Private, numbered

NODES = {"nid07": "node1", "nid07.site.org": "node1", "nid12": "node2", "vm": "node3"}


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch, tmp_path) -> Private:
    clone = tmp_path / "my clone"
    clone.mkdir()
    monkeypatch.chdir(clone)
    monkeypatch.setenv("HOME", "/gpfs/u/alice")
    monkeypatch.setattr(private.psutil.Process, "username", lambda _: "alice")
    return Private(NODES)


@pytest.mark.parametrize(("text", "left"), [
    ('"/gpfs/u/alice/solver -n 4"', '"{home}/solver -n 4"'),
    ("/gpfs/u/alices/solver", "/gpfs/u/alices/solver"),
    ("/home/bob/x:/Users/eve/y:/root/z", "{home}/x:{home}/y:{home}/z"),
    ("/rootfs /var/lib/root /root-a", "/rootfs /var/lib/root /root-a"),
    ("--mount=/data/their/results/images/image.sif", "--mount={clone}/results/images/image.sif"),
    ("/home/bob/parity/results/blocks/b", "{clone}/results/blocks/b"),
    ("/data/results/mine", "/data/results/mine"),
    ("/tmp/parity/14/work /dev/shm/parity-14", "/tmp/parity/{user}/work /dev/shm/parity-{user}"),
    ("/tmp/parity/0/work", "/tmp/parity/0/work"),
    ("/data/alice/a alice@nid07: malice alice-2", "/data/{user}/a {user}@node1: malice alice-2"),
    ("[nid07:12] on nid07.site.org, nid12.", "[node1:12] on node1, node2."),
    ("nid[07,12-13] nid0[7-9] xnid[1]", "{nodes} {nodes} xnid[1]"),
    (r'"\nnid12\tvm\n/root/a"', r'"\nnode2\tnode3\n{home}/a"'),
    ("a-nid07 nid07-b nid071", "a-nid07 nid07-b nid071"),
    ('"scale_label": "vm", "system": "vm", "hostname": "vm"',
     '"scale_label": "vm", "system": "vm", "hostname": "node3"'),
    ("/proc/sys/vm/swappiness kvm", "/proc/sys/vm/swappiness kvm"),
    # Letters of what is no text are words by chance.
    ('{"a": "data:;base64,AA+vm/9=", "b": "vm"}', '{"a": "data:;base64,AA+vm/9=", "b": "node3"}'),
    ("data:;base64,/home/alice/x", "data:;base64,{home}/x"),
])  # fmt: skip
def test_a_name_is_left_out_as_a_word_of_its_own_and_once(names, text: str, left: str) -> None:
    assert names.left_out(text) == left
    assert names.left_out(left) == left


def test_this_clone_is_known_though_its_path_has_a_space(names, tmp_path) -> None:
    assert names.left_out(f"{tmp_path}/my clone/results/x") == "{clone}/results/x"


def test_a_user_that_images_bring_along_is_a_word_of_programs(monkeypatch) -> None:
    for user in ("ubuntu", "1004"):
        monkeypatch.setattr(private.psutil.Process, "username", lambda _, user=user: user)
        assert Private().left_out(f"FROM {user}") == f"FROM {user}"


def test_nodes_have_numbers_in_the_order_of_their_names() -> None:
    ten = [(f"n{number}", f"n{number}.site") for number in range(1, 11)] + [("localhost", "")]
    numbers = numbered(ten[:-1])
    assert [numbers[name] for name in sorted(numbers)] == sorted(numbers.values())
    assert numbers["n10"] == numbers["n10.site"] == "node02" and len(set(numbers.values())) == 10
    assert numbered([("localhost", "localhost")]) == {}
