"""The virtual cluster's configuration: pure text, without a Slurm."""

from contextlib import nullcontext
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest
from virtual_cluster import daemons, layout
from virtual_cluster.layout import Cluster, Host, configured, hosts

CLUSTER = Cluster(Host("login", 8, 16000), node_count=3, accounting=False)
WITH_ACCOUNTING = Cluster(CLUSTER.host, node_count=1, accounting=True)


def _settings(cluster: Cluster, name: str = "slurm.conf") -> dict[str, str]:
    lines = [line for line in configured(name, cluster).splitlines() if line and line[0] != "#"]
    pairs = [line.split("=", 1) for line in lines if not line.startswith("NodeName=")]
    assert len({key for key, _ in pairs}) == len(pairs), "a key is set twice"
    return dict(pairs)


def test_every_node_offers_the_whole_host_at_an_address_of_its_own() -> None:
    lines = configured("slurm.conf", CLUSTER).splitlines()
    nodes = [dict(word.split("=") for word in line.split()) for line in lines if "NodeAddr" in line]
    assert [node["NodeName"] for node in nodes] == ["n1", "n2", "n3"]
    assert {(node["CPUs"], node["RealMemory"]) for node in nodes} == {("8", "16000")}
    most = Cluster(CLUSTER.host, layout.MOST_NODES, accounting=False)
    addresses = [node.address for node in most.nodes] + [layout.address(layout.HOST_NUMBER)]
    assert len(set(addresses)) == layout.MOST_NODES + 1
    assert all(ip_address(each) in ip_network(layout.SUBNET) for each in addresses)
    names = {name for line in hosts(CLUSTER).splitlines() for name in line.split()[1:]}
    assert names == {"localhost", "login", "n1", "n2", "n2.virtual.example", "n3"}


def test_all_is_our_own_and_nothing_is_polled_beside_a_program() -> None:
    off, on = _settings(CLUSTER), _settings(WITH_ACCOUNTING)
    assert off["SlurmctldHost"] == f"login({layout.address(layout.HOST_NUMBER)})"
    assert off["JobAcctGatherFrequency"] == "0"
    assert off["JobAcctGatherParams"] == "OverMemoryKill"
    partition = off["PartitionName"]
    assert partition.split()[0] == layout.PARTITION and "Default=YES" in partition
    assert off["AccountingStorageType"] == "accounting_storage/none"
    assert on["AccountingStorageType"] == "accounting_storage/slurmdbd"
    database = _settings(WITH_ACCOUNTING, "slurmdbd.conf")
    assert {each["AuthInfo"] for each in (off, on, database)} == {f"socket={layout.MUNGE_SOCKET}"}
    of_both = (on | database).items()
    paths = [value for key, value in of_both if key.endswith(("Dir", "File", "FS"))]
    assert len(paths) >= 8
    assert all(Path(path).is_relative_to(layout.STATE) for path in paths)


@pytest.mark.parametrize("accounting", [False, True])
def test_a_database_is_installed_only_where_it_is_asked_for(accounting, monkeypatch) -> None:
    asked = set[str]()
    monkeypatch.setattr(daemons, "installed_packages", frozenset)
    monkeypatch.setattr(daemons, "is_installed", lambda _program: True)
    for name in ("_no_daemons_started", "nothing_starts_at_boot"):
        monkeypatch.setattr(daemons, name, nullcontext)
    monkeypatch.setattr(daemons, "apt", lambda *words: asked.update(words))
    daemons.install(accounting)
    more = {*daemons.ACCOUNTING_PACKAGES}
    assert {*daemons.PACKAGES} <= asked and asked & more == (more if accounting else set())
