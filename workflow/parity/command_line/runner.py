"""Commands that run on the nodes that are measured; each imports its own part, to start soon."""

from pathlib import Path

from parity.core.documents import write_document
from parity.core.errors import end_as_by_ctrl_c
from parity.core.spack_paths import TOOLCHAIN


def run_batch(
    plan: Path, batch: str, images: Path, system: Path, folder: Path, record: Path,
    native: Path | None = None, look: Path | None = None,
) -> None:  # fmt: skip
    """Run a batch of a plan's blocks on this node.

    Args:
        look: what the last look before it stopped.
        native: the record of what Spack built.
        folder: where the blocks are kept.
        record: where to say what was done.
    """
    from parity.measure import block as measured
    from parity.measure.timed_process import adopt
    from parity.plan.looks import batches_of, read_look
    from parity.plan.plan import read_plan
    from parity.plan.system import load_system
    from parity.software.images import read_images
    from parity.software.native import read_native

    end_as_by_ctrl_c()
    adopt()
    planned = read_plan(plan)
    done = measured.run_batch(
        planned, batches_of(planned)[batch], read_images(images),
        read_native(native).programs if native else {}, load_system(system), folder,
        read_look(look).by_run if look else {},
    )  # fmt: skip
    write_document(record, done)


def pilot(study: Path, scale: str, system: Path, pilot: Path, toolchain: str = TOOLCHAIN) -> None:
    """Find how much work takes the benchmarks' time on this node."""
    from parity.core.settings import load_checked
    from parity.measure.pilot import cases_to_pilot, make_pilot
    from parity.plan.study import load_study
    from parity.plan.system import load_system

    end_as_by_ctrl_c()
    site = load_system(system)
    loaded = load_study(study, scale, toolchain, software=site.software)
    cases = cases_to_pilot(loaded, load_checked(study, "study"))
    write_document(pilot, make_pilot(loaded, cases, site))


def check_node(folder: Path) -> None:
    """Answer the question on this node that lies in a folder, into the same folder."""
    from parity.measure.documents import NODE_ANSWER, QUESTION
    from parity.measure.node_check import check_node as check

    answer = check(QUESTION.read_in(folder), folder)
    write_document(folder / NODE_ANSWER.format(answer.state.node_name), answer)


def clean_up(arm: str, name: str, ranks: int, state: Path) -> None:
    """End what a program with ranks left on this node after a failed run."""
    from parity.measure import inner_command, places
    from parity.runtimes import every_arm
    from parity.runtimes.model import SCRATCH, Launch

    inner_command.clean_up(every_arm()[arm], Launch(name, None, SCRATCH, state), ranks)
    # Also processes and networks that are nobody's.
    places.end_processes_in(places.WORK)
    inner_command.sweep()
