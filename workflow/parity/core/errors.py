"""Errors for people: one message that says what, where, what is allowed and what to do."""

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
# What says that a disk or a quota is full, and what to do then.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
MAKE_ROOM = "make room and start Snakemake again: it goes on where it was"
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but the line's end and the tabulator


def shown(value: Any, written: Callable[[Any], str] = repr, most: int = LONGEST_VALUE) -> str:
    """A value as a message shows it, cut where it is long."""
    text = written(value)
    return text if len(text) <= most else f"{text[:most]}…"


def spelt_out(text: str) -> str:
    """Text with its control characters as Python writes them."""
    return CONTROL.sub(lambda found: repr(found[0])[1:-1], text)


class UserError(Exception):
    """A mistake that the user can mend; it is shown without a traceback.

    Says what is wrong, in one sentence; where, such as `config/studies/x.yaml: scales.smoke`; what
    would be accepted; and what to do.
    """

    def __init__(self, what: str, *, where: str = "", allowed: str = "", action: str = "") -> None:
        self.what, self.where, self.allowed, self.action = what, where, allowed, action
        if "\n" not in allowed:
            # A long list stands below itself; what has lines of its own stays as it is.
            width, indent = 80 - len("  allowed: "), " " * len("  allowed: ")
            wrapped = textwrap.wrap(allowed, width, break_long_words=False, break_on_hyphens=False)
            allowed = f"\n{indent}".join(wrapped)
        parts = {"  where:   ": where, "  allowed: ": allowed, "  to do:   ": action}
        text = "\n".join([what, *(f"{name}{part}" for name, part in parts.items() if part)])
        # A terminal would obey control characters; endless lines are cut.
        lines = (shown(line, str, LONGEST_LINE) for line in spelt_out(text).split("\n"))
        super().__init__("\n".join(lines))


@contextmanager
def shown_to_the_user(status: int = 1) -> Iterator[None]:
    """Print a UserError, or what a file or a full disk refuses, alone; exit with `status`.

    Ctrl-C and a reader that has read enough (`| head`) end it with a shell's status for them.
    """
    # What an output cannot show, as with PYTHONIOENCODING=latin-1, is shown as `?`.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    problem: UserError | str
    try:
        yield
        sys.stdout.flush()
        return
    except UserError as error:
        problem = error
    except KeyboardInterrupt:
        problem, status = "interrupted", 128 + signal.SIGINT
    except BrokenPipeError:
        # What is left in the buffer would fail again when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)
    except OSError as error:
        is_full = error.errno in NO_ROOM
        if not (is_full or error.filename):
            raise
        where = str(error.filename or "the file system of results/")
        problem = UserError(f"{error.strerror}", where=where, action=MAKE_ROOM if is_full else "")
    print(f"{REFUSAL}{problem}", file=sys.stderr)
    sys.exit(status)


def print_checks(checks: Iterable[tuple[str, Callable[[], str]]]) -> None:
    """Make every check, whatever others find, and print a row each: the archive, and what it says.

    `checks`: archives, and functions that return what holds; their UserError is what differs.
    Raises UserError: checks failed; it tells all that did.
    """
    rows, failed = [("archive", "result")], []
    for name, check in checks:
        try:
            rows.append((name, check()))
        except UserError as error:
            failed.append(str(error))
            rows.append((name, f"differs: {error.what.partition(chr(10))[0].rstrip(':')}"))
    width = max(len(name) for name, _ in rows)
    print(*(f"{name:{width}}  {said}" for name, said in rows), sep="\n", flush=True)
    if failed:
        head = f"{len(failed)} of {len(rows) - 1} in the table differ"
        raise UserError("\n".join([head, *failed]))


def end_as_by_ctrl_c() -> None:
    """Ask to be stopped the same way as Ctrl-C does, so that the running program is ended."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def refuse_unknown(names: Iterable[str], known: Collection[str], where: str, kind: str) -> None:
    """Refuse a name that is not among the known ones, and say which there are."""
    for name in names:
        if name not in known:
            raise UserError(f"unknown {kind}: {name}", where=where, allowed=", ".join(known))
