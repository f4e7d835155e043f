"""Set the paper of a dataset. Needs: LaTeX and what `draw` makes. Makes: paper/paper.pdf."""

from pathlib import Path

CLAIM_PARTS = expand(
    "{name}.tex",
    name=["claims", "discussion", "register", "claims-register", "defects"],
)
PUBLISHED = [
    configured(f"config/published/{name}.csv") for name in ("claims", "statements")
]
STUDIES = sorted(path.stem for path in Path(own("config/studies")).glob("*.yaml"))


rule tell:
    """Write what the verdicts say of each study, and what arithmetic says of its numbers."""
    input:
        verdicts="results/{source}/{dataset}/claims/verdicts.parquet",
        claims=configured("config/claims.yaml"),
        published=PUBLISHED,
        plan="results/{source}/{dataset}/plan.json",
        plans_beside=in_its_paper("plan.json"),
    output:
        parts=expand("results/{{source}}/{{dataset}}/claims/{name}", name=CLAIM_PARTS),
        csv=expand(
            "results/{{source}}/{{dataset}}/claims/{name}.csv",
            name=["claims-register", "defects"],
        ),
    log:
        "results/{source}/{dataset}/logs/tell.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        code=code_of("report"),
    shell:
        "parity tell --verdicts {input.verdicts:q} --claims {input.claims:q}"
        " --published {input.published[0]:q} --statements {input.published[1]:q}"
        " --plans {input.plan:q} {input.plans_beside:q} 2> {log:q}"


rule build_paper:
    """Typeset the paper with the dataset's own numbers, tables and figures."""
    input:
        main=own("paper/main.tex"),
        references=own("paper/references.bib"),
        studies=sorted(map(str, Path(own("paper/studies")).glob("*.tex"))),
        plan="results/{source}/{dataset}/plan.json",
        figures="results/{source}/{dataset}/figures",
        tables="results/{source}/{dataset}/tables",
        numbers="results/{source}/{dataset}/numbers.tex",
        claims=rules.tell.output.parts,
        compared="results/{source}/{dataset}/analysis/conclusions.parquet",
        expected=configured(EXPECTED),
        effort=own("docs/effort.json"),
        sections=in_its_paper("section.tex"),
        beside=in_its_paper("figures", "analysis/conclusions.parquet"),
    output:
        pdf="results/{source}/{dataset}/paper/paper.pdf",
    log:
        "results/{source}/{dataset}/logs/build_paper.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        code=code_of("report"),
        studies=STUDIES,
    shell:
        "parity build-paper --main {input.main:q} --studies {input.studies:q}"
        " --plan {input.plan:q} --beside {input.sections:q} --names {params.studies:q}"
        " --expected {input.expected:q} --effort {input.effort:q} --pdf {output.pdf:q}"
        " --log {log:q} 2>> {log:q}"


rule paper:
    """Put the paper of the dataset that the configuration names where people look for it."""
    input:
        pdf=f"{CHOSEN}/paper/paper.pdf",
        summary=f"{CHOSEN}/summary.txt",
    log:
        "results/paper.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    shell:
        "parity publish --summary {input.summary:q} --pdf {input.pdf:q} 2> {log:q}"
