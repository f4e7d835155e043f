"""Rule judge: the verdict on every published claim."""

from pathlib import Path

from parity.analysis import analysis, dataset
from parity.claims import registration, tables
from parity.claims.register import load_register
from parity.claims.verdicts import judge
from parity.core.errors import shown_to_the_user

if __name__ == "__main__":
    with shown_to_the_user():
        given, folder = snakemake.input, Path(snakemake.input.plan).parent
        register = load_register(Path(given.claims), Path(given.published))
        registered = registration.load(Path(given.registration))
        loaded, analysed = dataset.load(folder), analysis.read(folder / "analysis")
        judgement = judge(register, loaded, analysed, registered)
        tables.write(tables.VERDICTS, judgement.verdicts, folder)
        tables.write(tables.EVIDENCE, judgement.evidence, folder)
