"""The daemons on the host: munged, slurmctld, and for accounting slurmdbd on MariaDB."""

import os
import secrets
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from parity.core.commands import answer_of, output_of
from parity.core.errors import UserError
from virtual_cluster import layout, processes

_LONGEST_START_SECONDS = 30


def _start(
    argv: Sequence[str | Path], log: Path, is_up: Callable[[], bool], user: str = "", **more: str
) -> None:
    daemon = processes.start(argv, log, user, SLURM_CONF=str(layout.CONFIGURATION), **more)
    deadline = time.monotonic() + _LONGEST_START_SECONDS
    while not is_up():
        # Slurm's daemons go to the background by themselves: their first process ends with 0.
        if daemon.poll() or time.monotonic() > deadline:
            what = f"{Path(argv[0]).name} did not start"
            raise UserError(what, where=str(log), action="see what it says there")
        time.sleep(0.05)


def start_munged() -> None:
    """Start munged with a key and a socket of its own; a munge of the system is not touched."""
    layout.MUNGE.mkdir(mode=0o755)
    key = layout.MUNGE / "key"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(128))
    for path in (layout.MUNGE, key):
        shutil.chown(path, "munge", "munge")
    options = [f"--{name}-file={layout.MUNGE / name}" for name in ("key", "pid", "seed", "log")]
    argv = ["munged", "--foreground", f"--socket={layout.MUNGE_SOCKET}", *options]
    _start(argv, layout.LOGS / "munged.log", layout.MUNGE_SOCKET.exists, user="munge")


def start_controller() -> None:
    argv = ["slurmctld", "-f", layout.CONFIGURATION]
    _start(argv, layout.LOGS / "slurmctld.log", lambda: answer_of(["scontrol", "ping"])[0])


def restart_controller() -> None:
    """Kill slurmctld as a crash would, and start it again from the state that it saved."""
    processes.end(processes.daemons("slurmctld"))
    start_controller()


def start_accounting() -> None:
    """Start slurmdbd on a MariaDB of our own, which listens at a socket only."""
    data, log = layout.DATABASE / "data", layout.LOGS / "mariadbd.log"
    layout.DATABASE.mkdir(mode=0o755)
    shutil.chown(layout.DATABASE, "mysql", "mysql")
    whose = ["--user=mysql", f"--datadir={data}"]
    first = ["--skip-test-db", "--auth-root-authentication-method=socket"]
    output_of(["mariadb-install-db", "--no-defaults", *whose, *first], log=log)
    listen = [f"--socket={layout.DATABASE_SOCKET}", "--skip-networking"]
    small = ["--innodb-buffer-pool-size=64M", "--innodb-lock-wait-timeout=900"]
    places = f"{os.environ['PATH']}:/usr/sbin:/usr/libexec"
    argv = [shutil.which("mariadbd", path=places) or "mariadbd", "--no-defaults", *whose]
    argv += [*listen, *small, f"--pid-file={layout.DATABASE}/pid"]
    _start(argv, log, layout.DATABASE_SOCKET.exists)
    known = ["sacctmgr", "--noheader", "show", "cluster"]
    # libmariadb looks there for the socket; slurmdbd.conf has no word for it.
    where, log = {"MYSQL_UNIX_PORT": str(layout.DATABASE_SOCKET)}, layout.LOGS / "slurmdbd.log"
    _start(["slurmdbd"], log, lambda: answer_of(known)[0], **where)
    output_of(["sacctmgr", "--immediate", "add", "cluster", layout.NAME])
