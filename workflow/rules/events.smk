"""What runs wrote down one by one, such as detours, for figures and for other programs.

Needs: records of a dataset, measured here or archived. Makes: its events/ and, on demand,
noise-traces/; both follow from the records and are no part of an archive.
"""


rule write_events:
    """Write down every event of every valid run."""
    input:
        raw="results/{source}/{dataset}/records/raw.parquet",
        runs="results/{source}/{dataset}/records/runs.parquet",
    output:
        directory("results/{source}/{dataset}/events"),
    log:
        "results/{source}/{dataset}/logs/events.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        code=code_of("events"),
    script:
        "../scripts/events.py"


rule events:
    """Write down every detour of every valid run that was measured here."""
    input:
        f"{LIVE}/events",
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
