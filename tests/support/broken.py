"""Broken inputs, drawn with a fixed seed, and what came of them: a row for each kind of input."""

import copy
import random
import resource
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from parity.core.errors import UserError

SEED = 20261121
LONGEST_MESSAGE = 6_000
# More than that is a hang, on any machine.
HANGS_SECONDS = 20
# No place of any of these files can hold one of them.
NO_VALUES = (
    float("nan"), float("inf"), -float("inf"), 2**80, -(10**40), [[[]]], {"no such key": 1},
    "a\x00b", "\x1b[2J", "a\x7f", b"bytes", [float("nan")],
)  # fmt: skip
PIECES = (
    b"\x00", b"\xff\xfe", b"\xc3", b"\t", b"\n", b"- ", b": ", b"{", b"[" * 400, b"*a", b"&a ",
    b"!!bool ", b"!!python/none ", b".nan", b"9" * 5000, b"'", b'"', b"|\n", b"%", b"---\n", b",",
    b"\x1b", b"1:1:1:1", b"2026-13-45", b"<<: ", b"? ", b"\xe2\x80\xa8", b"\xf0\x9f\x92\xa9",
)  # fmt: skip


def in_text(content: bytes, chance: random.Random) -> bytes:
    """A text with a piece put in, cut out, doubled or moved."""
    at = chance.randrange(len(content))
    end = min(len(content), at + chance.choice((1, 2, 10, 200)))
    match chance.randrange(4):
        case 0:
            return content[:at] + chance.choice(PIECES) + content[at:]
        case 1:
            return content[:at] + content[end:]
        case 2:
            return content[:end] + content[at:]
        case _:
            return content[:at] + chance.choice(PIECES) + content[end:]


def places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a document has values."""
    items = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in items:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


def with_value(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(document)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return changed


def in_values(document: Any, chance: random.Random) -> bytes:
    """A document with a value in it that no such place can hold."""
    place = chance.choice(list(places(document)))
    return yaml.safe_dump(with_value(document, place, chance.choice(NO_VALUES))).encode()


@dataclass
class Seen:
    """What came of all inputs of a kind."""

    kind: str
    counts: Counter[str] = field(default_factory=Counter)
    tracebacks: list[str] = field(default_factory=list)
    accepted: list[str] = field(default_factory=list)
    longest: float = 0.0
    began: float = field(default_factory=time.process_time)

    def try_out(
        self, name: str, attempt: Callable[[], Any], is_wrong: Callable[[Any], bool]
    ) -> None:
        """Take a broken input, and note what comes of it.

        Args:
            is_wrong: whether what was made of it should have been refused.
        """
        began = time.process_time()
        try:
            made = attempt()
        except UserError as error:
            self.counts["refused"] += 1
            assert len(str(error)) < LONGEST_MESSAGE, name
        except Exception as error:
            self.tracebacks.append(f"{name}: {type(error).__name__}: {str(error)[:200]}")
        else:
            self.counts["read"] += 1
            if is_wrong(made):
                self.accepted.append(name)
        self.counts["tried"] += 1
        self.longest = max(self.longest, time.process_time() - began)

    def end(self, least: int) -> None:
        """Print the row, and fail where something was not as it has to be."""
        mebibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"\n{self.kind}: {self.counts['tried']} tried, {self.counts['refused']} refused, "
            f"{self.counts['read']} still whole, {len(self.tracebacks)} tracebacks, "
            f"{len(self.accepted)} silently wrong, longest {self.longest:.2f} s of CPU, "
            f"{time.process_time() - self.began:.0f} s in all, at most {mebibytes:.0f} MiB"
        )
        assert not self.tracebacks, self.tracebacks
        assert not self.accepted, self.accepted
        assert self.counts["tried"] >= least
        assert self.longest < HANGS_SECONDS
