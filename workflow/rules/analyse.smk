"""Analyse and draw: from records to conclusions, figures, tables and the summary; offline.

Needs: plan.json and records of a dataset. Makes: its analysis/, events/ (every detour, say: no part
of a dataset), figures/, tables/, numbers.tex and summary.txt.
"""

from parity.report.figures.specs import FIGURES

ANALYSED = [
    "values",
    "pairs",
    "conclusions",
    "timeouts",
    "dispersion",
    "ledger",
    "losses",
    "exclusions",
    *added_tables("analysis"),
]
# Shown alone, and asked by no claim: most of the time goes into intervals and other methods.
SHOWN = ["sensitivity", *added_tables("report")]
EVENTS = "results/{source}/{dataset}/events"
RECORDS = ["raw", "blocks", "runs", "metrics", "samples", "nodes", "binaries", "images"]


rule analyse:
    """Compare the arms within blocks, count every run, and tell of noise where events are written down."""
    input:
        plan="results/{source}/{dataset}/plan.json",
        records=expand(
            "results/{{source}}/{{dataset}}/records/{table}.parquet", table=RECORDS
        ),
        exclusions=configured("config/exclusions.yaml"),
    output:
        tables=expand(
            "results/{{source}}/{{dataset}}/analysis/{table}.parquet", table=ANALYSED
        ),
        events=directory(EVENTS),
    log:
        "results/{source}/{dataset}/logs/analyse.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        code=code_of("analysis"),
    shell:
        "parity analyse --plan {input.plan:q} --exclusions {input.exclusions:q}"
        " --events {output.events:q} 2> {log:q}"


rule draw:
    """Draw all figures, set all tables and write the summary, in one process."""
    input:
        plan="results/{source}/{dataset}/plan.json",
        records=expand(
            "results/{{source}}/{{dataset}}/records/{table}.parquet", table=RECORDS
        ),
        analysis=expand(
            "results/{{source}}/{{dataset}}/analysis/{table}.parquet", table=ANALYSED
        ),
        events=EVENTS,
        published=[
            configured(f"config/published/{name}.csv")
            for name in ("values", "ruiz_figures", "ruiz_table1")
        ],
        harness=noise_audit,
    output:
        # A list of what is not drawn: a file, because a folder of an older version would do.
        figures=report(
            directory("results/{source}/{dataset}/figures"),
            patterns=["{figure}.png"],
            caption="../report/figure.rst",
            category="{dataset}",
            subcategory="figures",
            labels={"figure": "{figure}"},
        ),
        not_drawn="results/{source}/{dataset}/not-drawn.txt",
        shown=expand(
            "results/{{source}}/{{dataset}}/analysis/{table}.parquet", table=SHOWN
        ),
        tables=report(
            directory("results/{source}/{dataset}/tables"),
            patterns=["{table}.csv"],
            caption="../report/table.rst",
            category="{dataset}",
            subcategory="tables",
            labels={"table": "{table}"},
        ),
        numbers="results/{source}/{dataset}/numbers.tex",
        summary="results/{source}/{dataset}/summary.txt",
    log:
        "results/{source}/{dataset}/logs/draw.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        code=code_of("report"),
        captions={spec.name: spec.caption for spec in FIGURES},
    shell:
        "parity draw --plan {input.plan:q} --events {input.events:q}"
        " --values {input.published[0]:q} 2> {log:q}"


rule figures:
    """Draw all archived datasets (one that is named by `--config archive=`; the live one, if `data` says so), and print the plan, the ledger and the A/A ratios of the configured one."""
    input:
        measured_here,
        not_drawn=expand("{data}/not-drawn.txt", data=DRAWN),
        summaries=expand("{data}/summary.txt", data=DRAWN),
        summary=f"{CHOSEN}/summary.txt",
    log:
        "results/figures.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    shell:
        "parity print-summary --summary {input.summary:q} --drawn {input.summaries:q} 2> {log:q}"
