"""Rule compare: what was measured here beside the archive, effect by effect."""

from pathlib import Path

from parity.analysis import exclusions
from parity.analysis.agreement import agree, refuse_missing
from parity.analysis.analysis import analysed
from parity.core.errors import shown_to_the_user
from parity.plan.system_kind import kind_of
from parity.report import origin
from parity.report.figures import agreement
from parity.report.text import summary

if __name__ == "__main__":
    with shown_to_the_user():
        folders = [Path(snakemake.params.fresh), Path(snakemake.input.plan).parent]
        refuse_missing(folders[0])
        excluded = exclusions.load(Path(snakemake.input.exclusions))
        fresh, archive = (analysed(folder, excluded) for folder in folders)
        found = agree(fresh, archive)
        origins = [origin.load(folder) for folder in folders]
        note = kind_of(label for each in origins for label in each.scale_labels).note
        agreement.write(found, fresh.dataset.plan, note, Path(snakemake.params.folder))
        print(summary.agreement(found, origins))
