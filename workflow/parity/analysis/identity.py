"""Whether the two sides of a comparison ran the same binary with the same libraries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

SAME = "same"
BINARY_DIFFERS = "binary differs"
LIBRARIES_DIFFER = "libraries differ"
NOT_RECORDED = "not recorded"
CONFOUNDED = (BINARY_DIFFERS, LIBRARIES_DIFFER)

# SHA-256 of the binary and of its libraries, by block, case and arm.
Hashes = Mapping[tuple[str, str, str], tuple[str, str]]


def hashes(runs: pd.DataFrame) -> Hashes:
    """What each run that counts says of its binary; empty text where it says nothing."""
    columns = runs[["block", "case", "arm", "binary_sha256", "closure_sha256"]]
    return {row[:3]: row[3:] for row in columns.itertuples(index=False, name=None)}


def identity(recorded: Hashes, pairs: Sequence[Mapping[str, Any]]) -> str:
    """The worst that any block of a comparison says about its two binaries.

    Environments differ more easily than runtimes do, and an apparently unrelated
    library can shift a timing (Mytkowicz et al., ASPLOS 2009); so one differing
    block marks the whole comparison as confounded.

    Args:
        recorded: what `hashes` found.
        pairs: the pairs of one comparison.
    """
    both = [
        [recorded[pair["block"], pair["case"], pair[side]] for side in ("arm", "reference")]
        for pair in pairs
    ]
    for number, finding in enumerate((BINARY_DIFFERS, LIBRARIES_DIFFER)):
        if any(arm[number] and base[number] and arm[number] != base[number] for arm, base in both):
            return finding
    known = both and all(all(arm) and all(base) for arm, base in both)
    return SAME if known else NOT_RECORDED
