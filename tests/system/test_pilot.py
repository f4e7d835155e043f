"""A pilot on this machine: amounts for real programs, and what it refuses.

Needs: sysbench and likwid.
"""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from trials import ANYWHERE, PAIR, SYSTEM_FILE, case_of

from parity.benchmarks import benchmarks
from parity.benchmarks.sysbench import SysbenchCpu
from parity.command_line import runner
from parity.core.errors import UserError
from parity.measure import node
from parity.measure.pilot import NEAR, NEAR_ENOUGH, make_pilot
from parity.plan import plan
from parity.plan.study import Pilot, Study, read_pilot
from parity.plan.system import System

pytestmark = pytest.mark.system

STUDY = {
    "study": "trial", "title": "A trial", "reproduces": "none", "seed": 1,
    "reference": "native-b", "aa_pair": ["native-a", "native-b"],
    "arms": ["native-a", "native-b", "namespaces"],
    "benchmarks": {
        "sysbench": {"margin_percent": 1},
        "likwid": {"margin_percent": 2, "factors": {"kernel": ["copy", "triad"]},
                   "parameters": {"working_set_mib": 64}},
    },
    "scales": {"test": {"blocks": 3}},
}  # fmt: skip


def _pilot(folder: Path, study: dict) -> Pilot:
    (folder / "study.yaml").write_text(json.dumps(study))
    (folder / "system.yaml").write_text(SYSTEM_FILE)
    files = {word: folder / f"{word}.yaml" for word in ("study", "system")}
    runner.pilot(**files, scale="test", pilot=folder / "pilot.json")
    return read_pilot(folder / "pilot.json")


def test_the_amounts_of_real_programs_take_their_targets(tmp_path, capsys) -> None:
    for name in ("sysbench", "likwid"):
        if not (presence := benchmarks()[name].probe()).available:
            pytest.skip(presence.reason)
    found, said = _pilot(tmp_path, STUDY), capsys.readouterr().out
    assert found.node and not found.left_out
    assert set(found.amounts) == set(found.seconds) == {"sysbench", "likwid"}
    for name, amount in found.amounts.items():
        benchmark = benchmarks()[name]
        assert amount.keys() == {benchmark.sized_by}
        # Never too short; on a machine that others use it may be longer.
        assert -NEAR <= found.seconds[name] / benchmark.target_seconds - 1 <= NEAR_ENOUGH
        assert f"{name}: " in said
    # The working set fits here, so one pass through it takes far less than the target.
    assert found.amounts["likwid"]["iterations"] > 1


def test_what_cannot_run_here_is_left_out_with_its_reason(tmp_path) -> None:
    sysbench = {"margin_percent": 1, "parameters": {"threads": 4096}}
    found = _pilot(tmp_path, STUDY | {"benchmarks": {"sysbench": sysbench}})
    assert not found.amounts and not found.seconds
    assert "4096 logical CPUs are asked for" in found.left_out["sysbench"]


class Replaced(SysbenchCpu):
    """SysBench by name; what is started is another program."""

    def __init__(self, *argv: str) -> None:
        self.argv = argv

    def provided_by(self, provider):
        return self

    def program(self, parameters, node):
        return replace(super().program(parameters, node), argv=self.argv)


CASE = case_of("sysbench", margin=None)


def _study() -> Study:
    fields = {key: STUDY[key] for key in ("study", "title", "reproduces", "seed", "reference")}
    design = {"scale": "test", "aa_pair": PAIR, "arms": PAIR, "blocks": 3, "attempts": 2}
    return Study(**fields, **design, cases=(CASE,))


@pytest.mark.parametrize(("argv", "why"), [
    (("/bin/false",), "exit-status, exit status 1"),
    (("/bin/true",), "its output is not valid: unparsable"),
    (("/bin/echo", "total time: 0.4s"), "its output is not valid: unparsable"),
])  # fmt: skip
def test_a_program_that_fails_or_says_something_else_is_refused(argv, why, monkeypatch) -> None:
    monkeypatch.setattr(plan, "benchmark_of", lambda *_: Replaced(*argv))
    with pytest.raises(UserError) as raised:
        make_pilot(_study(), (CASE,), ANYWHERE)
    assert raised.value.what.startswith(f"no amount of work is found for sysbench: {why}")
    assert raised.value.where.endswith(", events = 200")


def test_a_busy_node_is_refused_as_in_a_block(monkeypatch) -> None:
    monkeypatch.setattr(node, "busy_now", lambda: 0.75)
    busy = System("test", "vm", "bootstrap", 0.5, 0.5, max_steal_fraction=1.0)
    with pytest.raises(UserError, match=r"the node is busy: others used 0\.750"):
        make_pilot(_study(), (CASE,), busy)
