"""The registration of claims and plans: which rules were fixed, and when.

Needs: the claims register, claims of a user or a site, the configured plan, and those of all
archived data. Makes: config/registration.csv, to which lines are only ever added. It measures
nothing and needs no network.
"""


rule register:
    """Fix the rules: add claims and plans that are new or changed to the list of registrations."""
    input:
        **REGISTER,
        own=sorted(OWN_CLAIMS.values()),
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
    shell:
        "parity register --claims {input.claims:q} --published {input.published:q}"
        " --own {input.own:q} --plans {input.plans:q} --known {params.known:q}"
        " --registered {params.registration:q} 2> {log:q}"
