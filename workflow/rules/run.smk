"""Plan and run: from a study to blocks on disk.

Needs: the study file, the images. Makes: plan.json, and a folder per block.
"""

from parity.plan.plan import jobs_of

# What each block asks of a batch system, and the modules that it loads there.
JOBS = jobs_of(PLAN)
MODULES = f"module load {' '.join(SYSTEM.modules)} && " if SYSTEM.modules else ""


rule write_plan:
    """Write the plan: blocks, and the seeded order of runs in each."""
    input:
        study=STUDY_FILE,
    output:
        plan=f"{LIVE}/plan.json",
    log:
        f"{LIVE}/logs/write_plan.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        scale=config["scale"],
        toolchain=TOOLCHAIN.name,
        code=code_of("write_plan"),
    script:
        "../scripts/write_plan.py"


rule run_block:
    """Run one block: every arm of every case once, one program at a time."""
    input:
        # The block's id says what it does, so a rewritten plan never measures it again.
        plan=ancient(f"{LIVE}/plan.json"),
        images=f"{IMAGES}/images.json",
        native=NATIVE,
    output:
        block="results/blocks/{block}/block.json",
    log:
        "results/blocks/{block}/runner.log",
    conda:
        "../../envs/parity.yaml"
    # A block has the node for itself: here all cores, in a batch system by --exclusive.
    threads: 1 if SYSTEM.batch_system else workflow.cores
    resources:
        nodes=asked("nodes"),
        # With `mpi` the job step puts no srun of its own around the block, whose CPUs
        # the launcher's steps would wait for; the plugin then wants two tasks or more.
        tasks=asked("tasks"),
        mpi="srun",
        runtime=asked("minutes"),
    params:
        package=str(PACKAGE.parent),
        system=SYSTEM_FILE,
        modules=MODULES,
        native=expand("--native {record}", record=NATIVE),
    shell:
        "{params.modules}"
        "PYTHONPATH={params.package:q} python -m parity.measure"
        " --plan {input.plan:q} --block {wildcards.block} --images {input.images:q}"
        " {params.native} --system {params.system:q} --folder results/blocks/{wildcards.block}"
        " 2> {log:q} || {{ cat {log:q} >&2; exit 1; }}"
