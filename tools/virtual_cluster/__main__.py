"""`python tools/virtual_cluster up|down|status`: a real Slurm of N nodes on this machine."""

import argparse
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:1] = [str(ROOT / "tools"), str(ROOT / "workflow")]

from parity.core.errors import UserError, shown_to_the_user  # noqa: E402
from virtual_cluster import cluster, daemons, layout, nodes, processes  # noqa: E402


def _node_count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= layout.MOST_NODES:
        raise argparse.ArgumentTypeError(f"1 to {layout.MOST_NODES} nodes")
    return int(text)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python tools/virtual_cluster", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="start it and wait until all nodes are idle")
    up.add_argument("--nodes", type=_node_count, default=4)
    up.add_argument("--accounting", action="store_true", help="with slurmdbd, so that sacct works")
    commands.add_parser("down", help="end it, and leave nothing behind")
    commands.add_parser("status", help="one line for each node")
    kill = commands.add_parser("kill-node", help="kill a node's slurmd, as a crash would")
    everything = "and every process on it, as a power cut would"
    kill.add_argument("--everything", action="store_true", help=everything)
    start = commands.add_parser("start-node", help="start a node's slurmd again")
    for of_node in (kill, start):
        of_node.add_argument("node")
    commands.add_parser("restart-controller", help="kill slurmctld and start it again")
    test = commands.add_parser("test", help="start it, run the smoke study there, and end it")
    test.add_argument("--trial", action="store_true", help="measure on a busy machine as well")
    chosen = parser.parse_args()
    if os.geteuid() != 0:
        raise UserError("the virtual cluster needs root: it makes namespaces, links and mounts")
    # Debian's daemons lie there, and not everybody's PATH has it.
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    match chosen.command:
        case "up":
            cluster.up(chosen.nodes, chosen.accounting)
        case "down":
            cluster.down()
        case "status":
            print(cluster.status())
        case "kill-node":
            nodes.kill(cluster.node_named(chosen.node), chosen.everything)
        case "start-node":
            nodes.start_slurmd(cluster.node_named(chosen.node))
        case "restart-controller":
            # As after a crash, it goes on from the state that it saved.
            processes.end(processes.daemons("slurmctld"))
            daemons.start_controller()
        case "test":
            from virtual_cluster import smoke  # what reads datasets takes a second to load

            smoke.test(chosen.trial)


if __name__ == "__main__":
    with shown_to_the_user():
        main()
