"""Time that others take: of the CPU that lost most, and never counted twice."""

import subprocess
from collections import namedtuple
from types import SimpleNamespace

import psutil
import pytest

from parity.measure.node import busiest, steal_fraction, wait_until_idle

Times = namedtuple("Times", "user system idle iowait steal guest")
START = Times(0, 0, 0, 0, 0, 0)


IDLE = [Times(0, 0, 10, 0, 0, 0)] * 15


@pytest.mark.parametrize(("after", "cpus", "share"), [
    ([Times(8, 0, 0, 0, 2, 0), *IDLE], (0, 1), 0.2),
    ([Times(8, 0, 0, 0, 2, 0), *IDLE], (1, 2), 0.0),
    # Guest time is part of user time; no time at all is no share.
    ([Times(5, 0, 0, 0, 5, 5)], (0,), 0.5), ([START], (0,), 0.0),
])  # fmt: skip
def test_steal_is_that_of_the_cpu_that_lost_most(after, cpus, share: float) -> None:
    assert steal_fraction([START] * len(after), after, cpus) == share


@pytest.mark.parametrize(("shares", "said"), [
    ({"init": 1.0, "loop": 96.2, "gone": None}, "loop (process 2) takes 96 % of a CPU"),
    ({"init": 1.0}, "no program of this machine"), ({}, "no program of this machine"),
])  # fmt: skip
def test_what_takes_most_is_named(shares, said: str, monkeypatch) -> None:
    processes = [
        SimpleNamespace(pid=pid, cpu_percent=lambda: 0.0, info={"name": name, "cpu_percent": share})
        for pid, (name, share) in enumerate(shares.items(), start=1)
    ]
    monkeypatch.setattr(psutil, "process_iter", lambda _attributes=(): iter(processes))
    assert busiest().startswith(said)


def test_a_program_that_works_is_found_beside_all_others() -> None:
    with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as loop:
        try:
            assert "takes" in busiest()
        finally:
            loop.kill()


def test_an_idle_node_is_not_waited_for_and_patience_ends(capsys) -> None:
    assert wait_until_idle(1.0, 0.0).taken_by == ""
    assert capsys.readouterr().out == ""
    ended = wait_until_idle(-1.0, 0.0)
    assert ended.busy_fraction >= 0 and ended.taken_by
    wait_until_idle(-1.0, 1.0)
    assert capsys.readouterr().out.count("waiting 1 s at most for an idle node: ") == 1
