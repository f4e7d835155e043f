"""Time that others take: of the CPU that lost most, and never counted twice."""

from collections import namedtuple

from parity.measure.node import steal_fraction, taken_most, wait_until_idle

Times = namedtuple("Times", "user system idle iowait steal guest")
START = Times(0, 0, 0, 0, 0, 0)


def test_steal_is_that_of_the_cpu_that_lost_most() -> None:
    after = [Times(8, 0, 0, 0, 2, 0), *[Times(0, 0, 10, 0, 0, 0)] * 15]
    before = [START] * 16
    assert steal_fraction(before, after, (0, 1)) == 0.2
    assert steal_fraction(before, after, (1, 2)) == 0.0


def test_guest_time_is_part_of_user_time() -> None:
    assert steal_fraction([START], [Times(5, 0, 0, 0, 5, 5)], [0]) == 0.5


def test_no_time_at_all_is_no_share() -> None:
    assert steal_fraction([START], [START], [0]) == 0.0


def test_what_takes_most_is_named() -> None:
    before = {("init", 1): 5.0, ("loop", 7): 1.0, ("gone", 8): 0.0}
    after = {("init", 1): 5.01, ("loop", 7): 1.24, ("born", 9): 3.0}
    assert taken_most(before, after, 0.25) == "loop (process 7) takes 96 % of a CPU"
    for nobody in (before, {}):
        assert taken_most(before, nobody, 0.25).startswith("no program of this machine")


def test_an_idle_node_is_not_waited_for(capsys) -> None:
    assert wait_until_idle(1.0, 0.0).taken_by == ""
    assert capsys.readouterr().out == ""


def test_patience_ends(capsys) -> None:
    ended = wait_until_idle(-1.0, 0.0)
    assert ended.busy_fraction >= 0 and ended.taken_by
    wait_until_idle(-1.0, 1.0)
    assert capsys.readouterr().out.count("waiting 1 s at most for an idle node: ") == 1
