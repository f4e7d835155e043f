"""A campaign that begins on a busy node goes on side by side, or waits and says why."""

import pytest

from parity.measure import busy
from parity.plan.plan import IN_TURN, SIDE_BY_SIDE


@pytest.mark.parametrize(("windows", "obstacle", "design", "said"), [
    ([1.0, 0.96, 0.99], "", SIDE_BY_SIDE, "this node is busy (1.9 of 2 CPUs): CPU time side by"),
    # One idle window is enough: what took the others was short.
    ([1.0, 0.05, 1.0], "", IN_TURN, ""),
    ([1.0], "it takes root", IN_TURN, "(2.0 of 2 CPUs), and is waited for: it takes root"),
])  # fmt: skip
def test_a_node_that_is_busy_in_every_window_is_paired(
    windows, obstacle, design, said, monkeypatch
) -> None:
    seen = iter(windows)
    monkeypatch.setattr(busy, "WINDOWS", len(windows))
    monkeypatch.setattr(busy, "busy_now", lambda: next(seen))
    monkeypatch.setattr(busy, "obstacle", lambda: obstacle)
    monkeypatch.setattr(busy.psutil, "cpu_count", lambda: 2)
    found = busy.design_here(0.1)
    assert found.design == design and said in found.said and bool(said) == bool(found.said)
