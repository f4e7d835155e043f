"""What a run has behind it: whether it is good, and whether it has to be made (again)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from parity.measure import storage
from parity.measure.block_folder import RECORD
from parity.measure.documents import RunRecord

# Reasons of the block as a whole: trying the run once more at once would not mend them,
# and they are not held against the run.
OF_THE_BLOCK = ("gate-quiet", "gate-image")
# The reason of an attempt that left no record.
INTERRUPTED = "interrupted"
# Of an arm whose CPU limit the kernel or the runtime does not take: it never will.
LIMIT_REFUSED = "limit-refused"

# The records of a run's attempts, first to last; None for an interrupted one.
Attempts = Sequence[RunRecord | None]


def attempts_of(run_folder: Path) -> list[RunRecord | None]:
    """What became of a run's attempts; raises UserError."""
    folders = storage.attempts(run_folder)
    return [RECORD.read_in(folder) if RECORD.is_in(folder) else None for folder in folders]


def good_record(attempts: Attempts) -> RunRecord | None:
    """The record by which a run is good: its last attempt's, if that ended well.

    An interrupted last attempt makes a run not good, whatever was before it: it was begun
    because the earlier ones did not count any more.
    """
    last = attempts[-1] if attempts else None
    return last if last and not last.reason else None


def last_reason(attempts: Attempts) -> str:
    """Why a run that was started is not good; empty if it is."""
    return attempts[-1].reason if attempts[-1] else INTERRUPTED


def failures(attempts: Attempts) -> int:
    """Attempts that are held against the run."""
    reasons = [attempt.reason for attempt in attempts if attempt]
    return sum(bool(reason) and reason not in OF_THE_BLOCK for reason in reasons)


def is_refused(attempts: Attempts) -> bool:
    """Whether the last attempt was refused, which is what trying it tells."""
    return bool(attempts) and last_reason(attempts) == LIMIT_REFUSED


def case_is_settled(runs: Mapping[Path, str], most_failures: int) -> bool:
    """Whether nothing of a case has to be made any more.

    Arms are compared within a block, so all good runs of a case must come from one
    session: the same boot, the same node, one after the other. A case that a killed
    runner left half-made is therefore made anew as a whole; its earlier attempts stay.
    A good run from another image than the one that is here now is made anew as well.

    Args:
        runs: the folder of each run that can be made now, with its image's digest.
        most_failures: how many failed attempts a run may have in all.
    """
    sessions = set()
    for folder, digest in runs.items():
        attempts = attempts_of(folder)
        good = good_record(attempts)
        if good and good.image_digest == digest:
            sessions.add(good.session)
        elif failures(attempts) < most_failures and not is_refused(attempts):
            return False
    return len(sessions) <= 1
