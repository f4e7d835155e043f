"""The published claims: judged from a dataset, shown, registered, and checked.

Needs: plan.json, records and analysis of a dataset, the claims register, the published
numbers, the registrations. Makes: the dataset's claims/, and results/claims/ of the dataset
that config.yaml names. It measures nothing and needs no network.
"""

JUDGED = ["verdicts", "evidence"]
REGISTER = {
    "claims": configured("config/claims.yaml"),
    "published": configured("config/published/claims.csv"),
}
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
        registration=configured(REGISTRATION),
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
        code=code_of("judge"),
    script:
        "../scripts/judge.py"


rule claims:
    """Print the verdict on every published claim, and write the table in five forms."""
    input:
        plan=f"{CHOSEN}/plan.json",
        verdicts=f"{CHOSEN}/claims/verdicts.parquet",
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
        verdicts=f"{CHOSEN}/claims/verdicts.parquet",
    log:
        "results/claims/expected.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        known=configured(EXPECTED),
        accepted=None,
    script:
        "../scripts/claims_expected.py"


rule claims_accept:
    """Expect from now on the verdicts that this dataset gives."""
    input:
        verdicts=f"{CHOSEN}/claims/verdicts.parquet",
    log:
        "results/claims/accept.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        known=configured(EXPECTED),
        accepted=EXPECTED,
    script:
        "../scripts/claims_expected.py"


rule register:
    """Fix the rules: add claims and plans that are new or changed to the list of registrations."""
    input:
        **REGISTER,
        # The configured plan, and those of all archived data.
        plans=[
            f"{LIVE}/plan.json",
            *ARCHIVED_PLANS,
        ],
    log:
        "results/claims/register.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        known=configured(REGISTRATION),
        registration=REGISTRATION,
    script:
        "../scripts/register.py"
