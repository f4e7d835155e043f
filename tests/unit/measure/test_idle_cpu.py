"""Time that others take: of the CPU that lost most, and never counted twice."""

from collections import namedtuple

from parity.measure.idle_cpu import steal_fraction

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
