"""The daemons on the host: munged, slurmctld, and for accounting slurmdbd on MariaDB."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from parity.core.commands import answer_of, output_of
from parity.core.errors import UserError
from virtual_cluster import layout, processes

_LONGEST_START_SECONDS = 30
_ENVIRONMENT = {"SLURM_CONF": str(layout.CONFIGURATION)}


def _wait_for(what: Callable[[], bool], daemon: subprocess.Popen, log: Path) -> None:
    deadline = time.monotonic() + _LONGEST_START_SECONDS
    while not what():
        # Slurm's daemons go to the background by themselves: their first process ends with 0.
        if daemon.poll() or time.monotonic() > deadline:
            name = Path(daemon.args[0]).name
            raise UserError(
                f"{name} did not start", where=str(log), action="see what it says there"
            )
        time.sleep(0.05)


def start_munged() -> None:
    """Start munged with a key and a socket of its own; a munge of the system is not touched."""
    layout.MUNGE.mkdir(mode=0o755)
    key = layout.MUNGE / "key"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(128))
    for path in (layout.MUNGE, key):
        shutil.chown(path, "munge", "munge")
    log = layout.LOGS / "munged.log"
    files = {"key": "key", "pid": "pid", "seed": "seed", "log": "log"}
    options = [f"--{name}-file={layout.MUNGE / file}" for name, file in files.items()]
    argv = ["munged", "--foreground", f"--socket={layout.MUNGE_SOCKET}", *options]
    daemon = processes.start(argv, log, user="munge")
    _wait_for(layout.MUNGE_SOCKET.exists, daemon, log)


def start_controller() -> None:
    """Start slurmctld and wait until it answers."""
    log = layout.LOGS / "slurmctld.log"
    argv = ["slurmctld", "-f", layout.CONFIGURATION]
    daemon = processes.start(argv, log, environment=_ENVIRONMENT)
    _wait_for(lambda: answer_of(["scontrol", "ping"])[0], daemon, log)


def restart_controller() -> None:
    """Kill slurmctld as a crash would, and start it again from the state that it saved."""
    processes.end(processes.daemons("slurmctld"))
    start_controller()


def start_accounting() -> None:
    """Start slurmdbd on a MariaDB of our own, which listens at a socket only."""
    _start_database()
    log = layout.LOGS / "slurmdbd.log"
    # libmariadb looks there for the socket; slurmdbd.conf has no word for it.
    environment = _ENVIRONMENT | {"MYSQL_UNIX_PORT": str(layout.DATABASE_SOCKET)}
    daemon = processes.start(["slurmdbd"], log, environment=environment)
    known = ["sacctmgr", "--noheader", "show", "cluster"]
    _wait_for(lambda: answer_of(known)[0], daemon, log)
    output_of(["sacctmgr", "--immediate", "add", "cluster", layout.NAME])


def _start_database() -> None:
    data = layout.DATABASE / "data"
    layout.DATABASE.mkdir(mode=0o755)
    shutil.chown(layout.DATABASE, "mysql", "mysql")
    log = layout.LOGS / "mariadbd.log"
    whose = ["--user=mysql", f"--datadir={data}"]
    first = ["--skip-test-db", "--auth-root-authentication-method=socket"]
    output_of(["mariadb-install-db", "--no-defaults", *whose, *first], log=log)
    listen = [f"--socket={layout.DATABASE_SOCKET}", "--skip-networking"]
    small = ["--innodb-buffer-pool-size=64M", "--innodb-lock-wait-timeout=900"]
    argv = [_mariadbd(), "--no-defaults", *whose, *listen, *small]
    daemon = processes.start([*argv, f"--pid-file={layout.DATABASE}/pid"], log)
    _wait_for(layout.DATABASE_SOCKET.exists, daemon, log)


def _mariadbd() -> str:
    return (
        shutil.which("mariadbd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/libexec") or "mariadbd"
    )
