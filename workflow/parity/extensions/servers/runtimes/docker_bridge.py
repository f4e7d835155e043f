"""Docker's servers behind a bridge of its own, as its users have them, not on the host's network.

The servers of an address share one network namespace, which an idle container holds, as those of
a pod do: so they have in it the very addresses that they have on the host in every other arm. As
the daemon leaves the host's firewall alone, the proxies of published ports carry every byte;
`docker-bridge-direct` publishes none, and the host routes the client to the bridge.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from parity.core.commands import Availability, answer_of, is_installed, output_of
from parity.core.errors import UserError
from parity.runtimes.engines import Docker
from parity.runtimes.model import Image, Launch, absent

# The network, the bridge under it, and the mark of the idle containers, whose names begin with it.
NETWORK = "parity-servers"
_TRANSLATED = ("iptables", "-t", "nat", "-A", "OUTPUT", "-d", "192.0.2.1", "-j", "DNAT")


@dataclass(frozen=True)
class DockerBridge(Docker):
    """Docker where servers have an address; without one it is Docker on the host's network."""

    published: bool = True  # whether the host answers for their ports; if not, it routes the client
    variant = True
    packages = (*Docker.packages, "iptables")
    carriers: ClassVar[tuple[str, ...]] = ("docker-proxy",)  # processes with the servers' bytes

    def probe(self) -> Availability:
        if not (presence := super().probe()).available:
            return presence
        if not self.published:
            if Path("/proc/sys/net/ipv4/ip_forward").read_text(encoding="ascii").strip() == "1":
                return presence
            return absent("the host forwards nothing", "sysctl net.ipv4.ip_forward=1")
        if not (is_installed("iptables") and is_installed("docker-proxy")):
            return absent("no iptables or docker-proxy", "apt-get install iptables docker.io")
        words = ["unshare", "--net", *_TRANSLATED, "--to-destination", "192.0.2.2"]
        translates, answer = answer_of(words, seconds=5)
        reason = f"no addresses translated: {answer}"
        return presence if translates else absent(reason, "root, and a kernel with nf_nat")

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        own = f"--network=container:{NETWORK}-{launch.address}" if launch.address else ""
        words = super().command(launch, inner)
        return [own if own and word == "--network=host" else word for word in words]

    @property
    def as_server(self) -> "DockerBridge":
        """The same arm as its servers are in it, which are to be where `isolates` says."""
        return replace(self, isolates=(*self.isolates, "net"))

    def begin_servers(
        self, image: Image, subnet: str, ports: Mapping[str, Sequence[int]], at: Mapping[str, str]
    ) -> None:
        """Make the bridge, and in it the addresses that its servers will have, all of a subnet.

        `ports`: to be reached from outside, by address; `at`: by address the host's own at which
        they are published, if they are.
        """
        self.end_servers()
        named = f"--opt=com.docker.network.bridge.name={NETWORK}"
        output_of(["docker", "network", "create", f"--subnet={subnet}", named, NETWORK])
        for address, own in ports.items():
            holder = [
                *("docker", "run", "--detach", "--rm", f"--name={NETWORK}-{address}"),
                *("--pull=never", "--log-driver=none", "--read-only", f"--label={NETWORK}"),
                *(f"--network={NETWORK}", f"--ip={address}"),
                *(f"--publish={at[address]}:{port}:{port}" for port in own if address in at),
                *(image.location, "/bin/sleep", "infinity"),
            ]
            output_of(holder)

    def end_servers(self) -> None:
        """Remove what `begin_servers` made, also by a runner that was killed; never raises."""
        asked = ["docker", "ps", "--all", "--quiet", f"--filter=label={NETWORK}"]
        with suppress(UserError):
            if containers := output_of(["timeout", "60", *asked]).split():
                answer_of(["docker", "rm", "--force", *containers], seconds=60)
        answer_of(["docker", "network", "rm", NETWORK], seconds=60)

    def cleanup(self, *launches: Launch) -> None:
        super().cleanup(*launches)
        self.end_servers()


ARMS = (
    DockerBridge("docker-bridge", "Docker (bridge, published)"),
    DockerBridge("docker-bridge-direct", "Docker (bridge, routed)", published=False),
)
