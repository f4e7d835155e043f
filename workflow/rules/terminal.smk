"""What people see while Snakemake works: its steps, why a rule failed, how far the campaign is.

See parity/preview/snakemake_log.py and, for progress.txt, parity/preview/progress.py.
"""

import logging
import os
from functools import partial
from pathlib import Path

from snakemake.logging import logger

from parity.measure.documents import BLOCK_FOLDERS
from parity.preview.progress import REPORT
from parity.preview.snakemake_log import BlockLog, Shown, teller


def does(name):
    """What a rule says of itself."""
    return workflow.get_rule(name).docstring


# Jobs read the rules, too; a dry run and `--verbose` tell everything.
if workflow.is_main_process:
    is_dry = workflow.output_settings.dryrun
    theirs = list(logger.handlers)
    files = [each for each in theirs if isinstance(each, logging.FileHandler)]
    logs = ", ".join(os.path.relpath(each.baseFilename) for each in files)
    say = teller(logger, theirs)
    shown = Shown(say, not (is_dry or workflow.output_settings.verbose), logs, does)
    # Ours, which are added after Snakemake's own, follow every event.
    for handler in [each for each in theirs if each not in files]:
        handler.addFilter(shown.keeps)
    logger.addHandler(shown)
    if not is_dry:
        live, report_file = Path(LIVE), Path(LIVE) / REPORT
        logger.addHandler(
            BlockLog(
                live / "plan.json",
                "run_batch",
                BLOCK_FOLDERS,
                report_file,
                partial(say, logging.INFO),
            )
        )
