"""Rule look: what is decided by the blocks so far, and so not measured any more."""

import tempfile
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from parity.analysis import exclusions
from parity.analysis.look import look_at
from parity.core.errors import shown_to_the_user
from parity.plan.looks import read_look, write_look
from parity.plan.plan import read_plan
from parity.preview.terminal import folded
from parity.records.dataset import collect
from parity.records.gather import blocks_in_the_end, measured_blocks

if __name__ == "__main__":
    with shown_to_the_user():
        given, number = snakemake.input, int(snakemake.wildcards.look)
        plan, folders = read_plan(Path(given.plan)), measured_blocks(given.batches)
        before = [read_look(Path(path)) for path in given.before]
        if before and before[0].seen == len(folders):
            # The time is over: there is nothing new to look at.
            found = replace(before[0], number=number, blocks=plan.looks[number - 1])
        else:
            with tempfile.TemporaryDirectory() as temporary:
                # Named as the whole dataset will be, because exclusions name it.
                dataset = Path(temporary) / "live" / plan.campaign
                system = snakemake.params.system
                collect(Path(given.plan), folders, Path(given.images), system, dataset)
                excluded = exclusions.load(Path(given.exclusions))
                stops = [stop for look in before for stop in look.stops]
                most = partial(blocks_in_the_end, plan, folders)
                found = look_at(dataset, number, stops, excluded, most)
            print("\n".join(folded(found.said(plan), "")))
        write_look(Path(snakemake.output.look), found)
