"""A server behind Docker's bridge: its bytes, interface by interface, and nothing left behind.

Needs: root, Docker with its daemon, veth pairs and address translation.
"""

import socket
import subprocess
from contextlib import ExitStack, suppress
from types import SimpleNamespace

import psutil
import pytest
from benchmark_help import wait_for
from trials import image_of

from parity.core.commands import output_of
from parity.extensions.network_namespace import held_namespace
from parity.extensions.servers.benchmarks.service import HOST_ADDRESS, Service, server_address
from parity.extensions.servers.benchmarks.usage import interfaces
from parity.extensions.servers.measure import client as servers_bridge
from parity.extensions.servers.measure import usage
from parity.runtimes import arms
from parity.runtimes.model import SCRATCH, Launch

pytestmark = pytest.mark.system
MIB, PORT = 2**20, 9421
SENT = 64 * MIB
# A full packet of 1448 bytes has 66 of headers, and at most one more packet of 66 answers it.
MOST = 1 + 2 * 66 / 1448
# Counts what it is sent, and answers with the number.
SERVER = f"""use Socket; $| = 1;
socket(S, PF_INET, SOCK_STREAM, 6); setsockopt(S, SOL_SOCKET, SO_REUSEADDR, 1);
bind(S, sockaddr_in({PORT}, inet_aton("{server_address(1)}"))) or die "bind: $!"; listen(S, 5);
while (accept(C, S)) {{
    my $n = 0; while ($n < {SENT} and ($r = sysread(C, $b, 1 << 20)) > 0) {{ $n += $r }}
    syswrite(C, "$n\\n"); close C }}
"""


@pytest.fixture
def link():
    """A client's namespace, and the host's end of the link to it with the servers' addresses."""
    with ExitStack() as held:
        client = held_namespace(held)
        held.callback(subprocess.run, ["ip", "link", "delete", "parity-test"], capture_output=True)
        lines = [f"link add parity-test type veth peer name eth0 netns {client.path}"]
        lines += [f"address add {HOST_ADDRESS}/24 dev parity-test"]
        lines += [f"address add {server_address(1 + n)}/32 dev parity-test" for n in range(4)]
        output_of(["ip", "-batch", "-"], given="\n".join([*lines, "link set parity-test up"]))
        inside = "address add 10.213.1.1/24 dev eth0\nlink set eth0 up\n"
        client.inside(lambda: output_of(["ip", "-batch", "-"], given=inside))
        yield client


def _left():
    names = output_of(["docker", "ps", "--all", "--quiet", "--filter=label=parity-servers"])
    networks = output_of(["docker", "network", "ls", "--format={{.Name}}"]).split()
    proxies = [p for p in psutil.process_iter(["name"]) if p.info["name"] == "docker-proxy"]
    return names, "parity-servers" in networks, len(proxies)


def _talk():
    with socket.create_connection((server_address(1), PORT), 30) as to:
        for _ in range(SENT // MIB):
            to.sendall(bytes(MIB))
        return int(to.makefile().readline())


@pytest.mark.parametrize("name", ["docker", "docker-bridge-direct", "docker-bridge"])
def test_every_byte_is_counted_once_on_each_interface_on_its_way(name, link, images, tmp_path):
    arm = arms()[name]
    image = image_of(arm, images)
    order = SimpleNamespace(arm=arm, state=SimpleNamespace(image=image))
    service = Service("server", ("/usr/bin/perl",), port=PORT, address=server_address(1))
    launch = Launch("parity-test-server", image, SCRATCH, tmp_path, address=service.address)
    arm.cleanup(launch)
    with servers_bridge.servers_bridge(order, [service], link, "parity-test"):
        words = arm.command(launch, ["/usr/bin/perl", "-e", SERVER])
        process = subprocess.Popen(words, stdout=subprocess.PIPE)
        try:
            wait_for(_answers, seconds=330)
            parts = dict.fromkeys(getattr(arm, "carriers", ()), usage.CARRIER)
            before = usage.reading(parts)
            assert link.inside(_talk) == SENT
            used = usage.evidence(before, usage.reading(parts))
        finally:
            arm.cleanup(launch)
            process.wait()
    bytes_of = {each: sum(both) for each, both in interfaces(used).items()}
    behind = [each for each in bytes_of if each.startswith(("veth", "parity-servers"))]
    assert SENT < bytes_of["parity-test"] < SENT * MOST
    assert len(behind) == (0 if name == "docker" else 2)
    assert all(SENT < bytes_of[each] < SENT * MOST for each in behind), bytes_of
    # What Docker's proxies carried cost them CPU time, and there are none where none is published.
    assert (float(used["usage_carrier_cpu_seconds"]) > 0) == (name == "docker-bridge")
    assert _left() == ("", False, 0)


def _answers() -> bool:
    """To the host, which reaches it in every arm: a proxy answers a client before it is there."""
    with suppress(OSError), socket.create_connection((server_address(1), PORT), 1.0):
        return True
    return False
