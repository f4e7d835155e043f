"""Documents: JSON files with a class each, read and written whole, refused with one message.

A document is a `msgspec` struct: frozen, its fields typed, unknown ones refused, and fast to
import and to read, which counts in every job. Its class, and the functions that read and
write its file, lie in the package that owns it.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from parity.core.errors import UserError
from parity.core.files import write_json


class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What every document and every part of one is: frozen, and without unknown fields."""


D = TypeVar("D")

# The end of msgspec's messages: where in the document the problem is.
_PLACE = re.compile(r" - at `(key in )?\$?(?P<key>[^`]*)`$")


def canonical(document: Any) -> str:
    """JSON with sorted keys and no spaces to vary: the same document, the same text."""
    plain = msgspec.to_builtins(document)
    return json.dumps(plain, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def digest_of_json(text: str | bytes) -> str:
    """SHA-256 of a JSON text's content, however it is laid out."""
    return hashlib.sha256(canonical(json.loads(text)).encode()).hexdigest()


def parse_json(text: str | bytes, where: str) -> Any:
    """The plain content of a JSON text.

    Raises:
        UserError: it is not JSON, not UTF-8, or nested beyond reason.
    """
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(
            f"this is not a JSON document: {error}",
            where=where,
            action="restore the file, or let the workflow make it anew",
        ) from None


def as_document(content: Any, kind: type[D], where: str) -> D:
    """Plain content as a document of that class.

    Raises:
        UserError: a field is missing, unknown or of another type; with file and key.
    """
    try:
        return msgspec.convert(content, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        said = str(error)
        match = _PLACE.search(said)
        key = match["key"].lstrip(".") if match else ""
        raise UserError(
            f"this is no {kind.__name__.lower()}: {_PLACE.sub('', said)}",
            where=f"{where}: {key}" if key else where,
            action="restore the file, or let the workflow make it anew",
        ) from None


def read_text(path: Path) -> str:
    """The text of a document's file.

    Raises:
        UserError: there is no such file, or it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"the file cannot be read: {error}",
            where=str(path),
            action="restore the file, or let the workflow make it anew",
        ) from None


def read_document(path: Path, kind: type[D]) -> D:
    """The document in a file; raises UserError as `parse_json` and `as_document` do."""
    return as_document(parse_json(read_text(path), str(path)), kind, str(path))


def write_document(path: Path, document: Any) -> None:
    """Write a document atomically: readers see the old file or the whole new one."""
    write_json(path, msgspec.to_builtins(document))
