"""The published claims: judged from a dataset, shown, registered, and checked.

Needs: plan.json, records and analysis of a dataset, the claims register, the published
numbers, the registrations. Makes: the dataset's claims/, and results/claims/ of the dataset
that config.yaml names. It measures nothing and needs no network.
"""

JUDGED = ["verdicts", "evidence"]
REGISTER = {"claims": "config/claims.yaml", "published": "config/published/claims.csv"}
REGISTRATION = "config/registration.csv"
EXPECTED = "config/expected_verdicts.csv"


rule judge:
    """Decide every published claim from one dataset, by the rule that its register has for it."""
    input:
        **REGISTER,
        plan="results/{source}/{dataset}/plan.json",
        records=expand(
            "results/{{source}}/{{dataset}}/records/{table}.parquet", table=RECORDS
        ),
        analysis=expand(
            "results/{{source}}/{{dataset}}/analysis/{table}.parquet", table=ANALYSED
        ),
        registration=REGISTRATION,
    output:
        tables=expand(
            "results/{{source}}/{{dataset}}/claims/{table}.parquet", table=JUDGED
        ),
    log:
        "results/{source}/{dataset}/logs/judge.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        code=digest_of("claims", "analysis", "records/schema.py"),
    script:
        "../scripts/judge.py"


rule claims:
    """Print the verdict on every published claim, and write the table in five forms."""
    input:
        plan=f"{DATA}/plan.json",
        verdicts=f"{DATA}/claims/verdicts.parquet",
    log:
        "results/claims/claims.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        folder="results/claims",
    script:
        "../scripts/claims.py"


rule claims_expected:
    """Fail if a verdict is not the one that is expected of this dataset, and name it."""
    input:
        verdicts=f"{DATA}/claims/verdicts.parquet",
        expected=EXPECTED,
    log:
        "results/claims/expected.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        accept=False,
    script:
        "../scripts/claims_expected.py"


rule claims_accept:
    """Expect from now on the verdicts that this dataset gives."""
    input:
        verdicts=f"{DATA}/claims/verdicts.parquet",
        expected=EXPECTED,
    log:
        "results/claims/accept.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        accept=True,
    script:
        "../scripts/claims_expected.py"


rule register:
    """Fix the rules: add claims and plans that are new or changed to the list of registrations."""
    input:
        **REGISTER,
        # The configured plan, and those of all archived data.
        plans=[
            f"{LIVE}/plan.json",
            *sorted(map(str, Path("results/archive").glob("*/plan.json"))),
        ],
    log:
        "results/claims/register.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        registration=REGISTRATION,
    script:
        "../scripts/register.py"
