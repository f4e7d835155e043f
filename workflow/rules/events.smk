"""What runs wrote down one by one, such as detours, what follows from it, and for other programs.

Needs: plan.json, records and values of a dataset, measured here or archived. Makes: its events/
and, on demand, noise-traces/, which follow from its raw outputs and are no part of it, and the
tables of noise in analysis/, which are empty where no benchmark has events.
"""

NOISE = ["quantiles", "return_levels", "quota_law", "replay", "event_values"]
EVENTS = "results/{source}/{dataset}/events"


rule write_events:
    """Write down every event of every valid run."""
    input:
        raw="results/{source}/{dataset}/records/raw.parquet",
        runs="results/{source}/{dataset}/records/runs.parquet",
    output:
        directory(EVENTS),
    log:
        "results/{source}/{dataset}/logs/events.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        code=code_of("events"),
    script:
        "../scripts/events.py"


rule analyse_events:
    """Tails of events, the law of CPU limits, and simulated programs on many ranks."""
    input:
        plan="results/{source}/{dataset}/plan.json",
        values="results/{source}/{dataset}/analysis/values.parquet",
        nodes="results/{source}/{dataset}/records/nodes.parquet",
        events=EVENTS,
    output:
        tables=expand(
            "results/{{source}}/{{dataset}}/analysis/{table}.parquet", table=NOISE
        ),
    log:
        "results/{source}/{dataset}/logs/analyse_events.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        code=code_of("analyse_events"),
    script:
        "../scripts/analyse_events.py"


rule events:
    """Write down the events of what was measured here, or of the archive."""
    input:
        f"{LIVE}/events",
    log:
        f"{LIVE}/logs/print_events.log",
    localrule: True


rule noise_traces:
    """Write every detour as LogGOPSim reads it: a text file for each run of the chosen dataset."""
    input:
        events=f"{CHOSEN}/events",
    output:
        directory(f"{CHOSEN}/noise-traces"),
    log:
        f"{CHOSEN}/logs/noise_traces.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        code=code_of("noise_traces"),
    script:
        "../scripts/noise_traces.py"
