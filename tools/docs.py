"""Writes the generated documentation (`make docs`); `--check` says what is out of date.

A generated part stands between `<!-- begin NAME -->` and `<!-- end NAME -->`. What takes long to
find out is committed, and made anew by a word: `faults` takes over what the tests on the virtual
cluster saw; `found` analyses every archive; `effort` runs a reviewer's commands in a new clone of
HEAD, with nothing else running, for a quarter of an hour.
"""

import argparse
import hashlib
import os
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import validate
import yaml
from bench_slurm import ROOT, new_clone
from msgspec import to_builtins

from parity.analysis import analysis, dataset
from parity.analysis import tables as analysed
from parity.benchmarks import benchmarks
from parity.claims import verdicts as claims
from parity.core import wording
from parity.core.errors import shown_to_the_user
from parity.core.files import read_json, write_json
from parity.core.settings import schema
from parity.extensions.networks.benchmarks import network
from parity.measure import node
from parity.records import schema as records
from parity.records.dataset import CHECKSUMS, archived
from parity.report import answer
from parity.report.paper import Effort, Step
from parity.runtimes import arms

ARCHIVE = ROOT / "results/archive"
FOUND, EFFORT, FAULTS = (ROOT / f"docs/{name}.json" for name in ("found", "effort", "faults"))
# What the last tests on the virtual cluster left.
FAULTS_SEEN = ROOT / "results/faults"
FAULTS_MD, DICTIONARY = (ROOT / "tools" / name for name in ("faults.md", "dictionary.md.jinja"))
_SHOWN = Path(__file__).with_suffix(".yaml").read_bytes()
COMMANDS, FAULT_COLUMNS, FOUND_HEAD = yaml.safe_load(_SHOWN).values()
UNBOUNDED = 1e9
# Tables of extensions: what their figures show, and what claims compare.
ADDED = sorted((ROOT / "workflow/parity/extensions").glob("*/*/tables.yaml"))


def _table(head: Iterable[str], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [tuple(head), tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _allowed(rule: Mapping[str, Any]) -> str:
    if "enum" in rule:
        return ", ".join(f"`{value}`" for value in rule["enum"])
    kinds = rule.get("type", "")
    kinds = kinds if isinstance(kinds, str) else " or ".join(kinds)
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤"}
    bounds = [f"{sign} {rule[key]}" for key, sign in signs.items() if key in rule]
    return " ".join([kinds, ", ".join(bounds)]).strip()


def _keys(rules: Mapping[str, Any], root: Mapping[str, Any], path: str = "") -> Iterator[tuple]:
    """Each key of a schema with its path; `<name>` stands for names that the user chooses."""
    for key, rule in rules.get("properties", {}).items():
        reference = rule.get("$ref", "").rpartition("/")[2]
        rule = {**root.get("$defs", {}).get(reference, {}), **rule}
        here = f"{path}{key}"
        needed = "yes" if key in rules.get("required", ()) else ""
        yield f"`{here}`", _allowed(rule), needed, rule["description"]
        yield from _keys(rule, root, f"{here}.")
        for inside, below in (("additionalProperties", ".<name>."), ("items", "[].")):
            if isinstance(rule.get(inside), dict):
                yield from _keys(rule[inside], root, f"{here}{below}")


def _arm_table() -> str:
    rows = [
        (f"`{name}`", arm.title, arm.image_format or "none", ", ".join(arm.isolates) or "none",
         " ".join(arm.packages) or "none")
        for name, arm in arms().items()
    ]  # fmt: skip
    return _table(("arm", "runtime", "image format", "own namespaces", "Debian packages"), rows)


def _benchmark_table() -> str:
    rows = []
    for name, benchmark in benchmarks().items():
        for factor, levels in benchmark.factors.items():
            text = ", ".join(f"`{level}`" for level in levels)
            rows.append((f"`{name}`", f"factor `{factor}`", text, "", "Levels are crossed."))
        for key, rule in benchmark.parameters.items():
            row = (f"`{key}`", _allowed(rule), f"`{rule['default']}`", rule["description"])
            rows.append((f"`{name}`", *row))
    usual = asdict(network.Knobs())
    for key, rule in network.PARAMETERS.items():
        row = (f"`{key}`", _allowed(rule), f"`{usual[key]}`", rule["description"])
        rows.append(("all with allocations", *row))
    return _table(("benchmark", "parameter", "allowed", "default", "meaning"), iter(rows))


def documents() -> dict[Path, str]:
    """The text that every generated document should have, by file."""
    reference = {"arms": _arm_table(), "benchmarks": _benchmark_table()}
    for name in ("config", "study", "system", "exclusions"):
        rules = schema(name)
        reference[name] = _table(("key", "allowed", "needed", "meaning"), _keys(rules, rules))
    tables = [*records.TABLES.values(), records.EVENTS, *analysed.TABLES.values()]
    tables += [*claims.TABLES.values(), analysed.AGREEMENT]
    tables += [table for file in ADDED for table in records.tables_beside(str(file)).values()]
    dictionary = {"tables": tables, "told": _told, "version": records.SCHEMA_VERSION}
    rows = [tuple(str(row[key]) for key in FAULT_COLUMNS.values())
            for row in read_json(FAULTS).values()]  # fmt: skip
    known = read_json(FOUND)
    bounds = {kind: [answer.Bound(**told) for told in of] for kind, of in known["bounds"].items()}
    found = _table(FOUND_HEAD, found_rows(known["systems"]))
    digests = ((f"`{name}`", f"`{digest(name)}`") for name in sorted(archived(ARCHIVE)))
    whole, of_some = (bound_tables(each, known["starts"]) for each in (bounds, bounded(bounds)))
    parts = {
        "README.md": {"bounds": of_some},
        "docs/archives.md": {"digests": _table(("archive", "SHA-256"), digests)},
        "docs/answers.md": {"bounds": whole, "found": found},
        "config/README.md": reference,
    }
    return {
        **{ROOT / name: with_parts((ROOT / name).read_text(encoding="utf-8"), named)
           for name, named in parts.items()},
        ROOT / "docs/data-dictionary.md": validate.filled_in(DICTIONARY, **dictionary),
        ROOT / "docs/faults.md": f"{FAULTS_MD.read_text('utf-8')}\n{_table(FAULT_COLUMNS, rows)}\n",
        **validate.documents(),
    }  # fmt: skip


def _told(column: Any, key: str) -> str:
    return (column.metadata or {}).get(key.encode(), b"").decode()


def with_parts(text: str, named: Mapping[str, str]) -> str:
    """The text with its generated parts replaced; ValueError: it has no place for one."""
    for name, content in named.items():
        before, begin, rest = text.partition(f"<!-- begin {name} -->")
        _, end, after = rest.partition(f"<!-- end {name} -->")
        if not end:
            raise ValueError(f"no place for the part {name!r}")
        text = f"{before}{begin}\n{content}\n{end}{after}"
    return text


def digest(name: str) -> str:
    """SHA-256 of the checksums of an archived dataset."""
    return hashlib.sha256((ARCHIVE / name / CHECKSUMS).read_bytes()).hexdigest()


def found() -> dict[str, Any]:
    """What the archives answer together of costs: by system, and by kind of machine."""
    systems: dict[str, list[str]] = {}
    by_kind: dict[str, list[answer.Compared]] = {}
    for name, (system, _) in archived(ARCHIVE).items():
        systems.setdefault(system, []).append(name)
    made = []
    for system, names in sorted(systems.items()):
        loaded = [dataset.load(ARCHIVE / name) for name in names]
        compared = [(data.plan, analysis.analyse(data).comparisons) for data in loaded]
        rows, kind = [ratio.row for ratio in answer.counted(*compared)], loaded[0].kind.label
        by_kind.setdefault(kind, []).extend(compared)
        made.append({
            "system": system, "kind": kind,
            "datasets": {name: digest(name) for name in names},
            "ratios": len(rows), "counts": answer.tallied(rows),
            "below": {f"{bound:g}": count for bound, count in answer.below(rows).items()},
        })  # fmt: skip
    # None is infinite in a file: what is open lies above all that are told, or is no cost.
    bounds = {
        kind: [dict(zip(answer.Bound._fields, each[:3], strict=False))
               | {"bound": min(each.bound, UNBOUNDED), "low": max(0.0, each.low)}
               for each in answer.at_most(*compared)]
        for kind, compared in by_kind.items()
    }  # fmt: skip
    starts = {kind: answer.to_start(*compared) for kind, compared in by_kind.items()}
    return {"systems": made, "bounds": bounds, "starts": starts}


def found_rows(systems: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:
    """The rows of the README's table, in the columns of `FOUND_HEAD`."""
    for each in systems:
        counts, below = each["counts"], each["below"].values()
        ended = [counts[name] for name in (*answer.ANSWERS[1:], answer.SAME)]
        numbers = [len(each["datasets"]), each["ratios"], *below, *ended]
        yield (each["system"], each["kind"], *map(str, numbers))


def bounded(bounds: Mapping[str, list[answer.Bound]]) -> dict[str, list[answer.Bound]]:
    """Those of programs that a runtime bounds, of the kind of machine with most such programs."""
    held = {kind: {one.program for one in of if one.bound <= answer.BOUNDS[-1]}
            for kind, of in bounds.items()}  # fmt: skip
    most = max(held, key=lambda kind: len(held[kind]))
    return {most: [one for one in bounds[most] if one.program in held[most]]}


def bound_tables(
    bounds: Mapping[str, Iterable[answer.Bound]], starts: Mapping[str, Mapping[str, float]]
) -> str:
    """What each runtime costs each program at most, by kind of machine.

    `starts`: by kind, what each runtime adds to a start, in s. A cell is `–` where nothing was
    measured, as `Bound.told` says it else; a kind without any is left out.
    """
    tables = []
    for kind, told in bounds.items():
        if all(each.bound > answer.BOUNDS[-1] for each in told):
            continue
        cells = {(each.runtime, each.program): each.told for each in told}
        runtimes, programs = (
            sorted(dict.fromkeys(names), key=str.lower) for names in zip(*cells, strict=True)
        )
        rows = []
        for runtime in runtimes:
            costs = [cells.get((runtime, program), "–") for program in programs]
            rows.append((runtime, answer.told_start(starts[kind].get(runtime)), *costs))
        tables.append(_table((kind, "to start", *programs), rows))
    return "\n\n".join(tables)


def effort() -> dict[str, Any]:
    """What a reviewer's commands take in a new clone: seconds, and bytes on disk after each."""
    steps = []
    with new_clone() as clone:
        path = {"PATH": f"{clone}/.venv/bin:{os.environ['PATH']}"}
        for command, does in COMMANDS.items():
            began = time.monotonic()
            subprocess.run(command.split(), cwd=clone, check=True, env=os.environ | path)
            seconds = round(time.monotonic() - began, 1)
            inside = (Path(at) / name for at, _, names in os.walk(clone) for name in names)
            held = sum(file.lstat().st_blocks * 512 for file in inside)
            steps.append(Step(command=command, does=does, seconds=seconds, bytes=held))
    model = node.facts()["cpu_model"] or "a processor that tells no model"
    cpus, memory = psutil.cpu_count() or 0, wording.size(psutil.virtual_memory().total)
    machine, day = f"{model}, {wording.counted(cpus, 'CPU')}, {memory}", datetime.now(UTC).date()
    return to_builtins(Effort(machine=machine, day=day.isoformat(), steps=tuple(steps)))


def faults() -> dict[str, Any]:
    """The rows of the committed table, with those of the last tests."""
    seen = {path.stem: read_json(path) for path in sorted(FAULTS_SEEN.glob("*.json"))}
    return (read_json(FAULTS) if FAULTS.exists() else {}) | seen


MAKERS: dict[str, tuple[Path, Callable[[], Any]]] = {
    "faults": (FAULTS, faults), "found": (FOUND, found), "effort": (EFFORT, effort),
}  # fmt: skip


def main() -> None:
    """Make anew what is named, then write or check every document."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("anew", nargs="*", choices=[[], *MAKERS], help="what to find out anew")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    for name in given.anew:
        path, make = MAKERS[name]
        write_json(path, make())
    stale = {path: text for path, text in documents().items() if path.read_text("utf-8") != text}
    names = ", ".join(str(path.relative_to(ROOT)) for path in stale)
    if stale and given.check:
        raise SystemExit(f"out of date: {names}; run: make docs")
    for path, text in stale.items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    with shown_to_the_user():
        main()
