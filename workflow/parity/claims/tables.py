"""The tables of the verdicts, in the same form as those of the analysis."""

from __future__ import annotations

import pyarrow as pa

from parity.records import schema


def _column(name: str, kind: pa.DataType, doc: str, null: bool = False) -> pa.Field:
    return pa.field(name, kind, nullable=null, metadata={"doc": doc})


_S, _I, _F = pa.string(), pa.int64(), pa.float64()

_CLAIM = _column("claim", _S, "Id of the claim in config/claims.yaml.")
_VERDICT = _column("verdict", _S, "A name from parity.claims.terms.VERDICTS.")
_REASON = _column("reason", _S, "Why this verdict, in words; never empty.")
_ESTIMATE = _column("estimate", _F, "Our number, in `unit`.", True)
_INTERVAL95 = (
    _column("low95", _F, "Lower end of its 95 % interval.", True),
    _column("high95", _F, "Upper end of its 95 % interval.", True),
)
_UNIT = _column(
    "unit", _S, "Unit of the estimate; `ratio` is a cost ratio, above 1 costs more; may be empty."
)
_MARGIN = _column(
    "margin", _F, "Margin, bound or smallest effect: a fraction for ratios, else in `unit`.", True
)
_SMALLEST = _column("smallest_margin", _F, "The margin that would just have passed.", True)
_CONTROL = _column("control", _S, "A/A pair: equivalent, inconclusive, different or none.")
_P = _column("p_value", _F, "p of the rule's test, not adjusted.", True)

VERDICTS = schema.TableSchema(
    "verdicts",
    "One row per claim of the register: what this dataset says of it, and why.",
    ("position",),
    (
        _column("position", _I, "Place of the claim in the register, from 1."),
        _CLAIM,
        _column("study", _S, "Study that claims it, a key of the register's studies."),
        _column("kind", _S, "equivalence, direction, magnitude, dispersion or mechanism."),
        _column("statement", _S, "The claim, in our words."),
        _column("where", _S, "Place in the paper."),
        _column("published", _S, "What the paper gives for it, with units, for people."),
        _column("scale", _S, "Kind of the system that measured, such as vm."),
        _column("capability", _S, "What such a system can test: full, direction, proxy or none."),
        _VERDICT,
        _REASON,
        _ESTIMATE,
        *_INTERVAL95,
        _UNIT,
        _MARGIN,
        _column(
            "smallest_margin", _F, "The margin that would have passed, the A/A pair's included.",
            True,
        ),
        _column("blocks", _I, "Fewest blocks of any of its cells; 0 if there is none."),
        _column("cells", _I, "How many comparisons it rests on."),
        _column("control", _S, "Worst A/A pair: equivalent, inconclusive, different or none."),
        _P,
        _column("p_adjusted", _F, "Holm's p within study and kind, for one-sided claims.", True),
        _column("proxy", _S, "What differs from the published experiment; empty if nothing."),
        _column("registration", _S, "before-data, after-data or amended."),
        _column("fingerprint", _S, "SHA-256 over the claim, the plan and the rules' source."),
        _column("plan_sha256", _S, "SHA-256 of the plan."),
        _column("dataset", _S, "Source and name of the dataset."),
    ),
)  # fmt: skip

EVIDENCE = schema.TableSchema(
    "evidence",
    "One row per claim, test and cell: what each verdict is made of.",
    ("claim", "test", "case", "metric", "arm", "against"),
    (
        _CLAIM,
        _column("test", _I, "Number of the test within the claim, from 1."),
        _column("rule", _S, "Rule that decides it."),
        _column("case", _S, "Case, or several joined by ` + `; empty if there is none."),
        _column("metric", _S, "Name of the number."),
        _column("arm", _S, "Arm."),
        _column("against", _S, "Arm that it is compared with; empty if with none."),
        _VERDICT,
        _REASON,
        _column("blocks", _I, "Blocks that count; the sample size."),
        _ESTIMATE,
        *_INTERVAL95,
        _column("low90", _F, "Lower end of the 90 % interval.", True),
        _column("high90", _F, "Upper end of the 90 % interval.", True),
        _UNIT,
        _MARGIN,
        _SMALLEST,
        _P,
        _CONTROL,
        _column("control_estimate", _F, "The A/A pair's number, in `unit`.", True),
        _column("control_low95", _F, "Lower end of its 95 % interval.", True),
        _column("control_high95", _F, "Upper end of it.", True),
        _column("identity", _S, "same, binary differs, libraries differ or not recorded."),
    ),
)

TABLES = {table.name: table for table in (VERDICTS, EVIDENCE)}
