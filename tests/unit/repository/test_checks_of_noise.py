"""Tools that look at noise and networks in other ways: what they hand on, and what they read."""

import check_noise
import numpy as np
import pytest
import trace_drops
import trace_switches

from parity.extensions.noise.analysis.durations import Window

SWITCH = (
    "{time}: sched:sched_switch: prev_comm={left} prev_pid={left_pid} prev_prio=120 "
    "prev_state={state} ==> next_comm={came} next_pid={came_pid} next_prio=120"
)


def test_a_profile_of_speed_stands_still_in_each_detour_and_goes_round() -> None:
    runs = [
        Window(("a", 0), 1000, np.array([100, 500]), np.array([50, 20])),
        Window(("b", 0), 500, np.array([490]), np.array([10])),
    ]
    head, *lines = check_noise.availability(runs, 300).splitlines()
    assert head.startswith("LOOPAFTER ")
    changes = [(round(1e9 * float(at)), float(speed)) for at, speed in map(str.split, lines)]
    # 500, 1490 and 100 of a ring of 1500 ns that begins at 300.
    slow = check_noise.STOPPED
    assert changes == [
        (200, slow), (220, 1.0), (1190, slow), (1200, 1.0), (1300, slow), (1350, 1.0), (1499, 1.0),
    ]  # fmt: skip


def test_who_took_the_cpu_is_told_with_how_often_and_for_how_long() -> None:
    def switch(time: float, left: str, state: str, came: str) -> str:
        pids = {"selfish": 7, "a b": 8}
        of_both = {"left": left, "left_pid": pids[left], "came": came, "came_pid": pids[came]}
        return SWITCH.format(time=f"{time:.9f}", state=state, **of_both)

    lines = []
    for turn in range(11):
        lines.append(switch(turn * 0.1, "selfish", "R+", "a b"))
        lines.append(switch(turn * 0.1 + 0.004, "a b", "S", "selfish"))
    moved = "0.3: sched:sched_migrate_task: comm=selfish pid=7 prio=120 orig_cpu=0 dest_cpu=1"
    lines.insert(5, moved)
    # Whoever sleeps is not taken off.
    lines += [switch(1.2, "selfish", "S", "a b"), switch(1.3, "a b", "S", "selfish")]
    (process,) = trace_switches.processes(lines, "selfish").values()
    assert process.moves == 1 and process.last - process.first == pytest.approx(1.3)
    assert process.off == pytest.approx([0.004] * 11)
    assert process.others == {"a b": pytest.approx(0.044)}
    told = ["7", "1.30", "0.8", "8.5", "4.000", "4.00", "100.0", "0.00"]
    assert process.row(7).split()[:8] == told


HEAD = "# tracer: nop\n#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
DROP = "  cgl-7008    [001] b.s1. 39289.227222: kfree_skb: skbaddr=0 rx_sk=0 protocol=2048 "
AGAIN = "  NPopenmpi-6341 [001] ..s1. 39289.241714: tcp_retransmit_skb: skbaddr=0 skaddr=1 family="


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], {}),
        ([f"{DROP}location=__dev_queue_xmit+0xd01/0xf30 reason: QDISC_DROP"] * 2,
         {("kfree_skb", "QDISC_DROP", "__dev_queue_xmit"): 2}),
        # Before Linux 5.17 no reason was told.
        ([f"{DROP}location=tcp_v4_rcv+0x91/0x13f0", f"{DROP}location=00000000a1b2c3d4"],
         {("kfree_skb", "not told", "tcp_v4_rcv"): 1,
          ("kfree_skb", "not told", "00000000a1b2c3d4"): 1}),
        ([f"{AGAIN}AF_INET sport=1 dport=2 state=TCP_ESTABLISHED err=0"],
         {("tcp_retransmit_skb", "", "TCP_ESTABLISHED"): 1}),
    ],
)  # fmt: skip
def test_events_are_counted_by_what_they_say(lines, expected):
    assert trace_drops.counts(HEAD + "\n".join(lines) + "\n") == expected
