"""What the tests of benchmarks share."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from parity.benchmarks import programs
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


def compiled(folder: Path, *sources: str) -> Path:
    """Where programs of ours lie, compiled as rule `compile` does; without a word of a compiler."""
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    words = ["sh", programs.SCRIPT, folder, *sources]
    done = subprocess.run(words, cwd=programs.SCRIPT.parent, capture_output=True, text=True)
    assert not done.returncode and not done.stderr, done.stderr
    return folder
