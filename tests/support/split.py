"""Studies of networks and placement that never were: ranks split over containers of a node."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import synthetic
from planted_truth.plans import crossed

from parity.claims.published import published_tables
from parity.report.view import View

PUBLISHED = Path(__file__).parents[2] / "config/published"
ARMS = {
    "native-a": "Native", "native-b": "Native again", "lxc": "LXC", "lxc-veth": "LXC, veth",
    "lxc-veth-plain": "LXC, veth, no offloads", "lxc-macvlan": "LXC, macvlan",
    "podman-veth": "Podman, veth",
}  # fmt: skip
RTO = {"rto_min_ms": 200, "sack": True, "era": "now", "queue_packets": 1000, "rate_mbit": 0}
# What a container more costs each kernel, as a ratio.
EACH = {"cg": 1.2, "ep": 1.0, "mg": 1.08}
WAITS = 0.2


def case(benchmark: str, place: tuple[int, int, int], **levels: Any) -> dict[str, Any]:
    """A case on so many nodes, ranks and containers on each node."""
    nodes, ranks, containers = place
    words = [f"{nodes}x{ranks}/{containers}", *map(str, levels.values())]
    parameters = {"nodes": nodes, "ranks": ranks, "containers_per_node": containers, **levels}
    primary = [n for n, facts in METRICS[benchmark].items() if facts[4]]
    return {"case": "-".join([benchmark, *words]), "benchmark": benchmark, "margin": 0.06,
            "parameters": parameters, "primary": primary, "timeout": 60}  # fmt: skip


METRICS: dict[str, dict[str, tuple[float, float, str, str, bool]]] = {
    "npb": {
        "rate": (800.0, 0.01, "Mop/s", "higher", True),
        "time": (4.0, 0.01, "s", "lower", False),
        "tcp_timeouts": (0.0, 0.0, "1", "lower", False),
    },
    "hpcc": {"hpl": (70.0, 0.02, "Gflop/s", "higher", True)},
    "mpip": {
        "application": (3.1, 0.01, "s", "lower", True),
        "mpi": (0.9, 0.05, "s", "lower", True),
        "init": (1.1, 0.01, "s", "lower", True),
    },
}
RUIZ = [
    *(case("npb", (1, 4, each), kernel=kernel) for kernel in EACH for each in (1, 2, 4)),
    *(case("npb", (1, each, each), kernel="mg") for each in (2, 8)),
    *(case("npb", (1, 4, 4), kernel="cg") | {"case": f"npb-1x4/4-cg-rto{rto}"} for rto in (200, 2)),
    *(case("mpip", (1, 4, 2), kernel=kernel) for kernel in ("cg", "ep")),
]
for each in RUIZ:
    each["parameters"] |= RTO | ({"rto_min_ms": 2} if each["case"].endswith("-rto2") else {})
    each["parameters"] |= {"era": "2015"} if "-rto" in each["case"] else {}
BESERRA = [case("hpcc", (1, 4, each)) for each in (1, 2, 4)]


def plan(study: str, cases: Sequence[Mapping[str, Any]], blocks: int = 12) -> Any:
    used = {c["benchmark"]: c["benchmark"].upper() for c in cases}
    return crossed(
        f"{study}-synthetic", cases, ARMS, blocks, title=f"Synthetic numbers of {study}",
        arm_titles=ARMS, arm_runtimes={arm: arm.split("-")[0] for arm in ARMS},
        benchmark_titles=used, benchmark_notes=dict.fromkeys(used, ""),
    )  # fmt: skip


def view(
    folder: Path,
    study: str,
    cases: Sequence[Mapping[str, Any]],
    blocks: int = 12,
    absent: Mapping[str, str] | None = None,
) -> View:
    """A view of a study with published values: each container more costs what `EACH` says.

    Args:
        absent: arms that could not run, with the reason.
    """
    for each in cases:
        synthetic.ALL_CASES[each["case"]] = (each["benchmark"], 0.06, METRICS[each["benchmark"]])
    made = plan(study, cases, blocks)
    rows = synthetic.records(made, effects(cases), absent=absent)
    waited = _waits(rows["metrics"])
    found = synthetic.view(folder, made, {**rows, "metrics": waited})
    return replace(found, published=published_tables(PUBLISHED))


def effects(cases: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], float]:
    """The planted cost ratio of each case and arm."""
    planted = {}
    for each in cases:
        of_one = EACH.get(each["parameters"].get("kernel", ""), 1.1)
        more = each["parameters"]["containers_per_node"] - 1
        for arm in ARMS:
            times = 2 if arm.endswith("plain") else 0.5 if arm.endswith("macvlan") else 1
            planted[each["case"], arm] = of_one ** (times * more) if "-" in arm[3:] else 1.0
            if arm.startswith("native"):
                planted[each["case"], arm] = 1.0
    return planted


def _waits(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with timeouts in the runs of containers of the 2015 era, each of 0.2 s or 2 ms."""
    random = np.random.default_rng(2015)
    waited: dict[tuple[str, str], tuple[int, float]] = {}
    made = []
    for row in rows:
        if row["metric"] in ("time", "tcp_timeouts"):
            key = (row["block"], row["run"])
            if key not in waited:
                rto = WAITS if "-rto200" in row["run"] else WAITS / 100
                is_veth = "veth" in row["arm"] and "-rto" in row["run"]
                count = int(random.poisson(20)) if is_veth else 0
                waited[key] = (count, rto * count + float(random.normal(0, 0.05)))
            count, lost = waited[key]
            row = row | {"value": 4.0 + lost if row["metric"] == "time" else float(count)}
        made.append(row)
    return made
