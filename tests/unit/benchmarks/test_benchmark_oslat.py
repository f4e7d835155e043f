"""What oslat says in its two outputs, and which are refused."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from benchmark_help import cuts, golden, outcome, values

from parity.benchmarks.model import Parsed
from parity.benchmarks.oslat import BENCHMARK, RESULTS

WORDS = "oslat --cpu-list 1 --bucket-size 1024"


def parse(printed: str, results: str) -> Parsed:
    return outcome(BENCHMARK, {"seconds": 1}, stdout=printed, files={RESULTS: results})


def made(histogram: Mapping[int, int], longest: int, average: float, words: str = WORDS) -> Parsed:
    """What becomes of two outputs in the form of oslat's, of one second."""
    thread: dict[str, Any] = {"cpu": 1, "min": 1, "avg": average, "max": longest, "duration": 1.0}
    thread["histogram"] = {str(length): times for length, times in histogram.items()}
    whole = {"file_version": 1, "cmdline:": words, "thread": {"0": thread}}
    lines = [f"{length:4d} (us):\t {times}" for length, times in histogram.items()]
    lines += [f" Average:\t {average:.3f} (us)", f" Maximum:\t {longest} (us)"]
    printed = "\n".join(["oslat V 2.40", *lines, " Duration:\t 1.000 (sec)\n"])
    return parse(printed, json.dumps(whole, indent=2) + "\n")


def test_numbers_of_counted_turns():
    # Of 100 longer turns 98 are in the middle of their microsecond, and one is 21 ms beyond.
    total = 999_900 + 90 * 3 + 9 * 50 + 1024 + 21_000
    parsed = made({1: 999_900, 3: 90, 50: 9, 1024: 1}, 22_025, round(total / 1e6, 6))
    assert parsed.valid, parsed.detail
    lost = 90 * 2.5 + 9 * 49.5 + 1023.5 + 21_000
    assert values(parsed) == pytest.approx({
        "noise_share": lost / 1e6, "events_per_second": 100, "duration_p50": 3e-6,
        "duration_p99": 50e-6, "duration_p999": 22_025e-6, "duration_longest": 22_025e-6,
    })  # fmt: skip


def test_a_quiet_run_has_no_lengths():
    assert values(made({1: 1_000_000}, 1, 1.0)) == {"noise_share": 0, "events_per_second": 0}


def test_other_buckets_would_be_read_wrongly():
    few = made({1: 1_000_000}, 1, 1.0, WORDS.replace("1024", "64"))
    assert (few.reason, few.metrics) == ("wrong-size", ())
    assert made({1: 1_000_000}, 1, 1.0, "oslat").reason == "truncated"


@pytest.mark.parametrize("text", cuts(golden("oslat/real.txt")))
def test_no_part_of_what_is_printed_is_a_whole(text):
    assert not parse(text, golden("oslat/real.json")).valid


@pytest.mark.parametrize("results", ["[]", "{}", '"text"', '{"file_version": 1,\n"thread": []\n}'])
def test_what_is_no_table_of_results_is_refused(results):
    parsed = parse(golden("oslat/real.txt"), results)
    assert parsed.reason in ("truncated", "unparsable") and parsed.detail
