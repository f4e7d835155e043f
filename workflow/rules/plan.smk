"""Plan: from a study to plan.json, and what its time can prove.

Needs: the study file; where a pilot comes first, the native programs. Makes: pilot.json,
minutes.txt, plan.json and promise.txt.
"""

# The modules that are loaded in a job of a batch system.
MODULES = f"module load {' '.join(SYSTEM.modules)} && " if SYSTEM.modules else ""
if SYSTEM.module_variables:
    MODULES += f"PARITY_KEEP={','.join(SYSTEM.module_variables)} "


checkpoint pilot:
    """Find how much work takes the benchmarks' time on a node; from then on it is fixed."""
    input:
        native=NATIVE,
        compiled=COMPILED,
    output:
        pilot=f"{LIVE}/{PILOT}",
    log:
        f"{LIVE}/logs/pilot.log",
    conda:
        "../../envs/parity.yaml"
    threads: 1 if SYSTEM.batch_system else workflow.cores
    resources:
        nodes=1,
        tasks=2,
        mpi="srun",
        runtime=60,
    params:
        study=STUDY_FILE,
        scale=config["scale"],
        system=SYSTEM_FILE,
        toolchain=NAMED,
        modules=MODULES,
    shell:
        "{params.modules}parity pilot"
        " --study {params.study:q} --scale {params.scale} --system {params.system:q}"
        " --toolchain {params.toolchain:q} --pilot {output.pilot:q}"
        " 2> {log:q}"


rule write_minutes:
    """Write down how long is measured; more of it goes on with what was not begun."""
    output:
        minutes=f"{LIVE}/minutes.txt",
    log:
        f"{LIVE}/logs/write_minutes.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        minutes=STUDY.minutes,
    shell:
        "echo {params.minutes} > {output.minutes:q} 2> {log:q}"


rule write_plan:
    """Write the plan: blocks, and the seeded order of runs in each."""
    input:
        study=STUDY_FILE,
        pilot=PILOTED,
        minutes=TIMED,
    output:
        plan=f"{LIVE}/plan.json",
    log:
        f"{LIVE}/logs/write_plan.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        scale=config["scale"],
        system=SYSTEM_FILE,
        toolchain=TOOLCHAIN.name,
        minutes=[] if STUDY.minutes is None else [STUDY.minutes],
        # Of own programs and a site's builds: what they need is a part of what is measured.
        needs=STUDY.needs,
        code=code_of("plan"),
    shell:
        "parity write-plan --study {input.study:q} --scale {params.scale:q}"
        " --system {params.system:q} --toolchain {params.toolchain:q}"
        " --minutes {params.minutes} --pilot {input.pilot:q}"
        " --plan {output.plan:q} 2> {log:q}"


rule promise:
    """Print what the time that is given can prove, before anything is measured."""
    input:
        plan=ancient(f"{LIVE}/plan.json"),
        exclusions=ancient(configured("config/exclusions.yaml")),
        minutes=TIMED,
    output:
        promise=f"{LIVE}/promise.txt",
    log:
        f"{LIVE}/logs/promise.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        archive=ARCHIVE,
        system=SYSTEM_FILE,
    shell:
        "parity promise --plan {input.plan:q} --exclusions {input.exclusions:q}"
        " --system {params.system:q} --archive {params.archive:q}"
        " --promise {output.promise:q} 2> {log:q}"
