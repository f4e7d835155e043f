"""What the tests of benchmarks share."""

from pathlib import Path
from typing import Any

from parity.benchmarks.model import Benchmark, NodeFacts, Parsed

GOLDEN = Path(__file__).parents[1] / "golden"
NODE = NodeFacts(cpus=(0, 1), last_level_cache=266240 * 1024, memory=24684092 * 1024)


def golden(name: str) -> str:
    """A golden output."""
    return (GOLDEN / name).read_text(encoding="utf-8")


def defaults(benchmark: Benchmark, **levels: Any) -> dict[str, Any]:
    """The benchmark's default parameters with factor levels or other values."""
    return {key: schema["default"] for key, schema in benchmark.parameters.items()} | levels


def values(parsed: Parsed) -> dict[str, float]:
    """Metric values by name."""
    return {metric.name: metric.value for metric in parsed.metrics}


def cuts(text: str) -> list[str]:
    """The text cut off at every 50 bytes, and before the last character that is no blank."""
    whole = text.rstrip()
    return [whole[:length] for length in range(0, len(whole), 50)] + [whole[:-1]]
