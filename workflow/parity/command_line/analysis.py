"""Commands of the rules that conclude: at a look, and at the end.

What concludes is loaded where it is needed: that takes seconds on a busy node, and at the looks of
a campaign in which all is decided there is nothing to conclude.
"""

import tempfile
from pathlib import Path

from msgspec.structs import replace

from parity.measure.progress import lasted
from parity.plan.looks import batches_of, read_look, write_look
from parity.plan.plan import read_plan
from parity.preview.terminal import folded
from parity.records.dataset import collect, measured_blocks


def look(
    number: int, plan: Path, images: Path, exclusions: Path, system: str, before: Path | None
) -> None:
    """Find what is decided by the blocks so far, and so not measured any more; print the bounds."""
    planned, live = read_plan(plan), plan.parent
    seen = [name for name, batch in batches_of(planned).items() if batch.stage < number]
    folders = measured_blocks(live / f"batches/{name}.json" for name in seen)
    last, path = read_look(before) if before else None, live / f"looks/{number}.json"
    if last and (last.seen == len(folders) or last.is_over(planned)):
        # The time is over, or nothing went on: there is nothing new to look at.
        write_look(path, replace(last, number=number, blocks=planned.looks[number - 1]))
        return
    from parity.analysis import analysis
    from parity.analysis.dataset import load_exclusions
    from parity.analysis.looks import look_at
    from parity.report import answer

    with tempfile.TemporaryDirectory() as temporary:
        # Named as the whole dataset will be, because exclusions name it.
        so_far = Path(temporary) / "live" / planned.campaign
        collect(plan, folders, images, system, so_far)
        analysed = analysis.analysed(so_far, load_exclusions(exclusions))
    took, limit = lasted(planned, folders).measured, planned.minutes
    time = None if limit is None else (took, 60 * limit - took)
    found = look_at(analysed, number, last.stops if last else [], time)
    bounds = answer.in_short((planned, analysed.analysis.comparisons)) or ["no bound yet"]
    blocks = f"{found.seen} blocks: {'; '.join([*bounds, found.said(planned)])}"
    print("\n".join(folded(blocks, "")))
    write_look(path, found)


def analyse(plan: Path, exclusions: Path, events: Path) -> None:
    """Conclude from a dataset's records, and write its events down."""
    import parity.analysis
    from parity.analysis import analysis, dataset, tables
    from parity.records.events import write_events

    folder = plan.parent
    excluded = dataset.load_exclusions(exclusions)
    analysed = analysis.analyse(dataset.load(folder, whole=False), excluded)
    analysis.write(analysed, folder / "analysis")
    write_events(folder / "records", events)
    tables.write_added(parity.analysis, folder, events)
