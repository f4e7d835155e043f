"""Run: blocks on disk, stage by stage.

Needs: plan.json, the images. Makes: a folder per block, and what each look at the blocks so far
found.
"""


rule run_batch:
    """Run a batch of blocks: arms of each case one at a time, or in pairs side by side."""
    input:
        # Its name says what it does, so a rewritten plan never measures it again.
        plan=ancient(f"{LIVE}/plan.json"),
        images=f"{IMAGES}/images.json",
        native=NATIVE,
        compiled=COMPILED,
        look=look_before_batch,
        # What the time can prove is said before any of it is spent.
        promise=ancient([f"{LIVE}/promise.txt"] if TIMED else []),
        # More of it measures more. Snakemake asks nothing else of a job that waits for a due plan.
        minutes=TIMED,
    output:
        batch=f"{LIVE}/batches/{{batch}}.json",
    log:
        f"{LIVE}/logs/batches/{{batch}}.log",
    conda:
        "../../envs/parity.yaml"
    # A batch has the node for itself: here all cores, in a batch system by --exclusive.
    threads: 1 if SYSTEM.batch_system else workflow.cores
    resources:
        nodes=asked("nodes"),
        # With `mpi` the job step puts no srun of its own around the batch, whose CPUs
        # the launcher's steps would wait for; the plugin then wants two tasks or more.
        tasks=asked("tasks"),
        mpi="srun",
        runtime=asked("minutes"),
    params:
        system=SYSTEM_FILE,
        modules=MODULES,
        native=expand("--native {record}", record=NATIVE),
        look=lambda _, input: [f"--look={path}" for path in input.look],
    shell:
        "{params.modules}parity run-batch"
        " --plan {input.plan:q} --batch {wildcards.batch} --images {input.images:q}"
        " {params.native} {params.look:q} --system {params.system:q}"
        " --folder results/blocks --record {output.batch:q}"
        " 2> {log:q}"


rule look:
    """Look at all blocks so far: what is decided, or never will be, is not measured any more."""
    input:
        plan=ancient(f"{LIVE}/plan.json"),
        images=f"{IMAGES}/images.json",
        batches=batches_until_look,
        before=look_before_look,
        exclusions=ancient(configured("config/exclusions.yaml")),
    output:
        look=f"{LIVE}/looks/{{look}}.json",
    log:
        f"{LIVE}/logs/look-{{look}}.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        system=SYSTEM.name,
    shell:
        "parity look --number {wildcards.look} --plan {input.plan:q}"
        " --images {input.images:q} --exclusions {input.exclusions:q}"
        " --before {input.before:q} --system {params.system:q} 2> {log:q}"
