"""What the user configured, validated: the study at one scale."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from parity.benchmarks.model import Benchmark
from parity.core.errors import UserError, refuse_unknown
from parity.core.settings import check, load_checked
from parity.core.spack_paths import DISTRIBUTION, SPACK, TOOLCHAIN, provider_of
from parity.plan.combinations import combinations
from parity.plan.own_programs import benchmark_in
from parity.plan.plan import Case, Design, NotTested, PositiveControl
from parity.plan.positive_control import positive_control
from parity.runtimes import every_arm as known_arms
from parity.software.foreign_image import refuse_no_image

DEFAULT_TIMEOUT_SECONDS = 300
DEFAULT_ATTEMPTS = 2
# By benchmark, and by the parameter that sizes it.
Amounts = Mapping[str, Mapping[str, int]]
NO_AMOUNTS: Amounts = MappingProxyType({})


class Study(Design, frozen=True, kw_only=True):
    """A study at one scale.

    Attributes:
        blocks: how many of each node count there are to be.
        image: an image that somebody else made, and that is measured instead of one of ours; a
            path or a name by digest, empty for none.
        is_piloted: whether a pilot on the node finds how much work takes the benchmarks' time.
    """

    blocks: int
    image: str = ""
    is_piloted: bool = False
    not_tested: tuple[NotTested, ...] = ()
    provider: str = DISTRIBUTION
    positive_control: PositiveControl | None = None
    looks: tuple[int, ...] = ()
    minutes: float | None = None
    blocks_per_job: int = 1

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


def load_study(
    path: Path | str,
    scale: str,
    toolchain: str = TOOLCHAIN,
    minutes: float | None = None,
    amounts: Amounts = NO_AMOUNTS,
) -> Study:
    """The study file at `path`, at one of its scales; the others are checked as well.

    Args:
        toolchain: what Spack builds with, where it provides the programs.
        minutes: how long it may be measured, instead of what the scale says.
        amounts: parameters that a pilot found, by benchmark, where the scale has one; those that
            the study gives go before them.

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
    refuse_unknown(document["arms"], known_arms(), f"{where}: arms", "arm")
    for label, of_scale in document["scales"].items():
        for key in ("parameters", "allocations", "factors"):
            place = f"{where}: scales.{label}.{key}"
            refuse_unknown(of_scale.get(key, {}), document["benchmarks"], place, "benchmark")
    provider = document.get("provider", DISTRIBUTION)
    by = provider_of(toolchain) if provider == SPACK else provider
    found = {scale: amounts}
    study = {
        label: _at_scale(document, label, by, where, found.get(label, NO_AMOUNTS))
        for label in document["scales"]
    }[scale]
    return study if minutes is None else replace(study, minutes=minutes)


def _at_scale(
    document: Mapping[str, Any], scale: str, provider: str, where: str, amounts: Amounts
) -> Study:
    """The study of a file at one of its scales; raises UserError."""
    size = document["scales"][scale]
    arms = size.get("arms", document["arms"])
    refuse_unknown(arms, document["arms"], f"{where}: scales.{scale}.arms", "arm of this study")
    for key, names in (("reference", [document["reference"]]), ("aa_pair", document["aa_pair"])):
        refuse_unknown(names, arms, f"{where}: {key}", f"arm of this study at scale {scale}")
    if document["reference"] not in document["aa_pair"]:
        raise UserError(
            "the reference is not one of the A/A pair",
            where=f"{where}: aa_pair",
            allowed=f"{document['reference']} and its double",
        )
    image = document.get("image", {}).get("from", "")
    if image:
        refuse_no_image(image, f"{where}: image.from")
    _check_pair(document["aa_pair"], bool(image), where)
    chosen = size.get("benchmarks", list(document["benchmarks"]))
    refuse_unknown(
        chosen, document["benchmarks"], f"{where}: scales.{scale}.benchmarks", "benchmark"
    )
    cases = tuple(
        case
        for name in chosen
        for case in _cases(name, document, scale, where, amounts.get(name, {}))
    )
    control, without = positive_control(document, arms, cases, scale, where)
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
        image=image,
        is_piloted=size.get("pilot", False),
        attempts=size.get("attempts", DEFAULT_ATTEMPTS),
        not_tested=(
            *(NotTested(**entry) for entry in document.get("not_tested", ())),
            *without,
        ),
        provider=provider,
        positive_control=control,
        looks=_looks(size, f"{where}: scales.{scale}.looks"),
        minutes=size.get("minutes"),
        blocks_per_job=size.get("blocks_per_job", 1),
    )


def _check_pair(pair: Sequence[str], is_foreign: bool, where: str) -> None:
    """Refuse a pair that is neither native nor, with a foreign image, what may stand in for it."""
    allowed = [
        name
        for name, arm in known_arms().items()
        if arm.is_native or (is_foreign and arm.stands_in)
    ]
    for name in pair:
        if name not in allowed:
            only = " but with `image`" if known_arms()[name].stands_in else ""
            raise UserError(
                f"{name} is not native, and no reference{only}",
                where=f"{where}: aa_pair",
                allowed=", ".join(allowed),
            )


def _looks(size: Mapping[str, Any], where: str) -> tuple[int, ...]:
    """The numbers of blocks at which a campaign is looked at; raises UserError."""
    looks = tuple(size.get("looks", ()))
    if looks and (sorted(looks) != list(looks) or looks[-1] != size["blocks"]):
        raise UserError(
            f"the looks {', '.join(map(str, looks))} do not lead to the last block",
            where=where,
            allowed=f"ascending numbers of blocks, the last of them {size['blocks']}",
        )
    return looks


def _cases(
    name: str, document: Mapping[str, Any], scale: str, path: str, amounts: Mapping[str, int]
) -> list[Case]:
    """All cases of one benchmark: allocations, levels and parameters with several values crossed.

    They come in the order in which they are given.
    """
    entries, size = document["benchmarks"], document["scales"][scale]
    where = f"{path}: benchmarks.{name}"
    benchmark, entry = benchmark_in(name, document, where), entries[name]
    factors = entry.get("factors", {})
    _check_factors(benchmark, factors, f"{where}.factors")
    chosen = size.get("factors", {}).get(name, {})
    for factor, levels in chosen.items():
        place = f"{path}: scales.{scale}.factors.{name}"
        refuse_unknown([factor], factors, place, f"factor of {name} in this study")
        refuse_unknown(levels, factors[factor], f"{place}.{factor}", "level of this study")
    factors = factors | chosen
    own = size.get("allocations", {})
    given = own.get(name, entry.get("allocations", ()))
    place = f"{path}: scales.{scale}.allocations.{name}" if name in own else f"{where}.allocations"
    allocations = _allocations(benchmark, given, place)
    crossed = _parameters(benchmark, entry, size, scale, path, amounts)
    margin = entry["margin_percent"]
    return [
        Case(
            name="-".join(filter(None, [name, allocation, *levels, values])),
            benchmark=name,
            parameters=parameters | placed | dict(zip(factors, levels, strict=True)),
            margin=None if margin is None else margin / 100,
            primary=benchmark.primary,
            differences=benchmark.differences,
            timeout_seconds=entry.get("timeout_seconds", DEFAULT_TIMEOUT_SECONDS),
        )
        for allocation, placed in allocations.items()
        for levels in itertools.product(*factors.values())
        for values, parameters in crossed.items()
    ]


def _allocations(
    benchmark: Benchmark, given: Sequence[str], where: str
) -> dict[str, dict[str, int]]:
    """Nodes, ranks and containers by the allocation's name; one without a name for none.

    Names of cases are those of folders, so the slash of an allocation is `in` there.
    """
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
            allowed="a list of <nodes>x<ranks>[/<containers per node>], such as 2x2 or 1x4/2",
        )
    placements: dict[str, dict[str, int]] = {}
    for text in given:
        spread, _, containers = text.partition("/")
        nodes, ranks = map(int, spread.split("x"))
        placed = {"nodes": nodes, "ranks": ranks}
        over = f"{nodes} nodes"
        if containers:
            placed["containers_per_node"] = int(containers)
            over += f" of {containers} containers"
        if ranks % (parts := nodes * int(containers or 1)):
            raise UserError(
                f"{ranks} ranks cannot be spread equally over {over}",
                where=f"{where}: {text}",
                allowed=f"a multiple of {parts} ranks",
            )
        placements[text.replace("/", "in")] = placed
    return placements or {"": {}}


def _check_factors(benchmark: Benchmark, factors: Mapping[str, Any], where: str) -> None:
    refuse_unknown(factors, benchmark.factors, where, f"factor of {benchmark.name}")
    for factor, allowed in benchmark.factors.items():
        if factor not in factors:
            raise UserError(
                f"{benchmark.name} needs the levels of its factor {factor}",
                where=where,
                allowed=", ".join(allowed),
            )
        refuse_unknown(factors[factor], allowed, f"{where}.{factor}", f"level of {factor}")


def _parameters(
    benchmark: Benchmark,
    entry: Mapping[str, Any],
    size: Mapping[str, Any],
    scale: str,
    where: str,
    amounts: Mapping[str, int],
) -> dict[str, dict[str, Any]]:
    """The benchmark's defaults, a pilot's, then the study's values, then those of the scale.

    Where some have several values, once for each combination, by what those are called.
    """
    rules = {
        "type": "object",
        "additionalProperties": False,
        "properties": {name: dict(rule) for name, rule in benchmark.all_parameters.items()},
    }
    given = [entry.get("parameters", {}), size.get("parameters", {}).get(benchmark.name, {})]
    for one in combinations(given[0]).values():
        check(one, rules, f"{where}: benchmarks.{benchmark.name}.parameters")
    for one in combinations(given[1]).values():
        check(one, rules, f"{where}: scales.{scale}.parameters.{benchmark.name}")
    defaults: dict[str, Any] = {
        name: rule["default"] for name, rule in benchmark.parameters.items()
    }
    return combinations({**defaults, **amounts, **given[0], **given[1]})
