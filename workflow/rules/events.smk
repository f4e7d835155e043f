"""Targets for other programs: what runs wrote down one by one, such as detours."""


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
        code=code_of("records"),
    shell:
        "parity noise-traces --events {input.events:q} --folder {output:q} 2> {log:q}"
