"""Rule figures: what the datasets say; archives are checked first."""

from pathlib import Path

from parity.analysis.dataset import refuse_broken
from parity.core.errors import shown_to_the_user

if __name__ == "__main__":
    with shown_to_the_user():
        named = Path(snakemake.input.summary).parent
        drawn = sorted({Path(path).parent for path in snakemake.input.summaries})
        for folder in drawn:
            refuse_broken(folder)
        print(Path(snakemake.input.summary).read_text(encoding="utf-8"))
        if len(drawn) > 1:
            print(f"{named.parent}/*/figures: of {len(drawn)} datasets; this is {named.name}")
        else:
            print(f"{named}/figures")
