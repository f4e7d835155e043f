"""`snakemake plan` and `snakemake compare` as a user meets them, in a clone with no fresh data."""

from pathlib import Path

from clones import refused, succeeded


def test_without_fresh_data_one_message_says_so_and_nothing_is_measured(clone: Path) -> None:
    said = refused(clone, "compare")
    assert "there is no such dataset" in said and "snakemake all" in said
    # The log that the rule declares has the message, and is shown.
    log = (clone / "results/compare.log").read_text()
    assert log.startswith("parity: there is no such dataset") and "not found" not in said
    assert "run_batch" not in said and not (clone / "results/blocks").exists()


def test_datasets_without_a_ratio_in_common_are_compared_to_nothing(clone: Path) -> None:
    said = succeeded(clone, "compare", "--config", "fresh=archive/slurm-2026-11-21")
    assert "nothing could be compared that counts" in said
    assert "verdicts on claims: " in said
    made = sorted(path.name for path in (clone / "results/compare").iterdir())
    assert made == [f"agreement.{ending}" for ending in ("csv", "parquet", "pdf", "png")]


def test_the_plan_says_what_it_can_prove(clone: Path) -> None:
    said = succeeded(clone, "plan")
    assert "3 blocks x 8 cases x 9 arms" in said
    assert "Blocks to prove each margin" in said and "SD from archive/" in said
    assert "Chance that a claim holds if no container costs anything" in said
    assert "scatter from archive/machine-2026-11-20, 30 blocks" in said
    again = succeeded(clone, "-n", "plan")
    # Nothing new was measured, so nothing is drawn and judged once more.
    assert "rule plan" in again and "rule chances" not in again
