"""The dashboard. Needs: analysed datasets, and the verdicts of one of each system. Makes: one HTML file."""


rule dashboard:
    """Write every comparison of all archives (or of the live one), and the claims, down to single runs, as one HTML file that needs no network."""
    input:
        verdicts=of_leading_datasets("claims/verdicts.parquet"),
        evidence=of_leading_datasets("claims/evidence.parquet"),
        plans=expand("{data}/plan.json", data=SHOWN_TOGETHER),
        records=expand(
            "{data}/records/{table}.parquet", data=SHOWN_TOGETHER, table=RECORDS
        ),
        analysis=expand(
            "{data}/analysis/{table}.parquet", data=SHOWN_TOGETHER, table=ANALYSED
        ),
        claims=configured("config/claims.yaml"),
        published=configured("config/published/claims.csv"),
    output:
        page="results/claims/dashboard.html",
    log:
        "results/claims/dashboard.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        code=code_of("report"),
    shell:
        "parity write-dashboard --verdicts {input.verdicts:q} --plans {input.plans:q}"
        " --claims {input.claims:q} --published {input.published:q} --page {output.page:q}"
        " 2> {log:q}"
