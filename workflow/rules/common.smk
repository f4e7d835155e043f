"""Loads and checks the configuration, once, for all rules; no logic lives here."""

from snakemake.exceptions import WorkflowError

from parity.errors import UserError
from parity.plan import make_plan
from parity.settings import check, schema
from parity.source import digest_of
from parity.study import load_study, load_system

try:
    check(config, schema("config"), "config/config.yaml or --config")
    STUDY = load_study(config["study"], config["scale"])
    SYSTEM = load_system(config["system"])
    PLAN = make_plan(STUDY)
except UserError as error:
    raise WorkflowError(str(error)) from None

CAMPAIGN = STUDY.campaign
BLOCKS = [block["block"] for block in PLAN["blocks"]]
LIVE = f"results/live/{CAMPAIGN}"
ARCHIVE = f"results/archive/{config['archive']}"
PAPER = LIVE if config["paper_source"] == "live" else ARCHIVE


wildcard_constraints:
    source="live|archive",
    campaign="[a-z][a-z0-9]*-[a-z][a-z0-9]*",
    block="[a-z0-9]+-[a-z0-9]+-b[0-9]{4}-[0-9a-f]{8}",
    format="[a-z]+",
