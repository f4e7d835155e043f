"""Loads and checks the configuration, once, for all rules; no logic lives here."""

from parity.plan import make_plan
from parity.settings import check, schema
from parity.source import PACKAGE, digest_of
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
# What `figures` and `paper` draw; `all` always draws what is measured here.
DATA = LIVE if config["data"] == "live" else ARCHIVE


wildcard_constraints:
    source="live|archive",
    dataset="[a-z][a-z0-9]*-[a-z0-9-]+",
    block="[a-z0-9]+-[a-z0-9]+-b[0-9]{4}-[0-9a-f]{8}",
    format="[a-z]+",
