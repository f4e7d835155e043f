"""The daemons on the host: munged, slurmctld, and for accounting slurmdbd on MariaDB.

Their packages are Debian's, whose own daemons are not used.
"""

import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from parity.core.commands import answer_of, is_installed, output_of
from parity.core.errors import UserError
from parity.software.debian_packages import installed_packages, nothing_starts_at_boot
from parity.software.install import apt
from virtual_cluster import layout, processes

# Slurm loads PMIx by its unversioned name, which only the development package has.
PACKAGES = ("slurm-wlm", "slurm-client", "munge", "libpmix-dev", "iproute2", "util-linux")
ACCOUNTING_PACKAGES = ("slurmdbd", "mariadb-server")
_POLICY = Path("/usr/sbin/policy-rc.d")
_LONGEST_START_SECONDS = 30


def install(accounting: bool) -> None:
    """Install what is missing, without starting what packages would start; or UserError."""
    wanted = PACKAGES + (ACCOUNTING_PACKAGES if accounting else ())
    missing = sorted(set(wanted).difference(installed_packages()))
    if not missing:
        return
    if not is_installed("apt-get"):
        raise UserError(f"the virtual cluster needs Debian's packages: {' '.join(missing)}")
    print(f"installing {' '.join(missing)}", flush=True)
    with _no_daemons_started(), nothing_starts_at_boot():
        apt("update")
        apt("install", "--no-install-recommends", *missing)


@contextmanager
def _no_daemons_started() -> Iterator[None]:
    """Debian's own switch: packages ask this script before they start a daemon."""
    if os.path.lexists(_POLICY):
        yield
        return
    try:
        _POLICY.write_text("#!/bin/sh\nexit 101\n")
        _POLICY.chmod(0o755)
        yield
    finally:
        _POLICY.unlink(missing_ok=True)


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
    key = layout.MUNGE / "key"
    layout.MUNGE.mkdir(mode=0o755)
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


def start_accounting() -> None:
    """Start slurmdbd on a MariaDB of our own, which listens at a socket only."""
    data, log = layout.DATABASE / "data", layout.LOGS / "mariadbd.log"
    layout.DATABASE.mkdir(mode=0o755)
    shutil.chown(layout.DATABASE, "mysql", "mysql")
    whose = ["--user=mysql", f"--datadir={data}"]
    first = ["--skip-test-db", "--auth-root-authentication-method=socket"]
    output_of(["mariadb-install-db", "--no-defaults", *whose, *first], log=log)
    places = f"{os.environ['PATH']}:/usr/sbin:/usr/libexec"
    argv = [shutil.which("mariadbd", path=places) or "mariadbd", "--no-defaults", *whose]
    argv += [f"--socket={layout.DATABASE_SOCKET}", "--skip-networking"]
    argv += ["--innodb-buffer-pool-size=64M", "--innodb-lock-wait-timeout=900"]
    _start([*argv, f"--pid-file={layout.DATABASE}/pid"], log, layout.DATABASE_SOCKET.exists)
    # libmariadb looks there for the socket; slurmdbd.conf has no word for it.
    where, log = {"MYSQL_UNIX_PORT": str(layout.DATABASE_SOCKET)}, layout.LOGS / "slurmdbd.log"
    known = ["sacctmgr", "--noheader", "show", "cluster"]
    _start(["slurmdbd"], log, lambda: answer_of(known)[0], **where)
    output_of(["sacctmgr", "--immediate", "add", "cluster", layout.NAME])
