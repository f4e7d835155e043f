"""The table that `snakemake compare` makes, in the same form as the analysis' own."""

from __future__ import annotations

import pyarrow as pa

from parity.records import schema

_S, _I, _F, _B = pa.string(), pa.int64(), pa.float64(), pa.bool_()


def _column(name: str, kind: pa.DataType, doc: str, null: bool = False) -> pa.Field:
    return pa.field(name, kind, nullable=null, metadata={"doc": doc})


AGREEMENT = schema.TableSchema(
    "agreement",
    "One row per comparison of either dataset: does the fresh one lie where the archive says?",
    ("case", "metric", "arm"),
    (
        _column("case", _S, "Benchmark at one level of each factor."),
        _column("metric", _S, "Name of the number."),
        _column("arm", _S, "Arm: one runtime in one variant."),
        _column("reference", _S, "Arm that it is compared with; empty if it is not the same."),
        _column("control", _B, "Whether this is the A/A pair."),
        _column("margin", _F, "The fresh study's margin of the ratio.", True),
        _column("fresh_blocks", _I, "Blocks in which both runs count, in the fresh dataset."),
        _column("fresh_ratio", _F, "Fresh geometric mean cost ratio.", True),
        _column("fresh_low95", _F, "Lower end of its 95 % interval.", True),
        _column("fresh_high95", _F, "Upper end of its 95 % interval.", True),
        _column("archive_blocks", _I, "The same blocks in the archive."),
        _column("archive_ratio", _F, "Archived geometric mean cost ratio.", True),
        _column("predicted_low95", _F, "Lower end of the archive's prediction interval.", True),
        _column("predicted_high95", _F, "Upper end of it.", True),
        _column("ratio_of_ratios", _F, "Fresh cost ratio over the archived one.", True),
        _column("low95", _F, "Lower end of Welch's 95 % interval of it.", True),
        _column("high95", _F, "Upper end of it.", True),
        _column(
            "spread_ratio", _F, "Standard deviation of the log ratio, fresh over archived.", True
        ),
        _column("outcome", _S, "inside, outside, constant or not-compared."),
        _column("counted", _B, "Whether the row is among those of which 95 % are expected inside."),
        _column("reason", _S, "Why it is not compared or not counted; empty if it is."),
        _column("identity", _S, "The worse of what both datasets say of the binaries."),
    ),
)
