"""A program of one's own, measured by an installed `parity` outside of any clone, to the answer.

Needs: gcc, and one of the runtimes that are asked for, with an image that is built here.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from clones import called

from parity.runtimes import arms

# That an installation holds what rules name, and that images are made, shorter tests say.
pytestmark = [pytest.mark.system, pytest.mark.long]
SOLVER = """
#include <stdio.h>
int main(void) {
    double sum = 0;
    for (long i = 1; i < 100000000; i++) sum += 1.0 / i;
    printf("%f\\n", sum);
}
"""


def test_it_is_measured_to_an_answer_with_bounds(installed: Path, tmp_path: Path) -> None:
    usable = {arm.runtime for arm in arms().values() if arm.probe().available}
    there = [runtime for runtime in ("apptainer", "podman") if runtime in usable]
    if not there or not shutil.which("gcc"):
        pytest.skip("neither Apptainer nor Podman can be used here, or there is no gcc")
    (tmp_path / "solver.c").write_text(SOLVER)
    subprocess.run(["gcc", "-O1", "-o", "solver", "solver.c"], cwd=tmp_path, check=True)
    words = ["measure", f"--runtimes={there[0]}", "--minutes=1", "--", "./solver"]
    call = called(tmp_path, *words, program=installed, timeout=1800)
    assert call.status == 0, call.said
    row = rf"^ +{there[0]} +\d\.\d+ +\[\d\.\d+, \d\.\d+\]"
    assert re.search(row, call.stdout, re.MULTILINE | re.IGNORECASE), call.stdout
    assert (tmp_path / "parity-solver/results/claims/dashboard.html").exists()
