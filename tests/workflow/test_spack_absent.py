"""Without Spack a study that wants it is told so, once and before anything is built."""

import subprocess
import sys
from pathlib import Path

SNAKEMAKE = Path(sys.executable).with_name("snakemake")
NOWHERE = "spack={repository: /nowhere/spack}"


def test_one_message_says_how_to_get_it(new_clone) -> None:
    clone = new_clone()
    words = ["--config", "study=config/studies/libaio.yaml", "scale=smoke", NOWHERE]
    done = subprocess.run(
        [SNAKEMAKE, "--cores", "2", "all", *words],
        cwd=clone,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    said = done.stdout + done.stderr
    assert said.count("parity: there is no Spack here: /nowhere/spack") == 1
    assert "git clone" in said and "`provider: system`" in said
    assert "Traceback" not in said
    assert not list((clone / "results").glob("*-images/*.json"))
