"""The plan of what was imported: cases that say how their numbers are read, and the blocks."""

import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from parity.core.documents import as_document, canonical, write_document
from parity.core.errors import UserError
from parity.core.files import as_text
from parity.core.package import identity
from parity.core.spack_paths import DISTRIBUTION
from parity.imports.rows import Row
from parity.measure import documents
from parity.plan.plan import IN_TURN, PLAN, PLAN_VERSION, Block, Case, Plan, PlannedComparison, Run
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
# What is not known of a run: all but its output. What must be a number is 0.
_UNKNOWN: dict[str, Any] = {
    **dict.fromkeys(("reason", "detail", "environment_sha256", "image_digest"), ""),
    **dict.fromkeys(("exit_code", "wall_seconds", "user_seconds", "system_seconds"), None),
    **dict.fromkeys(("steal_fraction", "load_before"), 0.0),
    **dict.fromkeys(("starts_wall_seconds", "commands", "ranks", "gates"), ()),
    **{key: {} for key in ("parameters", "environment", "evidence")},
}


def import_rows(
    rows: Sequence[Row], files: Sequence[Path], study: str, title: str, pair: tuple[str, str],
    margin: float | None, root: Path, now: datetime,
) -> Path:  # fmt: skip
    """Archive rows that are checked (`rows.checked`); the folder of the new archive.

    `pair`: the arm that others are compared with, and it once more, which is the control; twice the
    same for none. `margin`: as a fraction, for all cases; None to report differences only. `root`:
    the folder of all archives. `now`: the moment that stands for all of theirs. `files`: that the
    rows are from. `study`: the name of the new one.
    Raises UserError: no row is of the reference, or there is an archive of this study and day.
    """
    arms, (first, *others) = dict.fromkeys(row.arm for row in rows), (file.name for file in files)
    named = f"{first} and {len(others)} more" if others else first
    for arm in pair:
        if arm not in arms:
            problem = f"no row is of the arm {arm or 'that others are compared with'}"
            action = "name the reference by --reference, and its double by --double"
            raise UserError(problem, where=named, allowed=", ".join(arms), action=action)
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    no_blocks = "" if all(row.block for row in rows) else NO_BLOCKS
    note = NOTE.format(file=named, digest=digest[:12]) + no_blocks
    cases = _cases(rows, title, named, note, margin)
    blocks = _blocks(rows, study, {row: case.name for row, case in cases.items()})
    arms = dict.fromkeys(pair) | arms
    plan = _plan(study, title, pair, tuple(arms), tuple(cases.values()), tuple(blocks))
    moment = now.astimezone(UTC).isoformat(timespec="milliseconds")
    with tempfile.TemporaryDirectory() as folder:
        live = Path(folder)
        (live / "records").mkdir()
        write_document(live / PLAN, plan)
        write_images(live / IMAGES, {})
        planned, raw = _block_rows(plan, moment), _raw_rows(plan, blocks, moment)
        schema.write_rows(schema.BLOCKS, planned, live / "records/blocks.parquet")
        schema.write_rows(schema.RAW, raw, live / "records/raw.parquet")
        parse_dataset(live, live / "records")
        root.mkdir(parents=True, exist_ok=True)
        return archive_dataset(live, root, IMPORTED)


def _cases(
    rows: Sequence[Row], title: str, named: str, note: str, margin: float | None
) -> dict[str, Case]:
    """The cases by their names in the rows; those of the same metrics are one benchmark's."""
    metrics: dict[str, dict[tuple[str, str, str], None]] = {}
    for row in rows:
        metrics.setdefault(row.case, {})[row.metric, row.unit, row.better] = None
    kinds = list(dict.fromkeys(map(tuple, metrics.values())))
    lacking = {(row.case, row.metric) for row in rows if row.value is None and row.valid}
    cases = {}
    for case, of_case in metrics.items():
        number = kinds.index(tuple(of_case)) + 1
        benchmark = IMPORTED if len(kinds) == 1 else f"{IMPORTED}-{number}"
        primary = tuple(name for name, _, _ in of_case)
        described = [
            {"name": name, "pattern": rf"^{name} = (\S+)$", "unit": unit, "better": better}
            | ({"may_lack": True} if (case, name) in lacking else {})
            for name, unit, better in of_case
        ]
        command = {
            "title": title if len(kinds) == 1 else f"{title} ({number})",
            # Braces would be places to fill in.
            "program": [IMPORTED, named.replace("{", "{{").replace("}", "}}")],
            "binaries": [], "metrics": described, "valid": "^valid$", "note": note,
        }  # fmt: skip
        cases[case] = Case(
            name=f"{benchmark}-{case}", benchmark=benchmark, parameters={"command": command},
            margin=margin, primary=primary, differences=() if margin is not None else primary,
            timeout_seconds=0,
        )  # fmt: skip
    return cases


def _blocks(
    rows: Sequence[Row], study: str, cases: Mapping[str, str]
) -> dict[Block, dict[str, list[Row]]]:
    """The rows of each run of each block, in order; a run without a block is one of its own."""
    together: dict[tuple[Any, ...], dict[str, list[Row]]] = {}
    for row in rows:
        runs = together.setdefault((row.block,) if row.block else row.run, {})
        runs.setdefault(f"{cases[row.case]}.{row.arm}", []).append(row)
    width = max(4, len(str(len(together))))
    blocks = {}
    for number, (key, runs) in enumerate(together.items(), start=1):
        digest = hashlib.sha256(repr([study, key, *runs.items()]).encode()).hexdigest()[:8]
        name = f"{study}-{IMPORTED}-b{number:0{width}d}-{digest}"
        planned = tuple(Run(run, cases[of[0].case], of[0].arm) for run, of in runs.items())
        blocks[Block(name, number, 1, planned)] = runs
    return blocks


def _plan(
    study: str, title: str, pair: tuple[str, str], arms: tuple[str, ...], cases: tuple[Case, ...],
    blocks: tuple[Block, ...],
) -> Plan:  # fmt: skip
    known, (reference, double) = every_arm(), pair
    measured = {(run.case, run.arm) for block in blocks for run in block.runs}
    runtimes = {arm: known[arm].runtime if arm in known else arm for arm in arms}
    commands = {case.benchmark: case.parameters["command"] for case in cases}
    comparisons = tuple(
        PlannedComparison(case.name, metric, arm, reference, case.margin)
        for case in cases
        for metric in case.primary
        for arm in arms
        if arm != reference and (case.name, arm) in measured
    )
    return Plan(
        version=PLAN_VERSION, study=study, scale=IMPORTED, campaign=f"{study}-{IMPORTED}",
        title=title, reproduces="none", seed=0, reference=reference, aa_pair=pair, arms=arms,
        cases=cases, attempts=1, not_tested=(), shorter=(), provider=DISTRIBUTION,
        positive_control=None, design=IN_TURN, pairs=(), looks=(), minutes=None, blocks_per_job=1,
        arm_titles={arm: known[arm].title if arm in known else arm for arm in arms},
        # Both are one thing, whatever it is called.
        arm_runtimes=runtimes | {double: runtimes[reference]},
        benchmark_titles={name: command["title"] for name, command in commands.items()},
        benchmark_notes={name: command["note"] for name, command in commands.items()},
        blocks=blocks, comparisons=comparisons,
    )  # fmt: skip


def _block_rows(plan: Plan, moment: str) -> Iterator[dict[str, Any]]:
    """Rows of the BLOCKS table, in its order: a session of which nothing else is known."""
    start = documents.SessionStart(
        node_name=IMPORTED, facts={}, busy_fraction=0.0, arms={}, binaries=(), started=moment,
        program=as_document(identity(), documents.ProgramIdentity, "this program"), system=IMPORTED,
        scale_label=IMPORTED, allocation={}, other_nodes=(),
    )  # fmt: skip
    end = documents.SessionEnd(ended=moment, busy_fraction=None, facts={})
    session = documents.SessionRecord(number=1, start=start, end=end)
    for block in plan.blocks:
        record = documents.BlockRecord(
            campaign=plan.campaign, name=block.name, number=block.number, runs=block.runs,
            sessions=(session,), not_started={},
        )  # fmt: skip
        yield _key(plan, block) | {"record": canonical(record)}


def _raw_rows(
    plan: Plan, blocks: Mapping[Block, Mapping[str, Sequence[Row]]], moment: str
) -> Iterator[dict[str, Any]]:
    """Rows of the RAW table, in its order: one attempt of each run, as its case's patterns read."""
    for block, rows_of_run in blocks.items():
        for run in sorted(block.runs, key=lambda run: run.name):
            rows = rows_of_run[run.name]
            lines = [f"block: {rows[0].block}"] if rows[0].block else []
            lines += ["valid" if all(row.valid for row in rows) else "not valid"]
            for row in rows:
                lines += [f"{row.metric} = {row.value!r}"] if row.value is not None else []
                lines += [f"source: {row.source}"] if row.source else []
            raw = {Path(row.raw) for row in rows if row.raw}
            texts = {file.name: as_text(file.read_bytes()) for file in raw}
            told = _UNKNOWN | {"run": run.name, "case": run.case, "arm": run.arm}
            record = documents.RunRecord(session=1, started=moment, **told)
            yield _key(plan, block) | {
                "run": run.name, "attempt": 1, "record": canonical(record),
                "stdout": "".join(f"{line}\n" for line in lines).encode(), "stderr": b"",
                "files": json.dumps(texts, sort_keys=True), "samples": "",
            }  # fmt: skip


def _key(plan: Plan, block: Block) -> dict[str, Any]:
    return {"campaign": plan.campaign, "block": block.name, "block_number": block.number}
