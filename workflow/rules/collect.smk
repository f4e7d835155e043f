"""Gather and parse: from blocks on disk to Parquet tables.

Needs: block folders. Makes: records/{raw,blocks}.parquet, which hold every output
verbatim, and the tables parsed from them.
"""

import os

TABLES = ["runs", "metrics", "samples", "nodes", "binaries", "images"]


rule gather_blocks:
    """Gather what the blocks left, verbatim, into two tables."""
    input:
        batches=all_batches,
        plan=f"{LIVE}/plan.json",
        images=f"{IMAGES}/images.json",
        native=KEPT,
    output:
        raw=f"{LIVE}/records/raw.parquet",
        blocks=f"{LIVE}/records/blocks.parquet",
        images=f"{LIVE}/images.json",
        native=expand(f"{LIVE}/{{record}}", record=map(os.path.basename, KEPT)),
    log:
        f"{LIVE}/logs/gather_blocks.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        code=code_of("records"),
        system=SYSTEM.name,
    shell:
        "parity gather --plan {input.plan:q} --images {input.images:q}"
        " --native {input.native:q} --system {params.system:q} 2> {log:q}"


rule parse_records:
    """Parse the gathered outputs; it never runs a program, so it may run as often as one likes."""
    input:
        plan=f"{LIVE}/plan.json",
        raw=f"{LIVE}/records/raw.parquet",
        blocks=f"{LIVE}/records/blocks.parquet",
        images=f"{LIVE}/images.json",
    output:
        expand(f"{LIVE}/records/{{table}}.parquet", table=TABLES),
    log:
        f"{LIVE}/logs/parse_records.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        code=code_of("records"),
    shell:
        "parity parse --plan {input.plan:q} 2> {log:q}"


rule reparse:
    """Parse the raw outputs of all archives (or of `--config archive=`) again and compare every table byte by byte."""
    input:
        raw=expand("{data}/records/raw.parquet", data=CHECKED),
    log:
        "results/reparse.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        registered=configured("config/registration.csv"),
    shell:
        "parity reparse --raw {input.raw:q} --registered {params.registered:q} 2> {log:q}"


rule archive:
    """Copy the campaign that was measured here into results/archive/<system>-<study>-<day>."""
    input:
        plan=f"{LIVE}/plan.json",
        images=f"{LIVE}/images.json",
        records=expand(
            f"{LIVE}/records/{{table}}.parquet", table=["raw", "blocks", *TABLES]
        ),
    log:
        "results/archive.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    params:
        system=SYSTEM.name,
    shell:
        "parity archive --plan {input.plan:q} --system {params.system:q} 2> {log:q}"


rule crates:
    """Describe every archive again as an RO-Crate, as `archive` does when it makes one."""
    input:
        sorted(map(str, Path("results/archive").glob("[!.]*/plan.json"))),
    log:
        "results/crates.log",
    localrule: True
    conda:
        "../../envs/parity.yaml"
    shell:
        "parity crates --plans {input:q} 2> {log:q}"
