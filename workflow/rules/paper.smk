"""Set the paper of a dataset. Needs: LaTeX and what `draw` makes. Makes: paper/paper.pdf."""


rule build_paper:
    """Typeset the paper with the dataset's own numbers, tables and figures."""
    input:
        sources=["paper/main.tex"],
        figures=expand(
            "results/{{source}}/{{dataset}}/figures/{name}.pdf", name=FIGURE_NAMES
        ),
        tables=expand(
            "results/{{source}}/{{dataset}}/tables/{name}.tex", name=TABLE_NAMES
        ),
        numbers="results/{source}/{dataset}/numbers.tex",
    output:
        pdf="results/{source}/{dataset}/paper/paper.pdf",
    log:
        "results/{source}/{dataset}/logs/build_paper.log",
    localrule: True
    params:
        code=digest_of("present/paper.py"),
    script:
        "../scripts/build_paper.py"


rule paper:
    """Put the paper of the dataset that the configuration names where people look for it."""
    input:
        pdf=f"{DATA}/paper/paper.pdf",
    log:
        "results/paper.log",
    localrule: True
    shell:
        "cp {input.pdf:q} paper/paper.pdf 2> {log:q} && echo paper/paper.pdf: {input.pdf:q}"
