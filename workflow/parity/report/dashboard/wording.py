"""The words of the page for what the tables only name."""

from __future__ import annotations

# Verdict: its mark, and what it says. The order is that of the page.
VERDICTS = {
    "supported": ("✓", "The data pass the rule that was set for this claim."),
    "contradicted": ("✕", "The data show the opposite of the claim."),
    "order-ok": ("≈", "Same direction, and within a factor of two of the published value."),
    "differs": ("≠", "The interval excludes everything within a factor of two of the value."),
    "inconclusive": ("?", "The data decide neither way; a wider margin or more blocks would."),
    "not-tested": ("–", "This dataset cannot answer; the reason says what it would take."),
}
KINDS = {
    "equivalence": "costs nothing beyond a margin",
    "direction": "one side costs more",
    "magnitude": "an effect of this size",
    "dispersion": "how much values scatter",
    "mechanism": "why it happens",
}
REGISTRATIONS = {
    "before-data": "The rule was registered before the data were measured.",
    "after-data": "The rule was registered after the data, and not changed since.",
    "amended": "The rule, its margin or the plan is not the one that was registered.",
}
CAPABILITIES = {
    "full": "This kind of system can test the claim in full.",
    "direction": "This kind of system can test the direction, not the size.",
    "proxy": "This kind of system tests a stand-in for the claim.",
    "none": "This kind of system cannot test the claim.",
}
CONTROLS = {
    "equivalent": "The reference equals itself within the margin.",
    "inconclusive": "The reference was not shown to equal itself within the margin.",
    "different": "The reference differs from itself; nothing is concluded.",
    "none": "No A/A pair bears on this claim.",
}
