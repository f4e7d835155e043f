"""Compare a fresh dataset with the archived one; it measures nothing and needs no network.

Needs: the records of both, the claims register. Makes: results/compare/agreement.* (pdf, png,
csv, parquet), anew with every call. What was measured here is no input, so that nothing is
ever measured for it.
"""


rule compare:
    """Hold what was measured here against the archive, ratio by ratio, and print where it lies."""
    input:
        **REGISTER,
        plan=f"{ARCHIVE}/plan.json",
        records=expand(f"{ARCHIVE}/records/{{table}}.parquet", table=RECORDS),
        exclusions=configured("config/exclusions.yaml"),
    log:
        "results/compare.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        fresh=f"results/{config['fresh']}" if "fresh" in config else LIVE,
    shell:
        "parity compare --claims {input.claims:q} --published {input.published:q}"
        " --plan {input.plan:q} --fresh {params.fresh:q} --exclusions {input.exclusions:q}"
        " --folder results/compare 2> {log:q}"
