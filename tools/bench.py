"""What the harness itself costs on this machine: `make bench`, or `python tools/bench.py PART…`.

Absolute times are this machine's; the bounds beside them are the project's own and hold
with a wide margin on a quiet machine. Nothing here is a timed test.
"""

import argparse
import json
import math
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import bench_slurm
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from bench_slurm import ROOT, new_clone
from msgspec.structs import replace
from planted_truth import in_memory
from planted_truth.in_memory import Layout

from parity.analysis import analysis, conclusions, dataset, evidence, looks, outcomes
from parity.benchmarks import benchmarks
from parity.core.errors import shown_to_the_user
from parity.core.files import read_json
from parity.extensions.noise.analysis import replay
from parity.extensions.noise.analysis.durations import Window
from parity.measure.block import run_block
from parity.measure.timed_process import run_and_wait
from parity.plan.looks import Stop
from parity.plan.making import make_plan
from parity.plan.plan import PAIR, PLAN, Case, Plan, read_plan, write_plan
from parity.plan.study import Study, load_study
from parity.plan.system import System
from parity.preview.simulated import noise_of
from parity.records import events, parse, schema, timed
from parity.records.dataset import parse_dataset
from parity.software.images import IMAGES

ARCHIVES = ROOT / "results/archive"
# The harness: runs that do nearly nothing, and a program that is waited for.
RUNS, WAIT_SECONDS = 200, 20
# The replay: recorded detours of so many arms.
REPLAYED_ARMS, RECORDINGS, SECONDS, EVENTS_PER_SECOND = 30, 20, 30, 1000
DETOURED_RUNS, DETOURED_SECONDS = 20, 500  # of ten million in all
SHARES = (0.5, 0.99, 0.999, 0.9999)
# So many times an archive's blocks.
MULTIPLIED, TIMES = ARCHIVES / "machine-2026-11-20", 20
# What the default study decides with the scatter of these machines.
SCATTER_OF = ("machine-2026-11-20", "xeon3-torrez2019-2026-11-30")
# Runs of a second, about as long as a pilot makes them.
TAKEN_FROM = ARCHIVES / "xeon3-torrez2019-2026-11-30/records/runs.parquet"
MARGIN, CAMPAIGNS = 0.01, 20
ANY_NODE = """system: any
scale_label: vm
base_image: bootstrap
quiet_node: {max_busy_fraction: 1, settle_seconds: 0, max_steal_fraction: 1}
"""


def short_plan() -> Plan:
    """A block of 200 native runs that do nearly nothing."""
    pair, primary = ("native-a", "native-b"), benchmarks()["sysbench"].primary
    each = ("sysbench", {"prime": 100, "events": 1, "threads": 1}, 0.01, primary, (), 60)
    cases = tuple(Case(f"sysbench-{number}", *each) for number in range(RUNS // 2))
    named = {"study": "bench", "scale": "short", "title": "Harness", "reproduces": "none"}
    arms_of = {"reference": pair[0], "aa_pair": pair, "arms": pair}
    return make_plan(Study(**named, **arms_of, cases=cases, seed=1, attempts=1, blocks=1))


def harness() -> Iterator[str]:
    """What a run costs beyond its program, what waiting costs, and what Snakemake takes."""
    plan = short_plan()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        system = System("bench", "vm", "bootstrap", 1.0, 0.0, 1.0)
        run_block(plan, plan.blocks[0].name, {}, {}, system, folder)
        records = [read_json(path) for path in folder.glob("runs/*/*/record.json")]
        ended = datetime.fromisoformat(read_json(folder / "session-1-end.json")["ended"])
    began = min(datetime.fromisoformat(record["started"]) for record in records)
    own = sum(record["wall_seconds"] for record in records)
    cost = ((ended - began).total_seconds() - own) / len(records)
    each = own / len(records)
    yield f"a run beyond its program  {cost:.4f} s  (bound 0.04; {RUNS} runs of {each:.4f} s)"
    with tempfile.TemporaryDirectory() as name:
        before, words = time.process_time(), ["/bin/sleep", str(WAIT_SECONDS)]
        run_and_wait((words, Path(name)), environment={}, timeout_seconds=2 * WAIT_SECONDS)
        share = (time.process_time() - before) / WAIT_SECONDS
    yield f"runner while it waits     {100 * share:.3f} %  of a CPU (bound 0.1)"
    for words, bound in (("snakemake figures", 40), ("snakemake -n all", 4)):
        with new_clone() as clone:
            start = time.monotonic()
            bench_slurm.run(words.split(), clone)
            yield f"{words:<25} {time.monotonic() - start:.1f} s  (bound {bound})"


def recorded(runs: int = RECORDINGS, seconds: int = SECONDS) -> list[Window]:
    """The runs of an arm, with detours of lengths from a heavy tail."""
    random, duration, made = np.random.default_rng(1), seconds * 10**9, []
    for run in range(runs):
        starts = np.sort(random.integers(0, duration, seconds * EVENTS_PER_SECOND))
        room = np.diff(starts, append=duration)
        lengths = (1000 * (1 + random.pareto(1.5, len(starts)))).astype(np.int64)
        made.append(Window((f"b{run}", 0), duration, starts, np.minimum(lengths, room)))
    return made


def replayed() -> Iterator[str]:
    """All numbers of ranks and lengths of steps, with their intervals."""
    windows, began, rows = recorded(), time.monotonic(), 0
    for _, step in product(range(REPLAYED_ARMS), replay.STEPS):
        rows += sum(1 for _ in replay.replay(windows, replay.delays(windows, step)))
    what = f"replay of {REPLAYED_ARMS} arms of {RECORDINGS} runs of {SECONDS} s"
    yield f"{what}  {rows:,} rows in {time.monotonic() - began:.0f} s  (bound 60)"


def _quantiles(folder: Path) -> int:
    lengths = events.lengths(folder, "c", "a")
    np.quantile(lengths, SHARES, method="inverted_cdf", overwrite_input=True)
    return len(lengths)


def detours() -> Iterator[str]:
    """What ten million detours cost: they are read, and their quantiles are found."""
    with tempfile.TemporaryDirectory() as name:
        for run in recorded(DETOURED_RUNS, DETOURED_SECONDS):
            place = Path(name, f"case=c/arm=a/block={run.key[0]}")
            place.mkdir(parents=True)
            table = pa.table([run.starts, run.lengths], schema=schema.EVENTS.arrow)
            pq.write_table(table, place / "events.parquet", row_group_size=1 << 20, **schema.FORM)
        number, seconds, memory = measured(partial(_quantiles, Path(name)))
    rate = f"{number / seconds:,.0f} a second  (bound 5,000,000)"
    yield f"quantiles of {number:,} detours  {rate}  {memory:.0f} MB  (bound 500)"


def measured(step: Callable[[], Any]) -> tuple[Any, float, float]:
    """What a step answers in a process of its own; its CPU time in s, its largest memory in MB."""
    # Those of an executor are no daemons, and may start processes themselves.
    with ProcessPoolExecutor(1, get_context("spawn")) as executor:
        return executor.submit(_report, step).result()


def _report(step: Callable[[], Any]) -> tuple[Any, float, float]:
    began = time.process_time()
    answer = step()
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = time.process_time() - began + children.ru_utime + children.ru_stime
    # getrusage has of a process itself what its parent had when it started it.
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    own = int(status.partition("VmHWM:")[2].split()[0])
    return answer, seconds, (own + children.ru_maxrss) / 1000


def multiply(times: int, folder: Path) -> int:
    """Write a dataset of so many times the archive's blocks, not parsed; how many runs it has."""
    records, once = folder / "records", read_plan(MULTIPLIED / PLAN)
    records.mkdir(parents=True)
    blocks_again = []
    for number, block in enumerate(once.blocks * times, start=1):
        name = f"{once.campaign}-b{number:06d}-{block.name.rpartition('-')[2]}"
        blocks_again.append(replace(block, name=name, number=number))
    plan = replace(once, blocks=tuple(blocks_again))
    write_plan(folder / PLAN, plan)
    shutil.copyfile(MULTIPLIED / IMAGES, folder / IMAGES)
    blocks_left = parse.left_by_blocks(MULTIPLIED / "records")
    left = {entry["block"]: (entry, raw) for entry, raw in blocks_left}

    def blocks() -> Iterator[tuple[dict[str, Any], dict[str, Any], Any]]:
        for new, old in zip(plan.blocks, once.blocks * times, strict=True):
            key = {"campaign": plan.campaign, "block": new.name, "block_number": new.number}
            record = json.loads(left[old.name][0]["record"])
            record |= {"block": new.name, "number": new.number}
            yield key, {"record": json.dumps(record)}, left[old.name][1]

    whole = (key | record for key, record, _ in blocks())
    schema.write_rows(schema.BLOCKS, whole, records / "blocks.parquet")
    raw = (row | key for key, _, rows in blocks() for row in rows)
    schema.write_rows(schema.RAW, raw, records / "raw.parquet")
    return sum(len(block.runs) for block in plan.blocks)


def _analyse(folder: Path) -> None:
    analysis.write(analysis.analyse(dataset.load(folder, whole=False)), folder / "analysis")


def scale(times: int = TIMES) -> Iterator[str]:
    """What many times the runs cost: an archive's blocks again and again, parsed and analysed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "live" / "multiplied"
        runs = multiply(times, folder)
        parsing = partial(parse_dataset, folder, folder / "records")
        for step, function in (("parse", parsing), ("analyse", partial(_analyse, folder))):
            _, seconds, memory = measured(function)
            rate = f"{runs / seconds:8,.0f} runs/s  {memory:7,.0f} MB"
            yield f"{step:<9} {runs:>9,} runs  {seconds:8.1f} s  {rate}"


class Planted(NamedTuple):
    """What is planted of the cases that have a margin, of arms that cost the same."""

    layout: Layout  # all cases at the same margin; their logs are stretched to it
    values: np.ndarray  # in the shape (blocks, cases, arms)
    seconds: pd.Series  # of a run, by case and arm
    beside: float  # seconds of a block's runs without a margin, which the first look stops


def planted(study: Study, archive: str, random: np.random.Generator) -> Planted:
    """One campaign of a study with looks, its blocks drawn anew from those of an archive."""
    known = evidence.numbers(analysis.analysed(ARCHIVES / archive).analysis.values)
    taken = pd.read_parquet(TAKEN_FROM, columns=["case", "arm", "wall_seconds"])
    seconds = taken.groupby(["case", "arm"])["wall_seconds"].median()
    # What is in turn, as these archives were measured.
    cases = {c.name: c for c in study.cases if c.margin is not None and c.name not in study.pairs}
    others = tuple(arm for arm in study.arms if arm not in study.aa_pair)
    blocks = study.looks[-1]
    layout = Layout({name: {} for name in cases}, others, (0,) * blocks, MARGIN, looks=study.looks)
    values = np.empty((blocks, len(cases), len(layout.all_arms)))
    for number, (name, case) in enumerate(cases.items()):
        metric = next(metric for metric in case.primary if metric not in case.differences)
        noise = noise_of(known[name, metric], study.reference, archive)
        assert noise is not None
        drawn = noise.drawn(layout.all_arms, blocks, random)
        stretched = math.log1p(MARGIN) / math.log1p(case.margin or MARGIN)
        for place, arm in enumerate(layout.all_arms):
            values[:, number, place] = np.exp(stretched * (np.log(drawn[arm]) - noise.level))
    rest = [case.name for case in study.cases if case.margin is None]
    return Planted(layout, values, seconds[list(cases)], float(seconds[rest].sum()))


def decided_in(campaign: Planted, minutes: float) -> int:
    """How many comparisons are equivalent when the time is over, look by look as a campaign."""
    layout, values = campaign.layout, campaign.values.copy()
    cases, all_arms = list(layout.parameters), layout.all_arms
    reasons = np.full(values.shape, "", dtype=object)
    gone: dict[tuple[str, str], Stop] = {}
    made, left, beside = 0, 60 * minutes, campaign.beside
    for look in layout.looks:
        going = campaign.seconds[[run not in gone for run in campaign.seconds.index]]
        block = beside + going.sum()
        more = min(look - made, int(left / block)) if block else 0
        made, left, beside = made + more, left - more * block, 0.0
        seen = in_memory.dataset(layout, values[:made], reasons[:made])
        table = in_memory.analysed(seen).comparisons
        for stop in looks.stops(seen.plan, conclusions.of_table(table), tuple(gone.values())):
            gone[stop.case, stop.arm] = stop
            place = slice(made, None), cases.index(stop.case), all_arms.index(stop.arm)
            reasons[place], values[place] = stop.reason, np.nan
        if made < look:
            break
    others = table[~table["arm"].isin(all_arms[:2])]
    return int((others["outcome"] == outcomes.EQUIVALENT).sum())


def decided() -> Iterator[str]:
    """How much the default study decides in its minutes, with the scatter of archived machines."""
    study = load_study(ROOT / "config/studies/torrez2019.yaml", "quick")
    minutes = study.minutes or 0.0
    for archive in SCATTER_OF:
        random = np.random.default_rng(20_261_122)
        campaigns = [planted(study, archive, random) for _ in range(CAMPAIGNS)]
        counts = [decided_in(campaign, minutes) for campaign in campaigns]
        layout = campaigns[0].layout
        of = len(layout.arms) * len(layout.parameters)
        told = f"(equal arms, scatter of {archive}; {min(counts)} to {max(counts)})"
        yield f"decided in {minutes:g} min      {np.mean(counts):.1f} of {of}  {told}"


def designs() -> Iterator[str]:
    """How finely pairs side by side tell what runs in turn tell, on this node and beside loops."""
    for loops in (0, os.cpu_count() or 1):
        with new_clone() as clone, ExitStack() as beside:
            (clone / "any.yaml").write_text(ANY_NODE, encoding="utf-8")
            for _ in range(loops):
                loop = subprocess.Popen([sys.executable, "-c", "while True: pass"])
                beside.callback(loop.kill)
            folder = clone / "results/live/pairs-both"
            words = ["snakemake", str(folder.relative_to(clone) / "summary.txt"), "--config"]
            study = ["study=config/studies/pairs.yaml", "scale=both", "data=live"]
            bench_slurm.run([*words, *study, "system=any.yaml"], clone)
            told = pd.read_parquet(folder / "analysis/conclusions.parquet")
            seconds = {each.case: each.running for each in timed.case_times(folder)}
        told = told[(told["kind"] == "ratio") & (told["arm"] == "podman")].set_index("case")
        # Half of a 95 % interval as a log, of as many blocks as fill a minute.
        half = 50 * np.log(told["high95"] / told["low95"])
        told["width"] = half * np.sqrt(told.index.map(seconds) / 60)
        for case in ("sysbench", "likwid-stream"):
            in_turn = told.loc[[case]].set_index("planned")["width"]
            wall, cpu, pair = in_turn[True], in_turn[False], told.loc[f"{case}{PAIR}", "width"]
            widths = f"in turn ±{wall:.2g} %, its CPU time ±{cpu:.2g} %, in pairs ±{pair:.2g} %"
            finer = f"{wall / pair:.1f} times as fine"
            yield f"{case} beside {loops} loops, of a minute  {widths}  {finer}"


PARTS: dict[str, Callable[[], Iterator[str]]] = {
    **{"harness": harness, "events": detours, "replay": replayed, "decided": decided},
    **{"designs": designs, "scale": scale, "slurm": bench_slurm.lines},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; or all")
    parser.add_argument("--times", type=int, default=TIMES, help="of the archive's blocks in scale")
    given = parser.parse_args()
    if unknown := set(given.parts) - PARTS.keys():
        parser.error(f"no such part: {', '.join(sorted(unknown))}; known: {', '.join(PARTS)}")
    print(f"harness figures of {datetime.now(UTC):%Y-%m-%d}", flush=True)
    for name in given.parts or PARTS:
        for line in scale(given.times) if name == "scale" else PARTS[name]():
            print(line, flush=True)


if __name__ == "__main__":
    with shown_to_the_user():
        main()
