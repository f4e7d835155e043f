"""The few words in which a comparison can end."""

# Against a margin that was fixed before.
EQUIVALENT = "equivalent"
DIFFERENT = "different"
INCONCLUSIVE = "inconclusive"
# What is known of a cost without a margin (`Decision.answer`).
COSTS = "costs"
SAVES = "saves"
AT_MOST = "at-most"
CANNOT_TELL = "cannot-tell"
TOO_FEW_BLOCKS = "too-few-blocks"
# A difference in absolute terms is an estimate with an interval; no claim is attached to it.
REPORTED = "reported"
NOT_TESTED = "not-tested"
