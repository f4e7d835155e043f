"""Packets that a trace tells of, by event, reason and place."""

import pytest
import trace_drops

HEAD = "# tracer: nop\n#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
DROP = "  cgl-7008    [001] b.s1. 39289.227222: kfree_skb: skbaddr=0 rx_sk=0 protocol=2048 "
AGAIN = "  NPopenmpi-6341 [001] ..s1. 39289.241714: tcp_retransmit_skb: skbaddr=0 skaddr=1 family="


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], {}),
        (
            [f"{DROP}location=__dev_queue_xmit+0xd01/0xf30 reason: QDISC_DROP"] * 2,
            {("kfree_skb", "QDISC_DROP", "__dev_queue_xmit"): 2},
        ),
        (
            # Before Linux 5.17 no reason was told.
            [f"{DROP}location=tcp_v4_rcv+0x91/0x13f0", f"{DROP}location=00000000a1b2c3d4"],
            {
                ("kfree_skb", "not told", "tcp_v4_rcv"): 1,
                ("kfree_skb", "not told", "00000000a1b2c3d4"): 1,
            },
        ),
        (
            [f"{AGAIN}AF_INET sport=1 dport=2 state=TCP_ESTABLISHED err=0"],
            {("tcp_retransmit_skb", "", "TCP_ESTABLISHED"): 1},
        ),
    ],
)
def test_events_are_counted_by_what_they_say(lines, expected):
    assert trace_drops.counts(HEAD + "\n".join(lines) + "\n") == expected
