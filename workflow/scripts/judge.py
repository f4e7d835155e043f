"""Rules judge and judge_own: the verdict on every claim of a file."""

from pathlib import Path

from parity.analysis import analysis, dataset
from parity.analysis.tables import EVENT_VALUES
from parity.claims import registration, tables
from parity.claims.declared import declared
from parity.claims.judging_data import JudgingData
from parity.claims.register import load_register, load_users_claims
from parity.claims.replayed import with_events
from parity.claims.verdicts import judge
from parity.core.errors import shown_to_the_user
from parity.plan.plan import read_plan
from parity.records import schema
from parity.records.dataset import archived

if __name__ == "__main__":
    with shown_to_the_user():
        given, folder = snakemake.input, Path(snakemake.input.plan).parent
        names = declared(map(read_plan, map(Path, [given.plan, *given.plans_beside])))
        published = load_register(Path(given.claims), Path(given.published), names)
        own = [load_users_claims(Path(path), names) for path in given.get("own", [])]
        registration.refuse_shared_ids([published, *own])
        registered = registration.load(Path(given.registration))
        folders = sorted({folder, *(Path(path).parent for path in given.plans_beside)})
        loaded = {
            each: with_events(
                JudgingData(dataset.load(each), analysis.read(each / "analysis")),
                schema.read(EVENT_VALUES, each / "analysis/event_values.parquet").to_pandas(),
            )
            for each in folders
        }
        alike = [data for data in loaded.values() if data.is_of_same_system(loaded[folder])]
        source = snakemake.wildcards.source
        system = archived(folder.parent)[folder.name][0] if source == "archive" else ""
        name = f"{source}/{system}" if system else loaded[folder].dataset.name
        judgement = judge(own[0] if own else published, alike, registered, name)
        destination = Path(snakemake.output.tables[0]).parent
        tables.write(tables.VERDICTS, judgement.verdicts, destination)
        tables.write(tables.EVIDENCE, judgement.evidence, destination)
