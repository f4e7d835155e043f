"""Shows how far Snakemake is and why a rule failed; see parity/preview/steps.py and rule_errors.py."""

from logging import FileHandler

from snakemake.logging import logger

from parity.preview.rule_errors import RuleErrors
from parity.preview.steps import Steps, is_needed

# Jobs read the rules, too; a dry run and `--verbose` tell everything.
if workflow.is_main_process:
    is_quiet = not (workflow.output_settings.dryrun or workflow.output_settings.verbose)
    rule_errors = RuleErrors(logger.error, is_quiet)
    files = [each for each in logger.handlers if isinstance(each, FileHandler)]
    # Those of Snakemake's own: ours, which are added after them, follow every event.
    for handler in [each for each in logger.handlers if each not in files]:
        handler.addFilter(rule_errors.keeps)
        if is_quiet:
            handler.addFilter(is_needed)
    logger.addHandler(rule_errors)
    if is_quiet:
        logs = [os.path.relpath(each.baseFilename) for each in files]
        logger.addHandler(Steps(logger.info, ", ".join(logs)))
