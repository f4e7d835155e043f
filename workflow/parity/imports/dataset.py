"""The plan of what was imported: cases that say how their numbers are read, and the blocks."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from parity.core.documents import as_document, canonical
from parity.core.errors import UserError
from parity.core.files import as_text
from parity.core.package import identity
from parity.core.spack_paths import DISTRIBUTION
from parity.imports.rows import Row, lacking_numbers
from parity.measure.documents import (
    BlockRecord,
    ProgramIdentity,
    RunRecord,
    SessionEnd,
    SessionRecord,
    SessionStart,
)
from parity.plan.plan import (
    PLAN,
    PLAN_VERSION,
    Block,
    Case,
    Plan,
    PlannedComparison,
    Run,
    write_plan,
)
from parity.records import schema
from parity.records.dataset import archive_dataset, parse_dataset
from parity.runtimes import every_arm
from parity.software.images import IMAGES, write_images

# System, scale and kind of what is imported. The names of its cases begin with it, too, so that
# no claim on a benchmark that is measured here takes them for its own.
IMPORTED = "imported"
NOTE = (
    "Imported from {file} (SHA-256 {digest}): that the runs were in random order is not known,"
    " nor which binaries ran, and no gate looked at them."
)
NO_BLOCKS = " Runs without a block are compared with nothing: their values are described."


@dataclass(frozen=True)
class Request:
    """What is imported, and what whoever imports it says of it.

    Attributes:
        files: that the rows are from.
        study: name of the new study.
        reference: the arm that others are compared with.
        double: the reference once more, which is the control; the reference itself for none.
        margin: as a fraction, for all cases; None to report differences only.
    """

    files: tuple[Path, ...]
    study: str
    title: str
    reference: str
    double: str
    margin: float | None = None

    @property
    def named(self) -> str:
        """The file's name, or the first's and how many there are."""
        first, *others = (file.name for file in self.files)
        return f"{first} and {len(others)} more" if others else first


class Together(NamedTuple):
    """What was measured together: the rows of each run, by case and arm, in their order."""

    block: Block
    label: str
    runs: dict[str, list[Row]]


def cases_of(rows: Sequence[Row], asked: Request) -> dict[str, Case]:
    """The cases by their names in the rows; those of the same metrics are one benchmark's."""
    metrics: dict[str, dict[tuple[str, str, str], None]] = {}
    for row in rows:
        metrics.setdefault(row.case, {})[row.metric, row.unit, row.better] = None
    kinds = list(dict.fromkeys(map(tuple, metrics.values())))
    lacking = lacking_numbers(rows)
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in asked.files)).hexdigest()
    note = NOTE.format(file=asked.named, digest=digest[:12])
    note += "" if all(row.block for row in rows) else NO_BLOCKS
    return {
        case: _case(case, tuple(held), kinds, note, asked, lacking)
        for case, held in metrics.items()
    }


def _case(
    case: str,
    metrics: tuple[tuple[str, str, str], ...],
    kinds: Sequence[tuple[tuple[str, str, str], ...]],
    note: str,
    asked: Request,
    lacking: Collection[tuple[str, str]],
) -> Case:
    number = kinds.index(metrics) + 1
    benchmark = IMPORTED if len(kinds) == 1 else f"{IMPORTED}-{number}"
    command = {
        "title": asked.title if len(kinds) == 1 else f"{asked.title} ({number})",
        # Braces would be places to fill in.
        "program": [IMPORTED, asked.named.replace("{", "{{").replace("}", "}}")],
        "binaries": [],
        "metrics": [
            {"name": name, "pattern": rf"^{name} = (\S+)$", "unit": unit, "better": better}
            | ({"may_lack": True} if (case, name) in lacking else {})
            for name, unit, better in metrics
        ],
        "valid": "^valid$",
        "note": note,
    }
    return Case(
        name=f"{benchmark}-{case}",
        benchmark=benchmark,
        parameters={"command": command},
        margin=asked.margin,
        primary=tuple(name for name, _, _ in metrics),
        differences=() if asked.margin is not None else tuple(name for name, _, _ in metrics),
        timeout_seconds=0,
    )


def blocks_of(rows: Sequence[Row], study: str, cases: Mapping[str, str]) -> list[Together]:
    """The blocks in the order of the rows; a run whose rows have none is one of its own."""
    held: dict[tuple[Any, ...], dict[str, list[Row]]] = {}
    seen: dict[tuple[str, ...], int] = {}
    for row in rows:
        seen[row[:4]] = seen.get(row[:4], 0) + 1
        key = (row.block,) if row.block else ("", *row.run, seen[row[:4]])
        run = f"{cases[row.case]}.{row.arm}"
        held.setdefault(key, {}).setdefault(run, []).append(row)
    width = max(4, len(str(len(held))))
    made = []
    for number, (key, runs) in enumerate(held.items(), start=1):
        digest = hashlib.sha256(repr([study, key, *runs.items()]).encode()).hexdigest()[:8]
        planned = tuple(Run(name, cases[of[0].case], of[0].arm) for name, of in runs.items())
        name = f"{study}-{IMPORTED}-b{number:0{width}d}-{digest}"
        made.append(Together(Block(name, number, 1, planned), key[0], runs))
    return made


def plan_of(
    rows: Sequence[Row], asked: Request, cases: tuple[Case, ...], together: Sequence[Together]
) -> Plan:
    """The plan that would have measured this, in the order of the rows."""
    known = every_arm()
    first = dict.fromkeys((asked.reference, asked.double))
    arms = tuple(first | dict.fromkeys(row.arm for row in rows))
    held = {(run.case, run.arm) for each in together for run in each.block.runs}
    runtimes = {arm: known[arm].runtime if arm in known else arm for arm in arms}
    return Plan(
        version=PLAN_VERSION,
        study=asked.study,
        scale=IMPORTED,
        campaign=f"{asked.study}-{IMPORTED}",
        title=asked.title,
        reproduces="none",
        seed=0,
        reference=asked.reference,
        aa_pair=(asked.reference, asked.double),
        arms=arms,
        cases=cases,
        attempts=1,
        not_tested=(),
        provider=DISTRIBUTION,
        positive_control=None,
        looks=(),
        minutes=None,
        blocks_per_job=1,
        arm_titles={arm: known[arm].title if arm in known else arm for arm in arms},
        # Both are one thing, whatever it is called.
        arm_runtimes=runtimes | {asked.double: runtimes[asked.reference]},
        benchmark_titles={each.benchmark: each.parameters["command"]["title"] for each in cases},
        benchmark_notes={each.benchmark: each.parameters["command"]["note"] for each in cases},
        blocks=tuple(each.block for each in together),
        comparisons=tuple(
            PlannedComparison(case.name, metric, arm, asked.reference, case.margin)
            for case in cases
            for metric in case.primary
            for arm in arms
            if arm != asked.reference and (case.name, arm) in held
        ),
    )


def import_rows(rows: Sequence[Row], asked: Request, root: Path, now: datetime) -> Path:
    """Archive rows that are checked (`rows.checked`).

    Args:
        root: the folder of all archives.
        now: the moment that stands for all of theirs.

    Returns:
        The folder of the new archive.

    Raises:
        UserError: no row is of the reference, or there is an archive of this study and day.
    """
    for arm in (asked.reference, asked.double):
        if arm not in {row.arm for row in rows}:
            raise UserError(
                f"no row is of the arm {arm or 'that others are compared with'}",
                where=asked.named,
                allowed=", ".join(dict.fromkeys(row.arm for row in rows)),
                action="name the reference by --reference, and its double by --double",
            )
    cases = cases_of(rows, asked)
    together = blocks_of(rows, asked.study, {row: case.name for row, case in cases.items()})
    plan = plan_of(rows, asked, tuple(cases.values()), together)
    moment = now.astimezone(UTC).isoformat(timespec="milliseconds")
    with tempfile.TemporaryDirectory() as folder:
        live = Path(folder)
        (live / "records").mkdir()
        write_plan(live / PLAN, plan)
        write_images(live / IMAGES, {})
        blocks, raw = _block_rows(plan, moment), _raw_rows(plan, together, moment)
        schema.write_rows(schema.BLOCKS, blocks, live / "records/blocks.parquet")
        schema.write_rows(schema.RAW, raw, live / "records/raw.parquet")
        parse_dataset(live, live / "records")
        root.mkdir(parents=True, exist_ok=True)
        return archive_dataset(live, root, IMPORTED)


def _block_rows(plan: Plan, moment: str) -> Iterator[dict[str, Any]]:
    """Rows of the BLOCKS table, in its order: a session of which nothing else is known."""
    session = SessionRecord(
        number=1,
        start=SessionStart(
            node_name=IMPORTED,
            facts={},
            busy_fraction=0.0,
            arms={},
            binaries=(),
            started=moment,
            program=as_document(identity(), ProgramIdentity, "this program"),
            system=IMPORTED,
            scale_label=IMPORTED,
            allocation={},
            other_nodes=(),
        ),
        end=SessionEnd(ended=moment, busy_fraction=None, facts={}),
    )
    for block in plan.blocks:
        record = BlockRecord(
            campaign=plan.campaign,
            name=block.name,
            number=block.number,
            runs=block.runs,
            sessions=(session,),
            not_started={},
        )
        yield _key(plan, block) | {"record": canonical(record)}


def _raw_rows(plan: Plan, together: Sequence[Together], moment: str) -> Iterator[dict[str, Any]]:
    """Rows of the RAW table, in its order: one attempt of each run."""
    for block, label, runs in together:
        for run in sorted(block.runs, key=lambda run: run.name):
            record = _record(run, moment)
            rows = runs[run.name]
            raw = {
                Path(row.raw).name: as_text(Path(row.raw).read_bytes()) for row in rows if row.raw
            }
            yield _key(plan, block) | {
                "run": run.name,
                "attempt": 1,
                "record": canonical(record),
                "stdout": _said(label, rows).encode(),
                "stderr": b"",
                "files": json.dumps(raw, sort_keys=True),
                "samples": "",
            }


def _record(run: Run, moment: str) -> RunRecord:
    """An attempt of which nothing but its output is known; what must be a number is 0."""
    return RunRecord(
        session=1,
        run=run.name,
        case=run.case,
        arm=run.arm,
        parameters={},
        reason="",
        detail="",
        exit_code=None,
        started=moment,
        starts_wall_seconds=(),
        wall_seconds=None,
        user_seconds=None,
        system_seconds=None,
        steal_fraction=0.0,
        load_before=0.0,
        commands=(),
        environment={},
        environment_sha256="",
        evidence={},
        ranks=(),
        image_digest="",
        gates=(),
    )


def _key(plan: Plan, block: Block) -> dict[str, Any]:
    return {"campaign": plan.campaign, "block": block.name, "block_number": block.number}


def _said(label: str, rows: Sequence[Row]) -> str:
    """The rows of a run as text, in the lines that its case's patterns read."""
    lines = [f"block: {label}"] if label else []
    lines += ["valid" if all(row.valid for row in rows) else "not valid"]
    for row in rows:
        lines += [f"{row.metric} = {row.value!r}"] if row.value is not None else []
        lines += [f"source: {row.source}"] if row.source else []
    return "".join(f"{line}\n" for line in lines)
