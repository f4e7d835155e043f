"""Spack: benchmarks built from one lock, natively.

Needs: Spack (config key `spack`), the toolchain's entry in the system's file, our recipes.
Makes: in results/spack/<toolchain> the composed spack.yaml with spack.lock and lock.json (a
site's own folder is used as it is), native/native.json with a copy of the lock, and the source
mirror that the image is built from.
"""

from glob import glob
from hashlib import sha256

from parity.core.files import files_below
from parity.software.spack import expected_release
from parity.software.toolchain import (
    LOCKED,
    all_builds,
    builds_of_study,
    composed_manifest,
    packages_now,
)

try:
    # The environment that the study asks for, with what other studies asked for before.
    BUILDS = all_builds(TOOLCHAIN, builds_of_study(STUDY.definitions.values()))
    MANIFEST = composed_manifest(TOOLCHAIN, BUILDS, expected_release(config["spack"]))
except UserError as error:
    raise WorkflowError(str(error)) from None

RECIPES = list(map(str, files_below(TOOLCHAIN.recipes)))
# A site's own files; those that are composed are checked by their content.
OWN_FILES = [] if MANIFEST else sorted(glob(f"{TOOLCHAIN.folder}/*"))


rule lock:
    """Let Spack decide anew what spack.yaml means; `snakemake lock -n` prints that file."""
    log:
        "results/spack/lock.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    threads: workflow.cores
    params:
        site=SPACK_SITE,
        manifest=MANIFEST or str(TOOLCHAIN.manifest),
    message:
        "spack.yaml:\n{params.manifest}"
    shell:
        "parity lock --site {params.site:q} --manifest {params.manifest:q}"
        " --jobs {threads} --log {log:q} 2>> {log:q}"


rule image_sources:
    """Check the toolchain, and gather the sources that its image is built from."""
    input:
        toolchain=OWN_FILES,
        recipes=RECIPES,
        # Where there is no Spack, or it cannot build, that is said once. Not `ancient`: what waits
        # for a job only so is not asked whether it has reasons of its own.
        native=NATIVE,
    output:
        sources=directory(f"{BUILT}/images/sources"),
    log:
        f"{BUILT}/images/logs/image_sources.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        site=SPACK_SITE,
        # Another program in the environment makes another image by what is native; so does a
        # compiler that is upgraded.
        packages=packages_now(TOOLCHAIN) if BY_SPACK else [],
    shell:
        "parity image-sources --site {params.site:q} --jobs {threads}"
        " --sources {output.sources:q} --log {log:q} 2>> {log:q}"


rule native:
    """Lock the environment at its first use, install it, and record every program's identity."""
    input:
        # A site's missing lock is refused by the script, which says how to make one.
        toolchain=OWN_FILES,
        recipes=RECIPES,
    output:
        record=f"{BUILT}/native/native.json",
        lock=expand(
            f"{BUILT}/native/{{name}}",
            name=LOCKED,
        ),
    log:
        f"{BUILT}/native/native.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    threads: workflow.cores
    params:
        site=SPACK_SITE,
        builds=json.dumps(BUILDS),
        environment=sha256(MANIFEST.encode()).hexdigest(),
    shell:
        "parity native --site {params.site:q} --builds {params.builds:q}"
        " --jobs {threads} --record {output.record:q} --log {log:q} 2>> {log:q}"
