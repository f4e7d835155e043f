"""What is kept of what a node says: the lists of kept.yaml."""

from __future__ import annotations

from pathlib import Path

import msgspec

from parity.core.documents import Document


class Kept(Document, frozen=True):
    """The lists of kept.yaml, which says what each is."""

    one_line: dict[str, str]
    memory: dict[str, str]
    processor: dict[str, str]
    boot_parameters: tuple[str, ...]
    variables: tuple[str, ...]


KEPT = msgspec.yaml.decode(Path(__file__).with_name("kept.yaml").read_bytes(), type=Kept)
