"""Targets for other programs: what runs wrote down one by one, such as detours."""


rule events:
    """Write down the events of the chosen dataset: of the archive, or with data=live of what was measured here."""
    input:
        f"{CHOSEN}/events",
    log:
        f"{CHOSEN}/logs/print_events.log",
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
        code=code_of("records"),
    shell:
        "parity noise-traces --events {input.events:q} --folder {output:q} 2> {log:q}"
