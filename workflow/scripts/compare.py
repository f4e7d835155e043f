"""Rule compare: what was measured here beside the archive, effect by effect and word by word."""

from pathlib import Path

from parity.analysis import exclusions
from parity.analysis.agreement import agree, refuse_missing
from parity.analysis.analysis import Analysed, analysed
from parity.analysis.statistics.kappa import kappa_of
from parity.claims.judging import judged
from parity.claims.judging_data import JudgingData
from parity.claims.register import Register, load_register
from parity.claims.terms import NOT_TESTED
from parity.core.errors import shown_to_the_user
from parity.plan.system_kind import kind_of
from parity.report import origin
from parity.report.figures import agreement
from parity.report.text import summary


def verdicts_of(register: Register, dataset: Analysed) -> dict[str, str]:
    """The verdict on each claim that a dataset alone can test."""
    data = [JudgingData(dataset.dataset, dataset.analysis)]
    verdicts = {claim.id: judged(claim, data).verdict for claim in register.claims}
    return {claim: verdict for claim, verdict in verdicts.items() if verdict != NOT_TESTED}


if __name__ == "__main__":
    with shown_to_the_user():
        given, folders = snakemake.input, [Path(snakemake.params.fresh)]
        folders.append(Path(given.plan).parent)
        refuse_missing(folders[0])
        excluded = exclusions.load(Path(given.exclusions))
        register = load_register(Path(given.claims), Path(given.published))
        both = [analysed(folder, excluded) for folder in folders]
        found = agree(*both)
        here, there = (verdicts_of(register, each) for each in both)
        verdicts = kappa_of([(here[name], there[name]) for name in here if name in there])
        origins = [origin.load(folder) for folder in folders]
        note = kind_of(label for each in origins for label in each.scale_labels).note
        agreement.write(found, both[0].dataset.plan, note, Path(snakemake.params.folder))
        print(summary.agreement(found, verdicts, origins))
