"""The few words in which a comparison can end."""

from __future__ import annotations

EQUIVALENT = "equivalent"
DIFFERENT = "different"
INCONCLUSIVE = "inconclusive"
TOO_FEW_BLOCKS = "too-few-blocks"
# A difference in absolute terms is an estimate with an interval; no claim is attached to it.
REPORTED = "reported"
NOT_TESTED = "not-tested"
