"""Ranks: the launcher's exact words, and what each rank fills in, by a real shell."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parity.benchmarks.model import Program
from parity.core.documents import canonical
from parity.measure import inner_command
from parity.measure.inner_command import FILL_IN, launched, on_each_node, seconds_of_ranks
from parity.plan.system import MpiLauncher

LAUNCHER = MpiLauncher(
    command=("srun", "--nodes={nodes}", "--ntasks={ranks}", "--ntasks-per-node={ranks_per_node}"),
    each_node=("srun", "--nodes={nodes}", "--ntasks={nodes}"),
    rank="SLURM_PROCID",
    variables=("PMIX_", "SLURM_STEP_ID"),
)
PROGRAM = Program(argv=("/usr/bin/hpcc",), cpus=(2, 3), ranks=8, nodes=4)
FILLING = ("/bin/sh", "-c", FILL_IN, "fill-in", "2 3", "PMIX_|SLURM_STEP_ID", "SLURM_PROCID")


def _started(rank: int, *words: str, **environment: str) -> subprocess.CompletedProcess:
    """What a rank says that starts some words, by the real script."""
    seen = {"PATH": "/usr/bin:/bin", "SLURM_PROCID": str(rank)} | environment
    return subprocess.run([*FILLING, *words], env=seen, capture_output=True, text=True)


def _filled(rank: int, *words: str, **environment: str) -> list[str]:
    """What a rank starts; the program is one that prints its words."""
    return _started(rank, "printf", "%s\\n", *words, **environment).stdout.splitlines()


UNREAD = ("a b", "$HOME", "`id`", "*", "quote'", 'double"', "", "back\\n")
HOST = subprocess.run(["uname", "-n"], capture_output=True, text=True).stdout.strip()


def test_the_launcher_s_words_come_first_and_the_arm_s_last() -> None:
    assert launched(LAUNCHER, PROGRAM, ["ch-run", "image", "--", "program"]) == [
        *("srun", "--nodes=4", "--ntasks=8", "--ntasks-per-node=2", *FILLING),
        *("ch-run", "image", "--", "program"),
    ]
    assert on_each_node(LAUNCHER, 3, ["true"]) == ["srun", "--nodes=3", "--ntasks=3", "true"]


@pytest.mark.parametrize(("rank", "word", "filled"), [
    (5, "--name=parity-@rank@", "--name=parity-5"),
    (5, "evidence @rank@@@host@", f"evidence 5@{HOST}"),
    (5, "@rank@-@rank@", "5-5"), (5, "--uts=@host@", f"--uts={HOST}"),
    # The CPU at its number modulo the node's.
    *((rank, "@cpu@", cpu) for rank, cpu in ((0, "2"), (1, "3"), (2, "2"), (5, "3"))),
    # No shell reads the words of the command.
    *((0, f"x{word}x", f"x{word}x") for word in UNREAD),
])  # fmt: skip
def test_what_differs_between_ranks_is_filled_in_anywhere_in_a_word(rank, word, filled) -> None:
    assert _filled(rank, word) == [filled]


def test_a_rank_s_time_is_told_apart_from_its_launcher_s_and_its_end_is_its_own() -> None:
    done = _started(1, "sh", "-c", "sleep 0.2; exit 7")
    told = inner_command.rank_evidence(done.stderr)[1]
    assert told["node"] == HOST and done.returncode == 7
    assert int(told["ended"]) - int(told["began"]) >= 0.2e9


def test_a_line_that_a_program_left_open_takes_nothing_from_its_rank() -> None:
    done = _started(1, "sh", "-c", "printf 100%% >&2")
    assert "ended" in inner_command.rank_evidence(done.stderr)[1]


def test_the_launcher_s_variables_become_words_that_no_shell_reads() -> None:
    seen = {"PMIX_RANK": "3", "SLURM_STEP_ID": "7", "SLURM_JOB_NAME": "x", "HOME": "/root"}
    found = _filled(3, "@variables@", "last", **seen)
    assert found[0] == "PARITY_RANK=3" and found[1] == f"PARITY_NODE={HOST}"
    assert sorted(found[2:-1]) == ["PMIX_RANK=3", "SLURM_STEP_ID=7"]
    assert found[-1] == "last"
    found = _filled(0, "@variables@", PMIX_URI="tcp; $(id) `id` 'x' *")
    assert found[2] == "PMIX_URI=tcp; $(id) `id` 'x' *"


def test_the_witness_tells_rank_and_node() -> None:
    words = inner_command.witnessed(PROGRAM)
    assert words[:3] == ["/usr/bin/taskset", "-c", "@cpu@"]
    assert words[6] == "parity-evidence @rank@@@host@"
    assert words[-2:] == ["@variables@", "/usr/bin/hpcc"]


def test_evidence_of_ranks_is_told_apart_from_evidence_of_one() -> None:
    said = (
        "parity-evidence 1@n2 marker=m\nparity-evidence 0@n1 marker=m\n"
        "parity-evidence 1@n2 Cpus_allowed_list:=3\nnoise\nparity-evidence marker=other\n"
    )
    assert inner_command.rank_evidence(said) == {
        0: {"node": "n1", "marker": "m"},
        1: {"node": "n2", "marker": "m", "cpus_allowed": "3"},
    }
    assert inner_command.evidence(said) == {"marker": "other"}


evidence = st.lists(st.dictionaries(st.sampled_from("abcd"), st.sampled_from("xyz")), max_size=5)


@given(evidence)
def test_what_ranks_say_alike_is_kept_once_and_nothing_is_lost(said: list[dict[str, str]]) -> None:
    whole: dict[str, str | None] = {}
    again = []
    for differing in inner_command.rank_differences(dict(enumerate(said))):
        whole |= differing
        again.append({key: value for key, value in whole.items() if value is not None})
    assert again == said


@pytest.mark.parametrize(("ended", "seconds"), [
    (["2500000000", "3000000000"], 2.0), (["", "3000000000"], None), (["0", "0"], None),
    (["9900000000", "9900000000"], None),
])  # fmt: skip
def test_ranks_that_do_not_tell_their_time_have_none(ended: list[str], seconds: float) -> None:
    """The launcher's own time must not stand for theirs; here all of it took three seconds."""
    ranks = {
        0: {"node": "n1", "began": "1000000000", "ended": ended[0]},
        1: {"node": "n1", "began": "1500000000", "ended": ended[1]},
        2: {"node": "n2", "began": "7", "ended": "8"},
    }
    assert seconds_of_ranks(ranks, "n1", 3.0) == seconds


def test_thousands_of_ranks_take_few_bytes_in_the_record() -> None:
    of_node = {f"namespace.{name}": "4026531835" for name in ("mnt", "pid", "user", "net", "ipc")}
    ranks = {
        rank: of_node | {"node": f"n{rank // 36}", "cpus_allowed": str(rank % 36)}
        for rank in range(18_432)
    }
    assert len(canonical(inner_command.rank_differences(ranks))) < 30 * len(ranks)


def test_without_the_witnesses_all_else_is_verbatim() -> None:
    said = b"one\r\nparity-evidence 0@n marker=\xff\n\xfe two\nparity-evidence 1@n root=x\nthree"
    assert inner_command.without_evidence(said) == b"one\r\n\xfe two\nthree"
