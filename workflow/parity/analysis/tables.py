"""The tables that the analysis makes, in the same form as the tables of the records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from parity.records import schema
from parity.records.schema import column

_S, _I, _F, _B = pa.string(), pa.int64(), pa.float64(), pa.bool_()

_CASE = column("case", _S, "Benchmark at one level of each factor.")
_METRIC = column("metric", _S, "Name of the number.")
_ARM = column("arm", _S, "Arm: one runtime in one variant.")
_REFERENCE = column("reference", _S, "Arm that it is compared with.")
_BLOCK = column("block", _S, "Block id.")
_UNIT = column("unit", _S, "Unit of the values; empty if there is none.")
_BETTER = column("better", _S, "Direction: lower, higher or neither.")

VALUES = schema.TableSchema(
    "values",
    "One row per number that counts: of a valid, final run that is not excluded.",
    ("case", "metric", "arm", "block"),
    (
        _CASE,
        _METRIC,
        _ARM,
        _BLOCK,
        column("run", _S, "Run id within the block."),
        column("value", _F, "The number, in `unit`."),
        _UNIT,
        _BETTER,
    ),
)

PAIRS = schema.TableSchema(
    "pairs",
    "One row per block of a comparison in which both the arm and the reference count.",
    ("case", "metric", "arm", "block"),
    (
        _CASE,
        _METRIC,
        _ARM,
        _REFERENCE,
        _BLOCK,
        column("value", _F, "Value of the arm."),
        column("reference_value", _F, "Value of the reference."),
        column("effect", _F, "Log of the cost ratio, or the difference in the metric's unit."),
    ),
)

# How sure an estimate is, and what that makes of it.
_JUDGED = (
    column("low95", _F, "Lower end of the 95 % interval.", "", True),
    column("high95", _F, "Upper end of the 95 % interval.", "", True),
    column("low90", _F, "Lower end of the 90 % interval.", "", True),
    column("high90", _F, "Upper end of the 90 % interval.", "", True),
    column("p_equivalence", _F, "p of the two one-sided tests.", "1", True),
    column("smallest_margin", _F, "Smallest margin that would have passed.", "1", True),
    column("outcome", _S, "A name from parity.analysis.outcomes."),
    column("reason", _S, "Why the outcome is not a claim; empty if it is one."),
)

COMPARISONS = schema.TableSchema(
    "comparisons",
    "One row per comparison of an arm with the reference: estimate, intervals, outcome.",
    ("case", "metric", "arm"),
    (
        _CASE,
        _METRIC,
        _ARM,
        _REFERENCE,
        column("kind", _S, "ratio: cost ratio, above 1 costs more; difference: arm - reference."),
        column("margin", _F, "The ratio must lie within (1/(1+margin), 1+margin).", "1", True),
        _UNIT,
        _BETTER,
        column("planned_blocks", _I, "Blocks in which the plan holds both runs."),
        column("blocks", _I, "Blocks in which both runs count; the sample size."),
        column("estimate", _F, "Geometric mean ratio, or mean difference in `unit`.", "", True),
        *_JUDGED,
        column("identity", _S, "same, binary differs, libraries differ or not recorded."),
        column("control", _B, "Whether this is the A/A pair."),
        column("planned", _B, "Whether the study compares by it; if not, it is only reported."),
    ),
)

# What the two tables below say of each contrast, as COMPARISONS does of a comparison.
_TESTED = (
    column("margin", _F, "The ratio must lie within (1/(1+margin), 1+margin).", "1"),
    column("blocks", _I, "Blocks that hold all runs of the contrast; the sample size."),
    column("estimate", _F, "Geometric mean of the ratio.", "", True),
    *_JUDGED,
    column("identity", _S, "As in comparisons, of arm and reference; empty if by design."),
)

FACTORIAL = schema.TableSchema(
    "factorial",
    "One row per arm and effect of a factor of two levels, crossed with the arm.",
    ("benchmark", "metric", "factor", "cases", "arm", "effect"),
    (
        column("benchmark", _S, "Benchmark that has the factor."),
        _METRIC,
        column("factor", _S, "The factor."),
        column("cases", _S, "The cases of its low and high level: `<low> <high>`."),
        column("low", _S, "Level that is compared with."),
        column("high", _S, "Level whose cost over that of `low` is the effect of the factor."),
        _ARM,
        column(
            "effect",
            _S,
            "level: of the factor within this arm; level-overall: averaged over arm and "
            "reference; arm-overall: arm over reference, averaged over both levels; "
            "interaction: `level` in the arm over that in the reference.",
        ),
        *_TESTED,
    ),
)

STEPS = schema.TableSchema(
    "steps",
    "One row per step of a ladder of arms: its cost over that of the step before.",
    ("case", "metric", "arm"),
    (
        _CASE,
        _METRIC,
        _ARM,
        column("before", _S, "The nearest step before it that has values in common blocks."),
        *_TESTED,
    ),
)

DISPERSION = schema.TableSchema(
    "dispersion",
    "One row per case, metric and arm: how its values lie and spread over the blocks.",
    ("case", "metric", "arm"),
    (
        _CASE,
        _METRIC,
        _ARM,
        _UNIT,
        column("runs", _I, "Number of values."),
        column("median", _F, "Median, in `unit`."),
        column("minimum", _F, "Smallest value, in `unit`."),
        column("maximum", _F, "Largest value, in `unit`."),
        column("mean", _F, "Arithmetic mean, in `unit`."),
        column("cv", _F, "Standard deviation over mean.", "1", True),
    ),
)

LEDGER = schema.TableSchema(
    "ledger",
    "One row per case and arm: how many planned runs came how far.",
    ("case", "arm"),
    (
        _CASE,
        _ARM,
        column("planned", _I, "Runs that the plan holds."),
        column("ran", _I, "Runs whose last attempt was started and ended."),
        column(
            "parsed",
            _I,
            "Of these, runs that ended well and passed their gates, "
            "so that their output was parsed.",
        ),
        column(
            "valid",
            _I,
            "Of these, runs whose output was complete and passed the benchmark's own check.",
        ),
        column("analysed", _I, "Of these, runs that entered at least one planned comparison."),
        column("attempts", _I, "Attempts in all, repeated ones included."),
    ),
)

LOSSES = schema.TableSchema(
    "losses",
    "One row per case, arm and reason: why planned runs were not analysed, or not even planned.",
    ("case", "arm", "stage", "reason"),
    (
        _CASE,
        _ARM,
        column("stage", _S, "How far these runs came: not-planned, planned, ran, parsed, valid."),
        column("reason", _S, "Reason code, or the reason of an exclusion."),
        column("runs", _I, "Number of runs; 0 if they were never planned."),
    ),
)

EXCLUSIONS = schema.TableSchema(
    "exclusions",
    "One row per exclusion of this dataset in config/exclusions.yaml.",
    ("block", "run"),
    (
        _BLOCK,
        column("run", _S, "Run id within the block."),
        column("reason", _S, "Why the run does not count."),
        column("who", _S, "Who decided it."),
        column("date", _S, "When, ISO 8601."),
        column("applied", _B, "Whether the plan of this dataset holds such a run."),
    ),
)

_ALL = (
    *(VALUES, PAIRS, COMPARISONS, FACTORIAL, STEPS),
    *(DISPERSION, LEDGER, LOSSES, EXCLUSIONS),
)
TABLES = {table.name: table for table in _ALL}


# What `snakemake compare` makes of two datasets; it is no part of the analysis of one.
AGREEMENT = schema.TableSchema(
    "agreement",
    "One row per comparison of either dataset: does the fresh one lie where the archive says?",
    ("case", "metric", "arm"),
    (
        _CASE,
        _METRIC,
        _ARM,
        column("reference", _S, "Arm that it is compared with; empty if it is not the same."),
        column("control", _B, "Whether this is the A/A pair."),
        column("margin", _F, "The fresh study's margin of the ratio.", null=True),
        column("fresh_blocks", _I, "Blocks in which both runs count, in the fresh dataset."),
        column("fresh_ratio", _F, "Fresh geometric mean cost ratio.", null=True),
        column("fresh_low95", _F, "Lower end of its 95 % interval.", null=True),
        column("fresh_high95", _F, "Upper end of its 95 % interval.", null=True),
        column("archive_blocks", _I, "The same blocks in the archive."),
        column("archive_ratio", _F, "Archived geometric mean cost ratio.", null=True),
        column("predicted_low95", _F, "Lower end of the archive's prediction interval.", null=True),
        column("predicted_high95", _F, "Upper end of it.", null=True),
        column("ratio_of_ratios", _F, "Fresh cost ratio over the archived one.", null=True),
        column("low95", _F, "Lower end of Welch's 95 % interval of it.", null=True),
        column("high95", _F, "Upper end of it.", null=True),
        column(
            "spread_ratio",
            _F,
            "Standard deviation of the log ratio, fresh over archived.",
            null=True,
        ),
        column("outcome", _S, "inside, outside, constant or not-compared."),
        column("counted", _B, "Whether the row is among those of which 95 % are expected inside."),
        column("reason", _S, "Why it is not compared or not counted; empty if it is."),
        column("identity", _S, "The worse of what both datasets say of the binaries."),
    ),
)


def frame(table: schema.TableSchema, made: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows as a data frame with the table's columns and types, also when there are none."""
    data: pd.DataFrame = schema.to_table(table, made).to_pandas()
    return data


def rows(data: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a data frame, each by column."""
    return [{str(name): value for name, value in row.items()} for row in data.to_dict("records")]


def write(table: schema.TableSchema, data: pd.DataFrame, path: Path) -> None:
    """Write a data frame as Parquet; what is not a number becomes null where that is allowed."""
    plain = data.astype(object).where(data.notna(), None)
    schema.write(table, rows(plain), path)
