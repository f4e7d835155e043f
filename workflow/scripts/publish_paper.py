"""Rules all and paper: put a dataset's paper where people look for it, and say what it says."""

import shutil
from pathlib import Path

from parity.analysis.dataset import refuse_broken
from parity.core.errors import shown_to_the_user

if __name__ == "__main__":
    with shown_to_the_user():
        dataset = Path(snakemake.input.summary).parent
        refuse_broken(dataset)
        Path("paper").mkdir(exist_ok=True)
        shutil.copyfile(snakemake.input.pdf, "paper/paper.pdf")
        print(Path(snakemake.input.summary).read_text(encoding="utf-8"))
        print(f"paper/paper.pdf is the paper of {dataset}")
