"""Which binaries and libraries an arm really runs: asked inside the arm, before the block."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import asdict

from parity.measure import inner_command
from parity.measure.documents import Binary
from parity.measure.timed_process import launch_environment
from parity.runtimes.model import SCRATCH, Arm, Image, Launch
from parity.software.binaries import audit_script, parse_audit

TIMEOUT_SECONDS = 120


class AuditError(Exception):
    """An arm that says it is available cannot run a command; the message says why."""


def audit_arm(
    arm: Arm, image: Image | None, binaries: Mapping[str, Sequence[str]]
) -> tuple[tuple[Binary, ...], dict[str, str]]:
    """Identity of every benchmark's executables inside an arm, and where it really is.

    It also is the arm's first start in the block, which warms what a first start warms
    (Georges et al., OOPSLA 2007), so no timed run is the first one after a mount.

    Args:
        binaries: absolute paths by benchmark.

    Returns:
        The executables in each benchmark's order; the evidence of the witness.

    Raises:
        AuditError: the arm cannot run the audit.
    """
    paths = sorted({path for group in binaries.values() for path in group})
    witness = ["/bin/sh", "-c", inner_command.WITNESS, inner_command.EVIDENCE.strip()]
    answer = run_in_arm(arm, image, [*witness, *audit_script(paths)])
    audited = {program.path: program for program in parse_audit(answer.stdout)}
    rows = tuple(
        Binary(arm=arm.name, benchmark=benchmark, **asdict(audited[path]))
        for benchmark, group in binaries.items()
        for path in group
        if path in audited
    )
    return rows, inner_command.evidence(answer.stderr)


def run_in_arm(
    arm: Arm, image: Image | None, words: Sequence[str]
) -> subprocess.CompletedProcess[str]:
    """What a short, untimed command said inside an arm.

    Args:
        words: the inner command; its working folder must exist.

    Raises:
        AuditError: the arm cannot run it, or it failed.
    """
    with tempfile.TemporaryDirectory(prefix="audit-", dir=SCRATCH) as state:
        launch = Launch(f"parity-audit-{os.getpid()}-{arm.name}", image, SCRATCH, Path(state))
        try:
            return subprocess.run(
                arm.command(launch, words),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                env=launch_environment(os.environ),
                timeout=TIMEOUT_SECONDS,
                check=True,
            )
        except subprocess.SubprocessError as error:
            arm.cleanup(launch)
            said = (getattr(error, "stderr", "") or str(error)).strip()
            raise AuditError(f"cannot run a command: {said[-600:]}") from None
