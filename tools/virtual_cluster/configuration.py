"""The texts of slurm.conf, slurmdbd.conf and the nodes' /etc/hosts; pure functions."""

from __future__ import annotations

from virtual_cluster import layout
from virtual_cluster.layout import Cluster


def slurm_conf(cluster: Cluster) -> str:
    """The configuration that controller, nodes and commands read."""
    host = cluster.host
    nodes = "\n".join(
        f"NodeName={node.name} NodeAddr={node.address} CPUs={host.cpus}"
        f" RealMemory={host.memory_mib} State=UNKNOWN"
        for node in cluster.nodes
    )
    return f"""\
# Written by tools/virtual_cluster. All nodes are namespaces of one machine.
ClusterName={layout.NAME}
SlurmctldHost={host.name}({layout.address(layout.HOST_NUMBER)})
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={layout.MUNGE_SOCKET}
PlugStackConfig={layout.STATE}/plugstack.conf

StateSaveLocation={layout.CONTROLLER}
SlurmdSpoolDir={layout.PRIVATE}/spool
TmpFS={layout.PRIVATE}/tmp
SlurmctldPidFile={layout.STATE}/slurmctld.pid
SlurmdPidFile={layout.PRIVATE}/slurmd.pid
SlurmctldLogFile={layout.LOGS}/slurmctld.log
SlurmdLogFile={layout.LOGS}/slurmd-%n.log

# Namespaces of one machine cannot have control groups of their own each.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides

# A node that died is noticed soon, and comes back without an administrator.
SlurmdTimeout=10
SlurmctldTimeout=10
ReturnToService=2
KillWait=5
MinJobAge=300

# Small jobs start at once.
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2

# Nothing polls beside a timed program; a job that wants its memory watched says
# --acctg-freq=task=1, and is then ended when it exceeds --mem.
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=0
JobAcctGatherParams=OverMemoryKill
{_accounting(cluster)}
{nodes}
PartitionName={layout.PARTITION} Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def _accounting(cluster: Cluster) -> str:
    if not cluster.accounting:
        return "AccountingStorageType=accounting_storage/none\n"
    return f"""\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
# Not a password: where slurmdbd's clients meet munge.
AccountingStoragePass={layout.MUNGE_SOCKET}
"""


def slurmdbd_conf() -> str:
    """The configuration of the accounting daemon; it meets its database at a socket."""
    return f"""\
# Written by tools/virtual_cluster.
AuthType=auth/munge
AuthInfo=socket={layout.MUNGE_SOCKET}
DbdHost=localhost
SlurmUser=root
PidFile={layout.STATE}/slurmdbd.pid
LogFile={layout.LOGS}/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm
"""


def hosts(cluster: Cluster) -> str:
    """A node's /etc/hosts; containers that run on the node are given the same."""
    lines = ["127.0.0.1 localhost", "::1 localhost"]
    lines += [f"{layout.address(layout.HOST_NUMBER)} {cluster.host.name}"]
    for node in cluster.nodes:
        lines.append(" ".join(dict.fromkeys((node.address, node.host_name, node.name))))
    return "\n".join(lines) + "\n"
