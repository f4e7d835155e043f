"""What arms lack of programs: one sentence each, before anything is timed."""

from types import SimpleNamespace

import pytest
from plans import plan_of

from parity.benchmarks.model import NodeFacts
from parity.core.commands import Availability
from parity.core.errors import UserError
from parity.measure import block
from parity.measure.documents import Binary
from parity.measure.session import lacking, tell_what_lacks
from parity.software.binaries import NOT_FOUND, Library

SOLVER = "/opt/solver"
HERE, ABSENT = Library("libc.so.6", "1" * 64), Library("libmine.so.1", NOT_FOUND)
THERE = Availability(True)
ARMS = ["native-a", "native-b", "podman", "apptainer"]


def plan(**more):
    command = {"title": "Solver", "program": [SOLVER], "binaries": [SOLVER]} | more
    compared = {"case": "solver", "metric": "time", "reference": "native-a", "margin": None}
    return plan_of({
        "study": "mine", "arms": ARMS, "arm_titles": {arm: arm.capitalize() for arm in ARMS},
        "cases": [{"case": "solver", "benchmark": "solver", "parameters": {"command": command}}],
        "benchmark_titles": {"solver": "Solver"},
        "comparisons": [compared | {"arm": arm} for arm in ARMS[1:]],
    })  # fmt: skip


def session(lacks, presence=THERE):
    """A session of one node; `lacks` gives the libraries of an arm's program, None for none."""
    known = {"benchmark": "solver", "path": SOLVER, "build_id": "", "closure_sha256": ""}
    binaries = tuple(
        Binary(arm=arm, sha256="" if has is None else "2" * 64, closure=has or (), **known)
        for arm, has in (dict.fromkeys(ARMS, (HERE,)) | lacks).items()
    )
    return SimpleNamespace(
        answers=(SimpleNamespace(state=SimpleNamespace(binaries=binaries)),),
        benchmarks={"solver": presence},
        node=NodeFacts((0,), 1, 1),
    )


@pytest.mark.parametrize(("closure", "more", "expected"), [
    ((HERE,), {}, ""), (None, {}, "/opt/solver is not there"),
    ((HERE, ABSENT), {}, "/opt/solver does not find libmine.so.1"),
    ((HERE, ABSENT), {"environment": {"LD_LIBRARY_PATH": "/opt/lib"}}, ""),
    (None, {"environment": {"LD_LIBRARY_PATH": "/opt/lib"}}, "/opt/solver is not there"),
])  # fmt: skip
def test_a_file_or_a_library_that_is_not_there_is_named(closure, more, expected):
    asked, planned = session({"podman": closure}), plan(**more)
    assert lacking(asked, planned, planned.cases[0], "podman") == expected
    assert lacking(asked, planned, planned.cases[0], "apptainer") == ""


@pytest.mark.parametrize(("available", "lacks", "said"), [
    (True, "podman", "not measured: Solver, Podman: /opt/solver is not there\n"),
    # A benchmark that is not installed is a row with its own reason.
    (False, "native-a", ""),
])  # fmt: skip
def test_what_an_arm_lacks_is_a_line_and_the_others_are_measured(available, lacks, said, capsys):
    tell_what_lacks(session({lacks: None}, Availability(available)), plan())
    assert capsys.readouterr().out == said


def test_the_row_of_a_program_that_is_not_installed_says_what_installs_it():
    absent = Availability(False, reason="not there", remedy="apt-get install it")
    asked, planned = session({}, absent), plan()
    with pytest.raises(UserError) as refused:
        block._program(planned.cases[0], None, "system", asked, paired=False)
    assert refused.value.what == "solver: not there; apt-get install it"


@pytest.mark.parametrize(
    "lacks", [{"podman": None, "apptainer": (ABSENT,)}, {"native-a": None}, dict.fromkeys(ARMS)]
)
def test_where_nothing_could_be_compared_one_message_says_so(lacks):
    with pytest.raises(UserError, match="nothing of this study could be compared") as refused:
        tell_what_lacks(session(lacks), plan())
    assert str(refused.value).count("/opt/solver") == len(lacks)
