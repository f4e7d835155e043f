"""Shows of a rule that refuses its message alone; see parity/preview/rule_errors.py."""

from snakemake.logging import logger
from snakemake.settings.enums import Quietness

from parity.preview.rule_errors import RuleErrors

if workflow.is_main_process:
    rule_errors = RuleErrors(
        logger.error, Quietness.RULES in (workflow.output_settings.quiet or ())
    )
    for handler in logger.handlers:
        handler.addFilter(rule_errors.keeps)
    logger.addHandler(rule_errors)
