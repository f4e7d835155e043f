"""Which binaries and libraries an arm really runs: asked inside the arm, before the block."""

from __future__ import annotations

import io
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from msgspec.structs import asdict

from parity.core.errors import UserError
from parity.measure import inner_command
from parity.measure.documents import Binary
from parity.measure.timed_process import launch_environment
from parity.measure.tools import tool
from parity.runtimes.model import SCRATCH, Arm, Image, Launch
from parity.software.binaries import Audit, CutOff, ProgramFile, audit_script, read_audit

TIMEOUT_SECONDS = 120


class AuditError(Exception):
    """An arm that says it is available cannot run a command; the message says why."""


class _FailedError(AuditError):
    """The command ran, and not well."""


def audit_arm(
    arm: Arm, image: Image | None, binaries: Mapping[str, Sequence[str]], tools: str = ""
) -> tuple[tuple[Binary, ...], dict[str, str]]:
    """Identity of every benchmark's executables inside an arm, and where it really is.

    It also is the arm's first start in the block, which warms what a first start warms
    (Georges et al., OOPSLA 2007), so no timed run is the first one after a mount.

    Args:
        binaries: absolute paths by benchmark.
        tools: of `tools_for`.

    Returns:
        The executables in each benchmark's order; the evidence of the witness.

    Raises:
        AuditError: the arm cannot run the audit.
    """
    paths = sorted({path for group in binaries.values() for path in group})
    shell = tool(tools, "/bin/sh")
    witness = [*shell, "-c", inner_command.WITNESS, inner_command.EVIDENCE.strip()]
    answer = run_in_arm(arm, image, [*witness, *audit_script(paths, shell)])
    audited = {program.path: program for program in answer.programs}
    rows = tuple(
        Binary(arm=arm.name, benchmark=benchmark, **asdict(audited[path]))
        for benchmark, group in binaries.items()
        for path in group
        if path in audited
    )
    return rows, inner_command.evidence(answer.said)


class Answer(NamedTuple):
    """What an arm answered to an audit and the words around it; `said` is its standard error."""

    programs: list[ProgramFile]
    text: str
    said: str


def run_in_arm(arm: Arm, image: Image | None, words: Sequence[str]) -> Answer:
    """What a short, untimed command that ends in an audit answered inside an arm.

    It is started anew once: arms are audited all at once, and one that goes through the table
    of mounts (bubblewrap) fails if another ends meanwhile and takes its own away.

    Args:
        words: the inner command; its working folder must exist.

    Raises:
        AuditError: the arm cannot run it, or it failed.
    """
    try:
        return _run_once(arm, image, words)
    except _FailedError:
        return _run_once(arm, image, words)


def _run_once(arm: Arm, image: Image | None, words: Sequence[str]) -> Answer:
    with (
        tempfile.TemporaryDirectory(prefix="audit-", dir=SCRATCH) as state,
        tempfile.TemporaryFile() as errors,
    ):
        launch = Launch(f"parity-audit-{os.getpid()}-{arm.name}", image, SCRATCH, Path(state))
        try:
            audit = _audit_of(arm.command(launch, words), errors)
        except (UserError, TimeoutError, subprocess.SubprocessError) as error:
            arm.cleanup(launch)
            said = error.what if isinstance(error, UserError) else _text_of(errors).strip()
            problem = f"cannot run a command: {(said or str(error))[-600:]}"
            failed = isinstance(error, subprocess.CalledProcessError)
            raise (_FailedError if failed else AuditError)(problem) from error
        return Answer(audit.programs, audit.text, _text_of(errors))


def _text_of(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _audit_of(command: Sequence[str], errors: IO[bytes]) -> Audit:
    """Run a command to its end and read its answer as it comes: tens of MB for each arm.

    Raises:
        subprocess.CalledProcessError: it failed.
        UserError: it ended well, and its answer is not whole.
        TimeoutError, subprocess.TimeoutExpired: it took too long.
    """
    deadline = time.monotonic() + TIMEOUT_SECONDS
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=errors,
        bufsize=0,
        env=launch_environment(os.environ),
    ) as process:
        assert isinstance(process.stdout, io.FileIO)
        try:
            audit = read_audit(io.BufferedReader(_Until(process.stdout, deadline)))
            _refuse_failure(process, deadline)
        except CutOff:
            # A command that failed says itself why.
            _refuse_failure(process, deadline)
            raise
        finally:
            process.kill()
    return audit


def _refuse_failure(process: subprocess.Popen[bytes], deadline: float) -> None:
    if status := process.wait(max(0.0, deadline - time.monotonic())):
        raise subprocess.CalledProcessError(status, process.args)


class _Until(io.RawIOBase):
    """A pipe whose reader gives up at a time, whoever still holds the other end open."""

    def __init__(self, pipe: io.FileIO, deadline: float) -> None:
        self._pipe, self._deadline = pipe, deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = max(0.0, self._deadline - time.monotonic())
        if not select.select([self._pipe], [], [], left)[0]:
            raise TimeoutError(f"no answer in {TIMEOUT_SECONDS} s")
        return self._pipe.readinto(buffer)
