"""Runs a batch: its blocks one after the other in one process, as far as the time goes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from parity.measure import block_progress
from parity.measure.block import run_block
from parity.measure.block_folder import BLOCK
from parity.measure.documents import BatchRecord
from parity.measure.session import Session
from parity.plan.looks import Batch, Stop
from parity.plan.plan import Plan
from parity.plan.system import System
from parity.runtimes import every_arm
from parity.software.images import ImageRecord


def run_batch(
    plan: Plan,
    batch: Batch,
    images: Mapping[str, ImageRecord],
    expected: Mapping[str, str],
    system: System,
    blocks: Path,
    stops: Mapping[tuple[str, str], Stop],
) -> BatchRecord:
    """Run the blocks of a batch, each in its own folder below `blocks`.

    Args:
        images, expected, system, stops: as of `run_block`.

    Raises:
        UserError: as of `run_block`; what is measured by then is kept.
    """
    measured: list[str] = []
    session: Session | None = None
    for block in batch.blocks:
        folder = blocks / block.name
        if not folder.exists() and is_time_over(plan, blocks):
            break
        if not is_measured(plan, folder, images):
            given = (plan, block.name, images, expected, system, folder)
            session = run_block(*given, stops, checked=session)
        measured.append(block.name)
    late = tuple(block.name for block in batch.blocks if block.name not in measured)
    return BatchRecord(measured=tuple(measured), out_of_time=late)


def is_measured(plan: Plan, folder: Path, images: Mapping[str, ImageRecord]) -> bool:
    """Whether a block is finished, with the images that are here now.

    Args:
        folder: of the block.
        images: their records, by format.
    """
    if not BLOCK.is_in(folder):
        return False
    sessions = BLOCK.read_in(folder).sessions
    now = {arm: images.get(every_arm()[arm].image_format or "") for arm in plan.arms}
    # A block of which all was stopped has no session, and nothing that an image could change.
    return not sessions or all(
        sessions[-1].start.arms[arm].image_digest == (record.digest if record else "")
        for arm, record in now.items()
    )


def is_time_over(plan: Plan, blocks: Path) -> bool:
    """Whether one more block would end after the plan's time."""
    if plan.minutes is None:
        return False
    begun, next_one = block_progress.lasted(plan, [blocks / block.name for block in plan.blocks])
    return begun + next_one > 60 * plan.minutes
