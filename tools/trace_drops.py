"""Where packets of a case are dropped, and what TCP sends again: runs of their own, traced.

Repeats runs of a campaign under the kernel's tracepoints (root only), which takes time: nothing
that is timed here counts. The folder gets the runs as a block has them, each one's trace, and
`drops.csv`. A tracepoint does not say whose network it was in: nobody else must be at work.
"""

import argparse
import csv
import os
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec.structs import replace

from parity.core.commands import output_of
from parity.core.errors import UserError, shown_to_the_user
from parity.measure import places, progress
from parity.measure.block import BlockRun
from parity.measure.session import begin_session, end_session, this_allocation
from parity.measure.timed_process import adopt
from parity.plan.plan import read_plan
from parity.plan.system import load_system
from parity.runtimes.model import SCRATCH
from parity.software.images import read_images
from parity.software.native import read_native

EVENTS = ("skb/kfree_skb", "tcp/tcp_retransmit_skb")
COLUMNS = ("traced_run", "event", "reason", "place", "count")
_BUFFER_KB = 32_768  # of each CPU; a line takes 60 bytes in it
_DROP = re.compile(r": (kfree_skb): .* location=(\S+?)(?:\+0x\S+)?(?: reason: (\S+))?$", re.M)
_AGAIN = re.compile(r": (tcp_retransmit_skb): .* state=(\S+)", re.M)
_LOST = re.compile(r"^overrun: (\d+)$", re.M)


def counts(trace: str) -> Counter[tuple[str, str, str]]:
    """How often each event happened, by event, reason, and function or state of the connection."""
    dropped = Counter((m[1], m[3] or "not told", m[2]) for m in _DROP.finditer(trace))
    return dropped + Counter((m[1], "", m[2]) for m in _AGAIN.finditer(trace))


@contextmanager
def traced(trace: Path) -> Iterator[None]:
    """Trace what happens in the body, in a buffer of our own, and write it down verbatim.

    UserError: the kernel does not trace these events, or wrote more than its buffer holds.
    """
    with tempfile.TemporaryDirectory(prefix="parity-tracefs-") as mounted:
        output_of(["mount", "-t", "tracefs", "tracefs", mounted])
        ours = Path(mounted) / "instances/parity-drops"
        try:
            # One of a tool that was killed is in the way.
            with suppress(FileNotFoundError):
                ours.rmdir()
            ours.mkdir()
            (ours / "buffer_size_kb").write_text(str(_BUFFER_KB))
            switches = [ours / "events" / event / "enable" for event in EVENTS]
            if missing := [str(path.parent.name) for path in switches if not path.exists()]:
                raise UserError(f"this kernel does not trace {', '.join(missing)}")
            for switch in switches:
                switch.write_text("1")
            yield
            (ours / "tracing_on").write_text("0")
            trace.write_bytes((ours / "trace").read_bytes())
            told = [path.read_text() for path in ours.glob("per_cpu/cpu*/stats")]
            if any(int(lost) for text in told for lost in _LOST.findall(text)):
                raise UserError("more was traced than the buffer holds", where=str(trace))
        finally:
            with suppress(FileNotFoundError):
                ours.rmdir()
            subprocess.run(["umount", mounted], check=True)


def trace_case(given: argparse.Namespace) -> None:
    """Trace runs of a case in an arm, and write the table; UserError: the plan has none."""
    plan, system = read_plan(given.plan), load_system(given.system)
    wanted = given.case, given.arm
    found = [replace(block, runs=(run,)) for block in plan.blocks for run in block.runs
             if (run.case, run.arm) == wanted][: given.runs]  # fmt: skip
    if not found:
        raise UserError(f"the plan has no {given.case} in {given.arm}", where=str(given.plan))
    native = read_native(given.native).programs if given.native else {}
    one_arm, rows = replace(plan, arms=(given.arm,)), []
    places.make_places(SCRATCH)
    with places.only_one(SCRATCH, "another measurement on this node"):
        for number, block in enumerate(found, start=1):
            folder = given.folder / f"traced-{number}"
            folder.mkdir(parents=True)
            allocation = this_allocation(system, block.nodes)
            images = read_images(given.images)
            session = begin_session(one_arm, images, native, system, allocation, folder)
            progress.begin(block, folder)
            trace = folder / "trace.txt"
            with traced(trace):
                not_started = BlockRun(plan, block, session, folder).make_all_runs()
            end_session(session, folder)
            for why in not_started.values():
                raise UserError(f"{given.arm} cannot run {given.case}: {why.detail}")
            seen = sorted(counts(trace.read_text(encoding="utf-8")).items())
            rows += [(number, *key, count) for key, count in seen]
    with (given.folder / "drops.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("plan", "images", "system", "folder"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--native", type=Path, help="the record of what Spack built")
    parser.add_argument("--case", required=True)
    parser.add_argument("--arm", required=True)
    parser.add_argument("--runs", type=int, default=3, help="how many, of as many blocks")
    given = parser.parse_args()
    adopt()
    with shown_to_the_user():
        if os.geteuid():
            raise UserError("tracing the kernel needs root")
        trace_case(given)


if __name__ == "__main__":
    main()
