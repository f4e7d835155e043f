"""Targets that print: the plan and what this machine can do."""

# As many blocks at once as --jobs allows; without a batch system, one.
PREVIEWED = {
    "archive": ARCHIVE,
    "images": f"{IMAGES}/images.json",
    "jobs": workflow.resource_settings.nodes or 1,
}


rule chances:
    """Draw and judge the plan by the scatter of earlier data: what it can prove, and how likely."""
    input:
        **REGISTER,
        own=list(OWN_CLAIMS.values()),
        plan=f"{LIVE}/plan.json",
        system=SYSTEM_FILE,
        exclusions=configured("config/exclusions.yaml"),
    output:
        chances=f"{LIVE}/chances.txt",
    log:
        f"{LIVE}/logs/chances.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        **PREVIEWED,
        pilots=measured_before,
        code=code_of("preview"),
    shell:
        "parity chances --plan {input.plan:q} --claims {input.claims:q}"
        " --published {input.published:q} --own {input.own:q} --system {input.system:q}"
        " --exclusions {input.exclusions:q} --archive {params.archive:q}"
        " --images {params.images:q} --jobs {params.jobs} --chances {output.chances:q}"
        " 2> {log:q}"


rule plan:
    """Print what would be run, what it costs, what it can prove, and what cannot be tested."""
    input:
        plan=f"{LIVE}/plan.json",
        chances=f"{LIVE}/chances.txt",
    log:
        f"{LIVE}/logs/plan.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        **PREVIEWED,
        system=SYSTEM_FILE,
    shell:
        "parity plan --plan {input.plan:q} --chances {input.chances:q}"
        " --system {params.system:q} --archive {params.archive:q}"
        " --images {params.images:q} --jobs {params.jobs} 2> {log:q}"


rule probe:
    """Print which runtimes and benchmarks are here, and what to do about those that are not."""
    log:
        "results/probe.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    shell:
        "parity probe 2> {log:q}"
