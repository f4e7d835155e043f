"""Targets that print: the plan and what this machine can do."""


rule plan:
    """Print what would be run, how long it takes, and what cannot be tested here."""
    input:
        plan=f"{LIVE}/plan.json",
    log:
        f"{LIVE}/logs/plan.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        archive=ARCHIVE,
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
