"""The studies of what Spack builds: their arms, cases and margins."""

from pathlib import Path

import pytest

from parity.plan.study import load_study
from parity.runtimes.ladder import MECHANISMS

STUDIES = Path(__file__).parents[3] / "config/studies"
CASES = {
    "hpcg": ["hpcg-1x1", "hpcg-1x2", "stream"],
    "libaio": ["sysbench-libaio-linked", "sysbench-libaio-absent"],
    "ladder": ["hpcg-1x1"],
}
# Those of the register of claims.
MARGINS = {"hpcg": 0.03, "stream": 0.02, "sysbench-libaio": 0.01}


@pytest.mark.parametrize("scale", ["smoke", "machine", "cluster"])
@pytest.mark.parametrize("name", CASES)
def test_a_study_is_spack_s_and_has_the_register_s_margins(name, scale):
    study = load_study(STUDIES / f"{name}.yaml", scale)
    assert study.provider == "spack"
    assert {case.margin for case in study.cases} == {MARGINS[c.benchmark] for c in study.cases}
    if scale != "cluster":
        assert [case.name for case in study.cases] == CASES[name]
        assert study.blocks == (30 if scale == "machine" else study.blocks) >= 2
    if name == "ladder":
        rungs = ("native-a", "native-b", *(f"ladder-{each}" for each in MECHANISMS))
        assert study.arms[: len(rungs)] == rungs
        above = set(study.arms[len(rungs) :])
        assert above >= {"charliecloud-sqfs", "apptainer", "podman"}
