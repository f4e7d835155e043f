"""Reads config/config.yaml, after a check that says in words where it is not YAML."""

from snakemake.exceptions import WorkflowError

from parity.core.errors import UserError
from parity.core.settings import load_yaml

try:
    load_yaml(configured("config/config.yaml"))
except UserError as error:
    raise WorkflowError(str(error)) from None


configfile: configured("config/config.yaml")
