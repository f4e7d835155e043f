"""Errors for people: one message that says what, where, what is allowed and what to do."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager


class UserError(Exception):
    """A mistake that the user can mend; it is shown without a traceback.

    Args:
        what: what is wrong, in one sentence.
        where: file and key, such as ``config/studies/x.yaml: scales.smoke.blocks``.
        allowed: what would be accepted.
        action: what to do about it.
    """

    def __init__(self, what: str, *, where: str = "", allowed: str = "", action: str = "") -> None:
        self.what, self.where, self.allowed, self.action = what, where, allowed, action
        lines = [what]
        lines += [f"  where:   {where}"] if where else []
        lines += [f"  allowed: {allowed}"] if allowed else []
        lines += [f"  to do:   {action}"] if action else []
        super().__init__("\n".join(lines))


@contextmanager
def shown_to_the_user() -> Iterator[None]:
    """Print a UserError, or that a disk is full, as a message alone; exit with status 1."""
    try:
        yield
    except UserError as error:
        print(f"parity: {error}", file=sys.stderr)
        sys.exit(1)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        full = UserError(
            f"{error.strerror}",
            where=str(error.filename or "the file system of results/"),
            action="make room and start Snakemake again: it goes on where it was",
        )
        print(f"parity: {full}", file=sys.stderr)
        sys.exit(1)
