"""The parity audit: are both sides of every comparison the same but for the runtime?

Needs: the plan and the records of the images, because it asks every arm of the study from
inside; nothing is timed. Makes: results/parity/<campaign>.json and .csv, anew with every call.
"""


rule parity:
    """Print whose programs, libraries and kernel interface differ from the reference's."""
    input:
        plan=f"{LIVE}/plan.json",
        images=f"{IMAGES}/images.json",
        native=NATIVE,
        compiled=COMPILED,
    log:
        f"{LIVE}/logs/parity.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    shell:
        "parity parity --plan {input.plan:q} --images {input.images:q}"
        " --native {input.native:q} --folder results/parity 2> {log:q}"
