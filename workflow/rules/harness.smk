"""Does the workflow disturb what it measures? See tools/harness.py.

Needs: the plan, and no image, since its program runs outside of containers. Makes: harness.json
beside the plan, which the paper of the dataset quotes; every call measures anew.
"""


rule harness:
    """Compare a program under a bare script with the same program in a block, in one allocation."""
    input:
        plan=f"{LIVE}/plan.json",
    log:
        f"{LIVE}/logs/harness.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    resources:
        # Ten seconds each; another number with --set-resources harness:pairs=…
        pairs=30,
    params:
        tool=own("tools/harness.py"),
        seed=STUDY.seed,
        system=SYSTEM_FILE,
        # The audit's blocks are started as Snakemake itself would start them.
        snakefile=workflow.main_snakefile,
        site=words_of_the_site,
    shell:
        "in_python {params.tool:q} --plan {input.plan:q}"
        " --system {params.system:q} --snakefile {params.snakefile:q} --seed {params.seed}"
        " --pairs {resources.pairs} --site {params.site:q} 2> {log:q}"
