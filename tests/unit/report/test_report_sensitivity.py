"""Which outcomes change under which method: the table of them, and the sentence with the counts."""

from pathlib import Path
from typing import Any

import synthetic

from parity.analysis.sensitivity import METHODS, NO_ESTIMATE
from parity.report.tables.sensitivity import changes, sensitivity
from parity.report.text import numbers, section
from parity.report.view import View

ARMS = ("native-a", "native-b", "docker", "podman")


def view_of(folder: Path, blocks: int, spikes: dict[tuple[str, str], float]) -> View:
    """A dataset in which the third block of some (case, arm) took so many times as long."""
    plan = synthetic.plan(blocks, ARMS)
    rows = synthetic.records(plan)
    for row in rows["metrics"]:
        if row["block_number"] == 3:
            row["value"] *= spikes.get((row["case"], row["arm"]), 1.0)
    return synthetic.view(folder / "live/synthetic-smoke", plan, rows, beside=True)


def cells(view: View, *subject: str) -> dict[str, Any]:
    """The row of the table that begins with a case and an arm, by its heads."""
    table = sensitivity(view)
    (row,) = [row for row in table.rows if tuple(row[:2]) == subject]
    return dict(zip(table.head, row, strict=True))


def test_only_what_changes_is_listed_with_what_it_changes_to(tmp_path: Path) -> None:
    view = view_of(tmp_path, 30, {("sysbench", "docker"): 2.0})
    table = sensitivity(view)
    assert table.head == ("case", "arm", *METHODS)
    row = cells(view, "SysBench CPU, computing time", "Docker")
    assert row["paired"] == "inconclusive"
    assert row["mixed"] == "same"
    assert row["ranks"] == row["trimmed"] == "equivalent"
    assert not [each for each in table.rows if all(cell.startswith("same") for cell in each[3:])]


def test_the_counts_are_said_in_the_paper_and_in_the_section(tmp_path: Path) -> None:
    view = view_of(tmp_path, 30, {("sysbench", "docker"): 2.0})
    said, table = changes(view), sensitivity(view)
    ratios = view.analysis.sensitivity.groupby(["case", "metric", "arm"]).ngroups
    assert said.startswith(f"Of {ratios} ratios, those of controls included, ")
    assert f" {len(table.rows)} would end otherwise by at least one of 3 other methods" in said
    ranks = sum(row[table.head.index("ranks")] != "same" for row in table.rows)
    assert f"{ranks} by ranks" in said
    without = view.analysis.sensitivity
    without = without[without["outcome"] == NO_ESTIMATE].groupby(["case", "metric", "arm"]).ngroups
    assert said.endswith(f"For {without} at least one of them gives no estimate.")
    assert numbers.values(view)["sensitivity"] == said
    assert f"{ranks} by ranks" in section.of_dataset(view)


def test_a_difference_that_turns_round_is_a_change(tmp_path: Path) -> None:
    view = view_of(tmp_path, 3, {})
    table = view.analysis.sensitivity
    table[["outcome", "estimate"]] = "different", 1.1
    assert not sensitivity(view).rows
    at = (table["case"] == "sysbench") & (table["arm"] == "docker")
    table.loc[at & (table["method"] == "ranks"), "estimate"] = 0.9
    row = cells(view, "SysBench CPU, computing time", "Docker")
    assert (row["paired"], row["ranks"], row["trimmed"]) == ("costs more", "costs less", "same")


def test_where_nothing_changes_both_say_so(tmp_path: Path) -> None:
    view = view_of(tmp_path, 3, {})
    view.analysis.sensitivity["outcome"] = "inconclusive"
    assert not sensitivity(view).rows
    assert sensitivity(view).empty == "no outcome changes under any of these methods"
    assert " none would end otherwise by any of 3 other methods" in changes(view)
