"""The dashboard. Needs: the verdicts of a dataset and what they rest on. Makes: one HTML file."""


rule dashboard:
    """Write the claims with all that they rest on, down to single runs, as one HTML file that needs no network."""
    input:
        verdicts=f"{CHOSEN}/claims/verdicts.parquet",
        evidence=f"{CHOSEN}/claims/evidence.parquet",
        plan=f"{CHOSEN}/plan.json",
        records=expand(f"{CHOSEN}/records/{{table}}.parquet", table=RECORDS),
        analysis=expand(f"{CHOSEN}/analysis/{{table}}.parquet", table=CONCLUDED),
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
        code=code_of("dashboard"),
    script:
        "../scripts/dashboard.py"
