"""Commands of the rules on records: from blocks on disk to tables, and to archives."""

import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from parity.claims import registration
from parity.core.errors import UserError, print_checks
from parity.plan.looks import batches_of
from parity.plan.plan import PLAN, read_plan
from parity.records import dataset
from parity.records.dataset import gather_records, measured_blocks
from parity.records.events import write_noise_traces
from parity.software.images import read_images, without_location, write_images


def gather(plan: Path, images: Path, native: list[Path], system: str) -> None:
    """Gather what the blocks of a plan left, verbatim, as two tables beside it."""
    live = plan.parent
    batches = [live / f"batches/{name}.json" for name in batches_of(read_plan(plan))]
    gather_records(measured_blocks(batches), system, live / "records")
    write_images(live / images.name, without_location(read_images(images)))
    # What Spack built natively, where it did: versions, compilers, hashes.
    for record in native:
        shutil.copyfile(record, live / record.name)


def parse(plan: Path) -> None:
    """Make all tables from the gathered outputs."""
    dataset.parse_dataset(plan.parent, plan.parent / "records")


def reparse(raw: list[Path], registered: Path) -> None:
    """Prove that archives' tables follow from their raw outputs, and plans are as registered."""
    known = registration.load(registered)
    archives = [each.parents[1] for each in raw]
    print_checks((each.name, partial(_reparse, each, known)) for each in archives)


def _reparse(archive: Path, registered: Sequence[registration.Registration]) -> str:
    registration.refuse_another_plan(archive / PLAN, registered)
    if broken := dataset.broken_files(archive):
        raise UserError(f"checksums do not hold: {', '.join(broken)}", where=str(archive))
    if differing := dataset.differing_tables(archive):
        problem = f"parsing again gives other bytes: {', '.join(differing)}"
        action = "say in CHANGELOG.md which parser was mended, and archive anew"
        raise UserError(problem, where=str(archive), action=action)
    return f"equal: checksums hold; {len(dataset.PARSED)} tables parsed again, the same bytes"


def archive(plan: Path, system: str) -> None:
    """Keep the campaign that was measured here."""
    from parity.records.crate import write_crate  # its library is not in every environment

    root = Path("results/archive")
    kept = dataset.archive_dataset(plan.parent, root, system)
    write_crate(kept)
    if (called := dataset.archived(root)[kept.name][0]) != system:
        print(f"archives of other hardware are called {system}, so this one is called {called}")
        print("name the system in a file of its own in config/systems/ before you measure again")
    print(f"archived as {kept}; name it in config/config.yaml: archive")


def crates(plans: list[Path]) -> None:
    """Describe every archive as an RO-Crate."""
    from parity.records.crate import write_crate

    for plan in plans:
        print(write_crate(plan.parent))


def noise_traces(events: Path, folder: Path) -> None:
    """Write the events of a dataset as LogGOPSim reads them."""
    print(f"{folder}: {write_noise_traces(events, folder)} files")
