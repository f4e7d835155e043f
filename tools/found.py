"""What the archives answer: `PYTHONPATH=workflow python tools/found.py` writes docs/found.json.

It analyses every archived dataset anew; `make docs` sets the table of what is committed. Each
system's datasets stand there with the digest of their checksums.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from parity.analysis import analysis, dataset
from parity.core.errors import shown_to_the_user
from parity.core.files import write_json
from parity.records.dataset import CHECKSUMS, archived
from parity.report import answer

ROOT = Path(__file__).parents[1]
ARCHIVE, COMMITTED = ROOT / "results/archive", ROOT / "docs/found.json"
HEAD = ("system", "kind", "campaigns", "ratios", "equivalent", "cost more", "cost less",
        "undecided", "cost below 5 %")  # fmt: skip
WITHIN = 0.05


def digest(name: str) -> str:
    """SHA-256 of the checksums of an archived dataset."""
    return hashlib.sha256((ARCHIVE / name / CHECKSUMS).read_bytes()).hexdigest()


def found() -> list[dict[str, Any]]:
    """What the archives of each system answer together of costs, by arms as they are."""
    systems: dict[str, list[str]] = {}
    for name, (system, _) in archived(ARCHIVE).items():
        systems.setdefault(system, []).append(name)
    return [_of_system(system, names) for system, names in sorted(systems.items())]


def _of_system(system: str, names: Iterable[str]) -> dict[str, Any]:
    loaded = [dataset.load(ARCHIVE / name) for name in names]
    ended = [
        each
        for data in loaded
        for each in answer.of_dataset(data.plan, analysis.analyse(data).comparisons)
        if each.is_plain and each.is_cost
    ]
    return {
        "system": system,
        "kind": loaded[0].kind.label,
        "datasets": {name: digest(name) for name in names},
        "ratios": len(ended),
        **answer.counts(ended),
        "below": sum(each.row.high95 < 1 + WITHIN for each in ended),
    }


def table(systems: Iterable[Mapping[str, Any]]) -> Iterable[tuple[str, ...]]:
    """The rows of the README's table, in the columns of `HEAD`."""
    for each in systems:
        numbers = [each[key] for key in ("ratios", *answer.ENDED, "below")]
        yield (each["system"], each["kind"], str(len(each["datasets"])), *map(str, numbers))


if __name__ == "__main__":
    with shown_to_the_user():
        write_json(COMMITTED, found())
