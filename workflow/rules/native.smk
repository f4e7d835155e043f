"""Spack: benchmarks built from one lock, natively.

Needs: Spack (config key `spack`), the toolchain's spack.yaml and our recipes.
Makes: the toolchain's spack.lock and lock.json, results/native/native.json.
"""

from glob import glob

TOOLCHAIN = f"envs/spack/{config['spack']['toolchain']}"
RECIPES = sorted(glob("envs/spack/repo/**/*.py", recursive=True))


rule lock:
    """Let Spack decide what spack.yaml means; the lock is left beside it, to be committed."""
    input:
        # The script refuses a toolchain that is not there, and says which ones are.
        manifest=glob(f"{TOOLCHAIN}/spack.yaml"),
        recipes=RECIPES,
    output:
        origin="results/native/lock.json",
    log:
        "results/native/lock.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    threads: workflow.cores
    params:
        toolchain=TOOLCHAIN,
        spack=config["spack"],
    script:
        "../scripts/lock.py"


rule native:
    """Install what the lock says, and record every program's identity."""
    input:
        # A missing lock is refused by the script, which says how to make one.
        toolchain=glob(f"{TOOLCHAIN}/*"),
        recipes=RECIPES,
    output:
        record="results/native/native.json",
    log:
        "results/native/native.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    threads: workflow.cores
    params:
        toolchain=TOOLCHAIN,
        spack=config["spack"],
    script:
        "../scripts/native.py"
