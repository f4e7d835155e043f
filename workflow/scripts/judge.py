"""Rule judge: the verdict on every published claim; an archive is checked first."""

from pathlib import Path

from parity.analysis import analysis, dataset, tables
from parity.claims import registration, system_kind
from parity.claims.register import load_register
from parity.claims.tables import TABLES
from parity.claims.verdicts import judge
from parity.core.errors import shown_to_the_user

if __name__ == "__main__":
    with shown_to_the_user():
        given, folder = snakemake.input, Path(snakemake.input.plan).parent
        if snakemake.wildcards.source == "archive":
            dataset.refuse_broken(folder)
        register = load_register(Path(given.claims), Path(given.published))
        registered = registration.load(Path(given.registration))
        loaded, analysed = dataset.load(folder), analysis.read(folder / "analysis")
        found = judge(register, loaded, analysed, registered, system_kind.label(folder))
        for name, table in TABLES.items():
            tables.write(table, getattr(found, name), folder / f"claims/{name}.parquet")
