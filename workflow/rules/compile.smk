"""Compile: programs whose C source lies beside their benchmark, natively.

Needs: gcc, with MPI where a source does, and a study that has such programs. Makes: the programs
in /opt/parity/compiled, where the image has them as well, and their digests in results/compiled.
"""

if COMPILED:

    rule compile:
        """Compile the study's own programs by the script that compiles them in the image."""
        input:
            OWN_SOURCES,
        output:
            COMPILED,
        log:
            "results/compiled/compile.log",
        localrule: True
        conda:
            "../../envs/parity.yaml"
        params:
            # Another compiler may make another program.
            compiler=COMPILER,
            here=programs.SCRIPT.parent,
            folder=programs.COMPILED,
            sources=NEEDED.sources,
            programs=[programs.compiled_path(source) for source in NEEDED.sources],
        shell:
            "(cd {params.here:q} && sh compile.sh {params.folder} {params.sources}) 2> {log:q}"
            " && sha256sum {params.programs} > {output:q}"
