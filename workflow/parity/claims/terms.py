"""The words of verdicts."""

SUPPORTED = "supported"
HOLDS_IN_PART = "holds-in-part"
CONTRADICTED = "contradicted"
ORDER_OK = "order-ok"
DIFFERS = "differs"
INCONCLUSIVE = "inconclusive"
NOT_TESTED = "not-tested"
# All verdicts. If several conditions must hold, the first of these that one of them has
# is the verdict on all.
VERDICTS = (CONTRADICTED, DIFFERS, NOT_TESTED, INCONCLUSIVE, ORDER_OK, HOLDS_IN_PART, SUPPORTED)
