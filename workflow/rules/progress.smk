"""Shows how far the campaign is after each tenth of it, and keeps progress.txt; see parity/preview/progress.py."""

from pathlib import Path

from snakemake.logging import logger

from parity.preview.progress import REPORT, BlockLog
from parity.measure.block_folder import BLOCK_FOLDERS

# Jobs and dry runs read the rules, too, and have no progress to show.
if workflow.is_main_process and not workflow.output_settings.dryrun:
    logger.addHandler(
        BlockLog(
            Path(LIVE) / "plan.json",
            "run_batch",
            BLOCK_FOLDERS,
            Path(LIVE) / REPORT,
            logger.info,
        )
    )
