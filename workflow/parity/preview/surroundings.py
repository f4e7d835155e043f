"""What a plan will take here: times and sizes seen before, what is on this machine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from parity.benchmarks import benchmarks
from parity.core.availability import Presence
from parity.core.documents import canonical
from parity.core.files import read_json
from parity.measure.block_folder import BLOCK
from parity.plan.plan import DISTRIBUTION, Plan
from parity.plan.system import System
from parity.plan.system_kind import kind_of
from parity.runtimes import arms, every_arm

BLOCKS = Path("results/blocks")
LIVE = Path("results/live")
RUNS = Path("records/runs.parquet")
# Blocks that are looked at to see how much a run leaves on disk.
BLOCKS_WEIGHED = 5


@dataclass(frozen=True)
class Seen:
    """How long runs of a case took where it was measured before.

    Attributes:
        same: whether with the same parameters; else it is a hint and no more.
    """

    seconds: float
    same: bool


@dataclass(frozen=True)
class Probe:
    """Whether an arm or a benchmark (its kind) is on this machine."""

    kind: str
    name: str
    presence: Presence


@dataclass(frozen=True)
class Surroundings:
    """What a preview knows besides the plan.

    Attributes:
        system: the system file's content.
        jobs: how many jobs may wait or run at once; 1 on a machine without a batch system.
        seen: how long runs took before, by case.
        done: blocks that are measured already.
        run_bytes: what a run leaves on disk; None if no block was ever measured here.
        images: the records of the image formats, by format; None before they are made.
        probes: what of the plan's arms and benchmarks is here.
    """

    system: System
    jobs: int
    seen: Mapping[str, Seen]
    done: Collection[str]
    run_bytes: float | None
    images: Mapping[str, Mapping[str, Any]] | None
    probes: Sequence[Probe]

    @property
    def one_host(self) -> bool:
        """Whether all nodes share one host, whose lock lets one block measure at a time."""
        return kind_of([self.system.scale_label]).one_host

    @property
    def at_once(self) -> int:
        """How many blocks can be measured at the same time, at best."""
        is_serial = not self.system.batch_system or self.one_host
        return 1 if is_serial else self.jobs


def look_around(plan: Plan, system: System, jobs: int, archive: Path, images: Path) -> Surroundings:
    """What is known for a preview, in the study's folder.

    Args:
        images: the file with the records of the study's images.
        jobs: how many jobs may wait or run at once.
        archive: the archived dataset, whose times count where nothing was measured here.
    """
    tables = [*sorted(LIVE.glob(f"*/{RUNS}")), archive / RUNS]
    used = {*plan.arms, *(case["benchmark"] for case in plan.cases)}
    names = [block["block"] for block in plan.blocks]
    return Surroundings(
        system=system,
        jobs=jobs,
        seen=seen_seconds(plan, [table for table in tables if table.exists()]),
        done={name for name in names if BLOCK.is_in(BLOCKS / name)},
        run_bytes=bytes_of_a_run(BLOCKS, plan.campaign),
        images=read_json(images) if images.exists() else None,
        probes=probes(used, plan.provider),
    )


def probes(only: Collection[str] | None = None, provider: str = DISTRIBUTION) -> list[Probe]:
    """Ask every arm and benchmark, or those of the given names, whether it is here.

    Without names those arms that differ in their link set alone are not asked.

    Args:
        provider: who provides the benchmarks.
    """
    return [
        Probe(kind, name, entry.probe())
        for kind, known in (
            ("arm", arms() if only is None else every_arm()),
            ("benchmark", {n: b.provided_by(provider) for n, b in benchmarks().items()}),
        )
        for name, entry in known.items()
        if only is None or name in only
    ]


def seen_seconds(plan: Plan, tables: Iterable[Path]) -> dict[str, Seen]:
    """How long a run of each case took, the median over all runs of it in RUNS tables.

    The same parameters count before any others, and earlier tables before later ones.
    """
    from pyarrow import parquet  # only here: the light commands must not pay for it

    found: dict[str, Seen] = {}
    for table in tables:
        # Column by column, without the machinery that would load pandas.
        rows = parquet.ParquetFile(table).read(["case", "parameters", "wall_seconds"])
        took = defaultdict(list)
        for row in zip(*(column.to_pylist() for column in rows.columns), strict=True):
            case, parameters, seconds = row
            if seconds is not None:
                took[case, parameters].append(seconds)
        for case in plan.cases:
            name, parameters = case["case"], canonical(case["parameters"])
            for (other, others), seconds in took.items():
                same = others == parameters
                if other == name and (name not in found or same > found[name].same):
                    found[name] = Seen(median(seconds), same)
    return found


def bytes_of_a_run(blocks: Path, campaign: str) -> float | None:
    """What a run leaves on disk on average, of finished blocks; None if there are none.

    The youngest blocks of the campaign count, or of any other if it has none.

    Args:
        blocks: the folder of all blocks.
    """
    finished = [path.parent for path in blocks.glob(f"*/{BLOCK.file}")]
    finished.sort(key=lambda folder: (folder / BLOCK.file).stat().st_mtime)
    own = [folder for folder in finished if folder.name.startswith(f"{campaign}-")]
    weighed = (own or finished)[-BLOCKS_WEIGHED:]
    runs = sum(1 for folder in weighed for _ in folder.glob("runs/*"))
    # st_blocks counts units of 512 bytes whatever the file system's own.
    used = sum(path.lstat().st_blocks * 512 for folder in weighed for path in folder.rglob("*"))
    return used / runs if runs else None


def expected_seconds(block: Mapping[str, Any], seen: Mapping[str, Seen]) -> float | None:
    """How long a block's programs take; None if any of its cases was never measured."""
    if any(run["case"] not in seen for run in block["runs"]):
        return None
    return sum(seen[run["case"]].seconds for run in block["runs"])


def seconds_by_case(plan: Plan, seen: Mapping[str, Seen]) -> dict[str, float | None]:
    """How long the programs of a block take that holds the case; None if that is not known."""
    return {
        run["case"]: expected_seconds(block, seen) for block in plan.blocks for run in block["runs"]
    }


def shortest_wall(seconds: Sequence[float], at_once: int) -> float:
    """Seconds from first to last if blocks start in order, each as soon as a place is free."""
    free = [0.0] * max(1, min(at_once, len(seconds)))
    for took in seconds:
        first = free.index(min(free))
        free[first] += took
    return max(free)
