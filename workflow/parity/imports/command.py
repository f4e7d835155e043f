"""`parity import`: results of others as an archive that everything here reads."""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from parity import imports
from parity.core.errors import UserError, refuse_unknown
from parity.core.files import refuse_name
from parity.core.package import modules_with
from parity.imports.dataset import Request, import_rows
from parity.imports.rows import (
    DIRECTIONS,
    Converter,
    Options,
    TextConverter,
    checked,
    refuse_unlike,
    text_of,
)

ARCHIVES = Path("results/archive")
# The arms that are taken for the reference and its double where nobody names them.
REFERENCES = ("native-a", "native", "bare")
DOUBLES = {"native-a": "native-b"}
# What people have that no converter takes, by a line that only it has.
_STUDY = re.compile(r"[a-z0-9]+")
_LOOKS_LIKE = {
    "results of mdtest": re.compile(r"^.*mdtest-\d\S* was launched with", re.MULTILINE),
    "results of JUBE": re.compile(r"\bjube_(?:wp|benchmark|step)\w*", re.IGNORECASE),
    "perflogs of ReFrame": re.compile(r"^job_completion_time\|", re.MULTILINE),
    "results of hyperfine": re.compile(r'"results":\s*\[\s*\{\s*"command"'),
    "results of pytest-benchmark": re.compile(
        r'"benchmarks":.*"machine_info"|"machine_info":', re.DOTALL
    ),
    "results of Google Benchmark": re.compile(
        r'"context":\s*\{[^}]*"(?:num_cpus|library_build_type)"'
    ),
    "lines of several ranks (srun --label)": re.compile(r"\A(?:\s*\d+: .*\n){2,}"),
    "a table without the columns of one (CSV)": re.compile(r"\A[^\n,{]+(?:,[^\n,]*)+\n"),
}


def converters() -> dict[str, Converter]:
    """Every converter by its name."""
    return {each.name: each for each in modules_with(imports, "CONVERTER")}


def add_arguments(parser: ArgumentParser) -> None:
    """The words of the command line."""
    parser.add_argument(
        "files", type=Path, nargs="+", metavar="file",
        help="the results: a table (CSV), what a tool wrote, or each run's text <arm>-<block>.txt",
    )  # fmt: skip
    parser.add_argument("--study", required=True, help="name of the new study")
    parser.add_argument("--title", help="what figures and tables call it; the study's name if not")
    parser.add_argument("--form", choices=[*converters()], help="told by the file if not given")
    parser.add_argument("--reference", default="", help=f"if not {' or '.join(REFERENCES)}")
    parser.add_argument("--double", default="", help="the reference once more: the control")
    parser.add_argument("--margin", type=float, help="in percent; without, nothing is concluded")
    parser.add_argument("--arm", default="arm", help="the parameter whose values are the arms")
    parser.add_argument(
        "--better", action="append", default=[], metavar="METRIC=lower|higher",
        help="which way a metric is better, where the file does not say it",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, default=ARCHIVES, help="the folder of all archives")


def run(asked: Namespace) -> None:
    """Import files; print where the archive is, and what no conclusion from it can rest on.

    Raises:
        UserError: what was asked for, or a file, is wrong.
    """
    refuse_name(asked.study, "--study", _STUDY)
    if asked.margin is not None and not 0 < asked.margin < 100:
        raise UserError(f"a margin of {asked.margin} %", where="--margin", allowed="0 to 100")
    better = dict(word.partition("=")[::2] for word in asked.better)
    refuse_unknown(better.values(), DIRECTIONS, "--better", "direction")
    converter, options = _converter(asked), Options(asked.arm, better)
    rows = [row for file in asked.files for row in converter.rows(file, options)]
    if isinstance(converter, TextConverter):
        refuse_unlike(rows)
    rows = checked(rows, converter.may_lack)
    arms = {row.arm for row in rows}
    reference = asked.reference or next((arm for arm in REFERENCES if arm in arms), "")
    double = asked.double or DOUBLES.get(reference, "")
    double = double if asked.double or double in arms else reference
    margin = None if asked.margin is None else asked.margin / 100
    files, title = tuple(asked.files), asked.title or asked.study
    request = Request(files, asked.study, title, reference, double, margin)
    archive = import_rows(rows, request, asked.out, datetime.now(UTC))
    print(f"archived {len(rows)} numbers of {len(arms)} arms as {archive}")
    print("  the order of the runs is taken for not random, and the binaries for unknown")
    if not all(row.block for row in rows):
        print("  runs without a block are described, and compared with nothing")
    if double == reference:
        print("  no second reference arm (--double): no control, so nothing is concluded")
    if margin is None:
        print("  no margin (--margin): differences are reported, nothing is called the same")
    else:
        print("  the margin was set when the results were there already")
    print(f"draw them:  snakemake figures --config archive={archive.name}")


def _converter(asked: Namespace) -> Converter:
    """The form that is asked for, or that all files look like."""
    known = converters()
    for file in asked.files:
        if not file.is_file():
            raise UserError("there is no such file", where=str(file))
    if asked.form:
        return known[asked.form]
    first, *others = (_form(file, known) for file in asked.files)
    for file, form in zip(asked.files[1:], others, strict=True):
        if form is not first:
            like = f"{first.title}, as {asked.files[0].name} does"
            raise UserError(f"this does not look like {like}", where=str(file))
    return first


def _form(file: Path, known: Mapping[str, Converter]) -> Converter:
    """The form that a file looks like."""
    text = text_of(file)
    for converter in known.values():
        if converter.takes(text):
            return converter
    like = next((name for name, pattern in _LOOKS_LIKE.items() if pattern.search(text)), "")
    raise UserError(
        f"these look like {like}, which are not read here"
        if like
        else "the form of these results is not known",
        where=str(file),
        action="choose one by --form, or give the numbers as a table (CSV)",
        allowed=", ".join(f"{name} ({each.title})" for name, each in known.items()),
    )
