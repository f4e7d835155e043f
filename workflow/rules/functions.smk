"""What rules ask for by a function: inputs that follow from wildcards, and digests of code."""

import json
from functools import cache

from parity.core.package import EXTENSIONS
from parity.plan.looks import batches_of, job_of
from parity.plan.study import PILOT, read_pilot
from parity.records.noise_audit import NOISE_AUDIT


def containers_folder(wildcards):
    """Where the Dockerfile lies, with all that it copies; a function, as they are inputs, too."""
    return own("containers")


def added_tables(room):
    """The names of the tables that extensions add to a dataset's analysis, by their `tables.yaml`."""
    files = sorted(EXTENSIONS.glob(f"*/{room}/tables.yaml"))
    return [name for file in files for name in load_yaml(file)["tables"]]


def of_other_datasets(*names):
    """The function that gives these files of the other archived datasets of a dataset's system."""

    def of_dataset(wildcards):
        if wildcards.source != "archive":
            return []
        from parity.records.dataset import archived  # it loads pyarrow

        known = archived(Path("results/archive"))
        if wildcards.dataset not in known:
            return []
        system = known[wildcards.dataset][0]
        beside = [o for o in known if known[o][0] == system and o != wildcards.dataset]
        return expand("results/archive/{other}/{name}", other=beside, name=names)

    return of_dataset


def of_leading_datasets(name):
    """The function that gives this file of one dataset of each system, the chosen one first."""

    def of_all(wildcards):
        from parity.records.dataset import archived  # it loads pyarrow

        known = archived(Path("results/archive")) if CHOSEN != LIVE else {}
        chosen = Path(CHOSEN).name
        of_chosen = known.get(chosen, [""])[0]
        leading = {known[each][0]: each for each in sorted(known, reverse=True)}
        others = [leading[system] for system in sorted(leading) if system != of_chosen]
        beside = expand("results/archive/{other}/{name}", other=others, name=name)
        return [f"{CHOSEN}/{name}", *beside]

    return of_all


def this_and_other_claims(wildcards):
    """The file of own claims to judge, then all others: no two may have a name in common."""
    this = OWN_CLAIMS[wildcards.register]
    return [this, *sorted({*OWN_CLAIMS.values()} - {this})]


def numbers_beside(wildcards):
    """The published numbers of own claims, if there are any."""
    path = Path(OWN_CLAIMS[wildcards.register]).with_suffix(".csv")
    return [str(path)] if path.exists() else []


def measured_before(wildcards):
    """What was measured until now, and when: a plan's chances rest on its scatter.

    No input, as whoever asks for a plan does not ask to measure anything anew.
    """
    known = [*Path("results").glob("*/*/records/metrics.parquet"), *map(Path, PILOTED)]
    there = filter(Path.exists, known)
    return sorted(f"{path} {path.stat().st_mtime_ns}" for path in there)


def measured_here(wildcards):
    """Nothing, once live data that are to be shown were gathered: who asks for figures does not ask to measure."""
    if CHOSEN == LIVE and not os.path.exists(f"{LIVE}/records/metrics.parquet"):
        # An exception here is shown with a traceback.
        sys.exit(
            "parity: nothing was measured in this folder yet to the end of its plan\n"
            f"  where:   {LIVE}\n"
            "  to do:   snakemake all measures here; --config data=archive shows the archives"
        )
    return []


def noise_audit(wildcards):
    """The noise audit of a dataset's system, if there is one; nothing waits for it."""
    path = Path(f"results/{wildcards.source}/{wildcards.dataset}") / NOISE_AUDIT
    return [str(path)] if path.exists() else []


def words_of_the_site(wildcards, resources):
    """What the site asks of a job, such as its partition, as JSON: Snakemake's own resources."""
    names = ("slurm_partition", "slurm_account", "constraint", "qos")
    said = {name: word for name in names if (word := resources.get(name))}
    return json.dumps(said)


def piloted():
    """The study, with what a pilot found where it has one."""
    if not PILOTED:
        return STUDY
    asked = (config["scale"], NAMED, MINUTES, read_pilot(Path(PILOTED[0])))
    return load_study(STUDY_FILE, *asked, SYSTEM.software)


@cache
def planned():
    """The plan and its batches; where a pilot comes first, once it is done."""
    if PLAN is None:
        checkpoints.pilot.get()
    plan = PLAN or make_plan(piloted())
    return plan, batches_of(plan)


def asked(key):
    """The function that tells Snakemake what a batch asks of a batch system."""

    def of_batch(wildcards):
        plan, batches = planned()
        return job_of(plan, batches[wildcards.batch])[key]

    return of_batch


def all_batches(wildcards):
    """The records of all batches of the plan."""
    return expand("{live}/batches/{batch}.json", live=LIVE, batch=planned()[1])


def look_before_batch(wildcards):
    """The look that says what a batch need not measure; none before the first."""
    stage = planned()[1][wildcards.batch].stage
    return [f"{LIVE}/looks/{stage}.json"] if stage else []


def look_before_look(wildcards):
    """The look before this one; none before the first."""
    before = int(wildcards.look) - 1
    return [f"{LIVE}/looks/{before}.json"] if before else []


def batches_until_look(wildcards):
    """The records of all batches that a look sees."""
    batches = planned()[1].items()
    seen = [name for name, batch in batches if batch.stage < int(wildcards.look)]
    return expand("{live}/batches/{batch}.json", live=LIVE, batch=seen)
