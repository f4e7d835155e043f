"""Networks of containers for real: made, proven from inside, counted, and gone after any end.

Needs: root, iproute2 and ethtool; of a block each runtime and its image, or the arm is left out.
"""

import json
import multiprocessing
import os
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from benchmark_help import running, wait_for
from links import send
from trace_drops import counts, traced
from trials import WORKFLOW, case_of, measured, trial

from parity.core.commands import output_of
from parity.extensions.network_namespace import Namespace, end_left_networks
from parity.extensions.networks.measure.network import SYSCTLS, network
from parity.extensions.networks.runtimes.networked import Networked
from parity.measure.attempt import NotStarted
from parity.runtimes import every_arm

# No other test's.
ASLEEP = ["sleep", f"312.{os.getpid()}"]
KINDS = ("native-a-veth", "native-a-veth-plain", "native-a-macvlan")
pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(
        os.geteuid() != 0 or not every_arm()["native-a-veth"].probe().available,
        reason="networks of containers need root, and what the probe names",
    ),
]
# 1 Gbit/s and a queue that a window outgrows.
SHALLOW = {"rate_mbit": 1000, "queue_packets": 5}


def order(arm: str, **knobs):
    return SimpleNamespace(arm=every_arm()[arm], case=SimpleNamespace(parameters=knobs))


def made(state) -> list[Namespace]:
    return [Namespace(int(place.words[1].rpartition("/")[2])) for place in state.places]


def host() -> tuple[str, list[str]]:
    """What there is on the host's own network, and namespaces with names."""
    links = output_of(["ip", "-oneline", "link"])
    return links, sorted(path.name for path in Path("/run/netns").glob("*"))


def held() -> Counter[str]:
    """The network namespaces that this process holds open."""
    return Counter(link for link in map(_link, Path("/proc/self/fd").iterdir()) if "net:" in link)


def _link(path: Path) -> str:
    with suppress(OSError):
        return str(path.readlink())
    return ""


@pytest.fixture(autouse=True)
def nothing_stays():
    before = host(), held()
    yield
    assert (host(), held()) == before
    assert end_left_networks() == 0


@pytest.mark.parametrize("name", KINDS)
def test_each_place_has_one_interface_of_its_own_and_reaches_the_others(name):
    with network(order(name), 3) as state:
        assert [place.address for place in state.places] == [f"10.213.0.{n}" for n in (1, 2, 3)]
        for place in state.places:
            said = output_of([*place.words, "ip", "-brief", "address"])
            names = [line.split()[0].partition("@")[0] for line in said.splitlines()]
            assert names == ["lo", "eth0"] and f"{place.address}/24" in said
        for origin in made(state):
            for place, there in zip(state.places, made(state), strict=True):
                send(origin, place.address, 1000, there)
    assert state.gate.passed, state.gate.detail
    assert set(state.counters.values()) == {0}
    wanted = "off" if "plain" in name else "on"
    assert state.facts["network.tcp-segmentation-offload"] == wanted


def test_two_networks_side_by_side_are_none_of_each_other_s_business():
    with network(order("native-a-veth"), 1) as one, network(order("native-a-veth"), 1) as other:
        assert one.places[0].address == other.places[0].address
        assert one.places[0].words != other.places[0].words
    assert one.gate.passed and other.gate.passed


def test_what_is_asked_of_tcp_and_of_the_link_is_in_force_inside():
    knobs = SHALLOW | {"rto_min_ms": 2, "sack": False, "era": "2015"}
    with network(order("native-a-veth", **knobs), 2) as state:
        pass
    assert state.gate.passed, state.gate.detail
    told = {name.removeprefix("network."): value for name, value in state.facts.items()}
    assert told["rto_min_ms"] == "2" and told["tcp_congestion_control"] == "reno"
    assert {told[n] for n in ("tcp_sack", "tcp_recovery", "tcp_early_retrans")} == {"0"}


@pytest.mark.parametrize("rate", [0, 1000])
def test_what_a_shallow_queue_drops_is_counted(rate):
    knobs = SHALLOW | {"era": "2015"} if rate else {}
    with network(order("native-a-veth", **knobs), 2) as state:
        one, other = made(state)
        send(one, state.places[1].address, 3_000_000, other)
    assert state.gate.passed, state.gate.detail
    lost = state.counters
    assert (lost["queue_drops"] > 0) == bool(rate)
    # Without a shallow queue TCP may send again what a busy machine is late to acknowledge.
    assert not rate or (lost["tcp_retransmits"] > 0 and not lost["tcp_loss_probes"])


@pytest.mark.parametrize(
    ("name", "knobs", "why"),
    [
        ("native-a-veth", {"queue_packets": 5}, "a queue without a rate"),
        ("native-a-macvlan", SHALLOW, "macvlan has none"),
        pytest.param(
            "native-a-veth", {"congestion_control": "cubic"},
            "this kernel refuses tcp_congestion_control=cubic: ",
            marks=pytest.mark.skipif(
                "cubic" in (SYSCTLS / "tcp_allowed_congestion_control").read_text().split(),
                reason="the host lets containers have cubic",
            ),
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_had_is_refused_with_its_reason(name, knobs, why):
    with pytest.raises(NotStarted, match=why), network(order(name, **knobs), 2):
        pytest.fail("it was made")


def test_a_knob_that_the_kernel_has_not_is_named(monkeypatch):
    monkeypatch.setattr(
        "parity.extensions.networks.measure.network.SYSCTLS", Path("/proc/sys/net/ipv4/none")
    )
    why = "this kernel refuses tcp_congestion_control=reno: No such file or directory"
    with pytest.raises(NotStarted, match=why), network(order("native-a-veth"), 1):
        pytest.fail("it was made")


@pytest.mark.parametrize(("change", "detail"), [
    (["sysctl", "-qw", "net.ipv4.tcp_sack=0"], "10.213.0.2: tcp_sack is 0, not 1"),
    (["ip", "link", "set", "eth0", "mtu", "9000"], "10.213.0.2: mtu is 9000, not 1500"),
    (["ethtool", "-K", "eth0", "tso", "off"], "tcp-segmentation-offload is off, not on"),
    (["ip", "link", "set", "eth0", "down"], "10.213.0.2 cannot be reached from the hub"),
    (["ip", "link", "delete", "eth0"], "the network cannot be asked any more"),
])  # fmt: skip
def test_what_changes_on_the_way_fails_the_gate(change, detail):
    with network(order("native-a-veth"), 2) as state:
        output_of([*state.places[1].words, *change])
    assert not state.gate.passed and detail in state.gate.detail


def test_whoever_is_still_in_a_place_is_ended_with_it():
    with pytest.raises(ZeroDivisionError), network(order("native-a-veth"), 1) as state:
        words = [*state.places[0].words, *ASLEEP]
        left = psutil.Process(subprocess.Popen(words, start_new_session=True).pid)
        wait_for(lambda: made(state)[0].processes())
        raise ZeroDivisionError
    assert not left.is_running()


def _stay(name: str) -> None:
    """Hold a network as a runner does, with a program that sleeps in each of its places."""
    with network(order(name), 2) as state:
        for place in state.places:
            subprocess.Popen([*place.words, *ASLEEP], start_new_session=True)
        time.sleep(300)


@pytest.mark.parametrize("name", KINDS)
def test_nothing_of_a_killed_runner_s_network_stays(name):
    runner = multiprocessing.get_context("fork").Process(target=_stay, args=(name,))
    runner.start()
    inside = wait_for(lambda: len(found := running(ASLEEP.__eq__)) == 2 and found)
    assert end_left_networks() == 0, "its runner lives"
    runner.kill()
    runner.join()
    assert all(each.is_running() for each in inside)
    cleanup = [sys.executable, "-m", "parity", "clean-up", "--arm=native-a", "--name=none"]
    environment = os.environ | {"PYTHONPATH": str(WORKFLOW)}
    subprocess.run([*cleanup, "--ranks=0", "--state=/tmp"], env=environment, check=True)
    wait_for(lambda: not any(each.is_running() for each in inside))
    assert end_left_networks() == 0


def test_a_trace_tells_where_packets_are_dropped(tmp_path):
    trace = tmp_path / "trace.txt"
    with traced(trace), network(order("native-a-veth", era="2015", **SHALLOW), 2) as state:
        one, other = made(state)
        send(one, state.places[1].address, 3_000_000, other)
    found: Counter[str] = Counter()
    for (event, reason, _), count in counts(trace.read_text()).items():
        found[reason or event] += count
    # Others on this machine may lose some, too.
    assert 0 < state.counters["queue_drops"] <= found["QDISC_DROP"] + found["not told"]
    # One event may be of several segments.
    assert state.counters["tcp_retransmits"] and found["tcp_retransmit_skb"]


def test_a_block_keeps_what_was_proven_and_counted(tmp_path, images):
    names = ("podman-veth", "lxc-veth", "lxc-macvlan", "charliecloud-dir-veth", "apptainer-veth")
    names = ("native-a", "native-b", "native-a-veth", "docker-veth", *names)
    tables = measured(trial(case_of("sysbench"), arms=names), tmp_path, images)
    rows = {row["arm"]: row for row in tables["runs"]}
    assert rows["docker-veth"]["reason"] == "not-tested" and rows["docker-veth"]["detail"]
    for name in set(names) - {"docker-veth"}:
        if rows[name]["reason"] == "not-tested":
            continue
        assert rows[name]["stage"] == "valid", rows[name]
        told = json.loads(rows[name]["evidence"])
        counted = {m["metric"]: m["value"] for m in tables["metrics"] if m["arm"] == name}
        is_networked = isinstance(every_arm()[name], Networked)
        assert ("network.address" in told) == is_networked
        assert (counted.get("tcp_timeouts_seen") == 0) == is_networked
        command = json.loads(rows[name]["command"])
        assert (command[0] == "nsenter") == is_networked
