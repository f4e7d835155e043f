"""What the user configured, validated: the study at one scale."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from parity.benchmarks import benchmarks
from parity.benchmarks.model import Benchmark
from parity.core.errors import UserError
from parity.core.settings import check, load_checked
from parity.core.spack_paths import DISTRIBUTION, SPACK, TOOLCHAIN, provider_of
from parity.plan.plan import Case, Design, NotTested, PositiveControl
from parity.runtimes import every_arm as known_arms

DEFAULT_TIMEOUT_SECONDS = 300
DEFAULT_ATTEMPTS = 2


class Study(Design, frozen=True, kw_only=True):
    """A study at one scale; `blocks` is how many of each node count there are to be."""

    blocks: int
    not_tested: tuple[NotTested, ...] = ()
    provider: str = DISTRIBUTION
    positive_control: PositiveControl | None = None

    @property
    def campaign(self) -> str:
        """Study and scale: the name of a dataset."""
        return f"{self.study}-{self.scale}"

    @property
    def node_counts(self) -> tuple[int, ...]:
        """Sizes of the allocations that the cases need, ascending."""
        return tuple(sorted({case.nodes for case in self.cases}))

    @property
    def places_ranks(self) -> bool:
        """Whether any case is placed on an allocation."""
        return any(case.is_placed for case in self.cases)


def load_study(path: Path | str, scale: str, toolchain: str = TOOLCHAIN) -> Study:
    """The study file at `path`, at one of its scales; the others are checked as well.

    Args:
        toolchain: what Spack builds with, where it provides the programs.

    Raises:
        UserError: a misspelt key, an unknown arm, benchmark, factor, level or
            parameter, a value out of range; with file, key and what is allowed.
    """
    document = load_checked(path, "study")
    where = str(path)
    if scale not in document["scales"]:
        raise UserError(
            f"the study has no scale {scale!r}",
            where=f"{where}: scales",
            allowed=", ".join(document["scales"]),
            action="set `scale` in config/config.yaml or with --config scale=…",
        )
    _known(document["arms"], known_arms(), f"{where}: arms", "arm")
    for label, of_scale in document["scales"].items():
        for key in ("parameters", "allocations"):
            place = f"{where}: scales.{label}.{key}"
            _known(of_scale.get(key, {}), document["benchmarks"], place, "benchmark")
    provider = document.get("provider", DISTRIBUTION)
    by = provider_of(toolchain) if provider == SPACK else provider
    return {label: _at_scale(document, label, by, where) for label in document["scales"]}[scale]


def _at_scale(document: Mapping[str, Any], scale: str, provider: str, where: str) -> Study:
    """The study of a file at one of its scales; raises UserError."""
    size = document["scales"][scale]
    arms = size.get("arms", document["arms"])
    _known(arms, document["arms"], f"{where}: scales.{scale}.arms", "arm of this study")
    for key, names in (("reference", [document["reference"]]), ("aa_pair", document["aa_pair"])):
        _known(names, arms, f"{where}: {key}", f"arm of this study at scale {scale}")
    if document["reference"] not in document["aa_pair"]:
        raise UserError(
            "the reference is not one of the A/A pair",
            where=f"{where}: aa_pair",
            allowed=f"{document['reference']} and its double",
        )
    native = [name for name, arm in known_arms().items() if arm.is_native]
    for name in document["aa_pair"]:
        if name not in native:
            raise UserError(
                f"{name} is not native", where=f"{where}: aa_pair", allowed=", ".join(native)
            )
    chosen = size.get("benchmarks", list(document["benchmarks"]))
    _known(chosen, document["benchmarks"], f"{where}: scales.{scale}.benchmarks", "benchmark")
    cases = tuple(case for name in chosen for case in _cases(name, document, scale, where))
    control, without = _positive_control(document, arms, cases, scale, where)
    return Study(
        study=document["study"],
        scale=scale,
        title=document["title"],
        reproduces=document["reproduces"],
        seed=document["seed"],
        reference=document["reference"],
        aa_pair=tuple(document["aa_pair"]),
        arms=tuple(arms),
        cases=cases,
        blocks=size["blocks"],
        attempts=size.get("attempts", DEFAULT_ATTEMPTS),
        not_tested=(
            *(NotTested(**entry) for entry in document.get("not_tested", ())),
            *without,
        ),
        provider=provider,
        positive_control=control,
    )


def _known(names: Iterable[str], known: Iterable[str], where: str, kind: str) -> None:
    allowed = tuple(known)
    for name in names:
        if name not in allowed:
            raise UserError(f"unknown {kind}: {name}", where=where, allowed=", ".join(allowed))


def _positive_control(
    document: Mapping[str, Any], arms: Sequence[str], cases: Sequence[Case], scale: str, where: str
) -> tuple[PositiveControl | None, list[NotTested]]:
    """The positive control with its parameters in each case, and where it cannot be, and why.

    Raises:
        UserError: its arm is none that does more work, or there is no case that it can be
            in; or such an arm is there and the study does not say how much more it does.
    """
    key = f"{where}: positive_control"
    doing_more = [name for name, arm in known_arms().items() if arm.does_more]
    given = document.get("positive_control")
    if given is None:
        if asked := [arm for arm in document["arms"] if arm in doing_more]:
            raise UserError(
                f"{asked[0]} does more work, and the study does not say how much",
                where=key,
                allowed="{arm: …, work_percent: …}",
            )
        return None, []
    arm, percent = given["arm"], given["work_percent"]
    _known([arm], doing_more, f"{key}.arm", "arm that does more work")
    _known([arm], document["arms"], f"{key}.arm", "arm of this study")
    if arm not in arms:
        return None, []
    more = {case.name: _more_work(case, percent) for case in cases}
    parameters = {name: each for name, each in more.items() if not isinstance(each, str)}
    if not parameters:
        raise UserError(
            f"no case can have a positive control: {next(iter(more.values()))}",
            where=f"{key}, at scale {scale}",
            action="leave it out at this scale, or give a benchmark more work to add to",
        )
    reasons = {case.benchmark: each for case in cases if isinstance(each := more[case.name], str)}
    without = [NotTested(arm=arm, benchmark=name, reason=why) for name, why in reasons.items()]
    return PositiveControl(arm=arm, work_percent=percent, parameters=parameters), without


def _more_work(case: Case, percent: float) -> dict[str, Any] | str:
    """The parameter of a case with so much more work, or why there is none.

    Work comes in whole units; it may miss what is asked for by a tenth of it.
    """
    work = benchmarks()[case.benchmark].work
    if not work:
        return "its work has no unit to add to"
    if case.margin is None or percent <= 100 * case.margin:
        return f"{percent:g} % more work is not beyond its margin"
    units = case.parameters[work]
    more = round(units * (1 + percent / 100))
    if abs(100 * (more / units - 1) - percent) > percent / 10:
        return f"{units} {work} have no whole unit for {percent:g} % more"
    return {work: more}


def _cases(name: str, document: Mapping[str, Any], scale: str, path: str) -> list[Case]:
    """All cases of one benchmark: allocations and levels crossed, in the order they are given."""
    entries, size = document["benchmarks"], document["scales"][scale]
    where = f"{path}: benchmarks.{name}"
    _known([name], benchmarks(), where, "benchmark")
    benchmark, entry = benchmarks()[name], entries[name]
    factors = entry.get("factors", {})
    _check_factors(benchmark, factors, f"{where}.factors")
    own = size.get("allocations", {})
    given = own.get(name, entry.get("allocations", ()))
    place = f"{path}: scales.{scale}.allocations.{name}" if name in own else f"{where}.allocations"
    allocations = _allocations(benchmark, given, place)
    parameters = _parameters(benchmark, entry, size, scale, path)
    margin = entry["margin_percent"]
    return [
        Case(
            name="-".join([name, *([allocation] if allocation else []), *levels]),
            benchmark=name,
            parameters=parameters | placed | dict(zip(factors, levels, strict=True)),
            margin=None if margin is None else margin / 100,
            primary=benchmark.primary,
            differences=benchmark.differences,
            timeout_seconds=entry.get("timeout_seconds", DEFAULT_TIMEOUT_SECONDS),
        )
        for allocation, placed in allocations.items()
        for levels in itertools.product(*factors.values())
    ]


def _allocations(
    benchmark: Benchmark, given: Sequence[str], where: str
) -> dict[str, dict[str, int]]:
    """Nodes and ranks by the allocation's name; one without a name where there is none."""
    if given and not benchmark.allocations:
        raise UserError(
            f"{benchmark.name} is not placed on allocations",
            where=where,
            action="remove the key: the benchmark runs on one node",
        )
    if not given and benchmark.allocations == "required":
        raise UserError(
            f"{benchmark.name} needs the allocations it is placed on",
            where=where,
            allowed="a list of <nodes>x<ranks>, such as 2x2",
        )
    placements: dict[str, dict[str, int]] = {}
    for text in given:
        nodes, ranks = map(int, text.split("x"))
        if ranks % nodes:
            raise UserError(
                f"{ranks} ranks cannot be spread equally over {nodes} nodes",
                where=f"{where}: {text}",
                allowed=f"a multiple of {nodes} ranks",
            )
        placements[text] = {"nodes": nodes, "ranks": ranks}
    return placements or {"": {}}


def _check_factors(benchmark: Benchmark, factors: Mapping[str, Any], where: str) -> None:
    _known(factors, benchmark.factors, where, f"factor of {benchmark.name}")
    for factor, allowed in benchmark.factors.items():
        if factor not in factors:
            raise UserError(
                f"{benchmark.name} needs the levels of its factor {factor}",
                where=where,
                allowed=", ".join(allowed),
            )
        _known(factors[factor], allowed, f"{where}.{factor}", f"level of {factor}")


def _parameters(
    benchmark: Benchmark,
    entry: Mapping[str, Any],
    size: Mapping[str, Any],
    scale: str,
    where: str,
) -> dict[str, Any]:
    """The benchmark's defaults, then the study's values, then those of the scale."""
    rules = {
        "type": "object",
        "additionalProperties": False,
        "properties": {name: dict(rule) for name, rule in benchmark.parameters.items()},
    }
    given = [entry.get("parameters", {}), size.get("parameters", {}).get(benchmark.name, {})]
    check(given[0], rules, f"{where}: benchmarks.{benchmark.name}.parameters")
    check(given[1], rules, f"{where}: scales.{scale}.parameters.{benchmark.name}")
    defaults: dict[str, Any] = {
        name: rule["default"] for name, rule in benchmark.parameters.items()
    }
    return {**defaults, **given[0], **given[1]}
