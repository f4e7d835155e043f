"""Rules claims_expected and claims_accept: the verdicts beside those that are expected."""

from pathlib import Path

from parity.claims import expected
from parity.claims.tables import VERDICTS
from parity.core.errors import shown_to_the_user
from parity.records import schema

if __name__ == "__main__":
    with shown_to_the_user():
        path = Path(snakemake.params.known)
        found = schema.read(VERDICTS, snakemake.input.verdicts).to_pandas()
        known, dataset = expected.load(path), found["dataset"].iloc[0]
        if snakemake.params.accepted:
            path = Path(snakemake.params.accepted)
            path.parent.mkdir(exist_ok=True)
            expected.accept(known, found, path)
            print(f"{path}: {len(found)} verdicts are expected of {dataset}")
        else:
            expected.refuse_differences(known, found, str(path))
            print(f"{dataset}: all {len(found)} verdicts are those expected")
