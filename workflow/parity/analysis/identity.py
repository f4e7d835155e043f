"""Whether the two sides of a comparison ran the same binary with the same libraries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

SAME = "same"
BINARY_DIFFERS = "binary differs"
LIBRARIES_DIFFER = "libraries differ"
NOT_RECORDED = "not recorded"
CONFOUNDED = (BINARY_DIFFERS, LIBRARIES_DIFFER)

# SHA-256 of the binary and of its libraries; empty text where a run does not say it.
Digests = tuple[str, str]
# The digests by block, case and arm.
Hashes = Mapping[tuple[str, str, str], Digests]


def hashes(runs: pd.DataFrame) -> dict[tuple[str, str, str], Digests]:
    """What each run that counts says of its binary."""
    columns = runs[["block", "case", "arm", "binary_sha256", "closure_sha256"]]
    return {
        (block, case, arm): (binary, closure)
        for block, case, arm, binary, closure in columns.itertuples(index=False, name=None)
    }


def in_blocks(
    recorded: Hashes, case: str, arms: tuple[str, str], blocks: Iterable[str]
) -> list[tuple[Digests, Digests]]:
    """The digests of two arms of a case in each of the blocks."""
    return [(recorded[b, case, arms[0]], recorded[b, case, arms[1]]) for b in blocks]


def identity(both: Sequence[tuple[Digests, Digests]]) -> str:
    """The worst that any block of a comparison says about its two binaries.

    Environments differ more easily than runtimes do, and an apparently unrelated
    library can shift a timing (Mytkowicz et al., ASPLOS 2009); so one differing
    block marks the whole comparison as confounded.

    Args:
        both: the digests of the two sides, block by block.
    """
    for part, finding in enumerate(CONFOUNDED):
        if any(arm[part] and base[part] and arm[part] != base[part] for arm, base in both):
            return finding
    known = both and all(all(arm) and all(base) for arm, base in both)
    return SAME if known else NOT_RECORDED


def worst(findings: Iterable[str]) -> str:
    """The worst of several such words; at least one is given."""
    there = set(findings)
    return next(word for word in (*CONFOUNDED, NOT_RECORDED, SAME) if word in there)
