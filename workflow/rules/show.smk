"""Targets that print: the plan and what this machine can do."""


rule plan:
    """Print what would be run, what it costs, what it can prove, and what cannot be tested."""
    input:
        **REGISTER,
        own=list(OWN_CLAIMS.values()),
        plan=f"{LIVE}/plan.json",
        exclusions=configured("config/exclusions.yaml"),
        designs=configured("config/published/designs.csv"),
    log:
        f"{LIVE}/logs/plan.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        archive=ARCHIVE,
        images=f"{IMAGES}/images.json",
        system=SYSTEM_FILE,
        # As many blocks at once as --jobs allows; without a batch system, one.
        jobs=workflow.resource_settings.nodes or 1,
    script:
        "../scripts/print_plan.py"


rule probe:
    """Print which runtimes and benchmarks are here, and what to do about those that are not."""
    log:
        "results/probe.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    script:
        "../scripts/print_probe.py"
