"""Errors for people: one message that says what, where, what is allowed and what to do."""

from __future__ import annotations

import errno
import io
import os
import re
import signal
import sys
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

LONGEST_VALUE, LONGEST_LINE = 100, 2000
# How a message for the user begins, and the status with which a command ends after it, which is
# no traceback's.
REFUSAL, REFUSED = "parity: ", os.EX_DATAERR
# All but the line's end and the tabulator.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def shown(value: Any, written: Callable[[Any], str] = repr) -> str:
    """A value as a message shows it, cut where it is long."""
    text = written(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"


def spelt_out(text: str) -> str:
    """Text with its control characters as Python writes them."""
    return CONTROL.sub(lambda found: repr(found[0])[1:-1], text)


def _printable(text: str) -> str:
    """Text for a terminal, which would obey control characters; endless lines are cut."""
    lines = spelt_out(text).split("\n")
    return "\n".join(x if len(x) <= LONGEST_LINE else f"{x[:LONGEST_LINE]}…" for x in lines)


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
        lines += [f"  allowed: {_in_lines(allowed)}"] if allowed else []
        lines += [f"  to do:   {action}"] if action else []
        super().__init__(_printable("\n".join(lines)))


def _in_lines(text: str) -> str:
    """A long list below itself, for a terminal; what has lines of its own stays as it is."""
    if "\n" in text:
        return text
    width, indent = 80 - len("  allowed: "), " " * len("  allowed: ")
    lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    return f"\n{indent}".join(lines)


@contextmanager
def shown_to_the_user(status: int = 1) -> Iterator[None]:
    """Print a UserError, or that a disk is full, as a message alone; exit with `status`.

    What an output cannot show, as with PYTHONIOENCODING=latin-1, is shown as `?`. Ctrl-C and a
    reader that has read enough (`| head`) end it with the status that a shell gives them.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        yield
        sys.stdout.flush()
    except UserError as error:
        print(f"{REFUSAL}{error}", file=sys.stderr)
        sys.exit(status)
    except KeyboardInterrupt:
        print(f"{REFUSAL}interrupted", file=sys.stderr)
        sys.exit(128 + signal.SIGINT)
    except BrokenPipeError:
        # What is left in the buffer would fail again when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        full = UserError(
            f"{error.strerror}",
            where=str(error.filename or "the file system of results/"),
            action="make room and start Snakemake again: it goes on where it was",
        )
        print(f"{REFUSAL}{full}", file=sys.stderr)
        sys.exit(status)


def refuse_unknown(names: Iterable[str], known: Collection[str], where: str, kind: str) -> None:
    """Refuse a name that is not among the known ones, and say which there are."""
    for name in names:
        if name not in known:
            raise UserError(f"unknown {kind}: {name}", where=where, allowed=", ".join(known))
