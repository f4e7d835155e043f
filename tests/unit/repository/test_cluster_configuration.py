"""The virtual cluster's configuration: pure text, without a Slurm."""

from ipaddress import ip_address, ip_network
from pathlib import Path

from virtual_cluster import install, layout
from virtual_cluster.layout import Cluster, Host, configured, hosts

CLUSTER = Cluster(Host("login", 8, 16000), node_count=3, accounting=False)
WITH_ACCOUNTING = Cluster(Host("login", 8, 16000), node_count=1, accounting=True)


def _settings(text: str) -> dict[str, str]:
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
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


def test_the_controller_meets_nodes_in_the_subnet_and_polls_nothing_beside_a_program() -> None:
    settings = _settings(configured("slurm.conf", CLUSTER))
    assert settings["SlurmctldHost"] == f"login({layout.address(layout.HOST_NUMBER)})"
    assert settings["JobAcctGatherFrequency"] == "0"
    assert settings["JobAcctGatherParams"] == "OverMemoryKill"
    partition = settings["PartitionName"]
    assert partition.split()[0] == layout.PARTITION and "Default=YES" in partition


def test_all_that_is_written_lies_in_the_state_folder() -> None:
    settings = _settings(configured("slurm.conf", WITH_ACCOUNTING))
    settings |= _settings(configured("slurmdbd.conf", WITH_ACCOUNTING))
    paths = [value for key, value in settings.items() if key.endswith(("Dir", "File", "FS"))]
    assert len(paths) >= 8
    assert all(Path(path).is_relative_to(layout.STATE) for path in paths)


def test_munge_is_our_own_and_accounting_is_off_unless_asked_for() -> None:
    off, on = (_settings(configured("slurm.conf", each)) for each in (CLUSTER, WITH_ACCOUNTING))
    for settings in (off, on, _settings(configured("slurmdbd.conf", WITH_ACCOUNTING))):
        assert settings["AuthInfo"] == f"socket={layout.MUNGE_SOCKET}"
    assert off["AccountingStorageType"] == "accounting_storage/none"
    assert on["AccountingStorageType"] == "accounting_storage/slurmdbd"
    assert set(install.ACCOUNTING_PACKAGES) <= set(install.wanted(True))
    assert not set(install.ACCOUNTING_PACKAGES) & set(install.wanted(False))
