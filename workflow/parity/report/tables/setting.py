"""Tables of what it was measured on and with: cases, machine, environment, images."""

from __future__ import annotations

import re

import pandas as pd

from parity.benchmarks.own_program import said
from parity.core import wording
from parity.report import formatting
from parity.report.tables.table import Table
from parity.report.templating import WORDS
from parity.report.view import View, rows_of


def cases(view: View) -> Table:
    """What each case ran with: parameters and factor levels, margin, time limit."""
    rows = []
    for case in view.plan.cases:
        parameters = [f"{name} = {value}" for name, value in sorted(said(case.parameters).items())]
        title, margin = formatting.case_title(view.plan, case.name), wording.margin(case.margin)
        rows.append((title, ", ".join(parameters) or "none", margin, f"{case.timeout_seconds} s"))
    return Table("cases", rows)


def machine(view: View) -> Table:
    """The facts of the node that bear on timings; a fact that changed between blocks says so."""
    nodes = view.dataset.nodes
    before = nodes[nodes["phase"] == "before"]
    rows = [("System", ", ".join(view.origin.systems) or "not recorded")]
    for fact, label in WORDS["dashboard"]["facts"].items():
        values = before.loc[before["fact"] == fact, "value"]
        shown = sorted({_readable(value) for value in values if value}) or ["not recorded"]
        rows.append((label, "varied: " * (len(shown) > 1) + ", ".join(shown[:4])))
    return Table("machine", rows)


def _readable(value: str) -> str:
    """A fact with sizes in a unit for people, and lists that can break after a comma."""
    if size := re.fullmatch(r"([0-9]+) (B|kB)", value):
        return wording.size(int(size[1]) * (1024 if size[2] == "kB" else 1))
    return re.sub(r",(?! )", ", ", value)


def environment(view: View) -> Table:
    """When it was measured, with which state of this program, and the runtimes' own versions."""
    facts = view.origin.facts
    rows = [
        ("measured", wording.period(facts.began, facts.ended)),
        ("blocks", f"{facts.blocks}, in {facts.sessions} sessions of the runner"),
    ]
    for program in facts.programs:
        changed = ", with changes that were not committed" if program.changed else ""
        rows += [
            ("commit", (program.commit or "outside of a clone") + changed),
            ("sources, SHA-256", program.package_sha256),
            ("lock file, SHA-256", program.lock_sha256 or "none"),
            ("Python", program.python),
        ]
    for arm in view.arms:
        # What a runtime said of itself in all sessions; it says nothing where it is absent.
        versions = ", ".join(filter(None, facts.runtimes.get(arm, ())))
        rows.append((formatting.arm_title(view.plan, arm), versions or "not here"))
    return Table("environment", rows)


def images(view: View) -> Table:
    """The digest chain from the base to each format; digests cut to sixteen digits."""
    rows = []
    for row in rows_of(view.dataset.images):
        digest, parent = (text.removeprefix("sha256:")[:16] or "–"
                          for text in (row.digest, row.parent_digest))  # fmt: skip
        size, seconds = ("–" if pd.isna(value) else wording.number(value, 1)
                         for value in (row.bytes / 2**20, row.seconds))  # fmt: skip
        rows.append((row.format, digest, row.parent, parent, size, seconds, row.reason or row.tool))
    return Table("images", rows)
