"""What the cells of a claim may name: what benchmarks and runtimes declare.

A name that nothing declares can never be found in any dataset. It is either misspelt, or of
something that Parity does not have yet, and then the test says that it waits for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jsonschema

from parity.benchmarks import benchmarks
from parity.benchmarks.counted import placed_metrics
from parity.benchmarks.model import Benchmark
from parity.claims.replayed import with_parameters, with_replays
from parity.claims.selection import Selection
from parity.core.errors import UserError
from parity.plan.plan import Plan
from parity.runtimes import every_arm

_COUNT = {"type": "integer", "minimum": 1}
_PLACED = ("nodes", "ranks", "containers_per_node")


@dataclass(frozen=True)
class Declared:
    """The benchmarks, and the names of all arms."""

    benchmarks: Mapping[str, Benchmark]
    arms: Collection[str]


def declared(plans: Iterable[Plan] = ()) -> Declared:
    """What this version of Parity has, and the benchmarks that these plans bring themselves."""
    own = {
        name: with_parameters(benchmark, plan)
        for plan in plans
        for name, benchmark in plan.definitions.items()
        if name not in benchmarks()
    }
    return Declared(with_replays({**benchmarks(), **own}), every_arm())


def missing(cells: Selection, options: Mapping[str, Any], known: Declared) -> list[str]:
    """The names in a test's cells and options that nothing declares, each once.

    A benchmark and an arm are called by their name, a metric or parameter `npb.class`, and a
    level `npb.class=D`. Of a benchmark that is not there nothing else can be said.
    """
    found = _of_cells(cells, known)
    benchmark = known.benchmarks.get(cells.benchmark)
    if benchmark:
        found += _of_parameters(benchmark, _factors(options))
    found += _of_arms([options["than"]] if "than" in options else [], known)
    if options.get("control") is not None:
        found += _of_cells(Selection.of(options["control"]), known)
    return list(dict.fromkeys(found))


def require_declared(
    cells: Selection,
    options: Mapping[str, Any],
    waits_for: Collection[str],
    known: Declared,
    where: str,
) -> None:
    """Refuse a test that names what nothing declares, or waits for what is there.

    Args:
        where: file, claim and number of the test.

    Raises:
        UserError: with the names.
    """
    absent = missing(cells, options, known)
    if unknown := [name for name in absent if name not in waits_for]:
        raise UserError(
            f"nothing declares {', '.join(unknown)}",
            where=f"{where}.cells",
            allowed=_allowed(cells, known),
            action="correct it, or name it under waits_for until it is there",
        )
    if there := [name for name in waits_for if name not in absent]:
        raise UserError(
            f"the test waits for {', '.join(there)}, which is there or which it does not name",
            where=f"{where}.waits_for",
            action="remove it, and read the test again",
        )


def _of_cells(cells: Selection, known: Declared) -> list[str]:
    arms = _of_arms([*(cells.arms or ()), *filter(None, [cells.against])], known)
    benchmark = known.benchmarks.get(cells.benchmark)
    if benchmark is None:
        return [cells.benchmark, *arms]
    metrics = _metrics(benchmark)
    found = [] if cells.metric in metrics else [f"{benchmark.name}.{cells.metric}"]
    return [
        *found,
        *_of_parameters(benchmark, cells.parameters.items()),
        *_of_parameters(benchmark, cells.levels.items()),
        *arms,
    ]


def _of_arms(names: Iterable[str], known: Declared) -> list[str]:
    return [name for name in names if name not in known.arms]


def _factors(options: Mapping[str, Any]) -> list[tuple[str, Sequence[Any]]]:
    """The parameters that a rule itself looks along, with the levels that it names."""
    along = options.get("along"), options.get("order", ())
    crossed = options.get("factor"), options.get("levels", ())
    # `factor` is a number where a rule calls a ratio so.
    return [(name, _flat(levels)) for name, levels in (along, crossed) if isinstance(name, str)]


def _flat(levels: Iterable[Any]) -> list[Any]:
    """Levels, some of which may stand in groups."""
    return [one for level in levels for one in (level if isinstance(level, list) else [level])]


def _of_parameters(benchmark: Benchmark, named: Iterable[tuple[str, Sequence[Any]]]) -> list[str]:
    rules, found = _rules(benchmark), []
    for name, levels in named:
        if name not in rules:
            found.append(f"{benchmark.name}.{name}")
            continue
        accepts = jsonschema.Draft202012Validator(rules[name]).is_valid
        found += [f"{benchmark.name}.{name}={level}" for level in levels if not accepts(level)]
    return found


def _rules(benchmark: Benchmark) -> dict[str, Mapping[str, Any]]:
    """JSON schema of each parameter that a case of this benchmark can have."""
    factors = {name: {"enum": list(levels)} for name, levels in benchmark.factors.items()}
    placed = dict.fromkeys(_PLACED, _COUNT) if benchmark.allocations else {}
    return {**benchmark.all_parameters, **factors, **placed}


def _metrics(benchmark: Benchmark) -> list[str]:
    """The metrics that runs of this benchmark can have, the kernel's counters with them."""
    counted = placed_metrics() if benchmark.allocations else ()
    return [quantity.metric for quantity in (*benchmark.metrics, *counted)]


def _allowed(cells: Selection, known: Declared) -> str:
    """What may stand in cells of this benchmark."""
    benchmark = known.benchmarks.get(cells.benchmark)
    if benchmark is None:
        return f"benchmarks {', '.join(known.benchmarks)}"
    metrics = ", ".join(_metrics(benchmark))
    return (
        f"metrics {metrics}; parameters {', '.join(_rules(benchmark))}; arms of `snakemake probe`"
    )
