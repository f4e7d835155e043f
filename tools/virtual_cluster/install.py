"""The packages that the cluster needs, from Debian; their own daemons are not used."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from parity.core.commands import is_installed
from parity.core.errors import UserError
from parity.software.debian_packages import installed_packages, nothing_starts_at_boot
from parity.software.install import apt

# Slurm loads PMIx by its unversioned name, which only the development package has.
PACKAGES = ("slurm-wlm", "slurm-client", "munge", "libpmix-dev", "iproute2", "util-linux")
ACCOUNTING_PACKAGES = ("slurmdbd", "mariadb-server")
_POLICY = Path("/usr/sbin/policy-rc.d")


def wanted(accounting: bool) -> tuple[str, ...]:
    """The names of the packages, with those for accounting if it is wanted."""
    return PACKAGES + (ACCOUNTING_PACKAGES if accounting else ())


def install(accounting: bool) -> None:
    """Install what is missing, without starting what packages would start; or UserError."""
    missing = sorted(set(wanted(accounting)).difference(installed_packages()))
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
