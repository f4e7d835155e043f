"""Results by question: what costs nothing, what costs something, and what is open.

Every comparison of a dataset is counted in one of the answers; what each arm gave stands in the
figures and tables. As in `parity.report.text.sentences`, what no test supports is not said.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from parity.analysis import outcomes
from parity.core.wording import capital, counted, listed, span
from parity.report.figures.specs import quantity
from parity.report.tables.table import Table
from parity.report.text import formatting
from parity.report.text.constants import drawn
from parity.report.text.sentences import failed_controls, fixed, too_noisy
from parity.report.view import ComparedRow, View

Rows = Sequence[ComparedRow]
NAMED = 4  # rows or subjects up to which each is named
_FIGURE = re.compile("@([a-z0-9-]+)@")  # stands for the number of a figure


@dataclass
class Subject:
    """A quantity of one program in all of its cases.

    Attributes:
        figure: the first one that shows any of it; empty if none does.
        rows: the measured comparisons of the arms that are asked about.
        controls: those of the A/A pair and of the positive control.
        absent: what could not be tested.
    """

    title: str
    figure: str
    rows: list[ComparedRow] = field(default_factory=list)
    controls: list[ComparedRow] = field(default_factory=list)
    absent: list[ComparedRow] = field(default_factory=list)

    def ended(self, outcome: str) -> list[ComparedRow]:
        """The rows that ended so."""
        return [row for row in self.rows if row.outcome == outcome]

    def told(self, rows: Rows, *facts: str, every: bool = False) -> str:
        """The subject with its figure, how many of its rows, facts of these and their margin."""
        figure = f"; Fig.\u00a0@{self.figure}@" if self.figure else ""
        count = str(len(rows)) if every else f"{len(rows)} of {len(self.rows)}"
        odd = sum(formatting.is_confounded(row) for row in rows)
        confounded = f"{odd} confounded" if odd else ""
        said = ", ".join(filter(None, (count, confounded, *facts, _margins(rows))))
        return f"{self.title} ({said}{figure})"


def subjects(view: View, kind: str) -> list[Subject]:
    """What the plan compares by ratios, or by differences, in its order."""
    shown_in = {
        (case, each.metric): spec.name
        for spec in reversed(drawn(view))
        for case in view.shown(spec)
        for each in spec.quantities
    }
    found: dict[tuple[str, str], Subject] = {}
    for case, metric in view.planned():
        compared = view.comparisons(case, metric)
        rows = [compared[arm] for arm in view.arms if arm in compared]
        if not rows or rows[0].kind != kind:
            continue
        benchmark = view.plan.case(case).benchmark
        title = _title(
            view, benchmark, quantity(case, metric, rows[0].unit, view.plan.definitions).label
        )
        figure = shown_in.get((case, metric), "")
        subject = found.setdefault((benchmark, metric), Subject(title, figure))
        asked = view.of_arms(rows)
        subject.rows += [row for row in asked if row.blocks]
        subject.absent += [row for row in asked if not row.blocks]
        subject.controls += [row for row in rows if row not in asked]
    return list(found.values())


def _title(view: View, benchmark: str, label: str) -> str:
    title = formatting.benchmark_title(view.plan, benchmark)
    own = title.lower() in label.lower()
    return capital(label) if own else f"{title}, {label}"


def answers(view: View, prefix: str = "") -> str:
    """LaTeX: each question with its answer, as far as the dataset has one.

    Args:
        prefix: of the labels of its figures.
    """
    ratios = subjects(view, "ratio")
    asked: dict[str, Callable[[], str]] = {
        "What costs nothing beyond its margin?": partial(_nothing, view, ratios),
        "What costs more, or less?": partial(_something, view, ratios),
        "What is open?": partial(_open, ratios),
        "Does native equal itself?": partial(_controls, view, ratios),
        "What has no margin?": partial(_differences, view),
        "What could not be tested?": partial(_absent, view, ratios),
    }
    return "\n".join(
        rf"\point{{{question}}}{with_figures(said, prefix)}"
        for question, answer in asked.items()
        if (said := answer())
    )


def with_figures(text: str, prefix: str) -> str:
    """LaTeX of a text in which `@name@` stands for a figure's number."""
    refer = rf"\\ref{{fig:{prefix}\1}}"
    return _FIGURE.sub(refer, formatting.latex(text))


def _nothing(view: View, ratios: Sequence[Subject]) -> str:
    equivalent = [(each, each.ended(outcomes.EQUIVALENT)) for each in ratios]
    found = [(each, rows, rows == each.rows) for each, rows in equivalent if rows]
    whole = [each.told(rows, _ratios(rows), every=True) for each, rows, all_of in found if all_of]
    part = [each.told(rows, _ratios(rows)) for each, rows, all_of in found if not all_of]
    reference = formatting.reference_title(view.plan)
    said = [f"Equivalent to {reference} in every comparison: {listed(whole)}."] if whole else []
    said += [f"In a part of them: {listed(part)}."] if part else []
    said += [fixed(view, [row for _, rows in equivalent for row in rows])]
    return " ".join(filter(None, said))


def _something(view: View, ratios: Sequence[Subject]) -> str:
    said = []
    for each in ratios:
        different = each.ended(outcomes.DIFFERENT)
        dearer = [row for row in different if row.estimate > 1]
        for what, found in (("more", dearer), ("less", [r for r in different if r not in dearer])):
            if found:
                said.append(f"{each.told(found)} costs {what}: {_by_arm(view, found)}.")
    return " ".join(said)


def _by_arm(view: View, rows: Rows) -> str:
    """Few rows each by name; of many the smallest and the largest ratio."""
    ends = sorted(rows, key=lambda row: row.estimate)
    if len(ends) > NAMED:
        return f"from {_named(view, ends[0])} to {_named(view, ends[-1])}"
    return listed(_named(view, row) for row in ends)


def _named(view: View, row: ComparedRow) -> str:
    several = len(view.cases(view.plan.case(row.case).benchmark)) > 1
    levels = formatting.case_levels(view.plan, row.case) if several else ""
    odd = "confounded" if formatting.is_confounded(row) else ""
    where = ", ".join(filter(None, (formatting.arm_title(view.plan, row.arm), levels, odd)))
    return f"{formatting.estimate(row)} {formatting.unit_of(row)}".rstrip() + f" ({where})"


def _open(ratios: Sequence[Subject]) -> str:
    rows = [row for each in ratios for row in each.rows]
    found = [row for row in rows if row.outcome not in (outcomes.EQUIVALENT, outcomes.DIFFERENT)]
    if not found:
        return ""
    reasons = Counter(row.reason or "intervals too wide for the margin" for row in found)
    each = [f"{count} ({reason})" for reason, count in reasons.most_common(NAMED)]
    why = listed(each if len(reasons) > 1 else reasons)
    of_subject = Counter({each.title: len([r for r in found if r in each.rows]) for each in ratios})
    most = [(title, n) for title, n in of_subject.most_common(NAMED) if n]
    places = listed(f"{title} ({n})" for title, n in most)
    mostly = "mostly " if sum(n for _, n in most) < len(found) else ""
    one = len(found) == 1
    return (
        f"{len(found)} of {counted(len(rows), 'comparison')} {'is' if one else 'are'} undecided: "
        f"{why}. {'It is' if one else 'They are'} {mostly}of {places}. {too_noisy(rows)}".rstrip()
    )


def _controls(view: View, ratios: Sequence[Subject]) -> str:
    """What the A/A pair and the positive control say, which qualifies everything else."""
    every = [row for each in ratios for row in each.controls if row.blocks]
    pairs = [row for row in every if row.control]
    if not pairs:
        return "The plan has no A/A pair to judge by." if ratios else ""
    odd = [row for row in pairs if row.outcome != outcomes.EQUIVALENT]
    said = [
        f"The A/A pair is equivalent in {len(pairs) - len(odd)} of "
        f"{counted(len(pairs), 'comparison')} of one native with the other."
    ]
    if odd:
        worst = sorted(odd, key=lambda row: -row.smallest_margin / row.margin)[:NAMED]
        named = [
            f"{formatting.subject_of(view.plan, row)}: {formatting.estimate(row)}, "
            f"{formatting.outcome(row)}"
            for row in worst
        ]
        more = f"; and {len(odd) - NAMED} more" if len(odd) > NAMED else ""
        said.append(f"Not so in {'; '.join(named)}{more}.")
    seen = [row for row in every if not row.control]
    if seen:
        beyond = sum(row.outcome == outcomes.DIFFERENT for row in seen)
        said.append(f"The positive control lies beyond its margin in {beyond} of {len(seen)}.")
    return " ".join(filter(None, (failed_controls(view), *said)))


def _differences(view: View) -> str:
    said = []
    for each in subjects(view, "difference"):
        rows = [row for row in each.rows if row.blocks > 1]
        pairs = [row for row in each.controls if row.control and row.blocks > 1]
        if not rows:
            continue
        ends = sorted(rows, key=lambda row: row.estimate)
        names = [_named(view, row) for row in dict.fromkeys((ends[0], ends[-1]))]
        figure = f" (Fig.\u00a0@{each.figure}@)" if each.figure else ""
        widest = max(pairs, key=lambda row: abs(row.estimate), default=None)
        pair = f"; the A/A pair {formatting.estimate(widest)}" if widest else ""
        said.append(f"{each.title}{figure}: {' to '.join(names)}{pair}.")
    native = formatting.arm_title(view.plan, view.plan.reference)
    return " ".join([f"Mean differences to {native}.", *said]) if said else ""


def _absent(view: View, ratios: Sequence[Subject]) -> str:
    found: dict[str, dict[str, None]] = {}
    for row in (row for each in (*ratios, *subjects(view, "difference")) for row in each.absent):
        found.setdefault(row.reason, {})[formatting.arm_title(view.plan, row.arm)] = None
    return " ".join(f"{listed(arms)}: {reason}." for reason, arms in found.items())


def table(view: View) -> Table:
    """How the comparisons of each quantity ended, and what its A/A pair says."""
    rows = [tuple(_row(view, each)) for each in subjects(view, "ratio") if each.rows]
    head = ("program and quantity", "margin", "blocks", "compared", "equivalent", "more", "less",
            "open", "ratios", "A/A pair")  # fmt: skip
    columns = r"L{5.1cm}lrrrrrrlL{3.4cm}"
    return Table("answers", columns, head, rows, "no comparison has a margin", breaks=False)


def _row(view: View, each: Subject) -> Iterator[str]:
    more = [row for row in each.ended(outcomes.DIFFERENT) if row.estimate > 1]
    equivalent, different = (
        len(each.ended(word)) for word in (outcomes.EQUIVALENT, outcomes.DIFFERENT)
    )
    pairs = [row for row in each.controls if row.control and row.blocks]
    good = sum(row.outcome == outcomes.EQUIVALENT for row in pairs)
    yield each.title
    yield _margins(each.rows).removeprefix("margin ").removeprefix("margins ")
    yield span([row.blocks for row in each.rows])
    yield from map(str, (len(each.rows), equivalent, len(more), different - len(more)))
    yield str(len(each.rows) - equivalent - different)
    yield _ratios(each.rows).removeprefix("ratio ").removeprefix("ratios ")
    if len(pairs) == 1:
        yield f"{formatting.estimate(pairs[0])}, {pairs[0].outcome}"
    else:
        yield f"equivalent in {good} of {len(pairs)}" if pairs else "none"


def _ratios(rows: Rows) -> str:
    low, high = (formatting.ratio(pick(row.estimate for row in rows)) for pick in (min, max))
    return f"ratio {low}" if low == high else f"ratios {low} to {high}"


def _margins(rows: Rows) -> str:
    margins = [formatting.margin(margin) for margin in sorted({row.margin for row in rows})]
    return f"{'margin' if len(margins) == 1 else 'margins'} {listed(margins)}"
