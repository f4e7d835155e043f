"""Loads and checks the configuration, once, for all rules; no logic lives here."""

import os
import sys
from pathlib import Path
from shlex import quote

from snakemake.settings.types import DeploymentMethod

from parity.plan.making import make_plan
from parity.software.toolchain import LOCKED, check_prefix, choose_toolchain
from parity.core.spack_paths import DISTRIBUTION
from parity.core.errors import refuse_unknown
from parity.core.settings import check, schema
from parity.core.package import PACKAGE, code_of
from parity.plan.plan import newest
from parity.plan.study import load_study
from parity.plan.system import load_system, refuse_without_batch_system

try:
    check(config, schema("config"), "config/config.yaml or --config")
    for kind, folder in {"study": "studies", "system": "systems"}.items():
        # A name alone has no folder whose files could be listed.
        if not os.path.exists(config[kind]) and not os.path.dirname(config[kind]):
            files = Path(own(f"config/{folder}")).glob("*.yaml")
            known = sorted(f"config/{folder}/{file.name}" for file in files)
            where = f"--config {kind}=…"
            refuse_unknown([config[kind]], known, where, f"file of a {kind}")
    STUDY_FILE, SYSTEM_FILE = configured(config["study"]), configured(config["system"])
    # With Spack the toolchain is a part of who provides the programs.
    NAMED = Path(config["spack"]["toolchain"]).name
    MINUTES = config.get("minutes")
    SYSTEM = load_system(SYSTEM_FILE)
    STUDY = load_study(
        STUDY_FILE, config["scale"], NAMED, MINUTES, software=SYSTEM.software
    )
    BY_SPACK = STUDY.provider != DISTRIBUTION
    TOOLCHAIN = choose_toolchain(
        config["spack"]["toolchain"],
        SYSTEM.toolchains,
        SYSTEM_FILE,
        needed=BY_SPACK,
    )
    if BY_SPACK:
        check_prefix(config["spack"])
    # How much work takes the benchmarks' time here: before a pilot has found it, no plan is known.
    PILOTED = [f"results/live/{STUDY.campaign}/{PILOT}"] if STUDY.is_piloted else []
    # What a limit of time is written down in; nothing where there is none.
    TIMED = (
        [] if STUDY.minutes is None else [f"results/live/{STUDY.campaign}/minutes.txt"]
    )
    PLAN = (
        None
        if any(not os.path.exists(path) for path in PILOTED)
        else make_plan(piloted())
    )
    ARCHIVED_PLANS = sorted(map(str, Path("results/archive").glob("[!.]*/plan.json")))
    archives = [Path(plan).parent.name for plan in ARCHIVED_PLANS]
    NAMED_ARCHIVE = workflow.config_settings.config.get("archive")
    refuse_unknown(
        {config["archive"]} & {NAMED_ARCHIVE},
        archives,
        "--config archive=…, a folder of results/archive",
        "archive",
    )
    # The default one need not be here: a folder of one's own has other archives, or none.
    has_own_config = os.path.exists("config/config.yaml")
    if archives and config["archive"] not in archives and not has_own_config:
        config["archive"] = newest(archives)
    if workflow.is_main_process:
        refuse_without_batch_system(SYSTEM, now=not workflow.output_settings.dryrun)
except UserError as error:
    raise WorkflowError(str(error)) from None

# How rules call a command: a function of their shells, so that no path of this folder is a part of
# what they do. Where Snakemake makes the environments, the rule's own has a Python.
BY_CONDA = DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method
PYTHON = "python" if BY_CONDA else quote(sys.executable)
PYTHONPATH = f"{quote(str(PACKAGE.parent))}${{PYTHONPATH:+:$PYTHONPATH}}"
PREFIX = (
    f'in_python() {{ PYTHONPATH={PYTHONPATH} exec {PYTHON} "$@"; }}; '
    'parity() { in_python -P -m parity "$@"; }; '
)
shell.prefix(PREFIX.replace("{", "{{").replace("}", "}}"))
# A dataset is a folder: the live one is measured here, the archived one is the configured.
LIVE = f"results/live/{STUDY.campaign}"
ARCHIVE = f"results/archive/{config['archive']}"
# What Spack builds has a record of what was built natively.
BUILT = f"results/spack/{TOOLCHAIN.name}"
# A site's folder may hold those of both providers.
FOLDER = SYSTEM.image_folder
IMAGE_FOLDER = f"{FOLDER}/{TOOLCHAIN.name}" if FOLDER and BY_SPACK else FOLDER
NATIVE = [f"{BUILT}/native/native.json"] if BY_SPACK else []
# What is kept with the data: that record, and the lock that it was built from.
KEPT = NATIVE + expand(
    f"{BUILT}/native/{{name}}",
    name=LOCKED if BY_SPACK else [],
)
# The dataset of `claims`, `dashboard` and `paper`; `all` is always about the live one.
CHOSEN = LIVE if config["data"] == "live" else ARCHIVE
# What the dashboard shows: all that is archived, or what was measured here. `figures` draws it,
# too, or the one archive that its call names.
ARCHIVED = {ARCHIVE, *map(os.path.dirname, ARCHIVED_PLANS)}
SHOWN_TOGETHER = [LIVE] if CHOSEN == LIVE else sorted(ARCHIVED)
DRAWN = [CHOSEN] if NAMED_ARCHIVE else SHOWN_TOGETHER
# What is parsed again: archives only.
CHECKED = [ARCHIVE] if NAMED_ARCHIVE else sorted(ARCHIVED)

# Claims of a user or a site, and our findings, by the name of their file.
OWN_FILES = [*config.get("claims", []), "config/findings.yaml"]
OWN_CLAIMS = {Path(path).stem: configured(path) for path in OWN_FILES}
if len(OWN_CLAIMS) < len(OWN_FILES) or "claims" in OWN_CLAIMS:
    raise WorkflowError(
        "parity: two files of claims have the same name, or one that of ours\n"
        "  where:   config/config.yaml: claims\n"
        "  to do:   give each a name of its own, neither claims.yaml nor findings.yaml"
    )

for path in OWN_CLAIMS.values():
    if not os.path.exists(path):
        raise WorkflowError(
            "parity: there is no such file\n"
            f"  where:   config/config.yaml: claims: {path}\n"
            "  to do:   correct the path, or make the file"
        )


wildcard_constraints:
    source="live|archive",
    dataset="[a-z][a-z0-9]*-[a-z0-9-]+",
    batch="[a-z0-9]+-[a-z0-9]+-(n[0-9]+-)?b[0-9]{4}(-[0-9]{4})?-[0-9a-f]{8}",
    look="[1-9][0-9]*",
    format="[a-z]+",
