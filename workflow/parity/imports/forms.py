"""The forms of results that are read here, and those that people also have."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from parity import imports
from parity.core.errors import UserError, refuse_unknown
from parity.core.package import modules_with
from parity.imports.rows import Converter, text_of

# What people have that no converter takes, by a line that only it has.
_LOOKS_LIKE = {
    "results of mdtest": re.compile(r"^.*mdtest-\d\S* was launched with", re.MULTILINE),
    "lines of several ranks (srun --label)": re.compile(r"\A(?:\s*\d+: .*\n){2,}"),
    "a table without the columns of one (CSV)": re.compile(r"\A[^\n,{]+(?:,[^\n,]*)+\n"),
}


def converters() -> dict[str, Converter]:
    """Every converter by its name."""
    return {each.name: each for each in modules_with(imports, "CONVERTER")}


def converter_of(files: Sequence[Path], form: str = "") -> Converter:
    """The converter of the form that is named, or that all files look like.

    UserError: there is no such form or file, or files look like several forms, or like none.
    """
    known = converters()
    refuse_unknown([form] if form else [], known, "--form", "form")
    for file in files:
        if not file.is_file():
            raise UserError("there is no such file", where=str(file))
    if form:
        return known[form]
    first, *others = (_looks_like(file, known) for file in files)
    for file, other in zip(files[1:], others, strict=True):
        if other is not first:
            like = f"{first.title}, as {files[0].name} does"
            raise UserError(f"this does not look like {like}", where=str(file))
    return first


def _looks_like(file: Path, known: Mapping[str, Converter]) -> Converter:
    text = text_of(file)
    for converter in known.values():
        if converter.takes(text):
            return converter
    like = next((name for name, line in _LOOKS_LIKE.items() if re.search(line, text)), "")
    problem = f"these look like {like}, which are not read here"
    problem = problem if like else "the form of these results is not known"
    action = "choose one by --form, or give the numbers as a table (CSV)"
    allowed = ", ".join(f"{name} ({each.title})" for name, each in known.items())
    raise UserError(problem, where=str(file), action=action, allowed=allowed)
