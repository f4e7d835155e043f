"""Short real studies, for tests of what measures."""

from collections.abc import Mapping
from typing import Any

from parity.benchmarks import benchmarks
from parity.plan.making import make_plan
from parity.plan.plan import Case, Plan
from parity.plan.study import Study
from parity.plan.system import System

# Where it neither matters who else is there nor what the hypervisor takes.
ANYWHERE = System("test", "vm", "bootstrap", 1.0, 0.0, 1.0)
PAIR = ("native-a", "native-b")
SHORT = {"prime": 1000, "events": 200, "threads": 1}


def case_of(
    name: str = "sysbench",
    parameters: Mapping[str, Any] = SHORT,
    margin: float | None = 0.01,
    timeout: float = 60,
) -> Case:
    """A case of the benchmark that its name begins with."""
    benchmark = name if name in benchmarks() else name.split("-")[0]
    return Case(
        name=name,
        benchmark=benchmark,
        parameters=dict(parameters),
        margin=margin,
        primary=benchmarks()[benchmark].primary,
        differences=(),
        timeout_seconds=timeout,
    )


def trial(*cases: Case, arms: tuple[str, ...] = PAIR, attempts: int = 1, **design: Any) -> Plan:
    """The plan of these cases in these arms; of one block, unless the design says more."""
    return make_plan(
        Study(
            study="trial",
            scale="test",
            title="A trial",
            reproduces="none",
            seed=1,
            reference=PAIR[0],
            aa_pair=PAIR,
            arms=arms,
            cases=cases,
            attempts=attempts,
            **{"blocks": 1, **design},
        )
    )
