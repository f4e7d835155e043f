"""Spack: benchmarks built from one lock, natively.

Needs: Spack (config key `spack`), the toolchain's spack.yaml and our recipes.
Makes: the toolchain's spack.lock and lock.json, results/native/native.json, and the
source mirror that its image is built from.
"""

from glob import glob

from parity.software.toolchain import Toolchain, packages_now, toolchain_folder

TOOLCHAIN = Toolchain(toolchain_folder(config["spack"]["toolchain"]))
RECIPES = sorted(glob(f"{TOOLCHAIN.recipes}/**/*.py", recursive=True))


rule lock:
    """Let Spack decide what spack.yaml means; the lock is left beside it, to be committed."""
    input:
        # The script refuses a toolchain that is not there, and says which ones are.
        manifest=glob(str(TOOLCHAIN.manifest)),
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
        spack=config["spack"],
    script:
        "../scripts/lock.py"


rule image_sources:
    """Check the toolchain, and gather the sources that its image is built from."""
    input:
        toolchain=sorted(glob(f"{TOOLCHAIN.folder}/*")),
        recipes=RECIPES,
        # Where there is no Spack, or it cannot build, that is said once.
        native=ancient(NATIVE),
    output:
        sources=directory("results/spack-images/sources"),
    log:
        "results/spack-images/logs/image_sources.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        spack=config["spack"],
        # A compiler that is upgraded makes another image.
        packages=packages_now(TOOLCHAIN) if BY_SPACK else [],
    script:
        "../scripts/image_sources.py"


rule native:
    """Install what the lock says, and record every program's identity."""
    input:
        # A missing lock is refused by the script, which says how to make one.
        toolchain=sorted(glob(f"{TOOLCHAIN.folder}/*")),
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
        spack=config["spack"],
    script:
        "../scripts/native.py"
