"""What becomes of golden outputs (`tests/golden/*/expect.yaml`), and of changed ones.

Not every line tells of a number that is measured, so most changes may be read over. But no
change may become another number. What the digits of a second, coarser statement of the same
cannot tell apart is let pass: `tolerance` says how much that is.
"""

import re
from collections.abc import Iterator
from itertools import chain, islice

import pytest
from benchmark_help import cuts, values
from golden_runs import golden_runs

from parity.benchmarks import benchmarks

RUNS = golden_runs()
MUTATED = [run for run in RUNS if run.mutated]
NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
each = pytest.mark.parametrize("run", MUTATED, ids=str)


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_a_golden_output_is_read_or_refused(run):
    parsed, text = run.parse(run.text), run.text
    assert parsed.reason == run.reason, parsed.detail
    assert run.detail is None or parsed.detail == run.detail
    if run.reason:
        assert not parsed.valid and not parsed.metrics
        return
    found = values(parsed)
    declared = {quantity.metric: quantity for quantity in benchmarks()[run.benchmark].metrics}
    assert [(m.name, m.unit, m.better) for m in parsed.metrics] == [
        (name, declared[name].recorded, declared[name].better) for name in declared if name in found
    ]
    assert parsed.valid and set(benchmarks()[run.benchmark].primary) <= found.keys()
    assert not found.keys() & set(run.lacks)
    if run.values is not None:
        assert found == pytest.approx(run.values, rel=1e-6)
    assert {name: found[name] for name in run.among} == pytest.approx(run.among, rel=1e-6)
    assert run.parse(text.rstrip("\n")) == parsed


def changed_lines(text: str) -> Iterator[tuple[str, str]]:
    """Each line doubled, dropped, with a null byte in it, and all after it cut off."""
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        before, after = "".join(lines[:number]), "".join(lines[number + 1 :])
        yield f"doubled: {line}", before + line + line + after
        yield f"dropped: {line}", before + after
        middle = len(line) // 2
        yield f"null byte: {line}", before + line[:middle] + "\0" + line[middle:] + after
        if after.strip():
            yield f"cut after: {line}", before + line


def changed_numbers(text: str) -> Iterator[tuple[str, str]]:
    """Each number a tenth more and less, and with two of its digits swapped."""
    for match in NUMBER.finditer(text):
        old = match.group()
        digits = len(old.partition(".")[2])
        others = {f"{float(old) * factor:.{digits}f}" for factor in (1.1, 0.9)}
        others |= {
            old[:place] + old[place + 1] + old[place] + old[place + 2 :]
            for place in range(len(old) - 1)
            if "." not in old[place : place + 2]
        }
        line = text[text.rfind("\n", 0, match.start()) + 1 :].partition("\n")[0]
        for other in others - {old}:
            yield f"{old} -> {other}: {line}", text[: match.start()] + other + text[match.end() :]


def test_each_parser_of_printed_numbers_is_among_them():
    printing = [
        benchmark
        for benchmark in benchmarks().values()
        if {quantity.clock for quantity in benchmark.metrics} != {"external"}
        # A program of ours prints nothing, and what it writes has a checksum.
        and not benchmark.sources
    ]
    tried = {type(benchmarks()[run.benchmark]).parse for run in MUTATED}
    assert tried == {type(benchmark).parse for benchmark in printing}


@each
def test_no_part_and_no_two_runs_in_one_text_are_a_run(run):
    assert not any(run.parse(text).valid for text in cuts(run.text))
    twice = run.parse(run.text + run.text)
    assert twice.reason in ("several-runs", "wrong-size") and not twice.metrics


@each
def test_a_change_is_refused_or_changes_no_value(run):
    text, known = run.text, values(run.parse(run.text))
    all_changes = chain(changed_lines(text), changed_numbers(text))
    for what, changed in islice(all_changes, None, None, run.mutated.step):
        parsed = run.parse(changed)
        if not parsed.valid:
            assert re.fullmatch("[a-z-]+", parsed.reason), what
            assert parsed.detail and "\n" not in parsed.detail, what
            assert not parsed.metrics, what
            continue
        found = values(parsed)
        assert found.keys() == known.keys(), what
        for name in known.keys() - set(run.mutated.unchecked):
            tolerance = run.mutated.tolerance
            assert found[name] == pytest.approx(known[name], rel=tolerance, abs=0), what
