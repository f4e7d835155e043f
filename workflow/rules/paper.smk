"""Set the paper of all archives, by question, and that of one dataset.

Needs: LaTeX, and what analysing, judging and drawing make. Makes: paper/paper.pdf.
"""

import re

PAPER = {
    name: own(f"paper/{name}")
    for name in ("main.tex", "dataset.tex", "method.tex", "style.tex", "references.bib")
}
# The archives that the paper of all of them names, and those whose figures it shows.
_TEXT = Path(PAPER["main.tex"]).read_text(encoding="utf-8")
SPOKEN_OF = {*re.findall(r"\b[a-z0-9-]+-20\d\d-\d\d-\d\d\b", _TEXT)}
PICTURED = sorted({*re.findall(r"figure\{([a-z0-9-]+-20[0-9-]+)/", _TEXT)})
# An archive that the call names, a live dataset and other archives than ours have one of their own.
OF_ALL = CHOSEN != LIVE and not NAMED_ARCHIVE and SPOKEN_OF <= {*archives}


rule build_paper:
    """Typeset the paper of all archives with their numbers, tables and figures."""
    input:
        **REGISTER,
        main=PAPER["main.tex"],
        beside=list(PAPER.values()),
        plans=ARCHIVED_PLANS,
        nodes=expand("{data}/records/nodes.parquet", data=sorted(ARCHIVED)),
        analysis=expand("{data}/analysis/conclusions.parquet", data=sorted(ARCHIVED)),
        figures=expand("results/archive/{name}/figures", name=PICTURED),
        laws=expand("results/archive/{name}/not-drawn.txt", name=PICTURED),
        verdicts=of_leading_datasets("claims/verdicts.parquet"),
        statements=configured("config/published/statements.csv"),
        effort=own("docs/effort.json"),
    output:
        pdf="results/paper/paper.pdf",
        figures=directory("results/paper/figures"),
    log:
        "results/paper/build_paper.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        code=code_of("report"),
    shell:
        "parity build-paper --main {input.main:q} --plans {input.plans:q}"
        " --pictures {input.figures:q} --verdicts {input.verdicts:q} --claims {input.claims:q}"
        " --published {input.published:q} --statements {input.statements:q}"
        " --effort {input.effort:q} --figures {output.figures:q} --pdf {output.pdf:q} --log {log:q} 2>> {log:q}"


rule build_paper_of_dataset:
    """Typeset what one dataset says, with its own numbers, tables and figures."""
    input:
        main=PAPER["dataset.tex"],
        beside=list(PAPER.values()),
        figures="results/{source}/{dataset}/figures",
        tables="results/{source}/{dataset}/tables",
        numbers="results/{source}/{dataset}/numbers.tex",
        verdicts="results/{source}/{dataset}/claims/verdicts.parquet",
        compared="results/{source}/{dataset}/analysis/conclusions.parquet",
    output:
        pdf="results/{source}/{dataset}/paper/paper.pdf",
    log:
        "results/{source}/{dataset}/logs/build_paper.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        code=code_of("report"),
    shell:
        "parity build-paper-of-dataset --main {input.main:q} --numbers {input.numbers:q}"
        " --verdicts {input.verdicts:q} --pdf {output.pdf:q} --log {log:q} 2>> {log:q}"


rule paper:
    """Put the paper of all archives, or of the dataset that the call names, where people look for it."""
    input:
        pdf="results/paper/paper.pdf" if OF_ALL else f"{CHOSEN}/paper/paper.pdf",
        plans=ARCHIVED_PLANS if OF_ALL else f"{CHOSEN}/plan.json",
    log:
        "results/paper.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    shell:
        "parity publish --pdf {input.pdf:q} --plans {input.plans:q} 2> {log:q}"
