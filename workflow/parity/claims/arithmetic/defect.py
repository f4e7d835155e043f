"""What a check of a published statement finds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Defect:
    """One checked statement.

    Attributes:
        study: key of the study in config/claims.yaml.
        place: where the statement stands in the paper.
        says: what the paper says, in short.
        gives: what arithmetic gives, in short.
        holds: whether the statement, or the rule that it is held against, comes out.
        sentence: both in one sentence, for the paper's discussion.
    """

    study: str
    place: str
    says: str
    gives: str
    holds: bool
    sentence: str
