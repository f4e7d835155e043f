"""Verdicts that are expected of a dataset, and where those found differ."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from parity.core.csv_files import read_rows
from parity.core.errors import UserError
from parity.core.wording import counted

# The first is what was judged: a live dataset, or all archives of a system (`archive/<system>`).
COLUMNS = ("dataset", "claim", "verdict")
Expected = Mapping[tuple[str, str], str]


def load(path: Path) -> dict[tuple[str, str], str]:
    """The expected verdict by dataset and claim (config/expected_verdicts.csv).

    Raises:
        UserError: there is no such CSV file, or a line is there twice.
    """
    rows = read_rows(path, COLUMNS)
    found = {(row["dataset"], row["claim"]): row["verdict"] for row in rows}
    if len(found) < len(rows):
        raise UserError("a claim of a dataset is given twice", where=str(path))
    return found


def differences(expected: Mapping[str, str], verdicts: pd.DataFrame) -> list[str]:
    """One line for each claim whose verdict is not the expected one, with the reason.

    Args:
        expected: verdict by claim.
        verdicts: `parity.claims.tables.VERDICTS` of the same data.
    """
    columns = verdicts[["claim", "verdict", "reason"]].itertuples(index=False, name=None)
    ended = {claim: (verdict, f"found {verdict} ({reason})") for claim, verdict, reason in columns}
    lines = []
    for claim in dict.fromkeys([*expected, *ended]):
        verdict, said = ended.get(claim, (None, "no such claim"))
        if expected.get(claim) != verdict:
            lines.append(f"{claim}: expected {expected.get(claim, 'nothing')}, {said}")
    return lines


def refuse_differences(expected: Expected, verdicts: pd.DataFrame, where: str) -> None:
    """Compare the verdicts with those that are expected of the same data.

    Raises:
        UserError: nothing is expected of it, or a verdict is another; all are named.
    """
    dataset = verdicts["judged"].iloc[0]
    wanted = {claim: ended for (name, claim), ended in expected.items() if name == dataset}
    action = "if the new verdicts are right, keep them with `snakemake claims_accept`"
    if not wanted:
        known = ", ".join(dict.fromkeys(name for name, _ in expected))
        raise UserError(
            f"no verdicts are expected of {dataset}", where=where, allowed=known, action=action
        )
    if lines := differences(wanted, verdicts):
        what = f"{counted(len(lines), 'verdict')} of {dataset} not as expected:"
        raise UserError("\n  ".join([what, *lines]), where=where, action=action)


def accept(expected: Expected, verdicts: pd.DataFrame, path: Path) -> None:
    """Write the file with these verdicts in place of those that the same data had."""
    dataset = verdicts["judged"].iloc[0]
    kept = [(name, claim, v) for (name, claim), v in expected.items() if name != dataset]
    new = list(verdicts[["judged", *COLUMNS[1:]]].itertuples(index=False, name=None))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(sorted(kept, key=lambda row: row[0]) + new)
