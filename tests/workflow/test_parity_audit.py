"""`snakemake parity` on the real runtimes, in a clone that borrows the images made here.

Needs: the images, which are built if they are not there; an arm that is not here says why.
"""

from pathlib import Path

import msgspec
import pandas as pd
import pytest
from clones import borrow_images, called

from parity.checks.parity_audit import ParityAudit
from parity.core.documents import read_document
from parity.plan.plan import read_plan

CAMPAIGN = "torrez2019-smoke"

pytestmark = [pytest.mark.system, pytest.mark.long]
# The digest that the records of one clone have for the SIF file: as if a byte had changed.
WRONG = "sha256:" + "0" * 64


@pytest.fixture(scope="module")
def asked(clone: Path, images: dict[str, dict]) -> tuple[Path, str]:
    """The clone in which every arm was asked, and what was printed."""
    records = images | {"sif": msgspec.structs.replace(images["sif"], digest=WRONG)}
    borrow_images(clone, records)
    # A clone's own images would have to be built; these are taken as they are.
    call = called(clone, "parity", "--allowed-rules", "parity", "write_plan")
    assert call.status == 0, call.stderr
    return clone / "results/parity", call.stdout


def test_every_arm_has_an_answer_or_a_reason_and_the_pair_is_identical(asked) -> None:
    folder, said = asked
    audit = read_document(folder / f"{CAMPAIGN}.json", ParityAudit)
    plan = read_plan(folder.parents[1] / f"results/live/{CAMPAIGN}/plan.json")
    assert tuple(side.arm for side in audit.sides) == plan.arms
    for side in audit.sides:
        assert bool(side.reason) != bool(side.interface), side.arm
    rows = pd.read_csv(folder / f"{CAMPAIGN}.csv", keep_default_na=False).query("arm == 'native-b'")
    assert len(rows) and set(rows["verdict"]) <= {"same", "not recorded"}
    assert (rows["sha256"] == rows["reference_sha256"]).all()
    # The program's variables are the runner's own in every arm.
    facts = pd.read_csv(folder / f"{CAMPAIGN}-interface.csv").set_index("fact")
    assert set(facts.loc[["variables of the program"], "value"]) == {"HOME LC_ALL PATH TMPDIR TZ"}
    for words in ("held against Native A", "Kernel interface", "confounded", "Native B: the same"):
        assert words in said or words.capitalize() in said


def test_an_image_that_is_another_one_is_a_row_with_both_digests(asked) -> None:
    audit = read_document(asked[0] / f"{CAMPAIGN}.json", ParityAudit)
    (side,) = [side for side in audit.sides if side.arm == "apptainer"]
    if not side.reason.startswith("not its image"):
        pytest.skip(f"apptainer: {side.reason}")
    assert WRONG in side.reason and "found sha256:" in side.reason
    assert not side.programs
