"""The published claims: judged from the data of a system, shown, and checked.

Needs: plan.json, records and analysis of a dataset and, if it is archived, of all others of its
system; the claims register, the published numbers, the registrations. Makes: the dataset's
claims/, and results/claims/ of the dataset that config.yaml names. Claims of a user or a site
(`claims` in config.yaml) are judged alike and listed apart. It measures nothing and needs no
network.
"""

JUDGED = ["verdicts", "evidence"]
REGISTER = {
    "claims": configured("config/claims.yaml"),
    "published": configured("config/published/claims.csv"),
}
REGISTRATION = "config/registration.csv"
EXPECTED = "config/expected_verdicts.csv"


# What a judgement is made from: a dataset and, if it is archived, all others of its system.
GIVEN = {
    **REGISTER,
    "plan": "results/{source}/{dataset}/plan.json",
    "records": expand(
        "results/{{source}}/{{dataset}}/records/{table}.parquet", table=RECORDS
    ),
    "analysis": expand(
        "results/{{source}}/{{dataset}}/analysis/{table}.parquet", table=ANALYSED
    ),
    "plans_beside": of_other_datasets("plan.json"),
    "beside": of_other_datasets(
        *expand("records/{table}.parquet", table=RECORDS),
        *expand("analysis/{table}.parquet", table=ANALYSED),
    ),
    "registration": configured(REGISTRATION),
}


rule judge:
    """Decide every published claim by its rule, from all archived datasets of the system or a live one."""
    input:
        **GIVEN,
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
        code=code_of("claims"),
        folder="results/{source}/{dataset}/claims",
        own=[],
    shell:
        "parity judge --claims {input.claims:q} --published {input.published:q}"
        " --own {params.own:q} --plan {input.plan:q} --beside {input.plans_beside:q}"
        " --registered {input.registration:q} --folder {params.folder:q} 2> {log:q}"


use rule judge as judge_own with:
    input:
        **GIVEN,
        own=this_and_other_claims,
        numbers=numbers_beside,
    output:
        tables=expand(
            "results/{{source}}/{{dataset}}/claims/own/{{register}}/{table}.parquet",
            table=JUDGED,
        ),
    log:
        "results/{source}/{dataset}/logs/judge-{register}.log",
    params:
        code=code_of("claims"),
        folder="results/{source}/{dataset}/claims/own/{register}",
        own=this_and_other_claims,


rule claims:
    """Print the verdict on every published claim, and write the table in five forms; then one's own."""
    input:
        verdicts=f"{CHOSEN}/claims/verdicts.parquet",
        own=expand(
            "{dataset}/claims/own/{register}/verdicts.parquet",
            dataset=CHOSEN,
            register=OWN_CLAIMS,
        ),
    log:
        "results/claims/claims.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    shell:
        "parity print-claims --verdicts {input.verdicts:q} --own {input.own:q}"
        " --folder results/claims 2> {log:q}"


rule claims_expected:
    """Fail if a verdict on any system (or that of `--config archive=`) is not the expected one, and name it."""
    input:
        verdicts=(
            f"{CHOSEN}/claims/verdicts.parquet"
            if NAMED_ARCHIVE
            else of_leading_datasets("claims/verdicts.parquet")
        ),
    log:
        "results/claims/expected.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        known=configured(EXPECTED),
    shell:
        "parity expect --verdicts {input.verdicts:q} --known {params.known:q} 2> {log:q}"


rule claims_accept:
    """Expect from now on the verdicts that these data give."""
    input:
        verdicts=f"{CHOSEN}/claims/verdicts.parquet",
    log:
        "results/claims/accept.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        known=configured(EXPECTED),
        path=EXPECTED,
    shell:
        "parity accept --verdicts {input.verdicts:q} --known {params.known:q}"
        " --path {params.path:q} 2> {log:q}"
