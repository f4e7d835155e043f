"""Finds the amount of work that takes as long as it should: a short native pilot on the node.

Each benchmark says which parameter its time is proportional to, and how long its timed section has
to be to mean something. What takes so long on this machine is a parameter from then on, the same in
all arms and blocks: the work is fixed and never the time, in which a slower arm would do less.

A run of the pilot is an attempt as in a block: the same words, binding, environment and gates, in
the reference alone. Cases whose ranks are placed on an allocation are not piloted: their time
hangs on the allocation, too, and what one node tells would be another case's.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from msgspec.structs import replace

from parity.benchmarks.model import Benchmark, Outputs
from parity.core.errors import UserError
from parity.measure import places
from parity.measure.attempt import Order, make_attempt
from parity.measure.node import facts, node_name
from parity.measure.progress import left_in, outputs_of
from parity.measure.session import Session, begin_session, this_allocation
from parity.measure.side_by_side import Begun, design_here, refusal
from parity.plan.making import make_plan
from parity.plan.plan import Case
from parity.plan.study import Pilot, Study
from parity.plan.system import System
from parity.runtimes import every_arm
from parity.runtimes.model import SCRATCH

NEAR = 0.2  # an amount is near enough if its time is within this part of the target
# Where others are on the node a time says less; a longer one costs time, and makes nothing wrong.
NEAR_ENOUGH = 1.5
TRIES = 6  # a time in proportion is met at the second one; the later half are for noise
RUNS = 3  # what disturbs one makes it longer, so the shortest tells what an amount takes


class Amount(NamedTuple):
    """Units of work, and the shortest times that their timed section and a run took."""

    value: int
    seconds: float
    wall: float


def next_amount(amount: int, seconds: float, target: float, most: int) -> int:
    """The amount, from 1 to `most`, that takes `target` seconds if `amount` took `seconds`."""
    if (wanted := amount * target / seconds) >= most:
        return most
    # Rounded up to two significant digits, because the target is the shortest time.
    unit: int = 10 ** max(0, len(str(int(wanted))) - 2)
    return min(most, max(1, unit * math.ceil(wanted / unit)))


def native_outputs(
    study: Study, session: Session, folder: Path, benchmark: Benchmark, case: Case
) -> Outputs:
    """What a run of a case in the reference left, below `folder`; UserError: none was good."""
    program = benchmark.program(case.parameters, session.node)
    state, arm = session.states[study.reference], every_arm()[study.reference]
    order = Order(f"{case.name}.{study.reference}", case, arm, state, program, session)
    for _ in range(study.attempts):
        made = make_attempt(order, attempt := places.new_attempt(folder))
        if not made.reason:
            break
    else:
        raise _refused(case, f"{made.reason}, {made.detail}")
    return outputs_of(case, arm.name, left_in(attempt), made, session.answers[0].state.facts)


def _refused(case: Case, why: str) -> UserError:
    sized_by = case.definition.sized_by
    where = f"{node_name()}, {sized_by} = {case.parameters[sized_by]}"
    action = f"mend that and start again, or give {sized_by} in the study"
    problem = f"no amount of work is found for {case.name}: {why}"
    return UserError(problem, where=where, action=action)


def find_amount(
    benchmark: Benchmark, case: Case, outputs: Callable[[Benchmark, Case], Outputs],
    is_shared: bool = False,
) -> Amount:  # fmt: skip
    """The amount whose timed section takes about the benchmark's target, from the case's own on.

    `is_shared`: whether others take a part of the CPU: then it takes twice as long, and roughly.
    Where times are never the same twice, the later tries may take longer than they should, too.
    `outputs`: makes a run of a case, and gives what it left. Raises UserError: a run failed, the
    output at the amount is not valid, or no amount is near.
    """
    name, target = benchmark.sized_by, benchmark.target_seconds * (2 if is_shared else 1)
    amount, most = case.parameters[name], benchmark.parameters[name]["maximum"]
    for tried in range(TRIES):
        near = NEAR_ENOUGH if is_shared or tried >= TRIES // 2 else NEAR
        sized = replace(case, parameters=case.parameters | {name: amount})
        made = [outputs(benchmark, sized) for _ in range(RUNS)]
        seconds = min(map(benchmark.timed_seconds, made))
        better = next_amount(amount, seconds, target, most) if seconds else amount
        # Where a unit takes longer than the target, there is nothing nearer than one of them.
        if -NEAR <= seconds / target - 1 <= near or better == amount < most:
            for parsed in map(benchmark.parse, made):
                if not parsed.valid:
                    why = f"its output is not valid: {parsed.reason}, {parsed.detail}"
                    raise _refused(sized, why)
            if seconds:
                return Amount(amount, seconds, min(sum(each.wall_seconds) for each in made))
        amount = better
    raise _refused(sized, f"it took {seconds:.3g} s, and {target:g} s are wanted")


def cases_to_pilot(study: Study, document: Mapping[str, Any]) -> list[Case]:
    """Those of a study whose amount of work neither its file (`document`) nor its scale gives.

    Raises UserError: there are any, and the reference runs from an image, which comes later.
    """
    of_scale = document["scales"][study.scale].get("parameters", {})
    found = [case for case in study.cases if (sized_by := case.definition.sized_by)
            and not (case.is_placed or case.name in study.pairs)
            and sized_by not in document["benchmarks"][case.benchmark].get("parameters", {})
            and sized_by not in of_scale.get(case.benchmark, {})]  # fmt: skip
    if found and every_arm()[study.reference].image_format:
        problem = f"{study.reference} runs from an image, and a pilot comes before any is made"
        sized_by = f"{found[0].benchmark}: {{{found[0].definition.sized_by}: …}}"
        action = f"say how much work there is (parameters: {{{sized_by}}}), or take native-a"
        raise UserError(problem, where=f"study {study.study}: reference", action=action)
    return found


def make_pilot(study: Study, cases: Sequence[Case], system: System) -> Pilot:
    """Find the amount of each benchmark: the largest of its cases, so that none is too short.

    `cases`: those of the study to find an amount for. Raises UserError: others keep the node busy,
    the working folder is not ours, or no amount is found for a benchmark that can run here.
    """
    begun = design_here(system.max_busy_fraction) if study.busy else Begun(study.design)
    study = replace(study, design=begun.design)
    if begun.said:
        print(begun.said, flush=True)
    amounts, left_out = dict[str, Amount](), dict[str, str]()
    with ExitStack() as around:
        if cases:
            places.make_places(SCRATCH)
            folder = Path(around.enter_context(TemporaryDirectory(prefix="parity-pilot-")))
            around.enter_context(places.only_one(SCRATCH, "another measurement on this node"))
            native = replace(make_plan(study), arms=(study.reference,), cases=tuple(cases))
            session = begin_session(native, {}, {}, system, this_allocation(system, 1), folder)
            outputs = partial(native_outputs, study, session, folder / "runs")
        for name, group in groupby(cases, key=lambda case: case.benchmark):
            benchmark, of_it = study.definitions[name].provided_by(study.provider), list(group)
            try:
                # Where a block would not test it, either.
                if not (presence := session.benchmarks[name]).available:
                    raise UserError(presence.reason)
                for case in of_it:
                    program = benchmark.program(case.parameters, session.node)
                    if study.is_paired and (why := refusal(program, every_arm()[study.reference])):
                        raise UserError(why)
            except UserError as error:
                left_out[name] = error.what
                print(f"{name}: {error.what}", flush=True)
                continue
            found = max(find_amount(benchmark, case, outputs, study.is_paired) for case in of_it)
            amounts[name] = found
            said = f"{found.seconds:.2f} s with {benchmark.sized_by} = {found.value}"
            print(f"{name}: {said}", flush=True)
    return Pilot(
        design=study.design, node=node_name(), cpu_model=facts()["cpu_model"], left_out=left_out,
        amounts={name: {study.definitions[name].sized_by: each.value}
                 for name, each in amounts.items()},
        seconds={name: each.seconds for name, each in amounts.items()},
        walls={name: each.wall for name, each in amounts.items()},
    )  # fmt: skip
