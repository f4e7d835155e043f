"""`parity import`: results of others as an archive that everything here reads."""

import re
from datetime import UTC, datetime
from pathlib import Path

from parity.core.errors import UserError, refuse_unknown
from parity.core.files import refuse_name
from parity.imports.dataset import import_rows
from parity.imports.rows import DIRECTIONS, Options, checked, converter_of, refuse_unlike

# The arms that are taken for the reference and its double where nobody names them.
REFERENCES = ("native-a", "native", "bare")
DOUBLES = {"native-a": "native-b"}
_STUDY = re.compile(r"[a-z0-9]+")


def import_(
    *files: Path, study: str, title: str = "", form: str = "", reference: str = "",
    double: str = "", margin: float | None = None, arm: str = "arm", better: tuple[str, ...] = (),
    out: Path = Path("results/archive"),
) -> None:  # fmt: skip
    """Take results that were measured elsewhere.

    Prints where the archive is, and what no conclusion from it can rest on. Raises UserError: what
    was asked for, or a file, is wrong.

    Args:
        files: the results: a table (CSV), what a tool wrote, or each run's text <arm>-<block>.txt
        study: name of the new study
        title: what figures and tables call it; the study's name if not given
        form: csv, wide, reframe, hyperfine and others (docs/imports.md); told by the files
        reference: the arm that others are compared with: native-a, native or bare if not given
        double: the reference once more: the control
        margin: in percent; without, nothing is concluded
        arm: the parameter or variable whose values are the arms
        better: METRIC=lower or METRIC=higher, where the files do not say which way is better
        out: the folder of all archives
    """
    refuse_name(study, "--study", _STUDY)
    if margin is not None and not 0 < margin < 100:
        raise UserError(
            f"a margin of {margin} %", where="--margin", allowed="more than 0, below 100"
        )
    directions = dict(word.partition("=")[::2] for word in better)
    refuse_unknown(directions.values(), DIRECTIONS, "--better", "direction")
    converter, options = converter_of(files, form), Options(arm, directions)
    rows = [row for file in files for row in converter.rows(file, options)]
    if converter.are_alike:
        refuse_unlike(rows)
    rows = checked(rows, converter.may_lack)
    told = {row.metric: row.better for row in rows}
    refuse_unknown(directions, told, "--better", "metric")
    for metric, direction in directions.items():
        if told[metric] != direction:
            action = "leave it out: the files say which way is better"
            problem = f"the files say {told[metric]} of {metric}"
            raise UserError(problem, where="--better", action=action)
    arms = {row.arm for row in rows}
    reference = reference or next((arm for arm in REFERENCES if arm in arms), "")
    if double == reference != "":
        action = "name the arm that ran the reference once more, or leave it out"
        raise UserError(f"{double} is the reference itself", where="--double", action=action)
    double = double or (DOUBLES[reference] if DOUBLES.get(reference) in arms else reference)
    fraction = None if margin is None else margin / 100
    pair, now = (reference, double), datetime.now(UTC)
    archive = import_rows(rows, files, study, title or study, pair, fraction, out, now)
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
    print(f"draw them:  parity figures --archive {archive.name}")
