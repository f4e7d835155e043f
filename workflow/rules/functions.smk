"""What rules ask for by a function: inputs that follow from wildcards, and digests of code."""

from parity.records.noise_audit import NOISE_AUDIT


def code_of(script):
    """The digest of a script and of all that it imports from the package."""
    return digest_of(PROJECT / f"workflow/scripts/{script}.py")


def recipes_folder(wildcards):
    """Where the toolchain's recipes lie; a function, because they are inputs as well."""
    return str(TOOLCHAIN.recipes)


def containers_folder(wildcards):
    """Where the Dockerfile lies, with all that it copies; a function for the same reason."""
    return own("containers")


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


def this_and_other_claims(wildcards):
    """The file of own claims to judge, then all others: no two may have a name in common."""
    this = OWN_CLAIMS[wildcards.register]
    return [this, *sorted({*OWN_CLAIMS.values()} - {this})]


def numbers_beside(wildcards):
    """The published numbers of own claims, if there are any."""
    path = Path(OWN_CLAIMS[wildcards.register]).with_suffix(".csv")
    return [str(path)] if path.exists() else []


def noise_audit(wildcards):
    """The noise audit of a dataset's system, if there is one; nothing waits for it."""
    path = Path(f"results/{wildcards.source}/{wildcards.dataset}") / NOISE_AUDIT
    return [str(path)] if path.exists() else []


def asked(key):
    """The function that tells Snakemake what a block asks of a batch system.

    `lookup` would walk through all blocks for each of them: with 2000 blocks, a minute.
    """

    def of_block(wildcards):
        return JOBS[wildcards.block][key]

    return of_block
