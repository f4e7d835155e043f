"""What a study can ask of a network between containers, and what its kernel counted of a run.

A case has those parameters that its study gives; the others are as `Knobs` has them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

from parity.benchmarks.description import Metric, Quantity, described
from parity.benchmarks.model import Counted

NOW, ERA_OF_RUIZ = "now", "2015"

_DESCRIBED = described(__file__)
PARAMETERS: Mapping[str, Mapping[str, Any]] = _DESCRIBED["parameters"]
# Summed over the containers: of one run, from just before it to just after.
METRICS: tuple[Quantity, ...] = _DESCRIBED["metrics"]
TIMEOUTS_SEEN = METRICS[-1]
COUNTERS = {quantity.metric: quantity for quantity in METRICS[:-1]}

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
    def of(cls, parameters: Mapping[str, Any]) -> "Knobs":
        """Those of a case, with the usual ones for what it does not say."""
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in parameters.items() if name in known})


def metrics_of(
    counters: Mapping[str, str], _parameters: Mapping[str, Any] = MappingProxyType({})
) -> tuple[Metric, ...]:
    """The metrics of a run by what its evidence says that was counted; none without a network.

    `counters`: by the name of the metric, among other things; a text that is no count is left out.
    """
    texts = {name: counters.get(name, "") for name in COUNTERS}
    counts = {name: int(text) for name, text in texts.items() if text.isdecimal()}
    metrics = [COUNTERS[name].measured(count) for name, count in counts.items()]
    if "tcp_timeouts" in counts:
        metrics.append(TIMEOUTS_SEEN.measured(float(counts["tcp_timeouts"] > 0)))
    return tuple(metrics)


COUNTED = Counted(metrics_of, PARAMETERS, METRICS, in_words)
