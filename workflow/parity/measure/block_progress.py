"""How far a block is: one small file, renewed between two runs, for people who wait."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from parity.core.files import read_json, write_json
from parity.measure import history

TALLY = "progress.json"
TALLY_VERSION = 1
_STATES = ("runs_ended", "runs_not_started")


def begin(block: Mapping[str, Any], folder: Path) -> None:
    """Start a session's tally, with nothing counted yet.

    A session that resumes a block walks past what is settled within a moment and counts it
    again, each run under its name, so no run is ever counted twice. Only the time that
    earlier sessions took is carried over.
    """
    now = datetime.now(UTC)
    before = read_json(folder / TALLY) if (folder / TALLY).exists() else {}
    begun = {
        "version": TALLY_VERSION,
        "block": block["block"],
        "runs": len(block["runs"]),
        "started": before.get("started", _text(now)),
        "session_started": _text(now),
        "seconds_before": before.get("seconds", 0.0),
    }
    _write(begun, {}, {}, folder, now)


def count(run: str, reason: str, was_started: bool, folder: Path) -> None:
    """Add one run of the plan to the tally; `reason` is empty if it ended well."""
    now = datetime.now(UTC)
    tally = read_json(folder / TALLY)
    states = {key: {n: r for n, r in tally[key].items() if n != run} for key in _STATES}
    states[_STATES[0] if was_started else _STATES[1]][run] = reason
    _write(tally, *states.values(), folder, now)


def read(block: Mapping[str, Any], folder: Path) -> dict[str, Any] | None:
    """The tally of a block, None if it was never begun.

    A block that was finished without one (by an earlier version) is counted from its
    records.
    """
    if (folder / TALLY).exists():
        return read_json(folder / TALLY)
    if not (folder / "block.json").exists():
        return None
    finished = read_json(folder / "block.json")
    cannot = {run: why["reason"] for run, why in finished["not_started"].items()}
    made = {
        entry["run"]: history.records(folder / "runs" / entry["run"]) for entry in block["runs"]
    }
    ended = {run: found[-1]["reason"] for run, found in made.items() if found and run not in cannot}
    times = [
        (datetime.fromisoformat(s["start"]["started"]), datetime.fromisoformat(s["end"]["ended"]))
        for s in finished["sessions"]
        if s["end"]
    ]
    seconds = sum((end - start).total_seconds() for start, end in times)
    return {
        "started": _text(min(start for start, _ in times)),
        "updated": _text(max(end for _, end in times)),
        "seconds": seconds,
        **_counts(ended, cannot, len(block["runs"])),
    }


def _write(
    begun: Mapping[str, Any],
    ended: Mapping[str, str],
    not_started: Mapping[str, str],
    folder: Path,
    now: datetime,
) -> None:
    session = (now - datetime.fromisoformat(begun["session_started"])).total_seconds()
    tally = {
        **begun,
        **_counts(ended, not_started, begun["runs"]),
        "updated": _text(now),
        "seconds": round(begun["seconds_before"] + session, 3),
        **dict(zip(_STATES, (ended, not_started), strict=True)),
    }
    write_json(folder / TALLY, tally)


def _counts(ended: Mapping[str, str], not_started: Mapping[str, str], runs: int) -> dict[str, Any]:
    """Runs by what became of them, and why some ended badly or were not started."""
    failed = Counter(reason for reason in ended.values() if reason)
    return {
        "runs": runs,
        "done": len(ended) + len(not_started),
        "ok": len(ended) - failed.total(),
        "failed": failed.total(),
        "not_started": len(not_started),
        "reasons": dict(failed),
        "not_started_reasons": dict(Counter(not_started.values())),
    }


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")
