"""Documents: JSON files with a class each, read and written whole, refused with one message.

A document is a `msgspec` struct: frozen, its fields typed, unknown ones refused, and fast to
import and to read, which counts in every job. Its class lies in the package that owns it.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import methodcaller
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from parity.core.errors import CONTROL, UserError, shown
from parity.core.files import read_regular, write_json


class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What every document and every part of one is: frozen, and without unknown fields."""


D = TypeVar("D")
Content = dict[str, Any]

# What to do about a file that is not as it was written.
RESTORE = "restore the file, or let the workflow make it anew"
# The end of msgspec's messages: where in the document the problem is.
_PLACE = re.compile(r" - at `(key in )?\$?(?P<key>[^`]*)`$")


def canonical(document: Any) -> str:
    """JSON with sorted keys and no spaces to vary: the same document, the same text."""
    return _canonical(msgspec.to_builtins(document))


_canonical = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode


def digest_of_json(text: str | bytes) -> str:
    """SHA-256 of a JSON text's content, however it is laid out."""
    return hashlib.sha256(_canonical(json.loads(text)).encode()).hexdigest()


def parse_json(text: str | bytes, where: str) -> Any:
    """The content of a JSON text; raises UserError if it is none, or nested beyond reason."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        what = f"this is not a JSON document: {error}"
        raise UserError(what, where=where, action=RESTORE) from None


def as_document(content: Any, kind: type[D], where: str, action: str = RESTORE) -> D:
    """Plain content as a document of that class; raises UserError with file and key."""
    try:
        return msgspec.convert(content, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        match = _PLACE.search(str(error))
        key = match["key"].lstrip(".") if match else ""
        what = f"this is no {_name_of(kind)}: {_PLACE.sub('', str(error))}"
        place = f"{where}: {key}" if key else where
        raise UserError(what, where=place, action=action) from None


def read_text(path: Path) -> str:
    """The text of a document's file; raises UserError if there is none, or it cannot be read."""
    try:
        return read_regular(path)
    except (OSError, ValueError) as error:
        what = f"the file cannot be read: {error}"
        raise UserError(what, where=str(path), action=RESTORE) from None


def read_document(path: Path, kind: type[D]) -> D:
    """The document in a file; raises UserError as `parse_json` and `as_document` do."""
    return as_document(parse_json(read_text(path), str(path)), kind, str(path))


def write_document(path: Path, document: Any) -> None:
    """Write a document atomically: readers see the old file or the whole new one."""
    write_json(path, msgspec.to_builtins(document))


def _refuse_control_characters(content: Any, where: str) -> None:
    """Refuse a text that LaTeX cannot set and a terminal would obey, with its key."""
    parts: list[tuple[str, Any]] = [("", content)]
    while parts:
        key, part = parts.pop()
        if isinstance(part, str) and CONTROL.search(part):
            problem = f"a control character in {shown(part)}"
            raise UserError(problem, where=f"{where}: {key.lstrip('.')}", action=RESTORE)
        if isinstance(part, dict):
            for name, value in part.items():
                parts += [(f"{key}.{name}", name), (f"{key}.{name}", value)]
        elif isinstance(part, list):
            parts += [(f"{key}[{number}]", value) for number, value in enumerate(part)]


def _name_of(kind: type) -> str:
    """A class's name as people say it: `block record`."""
    return re.sub(r"(?<=.)(?=[A-Z])", " ", kind.__name__.lstrip("_")).lower()


def said_from_2_on(content: Mapping[str, Any]) -> Any:
    """The version of a content of a format whose first one did not say it."""
    return content.get("version", 1)


class _Version(msgspec.Struct):
    version: Any = None


@dataclass(frozen=True)
class Format(Generic[D]):
    """How a document is read; raises UserError with file and key if there is no such document."""

    kind: type[D]
    # What turns a content of each version, from 1, into one of the next.
    upgrades: Sequence[Callable[[Content], Content]] = ()
    # The version that a content has; some of the oldest do not say it rightly.
    shape: Callable[[Mapping[str, Any]], Any] = methodcaller("get", "version")
    file: str = ""  # its name in a folder, where it always has the same
    printed: bool = False  # whether people write and read it: without control characters

    def is_in(self, folder: Path) -> bool:
        """Whether a folder has the document's file."""
        return (folder / self.file).exists()

    def read_in(self, folder: Path) -> D:
        """The document in a folder."""
        return self.read(folder / self.file)

    def write_in(self, folder: Path, document: D) -> None:
        """Write the document's file in a folder, whole or not at all."""
        write_document(folder / self.file, document)

    def read(self, path: Path) -> D:
        """The document in a file."""
        return self.parse(read_text(path), str(path))

    def parse(self, text: str | bytes, where: str) -> D:
        """The document in a text; `where` says in a message which text it is."""
        # Without what only messages and older shapes need, unless a control character may be there.
        if not self.printed or (
            isinstance(text, str) and not ("\\" in text or CONTROL.search(text))
        ):
            with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                version = msgspec.json.decode(text, type=_Version).version
                if type(version) is int and version == 1 + len(self.upgrades):
                    return msgspec.json.decode(text, type=self.kind)
        # What is no object is left to the class to refuse.
        if isinstance(content := parse_json(text, where), dict):
            content = self._newest(content, where)
        document = as_document(content, self.kind, where)
        if self.printed:
            _refuse_control_characters(content, where)
        return document

    def _newest(self, content: Content, where: str) -> Content:
        version, newest = self.shape(content), 1 + len(self.upgrades)
        if type(version) is not int or not 1 <= version <= newest:
            problem = f"a {_name_of(self.kind)} of version {version!r} is not known here"
            action = "read it with the version of Parity that wrote it, or make it anew"
            allowed = f"1 to {newest}" if newest > 1 else "1"
            raise UserError(problem, where=f"{where}: version", allowed=allowed, action=action)
        for upgrade in self.upgrades[version - 1 :]:
            content = upgrade(content)
        return content | {"version": newest}


def in_parts(content: Content, key: str, change: Callable[[Content], Content]) -> Content:
    """The content with the object, or each object of the list, at `key` changed; else as it is."""
    part = content.get(key)
    if isinstance(part, dict):
        return content | {key: change(part)}
    if isinstance(part, list):
        return content | {key: [change(p) if isinstance(p, dict) else p for p in part]}
    return content


def adding(**absent: Any) -> Callable[[Content], Content]:
    """The upgrade that adds what older contents lack: nothing if the number alone is another."""
    return lambda content: absent | content
