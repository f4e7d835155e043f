"""Rules claims_expected and claims_accept: the verdicts beside those that are expected."""

from pathlib import Path

from parity.claims import expected, tables
from parity.core.errors import shown_to_the_user

if __name__ == "__main__":
    with shown_to_the_user():
        path = Path(snakemake.params.known)
        judged = tables.read(tables.VERDICTS, Path(snakemake.input.verdicts).parent)
        tables.refuse_changed(judged, Path("results"))
        known, dataset = expected.load(path), judged["judged"].iloc[0]
        if snakemake.params.accepted:
            path = Path(snakemake.params.accepted)
            path.parent.mkdir(exist_ok=True)
            expected.accept(known, judged, path)
            print(f"{path}: {len(judged)} verdicts are expected of {dataset}")
        else:
            expected.refuse_differences(known, judged, str(path))
            print(f"{dataset}: all {len(judged)} verdicts are those expected")
