"""The few words in which a comparison can end."""

# Against a margin that was fixed before.
EQUIVALENT, DIFFERENT, INCONCLUSIVE = "equivalent", "different", "inconclusive"
# What is known of a cost without a margin (`Decision.answer`).
COSTS, SAVES, AT_MOST, CANNOT_TELL = "costs", "saves", "at-most", "cannot-tell"
TOO_FEW_BLOCKS, NOT_TESTED = "too-few-blocks", "not-tested"
# A difference in absolute terms is an estimate with an interval; no claim is attached to it.
REPORTED = "reported"
