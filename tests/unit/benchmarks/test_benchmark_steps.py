"""What the file of steps says, and which files are refused."""

import zlib
from dataclasses import replace

import numpy as np
import pytest
from benchmark_help import GOLDEN, defaults, golden, values

from parity.benchmarks.model import Outputs, Parsed
from parity.benchmarks.selfish import NOT_LOCKED
from parity.benchmarks.steps import BENCHMARK, FILE
from parity.benchmarks.traces import ENTRY, HEAD
from parity.core.files import as_text

REAL = {ranks: (GOLDEN / f"steps/real-{ranks}.bin").read_bytes() for ranks in (1, 2)}
PLACED = {"nodes": 1, "ranks": 2}
INSIDE = ["/usr/bin/mpirun", "--bind-to", "none"]


def written(lengths, **head) -> bytes:
    """A file as the program writes it; of steps in ns."""
    said = dict.fromkeys(HEAD.names, 0) | {"magic": b"\x89steps", "version": 1, "ranks": 1}
    said |= {"work_ns": 99_999.5, "quantum": 50_000, "locked": 1, "count": len(lengths)}
    said |= {"quota_us": -1, "period_us": 100_000} | head
    content = np.array([tuple(said[name] for name in HEAD.names)], HEAD).tobytes()
    content += np.array([(0, length) for length in lengths], ENTRY).tobytes()
    return content + zlib.crc32(content).to_bytes(4, "little")


def parse(content: bytes, **asked) -> Parsed:
    parameters = defaults(BENCHMARK, **{"steps": 200} | asked)
    stderr = golden("openmpi/one-node.txt") if "ranks" in asked else ""
    return BENCHMARK.parse(
        Outputs(stderr=stderr, files={FILE: as_text(content)}, parameters=parameters)
    )


def test_numbers_of_steps():
    # A hundred of 0.1 ms, of which two are held up for 5 ms and 15 ms.
    lengths = [100_000] * 98 + [5_100_000, 15_100_000]
    parsed = parse(written(lengths), steps=100)
    assert values(parsed) == pytest.approx(
        {
            "slowdown": 3.0, "step_shortest": 100e-6, "step_p50": 100e-6, "step_p99": 5.1e-3,
            "step_longest": 15.1e-3, "work": 100e-6,
        },
        rel=1e-5,
    )  # fmt: skip
    assert [metric.name for metric in parsed.metrics] == [
        quantity.metric
        for quantity in BENCHMARK.metrics
        if quantity.metric not in ("cpu_quota", "throttled")
    ]


def test_a_limit_is_told_and_need_not_have_been_reached():
    limited = written([100_000], quota_us=25_000, periods=10)
    found = values(parse(limited, steps=1))
    assert (found["cpu_quota"], found["throttled"]) == (0.25, 0)


@pytest.mark.parametrize("ranks", REAL)
def test_real_steps(ranks):
    asked = PLACED | {"idle_us": 50} if ranks == 2 else {}
    parsed = parse(REAL[ranks], **asked)
    assert parsed.valid, parsed.detail
    assert 1 <= values(parsed)["slowdown"] < 10


def test_no_changed_byte_is_read_over():
    for place in range(len(REAL[1])):
        content = bytearray(REAL[1])
        content[place] ^= 1 << place % 8
        parsed = parse(bytes(content))
        assert not parsed.valid and not parsed.metrics, place


@pytest.mark.parametrize("length", [0, 7, 8, 12, HEAD.itemsize - 1, HEAD.itemsize, 300, -1])
def test_no_part_is_a_whole(length):
    assert parse(REAL[1][:length]).reason in ("truncated", "unparsable")


def test_memory_that_could_not_be_locked_is_told():
    assert parse(written([100_000], locked=0), steps=1).detail == NOT_LOCKED


@pytest.mark.parametrize(("content", "asked", "reason"), [
    (written([100_000]) + b"more", {}, "several-runs"),
    (written([100_000], version=2), {}, "unparsable"),
    (written([100_000], magic=b"\x89selfish"), {}, "unparsable"),
    (written([100_000], ranks=2), {}, "wrong-size"),
    (written([100_000] * 2), {}, "wrong-size"),
    (written([100_000], idle_us=5), {}, "wrong-size"),
    (written([100_000]), {"work_us": 200}, "wrong-size"),
    (written([49_000]), {}, "contradictory"), (written([100_000]), PLACED, "wrong-size"),
    (b"text", {}, "unparsable"),
    (written([100_000], work_ns=float("nan")), {}, "unparsable"),
    (written([100_000], work_ns=-1.0), {}, "unparsable"),
    (written([100_000], work_ns=0.0), {}, "unparsable"),
])  # fmt: skip
def test_what_is_not_of_this_run(content, asked, reason):
    assert parse(content, **{"steps": 1} | asked).reason == reason


def test_ranks_that_are_no_world_are_refused():
    parameters = defaults(BENCHMARK, steps=200, idle_us=50, **PLACED)
    alone = Outputs(golden("openmpi/singletons.txt"), files={FILE: as_text(REAL[2])})
    assert BENCHMARK.parse(replace(alone, parameters=parameters)).reason == "world-size"


def test_a_run_that_was_killed_or_left_no_steps():
    assert parse((GOLDEN / "steps/truncated.bin").read_bytes()).reason == "truncated"
    parsed = BENCHMARK.parse(Outputs(parameters=defaults(BENCHMARK)))
    assert (parsed.reason, parsed.detail) == ("unparsable", "the run left no steps")
