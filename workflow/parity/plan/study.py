"""What the user configured, validated: the study at one scale."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from parity.benchmarks import benchmarks
from parity.benchmarks.description import CPU_SECONDS
from parity.core.documents import Document, Format
from parity.core.errors import UserError, refuse_unknown
from parity.core.settings import load_checked
from parity.core.spack_paths import DISTRIBUTION, SPACK, TOOLCHAIN, provider_of
from parity.plan.cases import at_two_lengths, cases_of, digested
from parity.plan.plan import IN_TURN, PAIR, Case, Design, NotTested, PositiveControl, Shorter
from parity.runtimes import every_arm
from parity.software.foreign_image import refuse_no_image


class Pilot(Document, frozen=True, kw_only=True):
    """How much work takes as long as it should on a node, as a pilot found it: pilot.json."""

    version: int = 2
    design: str = IN_TURN  # of the campaign that begins with it, as the node was
    node: str
    cpu_model: str  # as the node tells it; empty if it does not
    amounts: dict[str, dict[str, int]]  # by benchmark, the parameter that sizes it and its value
    seconds: dict[str, float]  # by benchmark, the shortest timed section of the runs with so much
    walls: dict[str, float]  # by benchmark, the shortest of these runs as a whole, in seconds
    left_out: dict[str, str]  # by benchmark, why it has no amount: it cannot run on this node


PILOT = "pilot.json"
# Version 1 did not keep what its runs took beside what is timed.
read_pilot = Format(Pilot, (lambda content: content | {"walls": content["seconds"]},)).read


class Study(Design, frozen=True, kw_only=True):
    """A study at one scale."""

    blocks: int  # how many of each node count there are to be
    attempts: int = 2
    # What somebody else made, measured instead of ours: a path or a name by digest; empty for none.
    image: str = ""
    is_piloted: bool = False  # whether a pilot on the node finds how much work takes the time
    not_tested: tuple[NotTested, ...] = ()
    provider: str = DISTRIBUTION
    positive_control: PositiveControl | None = None
    looks: tuple[int, ...] = ()
    minutes: float | None = None
    blocks_per_job: int = 1
    design: str = IN_TURN
    busy: str = ""  # how it is measured instead of `design` where a pilot finds the node busy
    shorter: tuple[Shorter, ...] = ()
    pairs: tuple[str, ...] = ()

    @property
    def campaign(self) -> str:
        """Study and scale: the name of a dataset."""
        return f"{self.study}-{self.scale}"


def load_study(
    path: Path | str, scale: str, toolchain: str = TOOLCHAIN, minutes: float | None = None,
    found: Pilot | None = None, software: Mapping[str, str] = MappingProxyType({}),
) -> Study:  # fmt: skip
    """The study file at `path`, at one of its scales; the others are checked as well.

    Raises UserError: a misspelt key, an unknown arm, benchmark, factor, level or parameter, a value
    out of range; with file, key and what is allowed. `toolchain`: what Spack builds with, where it
    provides the programs. `minutes`: how long it may be measured, instead of what the scale says.
    `found`: by a pilot, where the scale has one: the design, and parameters by benchmark, but for
    those that the study gives. `software`: see `System.software`.
    """
    document, where = load_checked(path, "study"), str(path)
    scales = document["scales"]
    if scale not in scales:
        problem = f"the study has no scale {scale!r}"
        action = "set `scale` in config/config.yaml or with --config scale=…"
        raise UserError(problem, where=f"{where}: scales", allowed=", ".join(scales), action=action)
    refuse_unknown(document["arms"], every_arm(), f"{where}: arms", "arm")
    for label, size in scales.items():
        for key in ("parameters", "allocations", "factors", "short"):
            place = f"{where}: scales.{label}.{key}"
            refuse_unknown(size.get(key, {}), document["benchmarks"], place, "benchmark")
    ours = benchmarks()
    used = {each for name in ours.keys() & document["benchmarks"] for each in ours[name].software}
    built = digested({name: at for name, at in software.items() if name in used})
    studies = {
        label: _at_scale(document, label, where, found if label == scale else None, built)
        for label in scales
    }
    provider, study = document.get("provider", DISTRIBUTION), studies[scale]
    study = replace(study, provider=provider_of(toolchain) if provider == SPACK else provider)
    return study if minutes is None else replace(study, minutes=minutes)


def _at_scale(
    document: Mapping[str, Any], scale: str, where: str, found: Pilot | None,
    software: Mapping[str, Mapping[str, str]],
) -> Study:  # fmt: skip
    size, known = document["scales"][scale], document["benchmarks"]
    place, arms = f"{where}: scales.{scale}", size.get("arms", document["arms"])
    refuse_unknown(arms, document["arms"], f"{place}.arms", "arm of this study")
    image = document.get("image", {}).get("from", "")
    _check_pair(document, arms, bool(image), scale, where)
    if image:
        refuse_no_image(image, f"{where}: image.from")
    chosen = size.get("benchmarks", list(known))
    refuse_unknown(chosen, known, f"{place}.benchmarks", "benchmark")
    amounts = found.amounts if found else {}
    cases = tuple(
        case
        for name in chosen
        for case in cases_of(name, document, scale, where, amounts.get(name, {}), software)
    )
    is_busy_known = "busy" in size
    design = found.design if found and is_busy_known else size.get("design", IN_TURN)
    if is_busy_known and not size.get("pilot"):
        problem, action = "only a pilot sees whether a node is busy", "write `pilot: true` as well"
        raise UserError(problem, where=f"{place}.busy", action=action)
    if is_busy_known or design != IN_TURN:
        key = "busy" if is_busy_known else "design"
        paired = tuple(_paired(case, f"{place}.{key}") for case in cases)
        cases = cases if design == IN_TURN else paired
    as_well = size.get("pairs", [])
    refuse_unknown(as_well, chosen, f"{place}.pairs", "benchmark of this scale")
    beside = [each for each in cases if design == IN_TURN and each.benchmark in as_well]
    in_pairs = [_paired(each, f"{place}.pairs") for each in beside]
    again = tuple(replace(case, name=f"{case.name}{PAIR}") for case in in_pairs)
    cases += again
    short = size.get("short", {})
    lengths = {
        case.name: at_two_lengths(case, short[case.benchmark], f"{place}.short.{case.benchmark}")
        for case in cases
        # In turn, a program that is paired as well tells its time without a start.
        if case.benchmark in short and (case in again or case.benchmark not in as_well)
    }
    cases = tuple(lengths.get(case.name, (case,))[0] for case in cases)
    shorter = tuple(run for _, run in lengths.values())
    pairs = [case.name for case in again]
    pairs += [run.case.name for run in shorter if run.of in pairs]
    looks = size.get("looks", [])
    if looks and (sorted(looks) != looks or looks[-1] != size["blocks"]):
        problem = f"the looks {', '.join(map(str, looks))} do not lead to the last block"
        allowed = f"ascending numbers of blocks, the last of them {size['blocks']}"
        raise UserError(problem, where=f"{place}.looks", allowed=allowed)
    control, without = _positive_control(document, arms, cases, shorter, scale, where)
    declared = (NotTested(**entry) for entry in document.get("not_tested", ()))
    given = ("attempts", "minutes", "blocks_per_job", "busy")
    return Study(
        **{key: document[key] for key in ("study", "title", "reproduces", "seed", "reference")},
        **{key: size[key] for key in given if key in size}, design=design, scale=scale,
        aa_pair=tuple(document["aa_pair"]), arms=tuple(arms), cases=cases, blocks=size["blocks"],
        image=image, is_piloted=size.get("pilot", False), not_tested=(*declared, *without),
        positive_control=control, looks=tuple(looks), shorter=shorter, pairs=tuple(pairs),
    )  # fmt: skip


def _paired(case: Case, where: str) -> Case:
    """A case that is measured side by side; UserError: it has ranks or threads."""
    if case.is_placed or case.parameters.get("threads", 1) != 1:
        problem = f"{case.name} has ranks or threads, and two of them would need a CPU each"
        action = "leave it out at this scale, or measure it in-turn"
        allowed = "programs of one process on one CPU"
        raise UserError(problem, where=where, allowed=allowed, action=action)
    return replace(case, primary=(CPU_SECONDS.metric,), differences=())


def _check_pair(
    document: Mapping[str, Any], arms: Sequence[str], is_foreign: bool, scale: str, where: str
) -> None:
    """Refuse a pair that is neither native nor, with a foreign image, what may stand in for it."""
    reference, pair = document["reference"], document["aa_pair"]
    for key, names in (("reference", [reference]), ("aa_pair", pair)):
        refuse_unknown(names, arms, f"{where}: {key}", f"arm of this study at scale {scale}")
    if reference not in pair:
        problem = "the reference is not one of the A/A pair"
        raise UserError(problem, where=f"{where}: aa_pair", allowed=f"{reference} and its double")
    known = every_arm()
    native = [n for n, arm in known.items() if arm.is_native or (is_foreign and arm.stands_in)]
    for name in (name for name in pair if name not in native):
        only = " but with `image`" if known[name].stands_in else ""
        problem = f"{name} is not native, and no reference{only}"
        raise UserError(problem, where=f"{where}: aa_pair", allowed=", ".join(native))


def _positive_control(
    document: Mapping[str, Any], arms: Sequence[str], cases: Sequence[Case],
    shorter: Sequence[Shorter], scale: str, where: str,
) -> tuple[PositiveControl | None, list[NotTested]]:  # fmt: skip
    """The positive control with its parameters in each case, and where it cannot be, and why."""
    key, given = f"{where}: positive_control", document.get("positive_control")
    doing_more = [name for name, arm in every_arm().items() if arm.does_more]
    if given is None:
        if asked := [arm for arm in document["arms"] if arm in doing_more]:
            problem = f"{asked[0]} does more work, and the study does not say how much"
            raise UserError(problem, where=key, allowed="{arm: …, work_percent: …}")
        return None, []
    arm, percent = given["arm"], given["work_percent"]
    refuse_unknown([arm], doing_more, f"{key}.arm", "arm that does more work")
    refuse_unknown([arm], document["arms"], f"{key}.arm", "arm of this study")
    if arm not in arms:
        return None, []
    more = {case.name: _more_work(case, percent) for case in cases}
    reasons = {case.benchmark: why for case in cases if isinstance(why := more[case.name], str)}
    if all(isinstance(changed, str) for changed in more.values()):
        problem = f"no case can have a positive control: {next(iter(more.values()))}"
        action = "leave it out at this scale, or give a benchmark more work to add to"
        raise UserError(problem, where=f"{key}, at scale {scale}", action=action)
    without = [NotTested(arm=arm, benchmark=name, reason=why) for name, why in reasons.items()]
    more |= {run.case.name: _more_work(run.case, percent) for run in shorter}
    parameters = {name: changed for name, changed in more.items() if isinstance(changed, dict)}
    return PositiveControl(arm=arm, work_percent=percent, parameters=parameters), without


def _more_work(case: Case, percent: float) -> dict[str, Any] | str:
    """The parameter of a case with so much more work, to a tenth of it, or why there is none."""
    if not (work := case.definition.work):
        return "its work has no unit to add to"
    if case.margin is None or percent <= 100 * case.margin:
        return f"{percent:g} % more work is not beyond its margin"
    units = case.parameters[work]
    more = round(units * (1 + percent / 100))
    if abs(100 * (more / units - 1) - percent) > percent / 10:
        return f"{units} {work} have no whole unit for {percent:g} % more"
    return {work: more}
