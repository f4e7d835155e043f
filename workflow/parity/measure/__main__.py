"""`python -m parity.measure`: run a batch of a plan's blocks on this node."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from parity.core.documents import write_document
from parity.core.errors import shown_to_the_user
from parity.measure.batch import run_batch
from parity.measure.orphans import adopt
from parity.plan.looks import batches_of, read_look
from parity.plan.plan import read_plan
from parity.plan.system import load_system
from parity.software.images import read_images
from parity.software.native import read_native


def main() -> None:
    """Run the batch that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", type=Path, required=True, help="the plan of the campaign")
    parser.add_argument("--batch", required=True, help="name of the batch")
    parser.add_argument("--look", type=Path, help="what the last look before it stopped")
    parser.add_argument("--images", type=Path, required=True, help="the records of the images")
    parser.add_argument("--native", type=Path, help="the record of what Spack built")
    parser.add_argument("--system", type=Path, required=True, help="the system's file")
    parser.add_argument("--folder", type=Path, required=True, help="where the blocks are kept")
    parser.add_argument("--record", type=Path, required=True, help="where to say what was done")
    words = parser.parse_args()
    # Ask to be stopped the same way as Ctrl-C does, so that the running program is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    adopt()
    with shown_to_the_user():
        plan = read_plan(words.plan)
        done = run_batch(
            plan,
            batches_of(plan)[words.batch],
            read_images(words.images),
            read_native(words.native).programs if words.native else {},
            load_system(words.system),
            words.folder,
            read_look(words.look).by_run if words.look else {},
        )
        write_document(words.record, done)


if __name__ == "__main__":
    main()
