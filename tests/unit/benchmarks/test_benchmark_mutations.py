"""What becomes of a real output that was changed: the same values, or one refusal.

Not every line tells of a number that is measured, so most changes may be read over. But no
change may become another number. What the digits of a second, coarser statement of the same
cannot tell apart is let pass: `tolerance` says how much that is.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

import pytest
from benchmark_help import cuts, defaults, golden, values

from parity.benchmarks import benchmarks
from parity.benchmarks.model import Outputs, Parsed
from parity.benchmarks.stream import build_path

LIKWID = ("/usr/bin/likwid-bench", "-w", "N:1090512kB:1")
ONE_NODE = {"nodes": 1, "ranks": 2}
NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")


@dataclass(frozen=True)
class Printout:
    """A golden output and the run that it is of.

    Attributes:
        file: where the program left it; empty for standard output.
        parameters, stderr, command: of the run; `stdout` if its file is looked at.
        tolerance: the largest relative change of a value that nothing printed tells.
        unchecked: metrics that nothing else in the output tells of.
        step: each so many-th change is tried; more than one where the output is long.
    """

    benchmark: str
    golden: str
    file: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    stderr: str = ""
    command: tuple[str, ...] = ()
    stdout: str = ""
    tolerance: float = 0.0
    unchecked: tuple[str, ...] = ()
    step: int = 1

    def parse(self, text: str) -> Parsed:
        """What the parser makes of this text in the place of the golden one."""
        benchmark = benchmarks()[self.benchmark]
        return benchmark.parse(
            Outputs(
                stdout=(golden(self.stdout) if self.stdout else "") if self.file else text,
                stderr=golden(self.stderr) if self.stderr else "",
                files={self.file: text} if self.file else {},
                wall_seconds=(1.2,),
                parameters=defaults(benchmark, **self.parameters),
                command=self.command,
                last_level_cache=272_629_760,
                memory=25_000_000_000,
            )
        )


PRINTOUTS = [
    # The rate is over a moment more than the time, and nobody knows how much more.
    Printout("sysbench", "sysbench/real.txt", tolerance=0.05),
    *(
        Printout(
            "likwid", f"likwid/real-{kernel}.txt", parameters={"kernel": kernel}, command=LIKWID
        )
        for kernel in ("copy", "stream", "triad")
    ),
    Printout(
        "stream", "stream/real.txt", parameters={"threads": 2}, command=(build_path(160_000_000),)
    ),
    *(
        Printout(
            "npb",
            f"npb/real-{kernel}.txt",
            parameters=ONE_NODE | {"kernel": kernel, "class": "S"},
            stderr="openmpi/one-node.txt",
            step=3,
        )
        for kernel in ("lu", "ep", "cg", "mg", "ft", "is")
    ),
    Printout(
        "mpip",
        "mpip/real.csv",
        "mpi_time.csv",
        ONE_NODE | {"kernel": "lu", "class": "S"},
        "openmpi/one-node.txt",
        stdout="mpip/real.txt",
        step=3,
    ),
    Printout(
        "hpcg",
        "hpcg/real-1x2.txt",
        "HPCG-Benchmark_3.1_1.txt",
        ONE_NODE | {"n": 32},
        "openmpi/one-node.txt",
        unchecked=("scaled_residual",),
    ),
    # Latencies are stated to a nanosecond beside the summary.
    Printout("hpcc", "hpcc/real.txt", "hpccoutf.txt", tolerance=2.1e-3, step=11),
    Printout(
        "hpl-copies",
        "hpcc/real-1x1.txt",
        "hpccoutf-0.txt",
        {"nodes": 1, "ranks": 1, "n": 1000},
        stdout="hpl-copies/real.txt",
        tolerance=2.1e-3,
        step=11,
    ),
    Printout(
        "ior",
        "ior/real-own-direct.json",
        "ior.json",
        ONE_NODE | {"block_mib": 8, "file": "own", "access": "direct"},
        "openmpi/one-node.txt",
    ),
    Printout("local-files", "fio/real-1.txt", parameters={"gigabytes": "0.0625"}, step=3),
    # The average is printed with three digits, and tells the length of what is longer than 1 ms.
    Printout(
        "oslat",
        "oslat/real.json",
        "oslat.json",
        {"seconds": 1},
        stdout="oslat/real.txt",
        tolerance=1e-2,
        step=3,
    ),
    # Times are stated to 10 ns beside the rates.
    Printout(
        "netpipe",
        "netpipe/tcp-2x2.txt",
        "np.out",
        {"nodes": 2, "ranks": 2, "protocol": "tcp"},
        tolerance=2e-4,
    ),
]


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


each = pytest.mark.parametrize("printout", PRINTOUTS, ids=lambda printout: printout.golden)


def test_each_parser_of_printed_numbers_is_among_them():
    printing = [
        benchmark
        for benchmark in benchmarks().values()
        if {quantity.clock for quantity in benchmark.metrics} != {"external"}
        # A program of ours prints nothing, and what it writes has a checksum.
        and not benchmark.sources
    ]
    tried = {type(benchmarks()[printout.benchmark]).parse for printout in PRINTOUTS}
    assert tried == {type(benchmark).parse for benchmark in printing}


@each
def test_two_runs_in_one_text_are_refused(printout):
    text = golden(printout.golden)
    refused = printout.parse(text + text)
    assert refused.reason in ("several-runs", "wrong-size")
    assert not refused.metrics


@each
def test_a_missing_final_newline_takes_nothing_away(printout):
    text = golden(printout.golden)
    whole = printout.parse(text)
    assert whole.valid, whole.detail
    assert printout.parse(text.rstrip("\n")) == whole


@each
def test_a_truncated_output_is_never_valid(printout):
    assert not any(printout.parse(text).valid for text in cuts(golden(printout.golden)))


@each
def test_a_change_is_refused_or_changes_no_value(printout):
    text = golden(printout.golden)
    known = values(printout.parse(text))
    for what, changed in islice(
        chain(changed_lines(text), changed_numbers(text)), None, None, printout.step
    ):
        parsed = printout.parse(changed)
        if not parsed.valid:
            assert re.fullmatch("[a-z-]+", parsed.reason), what
            assert parsed.detail and "\n" not in parsed.detail, what
            assert not parsed.metrics, what
            continue
        found = values(parsed)
        assert found.keys() == known.keys(), what
        for name in known.keys() - set(printout.unchecked):
            assert found[name] == pytest.approx(known[name], rel=printout.tolerance, abs=0), what
