"""Which figures there are: those that benchmarks bring, and a plain one for each other one."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from parity.benchmarks import benchmarks, description
from parity.benchmarks.description import CPU_SECONDS, FIXED, LAST, WORK, FigureSpec, Quantity
from parity.benchmarks.model import Benchmark, counted
from parity.core.errors import UserError
from parity.plan.plan import PAIR

OVERVIEW, LEDGER = "overview", "ledger"
FEW = 12  # up to this many values a row shows each one instead of a box


def figures_of(known: Iterable[Benchmark], paired: bool = False,
               at_two_lengths: Collection[str] = (),
               pairs: Collection[str] = ()) -> tuple[FigureSpec, ...]:  # fmt: skip
    """Figures of these benchmarks in the order of the paper; a UserError if a name is twice.

    `paired`: of their CPU time, as they were measured side by side. `at_two_lengths`: those whose
    cases have shorter runs. `pairs`: those that were measured side by side as well.
    """
    specs: list[FigureSpec] = []
    # What only somebody else's program knows declares nothing: the overview has it.
    for of in (each for each in known if each.metrics or each.primary):
        own = [*of.figures] if of.figures and not paired else [_one(of, paired)]
        if of.name in pairs:
            title = f"{of.title}, side by side"
            own.append(replace(_one(of, True), name=f"{of.name}{PAIR}", title=title))
        own += [_lengths(of)] if of.name in at_two_lengths else []
        specs += [replace(spec, benchmark=of.name) for spec in own]
    names = Counter([OVERVIEW, LEDGER, *(spec.name for spec in specs)])
    if twice := [name for name, count in names.items() if count > 1]:
        problem, action = f"two figures are called {twice[0]}", "give one of them another name"
        raise UserError(problem, where="figures of the benchmarks", action=action)
    return tuple(sorted(specs, key=lambda spec: (spec.order, spec.name)))


def _one(benchmark: Benchmark, paired: bool) -> FigureSpec:
    """The figure of a benchmark that brings none: all that arms are compared by."""
    declared = {quantity.metric: quantity for quantity in benchmark.metrics}
    if missing := [metric for metric in benchmark.primary if metric not in declared]:
        problem = f"{benchmark.name} compares {missing[0]}, which is none of its metrics"
        allowed = ", ".join(declared) or "no metric is declared"
        raise UserError(problem, where=f"{benchmark.name}: primary", allowed=allowed)
    quantities = tuple(declared[metric] for metric in benchmark.primary)
    said = f"What {benchmark.title} reports in each case"
    if paired:
        quantities, said = (CPU_SECONDS,), f"What {benchmark.title} took beside the reference"
    reported = ", ".join(f"{quantity.label} ({quantity.unit})" for quantity in quantities)
    return FigureSpec(
        benchmark.name, quantities, benchmark.title,
        f"{said}: {reported}. Left: the values; right: how they compare with the reference, paired "
        "within blocks.", in_rows=True)  # fmt: skip


def _lengths(benchmark: Benchmark) -> FigureSpec:
    """What is told apart by two lengths of a benchmark's cases."""
    return FigureSpec(
        f"lengths-{benchmark.name}", (WORK, FIXED), f"{benchmark.title}, at two lengths",
        f"What the work of {benchmark.title} takes by itself, and what is paid once (in pairs by "
        "CPU time, without the runtime's start): every case is run at two lengths, between which "
        "the second does not differ. Left: the values; right: how they compare with the "
        "reference, paired within blocks.", in_rows=True,
        order=max((figure.order for figure in benchmark.figures), default=LAST))  # fmt: skip


# Nothing here imports a plotting library, so that the rules can list them at no cost.
FIGURES = figures_of(benchmarks().values())


def quantity(case: str, metric: str, unit: str,
             own: Mapping[str, Benchmark] = MappingProxyType({})) -> Quantity:  # fmt: skip
    """How a metric of a case is called; one that is not declared keeps its own name and unit.

    `unit`: as recorded, perhaps by an older version; empty where no value was measured. `own`:
    benchmarks of the case's plan, which may be no module's.
    """
    known = {**benchmarks(), **own}
    owners = [name for name in known if f"{case}-".startswith(f"{name}-")]
    declared = known[max(owners, key=len)].metrics if owners else ()
    for each in (*declared, *description.OF_ANY):
        if each.metric == metric and unit in (each.recorded, ""):
            return each
    return Quantity(metric, metric.replace("_", " "), unit)


def spelt(benchmark: str, level: str) -> str:
    """A factor's level, or `<name>_<level>` of a network's setting, as people write it."""
    known = benchmarks().get(benchmark)
    if known and level in known.spelt:
        return known.spelt[level]
    return next((words for each in counted() if (words := each.in_words(level)) != level), level)
