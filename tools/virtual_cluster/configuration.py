"""The texts of slurm.conf, slurmdbd.conf and the nodes' /etc/hosts; pure functions."""

from __future__ import annotations

from pathlib import Path

from jinja2 import StrictUndefined, Template

from virtual_cluster import layout
from virtual_cluster.layout import Cluster


def slurm_conf(cluster: Cluster) -> str:
    """The configuration that controller, nodes and commands read."""
    return _filled("slurm.conf", cluster)


def slurmdbd_conf(cluster: Cluster) -> str:
    """The configuration of the accounting daemon; it meets its database at a socket."""
    return _filled("slurmdbd.conf", cluster)


def _filled(name: str, cluster: Cluster) -> str:
    text = Path(__file__).with_name(f"{name}.jinja").read_text(encoding="utf-8")
    template = Template(
        text, undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True
    )
    filled: str = template.render(cluster=cluster, layout=layout)
    return filled


def hosts(cluster: Cluster) -> str:
    """A node's /etc/hosts; containers that run on the node are given the same."""
    lines = ["127.0.0.1 localhost", "::1 localhost"]
    lines += [f"{layout.address(layout.HOST_NUMBER)} {cluster.host.name}"]
    for node in cluster.nodes:
        lines.append(" ".join(dict.fromkeys((node.address, node.host_name, node.name))))
    return "\n".join(lines) + "\n"
