"""The tables that the analysis makes, in the same form as the tables of the records."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa

from parity.records import schema


def _column(name: str, kind: pa.DataType, doc: str, unit: str = "", null: bool = False) -> pa.Field:
    metadata = {"doc": doc} | ({"unit": unit} if unit else {})
    return pa.field(name, kind, nullable=null, metadata=metadata)


_S, _I, _F, _B = pa.string(), pa.int64(), pa.float64(), pa.bool_()

_CASE = _column("case", _S, "Benchmark at one level of each factor.")
_METRIC = _column("metric", _S, "Name of the number.")
_ARM = _column("arm", _S, "Arm: one runtime in one variant.")
_BLOCK = _column("block", _S, "Block id.")
_UNIT = _column("unit", _S, "Unit of the values; empty if there is none.")
_BETTER = _column("better", _S, "Direction: lower, higher or neither.")

VALUES = schema.TableSchema(
    "values",
    "One row per number that counts: of a valid, final run that is not excluded.",
    ("case", "metric", "arm", "block"),
    (
        _CASE,
        _METRIC,
        _ARM,
        _BLOCK,
        _column("run", _S, "Run id within the block."),
        _column("value", _F, "The number, in `unit`."),
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
        _column("reference", _S, "Arm that it is compared with."),
        _BLOCK,
        _column("value", _F, "Value of the arm."),
        _column("reference_value", _F, "Value of the reference."),
        _column("effect", _F, "Log of the cost ratio, or the difference in the metric's unit."),
    ),
)

# How sure an estimate is, and what that makes of it.
_JUDGED = (
    _column("low95", _F, "Lower end of the 95 % interval.", "", True),
    _column("high95", _F, "Upper end of the 95 % interval.", "", True),
    _column("low90", _F, "Lower end of the 90 % interval.", "", True),
    _column("high90", _F, "Upper end of the 90 % interval.", "", True),
    _column("p_equivalence", _F, "p of the two one-sided tests.", "1", True),
    _column("smallest_margin", _F, "Smallest margin that would have passed.", "1", True),
    _column("outcome", _S, "A name from parity.analysis.outcomes."),
    _column("reason", _S, "Why the outcome is not a claim; empty if it is one."),
)

COMPARISONS = schema.TableSchema(
    "comparisons",
    "One row per comparison of an arm with the reference: estimate, intervals, outcome.",
    ("case", "metric", "arm"),
    (
        _CASE,
        _METRIC,
        _ARM,
        _column("reference", _S, "Arm that it is compared with."),
        _column("kind", _S, "ratio: cost ratio, above 1 costs more; difference: arm - reference."),
        _column("margin", _F, "The ratio must lie within (1/(1+margin), 1+margin).", "1", True),
        _UNIT,
        _BETTER,
        _column("planned_blocks", _I, "Blocks in which the plan holds both runs."),
        _column("blocks", _I, "Blocks in which both runs count; the sample size."),
        _column("estimate", _F, "Geometric mean ratio, or mean difference in `unit`.", "", True),
        *_JUDGED,
        _column("identity", _S, "same, binary differs, libraries differ or not recorded."),
        _column("control", _B, "Whether this is the A/A pair."),
        _column("planned", _B, "Whether the study compares by it; if not, it is only reported."),
    ),
)

# What the two tables below say of each contrast, as COMPARISONS does of a comparison.
_TESTED = (
    _column("margin", _F, "The ratio must lie within (1/(1+margin), 1+margin).", "1"),
    _column("blocks", _I, "Blocks that hold all runs of the contrast; the sample size."),
    _column("estimate", _F, "Geometric mean of the ratio.", "", True),
    *_JUDGED,
    _column("identity", _S, "As in comparisons, of arm and reference; empty if by design."),
)

FACTORIAL = schema.TableSchema(
    "factorial",
    "One row per arm and effect of a factor of two levels, crossed with the arm.",
    ("benchmark", "metric", "factor", "cases", "arm", "effect"),
    (
        _column("benchmark", _S, "Benchmark that has the factor."),
        _METRIC,
        _column("factor", _S, "The factor."),
        _column("cases", _S, "The cases of its low and high level: `<low> <high>`."),
        _column("low", _S, "Level that is compared with."),
        _column("high", _S, "Level whose cost over that of `low` is the effect of the factor."),
        _ARM,
        _column(
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
        _column("before", _S, "The nearest step before it that has values in common blocks."),
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
        _column("runs", _I, "Number of values."),
        _column("median", _F, "Median, in `unit`."),
        _column("minimum", _F, "Smallest value, in `unit`."),
        _column("maximum", _F, "Largest value, in `unit`."),
        _column("mean", _F, "Arithmetic mean, in `unit`."),
        _column("cv", _F, "Standard deviation over mean.", "1", True),
    ),
)

LEDGER = schema.TableSchema(
    "ledger",
    "One row per case and arm: how many planned runs came how far.",
    ("case", "arm"),
    (
        _CASE,
        _ARM,
        _column("planned", _I, "Runs that the plan holds."),
        _column("ran", _I, "Runs whose last attempt was started and ended."),
        _column(
            "parsed",
            _I,
            "Of these, runs that ended well and passed their gates, "
            "so that their output was parsed.",
        ),
        _column(
            "valid",
            _I,
            "Of these, runs whose output was complete and passed the benchmark's own check.",
        ),
        _column("analysed", _I, "Of these, runs that entered at least one planned comparison."),
        _column("attempts", _I, "Attempts in all, repeated ones included."),
    ),
)

LOSSES = schema.TableSchema(
    "losses",
    "One row per case, arm and reason: why planned runs were not analysed, or not even planned.",
    ("case", "arm", "stage", "reason"),
    (
        _CASE,
        _ARM,
        _column("stage", _S, "How far these runs came: not-planned, planned, ran, parsed, valid."),
        _column("reason", _S, "Reason code, or the reason of an exclusion."),
        _column("runs", _I, "Number of runs; 0 if they were never planned."),
    ),
)

EXCLUSIONS = schema.TableSchema(
    "exclusions",
    "One row per exclusion of this dataset in config/exclusions.yaml.",
    ("block", "run"),
    (
        _BLOCK,
        _column("run", _S, "Run id within the block."),
        _column("reason", _S, "Why the run does not count."),
        _column("who", _S, "Who decided it."),
        _column("date", _S, "When, ISO 8601."),
        _column("applied", _B, "Whether the plan of this dataset holds such a run."),
    ),
)

_ALL = (
    *(VALUES, PAIRS, COMPARISONS, FACTORIAL, STEPS),
    *(DISPERSION, LEDGER, LOSSES, EXCLUSIONS),
)
TABLES = {table.name: table for table in _ALL}


def frame(table: schema.TableSchema, rows: list[dict]) -> pd.DataFrame:
    """Rows as a data frame with the table's columns and types, also when there are none."""
    return schema.to_table(table, rows).to_pandas()


def write(table: schema.TableSchema, data: pd.DataFrame, path: Path) -> None:
    """Write a data frame as Parquet; what is not a number becomes null where that is allowed."""
    plain = data.astype(object).where(data.notna(), None)
    schema.write(table, plain.to_dict("records"), path)
