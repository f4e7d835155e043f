"""The page: one file that asks nothing of any network, with claims, comparisons, all runs."""

import base64
import gzip
import json
import math
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from parity.analysis import outcomes, tables
from parity.analysis.dataset import Dataset
from parity.analysis.descriptive import NOT_RUN
from parity.benchmarks import benchmarks
from parity.benchmarks.description import LAST
from parity.claims.terms import NOT_TESTED
from parity.claims.verdicts import Judgement
from parity.core import wording
from parity.core.documents import Document
from parity.plan.system import kind_of
from parity.report import answer, formatting
from parity.report.figures.specs import quantity
from parity.report.templating import WORDS
from parity.report.view import ComparedRow, View, rows_of

# Columns of a run that are texts, and those that are numbers or none.
TEXTS = ("block", "run", "case", "arm", "stage", "reason", "detail", "started", "parameters",
         "image_digest", "binary_sha256", "closure_sha256", "environment_sha256",
         "stdout_sha256")  # fmt: skip
NUMBERS = ("attempt", "position", "session", "exit_code", "wall_seconds", "user_seconds",
           "system_seconds", "steal_fraction", "load_before")  # fmt: skip
# The columns of runs: these, then whether it is the last attempt, whether its numbers count, its
# command, what it saw of where it ran, its numbers.
FIELDS = (*TEXTS, *NUMBERS, "final", "counts", "command", "evidence", "metrics")
# What a run saw of a clock, other in each: the records have them, quantities what follows of them.
CLOCKS = ("began", "ended")
# Of a namespace its number is another for each container, which says that it is one of its own.
NAMESPACE, OWN, NODES = "namespace.", "its own", "the node's"
Texts = dict[str, int]  # the number of each text so far
Columns = dict[str, list[Any]]  # of a table: its rows would take a third more when packed
DIGITS = 8  # of a number: of a second 10 ns; the records have the rest, which would not compress
_OF_IMAGES = ["format", "digest", "parent", "parent_digest", "tool", "reason"]
_SAME = ("case", "metric", "arm", "planned", "blocks", "estimate", "low95", "high95", "low90",
         "high90", "margin", "smallest_margin", "identity")  # fmt: skip
_CONTROL = ("estimate", "low95", "high95")


class Archive(Document, frozen=True):
    """What the page holds of one dataset.

    Attributes:
        quantities: by `<benchmark>/<metric>`: label, unit, the factor that turns a value in the
            `recorded` unit into one in it, and which is better: lower, higher or neither.
        natives: by `<case>/<metric>`, the reference and what else stands for it: what is compared
            with the reference is compared with each of them, within the block.
    """

    name: str
    title: str
    systems: tuple[str, ...]
    measured: str
    commits: list[str]
    reference: str  # the arm that all others are compared with
    note: str  # what its kind of system means for what is said of it
    arms: dict[str, str]
    cases: dict[str, dict[str, Any]]  # title, benchmark, its title and place, levels (may be empty)
    quantities: dict[str, dict[str, Any]]
    natives: dict[str, tuple[str, ...]]
    comparisons: Columns
    blocks: list[dict[str, Any]]  # in the order of the plan, each with its number and its nodes
    nodes: dict[str, dict[str, Any]]  # facts that never changed; others by block, fact and phase
    images: list[dict[str, str]]  # the digest chain from the base to each format, as recorded
    runs: list[list[Any]]  # a column of each of `FIELDS`: rows take a tenth more when packed


class Content(Document, frozen=True):
    """What the page holds.

    `verdicts` and `evidence`: the tables of these names in parity.claims.verdicts, of the system
    that leads and of others that test a claim.
    """

    studies: Mapping[str, Mapping[str, Any]]  # title, authors, venue and year of each, by its id
    verdicts: Columns
    evidence: Columns
    wording: Mapping[str, Mapping[str, Any]]
    archives: list[Archive]
    fields: dict[str, tuple[str, ...]]  # columns of `runs`, and which are numbers of `texts`
    texts: list[str]


def content(views: Iterable[View], judgements: Sequence[Judgement],
            studies: Mapping[str, Mapping[str, Any]]) -> Content:  # fmt: skip
    """The page's content: datasets, and the verdicts on claims with what they rest on."""
    texts: Texts = {}
    judged = on_all_systems(judgements)
    archives = [_archive(view, texts) for view in views]
    return Content(studies=studies, verdicts=_columns(judged.verdicts), texts=list(texts),
                   evidence=_columns(judged.evidence), wording=WORDS["dashboard"],
                   archives=archives, fields={"texts": TEXTS, "all": FIELDS})  # fmt: skip


def on_all_systems(judgements: Sequence[Judgement]) -> Judgement:
    """Each claim on the first system, and on others that test it; evidence has `judged` as well."""
    verdicts, evidence = [], []
    for place, judgement in enumerate(judgements):
        rows = judgement.verdicts
        told = rows if place == 0 else rows[rows["verdict"] != NOT_TESTED]
        rests_on = judgement.evidence[judgement.evidence["claim"].isin(told["claim"])]
        verdicts.append(told)
        evidence.append(rests_on.assign(judged=next(iter(told["judged"]), "")))
    joined = pd.concat(verdicts).sort_values("position", kind="stable")
    return Judgement(joined, pd.concat(evidence))


def _archive(view: View, texts: Texts) -> Archive:
    plan, data, facts = view.plan, view.dataset, view.origin.facts
    nodes_of = data.nodes.groupby("block")["node"].unique()
    measured = tables.tuples(data.metrics, "benchmark", "metric", "unit", "better")
    quantities = {}
    for benchmark, metric, unit, better in dict.fromkeys(measured):
        known = quantity(benchmark, metric, unit, plan.definitions)
        shown = {"label": known.label, "unit": known.unit, "factor": known.factor}
        quantities[f"{benchmark}/{metric}"] = shown | {"recorded": unit, "better": better}
    cases = {}
    for case in plan.run_cases:
        # Programs of a study's own are what people run.
        orders = [figure.order for figure in case.definition.figures]
        order = min(orders, default=LAST) if case.benchmark in benchmarks() else 0
        cases[case.name] = {
            "title": formatting.case_title(plan, case.name), "benchmark": case.benchmark,
            "benchmark_title": formatting.program_title(plan, case.name),
            "levels": formatting.case_levels(plan, case.name), "order": order}  # fmt: skip
    blocks = [{"block": block.name, "number": block.number,
               "nodes": sorted(nodes_of.get(block.name, []))} for block in plan.blocks]  # fmt: skip
    return Archive(
        name=data.name, title=plan.title, systems=view.origin.systems, reference=plan.reference,
        measured=wording.period(facts.began, facts.ended), cases=cases, quantities=quantities,
        commits=[program.commit for program in facts.programs], blocks=blocks,
        note=kind_of(view.origin.scale_labels).threat, comparisons=_comparisons(view),
        arms={arm: formatting.arm_title(plan, arm) for arm in view.arms},
        natives={f"{case}/{metric}": arms for (case, metric), arms in view.natives.items()},
        nodes={str(node): _node(of_node) for node, of_node in data.nodes.groupby("node")},
        images=_records(data.images[_OF_IMAGES]), runs=_runs(data, view, texts))  # fmt: skip


def _node(facts: pd.DataFrame) -> dict[str, Any]:
    is_changing = facts.groupby("fact")["value"].transform("nunique") > 1
    changing: dict[str, dict[str, dict[str, str]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows_of(facts[is_changing]):
        changing[row.block][row.fact][row.phase] = row.value
    constant = facts[~is_changing].drop_duplicates("fact").set_index("fact")["value"]
    return {"constant": constant.to_dict(), "changing": changing}


def _comparisons(view: View) -> Columns:
    """Every comparison, planned or only reported, with its runtime and its A/A pair.

    A row has the columns of `evidence` in parity.claims.verdicts that are not of claims, and others
    such as `runtime`, its column in the matrix, which is the arm's own for another native;
    `is_plain`, whether it is a runtime as a site offers it; `is_counted`, whether it enters the
    count of costs; `bound`, of the cost, in words; `same`, within the margin.
    """
    runtimes, rows = view.plan.arm_runtimes, rows_of(view.analysis.comparisons)
    native, compared = runtimes[view.plan.reference], (view.plan, view.analysis.comparisons)
    costs = {(row.case, row.metric, row.arm) for _, row in answer.counted(compared)}
    made = []
    for row in rows:
        runtime = runtimes.get(row.arm, row.arm)
        added = {"runtime": row.arm if runtime == native else runtime, "against": row.reference,
                 "verdict": formatting.ended_of(row), "bound": formatting.bound(row),
                 "same": formatting.is_same(row), "reason": formatting.of(view.plan, row).outcome,
                 "unit": "ratio" if row.kind == "ratio" else row.unit,
                 "p_value": row.p_equivalence, "is_control": row.control,
                 "is_counted": (row.case, row.metric, row.arm) in costs,
                 "is_plain": answer.Asked(view.plan, row).is_plain}  # fmt: skip
        made.append({name: getattr(row, name) for name in _SAME} | added | _control(view, row))
    return _columns(pd.DataFrame(made, dtype=object))


def _control(view: View, row: ComparedRow) -> dict[str, Any]:
    """The A/A pair of a comparison: the outcome by which it gates, and its numbers."""
    control = view.compared.get((row.case, row.metric, view.plan.double))
    if control is None or not control.decision.blocks:
        return {"control": "none", **{f"control_{name}": None for name in _CONTROL}}
    numbers, gate = control.columns(), control.decision.as_control
    ends = {f"control_{name}": numbers[name] for name in _CONTROL}
    return {"control": "no-margin" if gate == outcomes.REPORTED else gate, **ends}


def _runs(dataset: Dataset, view: View, texts: Texts) -> list[list[Any]]:
    """The columns of `FIELDS`, of every attempt and every planned run that has no record.

    They hold numbers of texts, since two thousand command lines repeat the same few words: of
    each word of a command, of each thing that was seen with what it was, and of each metric with
    its value. New ones are added to `texts`.
    """

    def numbered(words: Iterable[str]) -> list[int]:
        return [texts.setdefault(word, len(texts)) for word in words]

    counted = set(tables.tuples(view.analysis.values, "block", "run"))
    applied = (row for row in rows_of(view.analysis.exclusions) if row.applied)
    excluded = {(row.block, row.run): f"excluded: {row.reason}" for row in applied}
    metrics: dict[tuple[str, str, int], list[Any]] = defaultdict(list)
    for of in rows_of(dataset.metrics):
        metrics[of.block, of.run, of.attempt] += [*numbered([of.metric]), _plain(of.value)]
    of_nodes = _namespaces(
        dataset.runs.loc[dataset.runs["arm"].isin(view.plan.aa_pair), "evidence"]
    )
    rows, recorded = [], set()
    for run in _records(dataset.runs):
        name = (run["block"], run["run"])
        recorded.add(name)
        # One for each run: whole they would be a sixth of the page, and the records have them.
        run["stdout_sha256"] = run["stdout_sha256"][:12]
        if run["final"]:
            run["reason"] = excluded.get(name, run["reason"])
        rows.append([
            *numbered(run[text] for text in TEXTS), *(run[number] for number in NUMBERS),
            run["final"], run["final"] and name in counted,
            numbered(json.loads(run["command"] or "[]")),
            numbered(_seen(run["evidence"], of_nodes)), metrics[*name, run["attempt"]],
        ])  # fmt: skip
    # What left nothing was not made yet.
    for run in _records(dataset.planned):
        if (run["block"], run["run"]) not in recorded:
            run |= {"stage": "planned", "reason": NOT_RUN}
            none = [0 if number == "attempt" else None for number in NUMBERS]
            rows.append([*numbered(run.get(t, "") for t in TEXTS), *none, True, False, [], [], []])
    return [list(column) for column in zip(*rows, strict=True)]


def _namespaces(natives: Iterable[str]) -> dict[str, set[str]]:
    """Numbers of namespaces, by name, that these evidences of native programs tell."""
    found: dict[str, set[str]] = defaultdict(set)
    for what, value in chain.from_iterable(json.loads(text or "{}").items() for text in natives):
        if what.startswith(NAMESPACE):
            found[what].add(value)
    return found


def _seen(evidence: str, of_nodes: Mapping[str, set[str]]) -> Iterable[str]:
    """What a run said of where it ran, each followed by what it is.

    `of_nodes`: the numbers of a node's namespaces, which native programs are in, by name.
    """
    for what, value in json.loads(evidence or "{}").items():
        if what in of_nodes and str(value).isdecimal():
            yield from (what, NODES if value in of_nodes[what] else OWN)
        elif what not in CLOCKS:
            yield from (what, value if isinstance(value, str) else json.dumps(value))


def _columns(table: pd.DataFrame) -> Columns:
    return {str(name): [_plain(value) for value in values] for name, values in table.items()}


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{column: _plain(value) for column, value in row.items()} for row in tables.rows(table)]


def _plain(value: Any) -> Any:
    """A value as JSON knows it: missing and infinite numbers are null, others have `DIGITS`."""
    if value is None or value is pd.NA or (isinstance(value, float) and not math.isfinite(value)):
        return None
    plain = value.item() if hasattr(value, "item") else value
    return float(f"{plain:.{DIGITS}g}") if isinstance(plain, float) else plain


TEMPLATE = Path(__file__).parent / "template"
# In this order: each uses only what stands before it.
SCRIPTS = ("data.js", "format.js", "parts.js", "scale.js", "blocks.js", "compared.js", "search.js",
           "matrix.js", "claims.js", "start.js", "claim.js", "cell.js", "run.js",
           "app.js")  # fmt: skip


def render(content: Content) -> str:
    """The HTML of a page with this content."""
    made = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    # JSON in base64, gzipped to a fifth of its size: no text in it can be markup.
    whole = msgspec.json.encode(content)
    packed = base64.b64encode(gzip.compress(whole, mtime=0)).decode()
    return made.from_string((TEMPLATE / "page.html").read_text("utf-8")).render(
        data=packed, style=_inline((TEMPLATE / "style.css").read_text("utf-8"), "</style"),
        script=_inline("\n".join((TEMPLATE / name).read_text("utf-8") for name in SCRIPTS)),
        outcomes={**content.wording["outcomes"], **content.wording["verdicts"]})  # fmt: skip


def write(content: Content, path: Path) -> None:
    """Write the page; readers see the old file or the whole new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(render(content), encoding="utf-8")
    temporary.replace(path)


def _inline(text: str, end: str = "</script") -> Markup:
    """Source of this project, put into the page as it stands."""
    if end in text.lower():
        raise ValueError(f"a source that is put into the page holds {end!r}")
    return Markup(text)
