"""Writes the generated documentation; `--check` says what is out of date.

The data dictionary, the fault table and the validation are generated whole. In README.md and
config/README.md a generated part stands between `<!-- begin NAME -->` and `<!-- end NAME -->`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from parity.analysis import tables as analysis
from parity.analysis.tables import AGREEMENT, EVENT_VALUES, NOISE
from parity.benchmarks import benchmarks
from parity.claims import tables as claims
from parity.core.errors import shown_to_the_user
from parity.core.files import read_json
from parity.core.settings import schema
from parity.extensions.networks.benchmarks import network
from parity.records import schema as records
from parity.runtimes import arms

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tools"))

import faults  # noqa: E402
import found  # noqa: E402
import validate  # noqa: E402

DICTIONARY_HEAD = """# Data dictionary

Generated from the schemas in `workflow/parity/records` and `workflow/parity/analysis`, version
{version}; do not edit. The tables up to `images` are in a dataset's `records/`, the others in
its `analysis/`. The same sentences are in the metadata of every Parquet file. A column that
is not marked as nullable always holds a value.
"""


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _allowed(rule: Mapping[str, Any]) -> str:
    if "enum" in rule:
        return ", ".join(f"`{value}`" for value in rule["enum"])
    kinds = rule.get("type", "")
    kinds = kinds if isinstance(kinds, str) else " or ".join(kinds)
    bounds = [
        f"{sign} {rule[key]}"
        for key, sign in (
            ("minimum", "≥"),
            ("exclusiveMinimum", ">"),
            ("maximum", "≤"),
        )
        if key in rule
    ]
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
        inner = rule.get("additionalProperties")
        if isinstance(inner, dict):
            yield from _keys(inner, root, f"{here}.<name>.")
        if isinstance(rule.get("items"), dict):
            yield from _keys(rule["items"], root, f"{here}[].")


def _schema_table(name: str) -> str:
    rules = schema(name)
    return _table(("key", "allowed", "needed", "meaning"), _keys(rules, rules))


def _arm_table() -> str:
    return _table(
        ("arm", "runtime", "image format", "own namespaces", "Debian packages"),
        (
            (
                f"`{name}`",
                arm.title,
                arm.image_format or "none",
                ", ".join(arm.isolates) or "none",
                " ".join(arm.packages) or "none",
            )
            for name, arm in arms().items()
        ),
    )


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
    reference = ROOT / "config/README.md"
    parts = {
        "config": _schema_table("config"),
        "study": _schema_table("study"),
        "system": _schema_table("system"),
        "exclusions": _schema_table("exclusions"),
        "arms": _arm_table(),
        "benchmarks": _benchmark_table(),
    }
    tables = [
        *records.TABLES.values(),
        records.EVENTS,
        *analysis.TABLES.values(),
        *claims.TABLES.values(),
        *NOISE.values(),
        EVENT_VALUES,
        AGREEMENT,
    ]
    readme = ROOT / "README.md"
    answers = _table(found.HEAD, found.table(read_json(found.COMMITTED)))
    return {
        readme: with_parts(readme.read_text(encoding="utf-8"), {"found": answers}),
        reference: with_parts(reference.read_text(encoding="utf-8"), parts),
        ROOT / "docs/data-dictionary.md": _dictionary(tables),
        ROOT / "docs/faults.md": faults.render(read_json(faults.COMMITTED).values()),
        validate.DOCUMENT: validate.validation_text(),
    }


def _dictionary(tables: Iterable[records.TableSchema]) -> str:
    """The dictionary of these tables as Markdown."""
    return "\n".join(
        [DICTIONARY_HEAD.format(version=records.SCHEMA_VERSION), *map(_dictionary_part, tables)]
    )


def _dictionary_part(table: records.TableSchema) -> str:
    lines = [f"## {table.name}", "", table.doc, "", f"Sorted by: {', '.join(table.order)}.", ""]
    lines += ["| column | type | unit | meaning |", "|---|---|---|---|"]
    return "\n".join([*lines, *map(_dictionary_row, table.columns), ""])


def _dictionary_row(column: pa.Field) -> str:
    metadata = {key.decode(): value.decode() for key, value in (column.metadata or {}).items()}
    kind = f"{column.type}, nullable" if column.nullable else str(column.type)
    return f"| {column.name} | {kind} | {metadata.get('unit', '')} | {metadata['doc']} |"


def with_parts(text: str, named: Mapping[str, str]) -> str:
    """The text with its generated parts replaced.

    Raises:
        ValueError: the text has no place for a part.
    """
    for name, content in named.items():
        begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        if begin not in text or end not in text:
            raise ValueError(f"no place for the part {name!r}")
        pattern = re.escape(begin) + r".*?" + re.escape(end)
        replacement = f"{begin}\n{content}\n{end}"
        text = re.sub(pattern, lambda _, r=replacement: r, text, flags=re.DOTALL)
    return text


def main() -> None:
    """Write or check every document."""
    stale = {
        path: text for path, text in documents().items() if path.read_text(encoding="utf-8") != text
    }
    names = ", ".join(str(path.relative_to(ROOT)) for path in stale)
    if stale and "--check" in sys.argv:
        raise SystemExit(f"out of date: {names}; run: make docs")
    for path, text in stale.items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    with shown_to_the_user():
        main()
