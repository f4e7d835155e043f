"""The dashboard. Needs: the verdicts of a dataset and what they rest on. Makes: one HTML file."""

from pathlib import Path


rule dashboard:
    """Write the claims with all that they rest on, down to single runs, as one HTML file that needs no network."""
    input:
        verdicts=f"{DATA}/claims/verdicts.parquet",
        evidence=f"{DATA}/claims/evidence.parquet",
        plan=f"{DATA}/plan.json",
        records=expand(f"{DATA}/records/{{table}}.parquet", table=RECORDS),
        analysis=expand(f"{DATA}/analysis/{{table}}.parquet", table=ANALYSED),
        claims="config/claims.yaml",
        published="config/published/claims.csv",
        template=sorted(
            str(path.relative_to(PACKAGE.parents[1]))
            for path in Path(PACKAGE / "report/dashboard/template").iterdir()
        ),
    output:
        page="results/claims/dashboard.html",
    log:
        "results/claims/dashboard.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        code=digest_of("report", "records/dataset.py"),
    script:
        "../scripts/dashboard.py"
