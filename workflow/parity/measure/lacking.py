"""What arms lack of the programs they are to run: a file, or a library. Said before any is timed.

Without this each run would fail by itself, as often as the study allows, in the runtime's words.
"""

from __future__ import annotations

from parity.core.errors import UserError
from parity.measure.session import Session
from parity.plan.plan import Case, Plan
from parity.software.binaries import NOT_FOUND

# By it a program finds libraries that the audit, which runs without it, does not.
_SEARCHED = "LD_LIBRARY_PATH"


def lacking(session: Session, plan: Plan, case: Case, arm: str) -> str:
    """What an arm lacks of a case's programs on any node, as a sentence; empty if nothing."""
    audited = [
        binary
        for answer in session.answers
        for binary in answer.state.binaries
        if (binary.benchmark, binary.arm) == (case.benchmark, arm)
    ]
    for binary in audited:
        if not binary.sha256:
            return f"{binary.path} is not there"
        absent = [each.library for each in binary.closure if each.sha256 == NOT_FOUND]
        if absent and not _searches_elsewhere(session, plan, case):
            return f"{binary.path} does not find {', '.join(absent)}"
    return ""


def tell_what_lacks(session: Session, plan: Plan) -> None:
    """Say beside the progress what is not measured because something lacks, a line for each.

    Raises:
        UserError: nothing is left that the study compares with its reference.
    """
    found = {
        (case.name, arm): lacking(session, plan, case, arm)
        for case in plan.cases
        if session.benchmarks[case.benchmark].available
        for arm in plan.arms
    }
    titles = {case.name: plan.benchmark_titles[case.benchmark] for case in plan.cases}
    lines = sorted(
        {
            f"{titles[case]}, {plan.arm_titles[arm]}: {why}"
            for (case, arm), why in found.items()
            if why
        }
    )
    compared = [each for each in plan.comparisons if each.arm not in plan.aa_pair]
    if lines and all(
        found.get((each.case, each.arm)) or found.get((each.case, each.reference))
        for each in compared
    ):
        raise UserError(
            "\n".join(["nothing of this study could be compared", *lines]),
            where=f"study {plan.study}",
            action="put it where the program looks for it, in the image too; nothing was measured",
        )
    for line in lines:
        print(f"not measured: {line}", flush=True)


def _searches_elsewhere(session: Session, plan: Plan, case: Case) -> bool:
    """Whether the program is told of folders with libraries of its own."""
    try:
        case = plan.case_in(case, plan.reference)
        provided = case.definition.provided_by(plan.provider)
        program = provided.program(case.parameters, session.node)
        # What is run as it is given finds its libraries as whoever measures does.
        return program.as_given or _SEARCHED in program.environment
    except UserError:
        # It is too large for this node, and not started anyway.
        return True
