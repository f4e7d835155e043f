"""What a study can ask of a network between containers, and what its kernel counted of a run.

Declared once for every benchmark that is placed on allocations. A case has those parameters that
its study gives; the others are as here, so plans that say nothing of networks do not change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

from parity.benchmarks.description import Metric, Quantity
from parity.benchmarks.model import Counted

NOW, ERA_OF_RUIZ = "now", "2015"

PARAMETERS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "rto_min_ms": {
            "description": "Least time that TCP waits for an answer before it sends again.",
            "type": "integer",
            "minimum": 1,
            "maximum": 10_000,
        },
        "sack": {"description": "Selective acknowledgements.", "type": "boolean"},
        "era": {
            "description": "Loss recovery of today, or that of 2015: no RACK, no loss probes.",
            "enum": [NOW, ERA_OF_RUIZ],
        },
        "queue_packets": {
            "description": "Packets that wait in front of each container; only with a rate.",
            "type": "integer",
            "minimum": 1,
            "maximum": 100_000,
        },
        "rate_mbit": {
            "description": "Rate of each container's link in Mbit/s; 0 for no limit.",
            "type": "integer",
            "minimum": 0,
            "maximum": 1_000_000,
        },
        "congestion_control": {
            "description": "TCP's congestion control, where the kernel lets containers have it.",
            "enum": ["reno", "cubic"],
        },
    }
)

# How people say their levels; {} stands for one that has no words of its own.
_WORDS = {
    "rto_min_ms": "rto_min {} ms", "sack": "{}", "era": "TCP of {}",
    "queue_packets": "queue of {} packets", "rate_mbit": "{} Mbit/s", "congestion_control": "{}",
}  # fmt: skip
_OWN_WORDS = {
    "sack_true": "SACK", "sack_false": "no SACK", "era_now": "TCP of today",
    "queue_packets_1": "queue of 1 packet", "rate_mbit_0": "no limit of the rate",
}  # fmt: skip


def in_words(level: str) -> str:
    """A level as the names of cases have it, such as `era_2015`; as it is if no network's."""
    for name, words in _WORDS.items():
        if level.startswith(f"{name}_"):
            return _OWN_WORDS.get(level, words.format(level.removeprefix(f"{name}_")))
    return level


@dataclass(frozen=True)
class Knobs:
    """The parameters of `PARAMETERS` in a case."""

    rto_min_ms: int = 200
    sack: bool = True
    era: str = NOW
    queue_packets: int = 1000
    rate_mbit: int = 0
    congestion_control: str = "reno"

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Knobs:
        """Those of a case, with the usual ones for what it does not say."""
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in parameters.items() if name in known})


# Summed over the containers: of one run, from just before it to just after.
TIMEOUTS_SEEN = Quantity("tcp_timeouts_seen", "any TCP timeout", "1", "lower", clock="external")
COUNTERS = {
    each.metric: each
    for each in (
        Quantity("tcp_retransmits", "segments sent again", "1", "lower", clock="external"),
        Quantity("tcp_timeouts", "TCP timeouts", "1", "lower", clock="external"),
        Quantity("tcp_spurious_timeouts", "needless TCP timeouts", "1", "lower", clock="external"),
        Quantity("tcp_loss_probes", "TCP loss probes", "1", "lower", clock="external"),
        Quantity("queue_drops", "packets dropped by queues", "1", "lower", clock="external"),
    )
}
METRICS = (*COUNTERS.values(), TIMEOUTS_SEEN)


def metrics_of(
    counters: Mapping[str, str], _parameters: Mapping[str, Any] = MappingProxyType({})
) -> tuple[Metric, ...]:
    """The metrics of a run by what its evidence says that was counted; none without a network.

    Args:
        counters: by the name of the metric, among other things; a text that is no count is
            left out.
    """
    counts = {name: counters.get(name, "") for name in COUNTERS}
    found = {name: int(text) for name, text in counts.items() if text.isdecimal()}
    metrics = tuple(COUNTERS[name].measured(count) for name, count in found.items())
    if "tcp_timeouts" not in found:
        return metrics
    return (*metrics, TIMEOUTS_SEEN.measured(float(found["tcp_timeouts"] > 0)))


COUNTED = Counted(metrics_of, PARAMETERS, METRICS, in_words)
