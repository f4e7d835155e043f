"""The published design at the size of a cluster, made up: gathered, parsed, analysed and drawn.

Real are the numbers of nodes and ranks, up to 512 and 18,432, the cases and the arms; there are
two blocks of each node count instead of fifty.
"""

import re
from pathlib import Path

import pytest
from benchmark_help import golden
from msgspec.structs import replace
from plans import block_record_of, run_record_of

from parity.analysis import analysis, dataset
from parity.benchmarks.hpcc import process_grid
from parity.core.documents import canonical
from parity.measure import inner_command
from parity.plan.making import make_plan
from parity.plan.plan import Block, Case, Plan, write_plan
from parity.plan.study import load_study
from parity.records.dataset import collect
from parity.report import view
from parity.report.figures import figures
from parity.report.figures.specs import FIGURES

ROOT = Path(__file__).parents[3]
IMAGES = ROOT / "results/archive/slurm-2026-11-21/images.json"
BLOCKS = 2


@pytest.fixture(scope="module")
def plan() -> Plan:
    whole = make_plan(load_study(ROOT / "config/studies/scaling.yaml", "cluster"))
    return replace(whole, blocks=tuple(each for each in whole.blocks if each.number <= BLOCKS))


def _said_by_mpi(nodes: int, ranks: int) -> str:
    """What the ranks of one world say: each of each, up to a thousand of them."""
    here, everywhere = ranks // nodes, list[str]()
    for rank in range(ranks if ranks <= 1024 else 0):
        line = "[n:1] mca: bml: Using {} btl for send to [[1,1],{}] on node n\n".format
        everywhere += [line("self", rank), line("vader", rank) * (here - 1)]
        everywhere += [line("tcp", rank) * (ranks - here)]
    return "".join(everywhere)


def _output_of_hpcc(case: Case) -> str:
    """A real output, with the size and the grid of the case and a rate that fits them."""
    (rows, columns), n = process_grid(case.parameters), case.parameters["n"]
    seconds = (2 / 3 * n**3 + 3 / 2 * n**2) / (3.94149e-05 * 1e12)
    said = {
        "CommWorldProcs": rows * columns, "HPL_nprow": rows, "HPL_npcol": columns, "HPL_N": n,
        "HPL_NB": case.parameters["nb"], "HPL_time": f"{seconds:.6g}",
    }  # fmt: skip
    text = golden("hpcc/real-2x4.txt")
    for key, value in said.items():
        text = re.sub(rf"^{key}=.*$", f"{key}={value}", text, flags=re.MULTILINE)
    return text


def _left_by(case: Case) -> tuple[str, dict[str, str]]:
    """Standard error and files of a run."""
    nodes, ranks = case.parameters["nodes"], case.parameters["ranks"]
    if case.benchmark == "hpcc":
        return _said_by_mpi(nodes, ranks), {"hpccoutf.txt": _output_of_hpcc(case)}
    if case.parameters["protocol"] == "tcp":
        return "", {"np.out": golden("netpipe/tcp-2x2.txt")}
    name = f"netpipe/mpi-{nodes}x2"
    return golden(f"{name}-stderr.txt"), {"np.out": golden(f"{name}.txt")}


def _evidence(case: Case) -> dict[int, dict[str, str]]:
    """What the witness of each rank says."""
    nodes, ranks = case.parameters["nodes"], case.parameters["ranks"]
    spaces = ("cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts")
    return {
        rank: {
            "node": f"n{node:04d}", "marker": "sha256:" + 64 * "d", "hostname": f"n{node:04d}",
            **{f"namespace.{space}": str(4026531835 + node) for space in spaces},
            "cpus_allowed": str(rank % (ranks // nodes)), "root": "squashfs,ro",
        }
        for rank in range(ranks)
        for node in (rank * nodes // ranks,)
    }  # fmt: skip


@pytest.fixture(scope="module")
def folders(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The folders of all blocks; runs of a case have the same files, by hard links."""
    root, once = tmp_path_factory.mktemp("blocks"), tmp_path_factory.mktemp("once")
    for case in plan.cases:
        stderr, files = _left_by(case)
        evidence = _evidence(case)
        record = run_record_of(
            case=case.name, run="@run@", arm="@arm@", evidence=evidence[0],
            ranks=inner_command.rank_differences(evidence), parameters=case.parameters,
            started="2026-01-01T10:00:00.000+00:00",
        )  # fmt: skip
        texts = {"stdout": "", "stderr": stderr, "record.json": canonical(record), **files}
        for name, text in texts.items():
            (once / f"{case.name}-{name}").write_text(text)
    return [_block(plan, block, root / block.name, once) for block in plan.blocks]


def _block(plan: Plan, block: Block, folder: Path, once: Path) -> Path:
    folder.mkdir()
    others = [
        {"node_name": f"n{number:04d}", "node": {"boot_id": f"{number}"}, "busy_fraction": 0.0,
         "arms": {}, "binaries": []}
        for number in range(1, block.nodes)
    ]  # fmt: skip
    record = block_record_of(
        campaign=plan.campaign, block=block.name, number=block.number,
        runs=block.runs, start={"other_nodes": others, "node": {"boot_id": "0"}},
    )  # fmt: skip
    (folder / "block.json").write_text(canonical(record))
    for run in block.runs:
        attempt = folder / "runs" / run.name / "attempt-1"
        (attempt / "files").mkdir(parents=True)
        for path in once.glob(f"{run.case}-*"):
            name = path.name.removeprefix(f"{run.case}-")
            target = attempt / name if "." not in name else attempt / "files" / name
            if name != "record.json":
                target.hardlink_to(path)
        text = (once / f"{run.case}-record.json").read_text()
        text = text.replace("@run@", run.name).replace("@arm@", run.arm)
        (attempt / "record.json").write_text(text)
    return folder


@pytest.mark.long
def test_the_published_design_is_gathered_parsed_analysed_and_drawn(plan, folders, tmp_path):
    assert max(case.parameters["ranks"] for case in plan.cases) == 18_432
    write_plan(tmp_path / "plan.json", plan)
    live = tmp_path / "live" / plan.campaign
    collect(tmp_path / "plan.json", folders, IMAGES, "synthetic", live)
    done = analysis.analyse(dataset.load(live, whole=False))
    assert (done.ledger["analysed"] == BLOCKS).all() and not done.losses["runs"].any()
    tested = done.comparisons[done.comparisons["arm"].isin(plan.arms)]
    assert len(tested) and (tested["blocks"] == BLOCKS).all()
    analysis.write(done, live / "analysis")
    for figure in (each for each in FIGURES if each.name in ("scaling", "network-latency")):
        (axes, *_) = figures.draw(view.load(live), figure).axes
        assert axes.lines or axes.collections
