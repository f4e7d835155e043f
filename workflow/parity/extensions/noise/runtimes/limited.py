"""Limited arms: the same arm under a CPU limit, on CPUs of its own or not, with a neighbour.

Levy and Ferreira (SAND2021-6125 C) divide CPUs between two containers by a quota of each period,
by shares, or by sets. An arm is one half of such a pair: its program is measured, while a busy
loop has the other half in the same runtime. Names follow a grammar, so that a study may
name any quota, and nobody has to read a list of all of them:

    <arm>-quota-<µs>-of-<µs>-us[-burst]   the loop has what is left of the period
    <arm>-shares-<n>[-beside-<m>]         the loop has m shares, 1024 if not given
    <arm>-beside-idle                     the loop has CPUs only when nobody else wants them

each followed by nothing (the loop has a CPU of its own), `-same-cpu`, `-unpinned` (both run on
any CPU) or `-alone` (there is no loop). Without a limit, the CPUs alone are chosen:

    <arm>-own-cpu, <arm>-same-cpu, <arm>-unpinned, <arm>-cpu<number> (there is no loop)

The loop keeps its CPU busy and nothing else, unless `-beside-memory` (it fills memory) or
`-beside-io` (it writes a file to the disk) stands before the place, with a limit or without.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from parity.core.errors import UserError
from parity.runtimes.derived import Derived, of_base
from parity.runtimes.limits import NO_LIMIT, CpuLimit
from parity.runtimes.model import KERNEL, Arm, Cpus, Launch

CPU, NEIGHBOUR = "cpu", "neighbour"
_BESIDE = {"memory": "beside memory traffic", "io": "beside file writes", None: ""}
OWN, SAME, UNPINNED, ALONE = "own-cpu", "same-cpu", "unpinned", "alone"
_GRAMMAR = re.compile(
    r"(?P<base>.+?)"
    r"(?:-quota-(?P<quota>[1-9]\d*)-of-(?P<period>[1-9]\d*)-us(?P<burst>-burst)?"
    r"|-shares-(?P<shares>[1-9]\d*)(?:-beside-(?P<others>[1-9]\d*))?|(?P<idle>-beside-idle))?"
    r"(?:-beside-(?P<does>memory|io))?"
    r"(?:-(?P<place>own-cpu|same-cpu|unpinned|alone|cpu(?:0|[1-9]\d*)))?"
)


@dataclass(frozen=True)
class Limited(Derived):
    """An arm under a limit, and where it and its neighbour run."""

    limit: CpuLimit = NO_LIMIT
    place: str = OWN  # one of the ends of its name, `own-cpu` if it has none
    does: str = CPU  # what keeps such a loop busy: `cpu`, `memory` or `io`
    neighbour: "Limited | None" = None  # has a busy loop, which is part of what is measured
    link_set = of_base("link_set")
    unlimited = of_base("unlimited")

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        if not launch.cpus:
            return self.base.command(launch, inner)
        is_bound = self.limit == NO_LIMIT and self.place != UNPINNED
        limit = replace(self.limit, cpus=launch.cpus) if is_bound else self.limit
        # Where a runtime knows no sets of CPUs, the program is bound to them all the same.
        words = self.base.limit_words(limit) or ()
        return self.base.command(replace(launch, limits=tuple(words)), inner)

    def placed(self, asked: tuple[int, ...], node: tuple[int, ...]) -> Cpus:
        if self.place == UNPINNED:
            return Cpus(node, node)
        if self.place.startswith("cpu"):
            asked = (int(self.place.removeprefix("cpu")),)
            if not set(asked) <= set(node):
                raise UserError(f"this node has no {self.place}")
        if self.neighbour is None:
            return Cpus(asked)
        others = [cpu for cpu in node if cpu not in asked]
        if not others and self.place != SAME:
            raise UserError("this node has no CPU for a neighbour")
        return Cpus(asked, asked if self.place == SAME else (others[-1],))

    def cleanup(self, *launches: Launch) -> None:
        self.base.cleanup(*launches)
        if self.neighbour:
            self.neighbour.cleanup(*(launch.beside(NEIGHBOUR) for launch in launches))

    def refusal(self, ranks: int, containers: int) -> str:
        beside_ranks = ranks and self.neighbour
        return "a neighbour is beside one process, not beside ranks" if beside_ranks else ""


def derived(name: str, arms: Mapping[str, Arm]) -> Limited | None:
    """The limited arm of a name, made of a listed one; None if it is none, or there is no such."""
    if not (words := _GRAMMAR.fullmatch(name)) or not (base := arms.get(words["base"])):
        return None
    place, beside_one = words["place"] or "", words["idle"] or words["does"]
    limited = words["quota"] or words["shares"] or beside_one
    is_alone = place == ALONE or place.startswith("cpu")
    # What goes without saying is not said, nor what contradicts itself.
    if not (limited or place) or place == (OWN if limited else ALONE) or (beside_one and is_alone):
        return None
    limit, others, title = _halves(words)
    in_words = re.sub(r"(\d+)", r" \1", place.replace("cpu", "CPU").replace("-", " "))
    titles = (base.title, title, _BESIDE[words["does"]], in_words)
    arm = Limited(base, name, ", ".join(filter(None, titles)), limit, place or OWN)
    if others.is_idle and not is_alone:
        base = next(known for known in arms.values() if known.limit_words(others))
    for half in (limit,) if is_alone else (limit, others):
        if half != NO_LIMIT and base.limit_words(half) is None:
            return None
    if is_alone:
        return arm
    beside = Limited(base, name, arm.title, others, arm.place, words["does"] or CPU)
    # In another kernel it would be none of the host's processes, whose CPU time is told.
    return None if KERNEL in base.isolates else replace(arm, neighbour=beside)


def _halves(words: re.Match[str]) -> tuple[CpuLimit, CpuLimit, str]:
    """The limits of an arm and of its neighbour, and what a title says of them."""
    if words["quota"]:
        quota, period = int(words["quota"]), int(words["period"])
        burst = " and burst" if words["burst"] else ""
        limit = CpuLimit(quota, period, burst_us=quota if burst else 0)
        rest = CpuLimit(period - quota, period) if quota < period else NO_LIMIT
        return limit, rest, f"{quota / 1000:g} of {period / 1000:g} ms{burst}"
    if words["shares"]:
        others = int(words["others"] or 1024)
        title = f"{words['shares']} shares" + (f" beside {others}" if words["others"] else "")
        return CpuLimit(shares=int(words["shares"])), CpuLimit(shares=others), title
    if words["idle"]:
        return NO_LIMIT, CpuLimit(is_idle=True), "idle neighbour"
    return NO_LIMIT, NO_LIMIT, ""
