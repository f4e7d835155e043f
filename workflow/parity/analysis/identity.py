"""Whether the two sides of a comparison ran the same binary with the same libraries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

SAME = "same"
BINARY_DIFFERS = "binary differs"
LIBRARIES_DIFFER = "libraries differ"
NOT_RECORDED = "not recorded"
CONFOUNDED = (BINARY_DIFFERS, LIBRARIES_DIFFER)

# SHA-256 of the binary and of its libraries; empty text where a run does not say it.
Digests = tuple[str, str]


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
