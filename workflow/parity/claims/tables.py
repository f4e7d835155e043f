"""The tables of the verdicts, in the same form as those of the analysis."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa

from parity.analysis import tables
from parity.analysis.dataset import refuse_broken
from parity.records import schema
from parity.records.schema import column

_S, _I, _F = pa.string(), pa.int64(), pa.float64()

_CLAIM = column("claim", _S, "Id of the claim in config/claims.yaml.")
_VERDICT = column("verdict", _S, "A name from parity.claims.terms.VERDICTS.")
_REASON = column("reason", _S, "Why this verdict, in words; never empty.")
_ESTIMATE = column("estimate", _F, "Our number, in `unit`.", null=True)
_INTERVAL95 = (
    column("low95", _F, "Lower end of its 95 % interval.", null=True),
    column("high95", _F, "Upper end of its 95 % interval.", null=True),
)
_UNIT = column(
    "unit", _S, "Unit of the estimate; `ratio` is a cost ratio, above 1 costs more; may be empty."
)
_MARGIN = column(
    "margin",
    _F,
    "Margin, bound or smallest effect: a fraction for ratios, else in `unit`.",
    null=True,
)
_SMALLEST = column("smallest_margin", _F, "The margin that would just have passed.", null=True)
_CONTROL = column("control", _S, "A/A pair: equivalent, inconclusive, different or none.")
_P = column("p_value", _F, "p of the rule's test, not adjusted.", null=True)

VERDICTS = schema.TableSchema(
    "verdicts",
    "One row per claim of the register: what this dataset says of it, and why.",
    ("position",),
    (
        column("position", _I, "Place of the claim in the register, from 1."),
        _CLAIM,
        column("study", _S, "Study that claims it, a key of the register's studies."),
        column("kind", _S, "equivalence, direction, magnitude, dispersion or mechanism."),
        column("statement", _S, "The claim, in our words."),
        column("where", _S, "Place in the paper."),
        column("published", _S, "What the paper gives for it, with units, for people."),
        column("scale", _S, "Kind of the system that measured, such as vm."),
        column("capability", _S, "What such a system can test: full, direction, proxy or none."),
        _VERDICT,
        _REASON,
        _ESTIMATE,
        *_INTERVAL95,
        _UNIT,
        _MARGIN,
        column(
            "smallest_margin", _F, "The margin that would have passed, the A/A pair's included.",
            null=True,
        ),
        column("blocks", _I, "Fewest blocks of any of its cells; 0 if there is none."),
        column("cells", _I, "How many comparisons it rests on."),
        column("control", _S, "Worst A/A pair: equivalent, inconclusive, different or none."),
        _P,
        column(
            "p_adjusted", _F, "Holm's p within study and kind, for one-sided claims.", null=True
        ),
        column("proxy", _S, "What differs from the published experiment; empty if nothing."),
        column("registration", _S, "before-data, after-data or amended."),
        column("fingerprint", _S, "SHA-256 over the claim, the plan and the rules' source."),
        column("plan_sha256", _S, "SHA-256 of the plan."),
        column("dataset", _S, "Source and name of the dataset."),
    ),
)  # fmt: skip

EVIDENCE = schema.TableSchema(
    "evidence",
    "One row per claim, test and cell: what each verdict is made of.",
    ("claim", "test", "case", "metric", "arm", "against"),
    (
        _CLAIM,
        column("test", _I, "Number of the test within the claim, from 1."),
        column("rule", _S, "Rule that decides it."),
        column("case", _S, "Case, or several joined by ` + `; empty if there is none."),
        column("metric", _S, "Name of the number."),
        column("arm", _S, "Arm."),
        column("against", _S, "Arm that it is compared with; empty if with none."),
        _VERDICT,
        _REASON,
        column("blocks", _I, "Blocks that count; the sample size."),
        _ESTIMATE,
        *_INTERVAL95,
        column("low90", _F, "Lower end of the 90 % interval.", null=True),
        column("high90", _F, "Upper end of the 90 % interval.", null=True),
        _UNIT,
        _MARGIN,
        _SMALLEST,
        _P,
        _CONTROL,
        column("control_estimate", _F, "The A/A pair's number, in `unit`.", null=True),
        column("control_low95", _F, "Lower end of its 95 % interval.", null=True),
        column("control_high95", _F, "Upper end of it.", null=True),
        column("identity", _S, "same, binary differs, libraries differ or not recorded."),
    ),
)

TABLES = {table.name: table for table in (VERDICTS, EVIDENCE)}


def write(table: schema.TableSchema, data: pd.DataFrame, dataset: Path) -> None:
    """Write a table of the verdicts into a dataset's folder."""
    tables.write(table, data, _path(table, dataset))


def read(table: schema.TableSchema, dataset: Path) -> pd.DataFrame:
    """A table of the verdicts from a dataset's folder; an archived dataset is checked first.

    Raises:
        UserError: the archive was changed.
    """
    refuse_broken(dataset)
    data: pd.DataFrame = schema.read(table, _path(table, dataset)).to_pandas()
    return data


def _path(table: schema.TableSchema, dataset: Path) -> Path:
    return dataset / "claims" / f"{table.name}.parquet"
