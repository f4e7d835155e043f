"""`python -m parity.measure`: run one block of a plan on this node."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from parity.core.errors import shown_to_the_user
from parity.measure.block import run_block
from parity.plan.plan import read_plan
from parity.plan.system import load_system
from parity.software.images import read_images
from parity.software.native import read_native


def main() -> None:
    """Run the block that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", type=Path, required=True, help="the plan of the campaign")
    parser.add_argument("--block", required=True, help="id of the block")
    parser.add_argument("--images", type=Path, required=True, help="the records of the images")
    parser.add_argument("--native", type=Path, help="the record of what Spack built")
    parser.add_argument("--system", type=Path, required=True, help="the system's file")
    parser.add_argument("--folder", type=Path, required=True, help="where the block is kept")
    words = parser.parse_args()
    # Ask to be stopped the same way as Ctrl-C does, so that the running program is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with shown_to_the_user():
        run_block(
            read_plan(words.plan),
            words.block,
            read_images(words.images),
            read_native(words.native).programs if words.native else {},
            load_system(words.system),
            words.folder,
        )


if __name__ == "__main__":
    main()
