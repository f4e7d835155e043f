"""What a study can ask of a network between containers, and what its kernel counted of a run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from parity.benchmarks.description import Metric, Quantity
from parity.benchmarks.model import Asked, Counted, described

NOW, ERA_OF_RUIZ = "now", "2015"

_DESCRIBED = described(__file__)
PARAMETERS: Mapping[str, Mapping[str, Any]] = _DESCRIBED["parameters"]
# Summed over the containers: of one run, from just before it to just after.
METRICS: tuple[Quantity, ...] = _DESCRIBED["metrics"]
TIMEOUTS_SEEN = METRICS[-1]
COUNTERS = {quantity.metric: quantity for quantity in METRICS[:-1]}
_SPELT: Mapping[str, str] = _DESCRIBED["spelt"]


def in_words(level: str) -> str:
    """A level as the names of cases have it, such as `era_2015`; as it is if no network's."""
    for begin, words in _SPELT.items():
        if level.startswith(begin):
            return _SPELT.get(level, words.format(level.removeprefix(begin)))
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
    def of(cls, parameters: Asked) -> "Knobs":
        """Those of a case, with the usual ones for what it does not say."""
        return cls(**{name: parameters[name] for name in PARAMETERS if name in parameters})


def metrics_of(counters: Mapping[str, str], _asked: Asked) -> tuple[Metric, ...]:
    """The metrics of a run by what its evidence counted, among other things that are no counts."""
    counts = {name: int(counters[name]) for name in COUNTERS if counters.get(name, "").isdecimal()}
    metrics = [COUNTERS[name].measured(count) for name, count in counts.items()]
    if "tcp_timeouts" in counts:
        metrics.append(TIMEOUTS_SEEN.measured(float(counts["tcp_timeouts"] > 0)))
    return tuple(metrics)


COUNTED = Counted(metrics_of, PARAMETERS, METRICS, in_words)
