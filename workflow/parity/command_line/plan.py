"""The command of the rule on plans."""

from pathlib import Path

from parity.plan.making import make_plan
from parity.plan.plan import write_plan as write
from parity.plan.study import load_study, read_pilot
from parity.plan.system import load_system


def write_plan(
    study: Path, scale: str, system: Path, toolchain: str, plan: Path,
    minutes: float | None = None, pilot: Path | None = None,
) -> None:  # fmt: skip
    """Write a study's plan, with what a pilot found for it."""
    found, software = read_pilot(pilot) if pilot else None, load_system(system).software
    write(plan, make_plan(load_study(study, scale, toolchain, minutes, found, software)))
