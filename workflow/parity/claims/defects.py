"""Statements of the five papers that arithmetic alone can check, without a measurement.

Every number comes from config/published/claims.csv and ruiz_table1.csv; a limit from
elsewhere stands beside its check with its source. Nothing is mended: what does not come out
is said in the paper's discussion.
"""

from __future__ import annotations

from pathlib import Path

from parity.claims.arithmetic import others, ruiz, torrez
from parity.claims.arithmetic.defect import Defect
from parity.claims.arithmetic.numbers import read
from parity.core.errors import UserError

__all__ = ["Defect", "defects"]

CHECKS = (*torrez.CHECKS, *ruiz.CHECKS, *others.CHECKS)


def defects(folder: Path) -> tuple[Defect, ...]:
    """Every statement that arithmetic can check, in the order of the studies.

    Args:
        folder: config/published.

    Raises:
        UserError: a number that a check needs is not there.
    """
    published = read(folder)
    try:
        return tuple(check(published) for check in CHECKS)
    except KeyError as error:
        raise UserError(f"no published number {error}", where=str(folder)) from error
