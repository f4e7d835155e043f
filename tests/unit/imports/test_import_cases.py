"""Foreign files that once gave a wrong answer or a traceback, through the command itself.

`golden/imports/cases` holds one of each kind; the others of a kind are made here.
"""

import json
import re
from pathlib import Path

import pytest

CASES = Path(__file__).parents[2] / "golden/imports/cases"
HEAD = "block,case,arm,metric,value,unit,better"
LATENCY = "# OSU MPI Latency Test v5.6.2\n# Size          Latency (us)\n1                       1\n"
IOR = "IOR-" + (CASES / "ior-late-header.native-1.txt").read_text().partition("IOR-")[2]
DOUBLE = ("--reference=native", "--double=native-2", "--margin=5")


@pytest.fixture
def of_runs(written):
    """The same text as a run of each of two arms, or two texts."""
    return lambda text, *other: [
        written("native-1.txt", text), written("podman-1.txt", *(other or [text])),
    ]  # fmt: skip


# What failed is lost, and counts as lost.


@pytest.mark.parametrize(("name", "blocks"), [
    ("ramble-failed-repeats", {("native-2", 12), ("podman", 8)}),
    ("reframe-failed-sanity", {("native-2", 2), ("podman", 1)}),
    ("reframe-nan", {("native-2", 2), ("podman", 1)}),
    # A value that could not be read is lost alone.
    ("reframe-lacking-value", {("native-2", 2), ("podman", 1), ("podman", 2)}),
])  # fmt: skip
def test_what_failed_is_lost(compared, name, blocks):
    table = compared(CASES / f"{name}.json", words=DOUBLE)
    assert {(row.arm, row.blocks) for row in table.itertuples()} == blocks
    if name.startswith("ramble"):
        (row,) = table[table["arm"] == "podman"].itertuples()
        lost = "runs were lost: 4 in podman, 0 in native of 12"
        assert (row.outcome, row.reason) == ("inconclusive", lost)


def test_what_tests_stand_on_is_no_run_and_each_rerun_is_a_block(altered, compared):
    def change(report):
        runs = report["runs"]
        runs[0]["testcases"] = [
            {**test, "display_name": test["display_name"].partition(" %.")[0]}
            for test in runs[0]["testcases"]
            if "repeat_no=0" in test["display_name"]
        ]
        build = {**runs[0]["testcases"][0], "display_name": "build ~generic", "fixture": True}
        runs[0]["testcases"].append(build)
        runs += [runs[0]] * 5

    table = compared(altered(CASES / "reframe-lacking-value.json", change), words=DOUBLE)
    of_podman = table[(table["arm"] == "podman") & (table["metric"] == "elapsed")]
    assert list(of_podman["blocks"]) == [6]


# A text of a run that did not end well is refused, however whole it looks; and what makes runs
# unlike each other is told.
DEATHS = (
    "srun: error: n1: task 0: Killed",
    "mpirun noticed that process rank 1 with PID 0 on node n1 exited on signal 9 (Killed).",
    "[n1:00042] Signal: Segmentation fault (11)",
    "[n1:00042] *** Process received signal ***",
    "[n1:00042] Read -1, expected 8192, errno = 1",
    "Killed",
    "job.sh: line 3:  4711 Segmentation fault      (core dumped) ./osu_latency",
    "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
)
OSU_UNLIKE = (
    ("# [ pairs: 8 ] [ window size: 64 ]", "# [ pairs: 1 ] [ window size: 64 ]", "pairs: '1'"),
    ("# Synchronization: MPI_Win_flush", "# Synchronization: MPI_Win_lock", "Synchronization"),
    ("# Window creation: MPI_Win_create", "", "Window creation: 'not said'"),
    ("# Send Buffer on HOST (H)", "# Send Buffer on DEVICE (D)", "buffers"),
    ("# Datatype: MPI_CHAR.", "# Datatype: MPI_INT.", "Datatype"),
)
IOR_UNLIKE = (
    ("segments            : 1", "segments            : 8"),
    ("type                : independent", "type                : collective"),
    ("constant task offset", "random task offset"),
    ("nodes               : 1", "nodes               : 2"),
)
IOR_WRONG = (
    ("WARNING: incorrect data on read (5 errors found).", "incorrect data"),
    ("[1] FAILED comparison of buffer containing 8-byte ints:", "FAILED comparison"),
)
# Of each pair of texts: the first, the second, and what is said of them.
KILLED, SPOILED = (
    (CASES / f"{n}.txt").read_text() for n in ("osu-killed-1", "ior3-incorrect-data")
)
TEXTS = [
    *((text := f"{LATENCY}{death}\n", text, "did not end well") for death in DEATHS),
    (KILLED, KILLED, "did not end well: 'slurmstepd: error"),
    (SPOILED, SPOILED, "IOR says that it failed: FAILED comparison"),
    *(
        (text := IOR.replace("Summary of", f"{wrong}\nSummary of"), text, said)
        for wrong, said in IOR_WRONG
    ),
    (text := IOR.replace("100.00     4096", "0.00     4096"), text, "no number above zero"),
    *(
        (*(LATENCY.replace("# Size", f"{line}\n# Size") for line in lines), said)
        for *lines, said in OSU_UNLIKE
    ),
    (LATENCY, LATENCY.replace("v5.6.2", "v7.4"), "version: '7.4', but '5.6.2' in native-1.txt"),
    *((IOR, IOR.replace(option, other), "in native-1.txt") for option, other in IOR_UNLIKE),
]


@pytest.mark.parametrize(("text", "other", "said"), TEXTS, ids=range(len(TEXTS)))
def test_texts_of_runs_that_failed_or_ran_otherwise_are_refused(
    of_runs, refused, text, other, said
):
    assert said != "in native-1.txt" or text != other
    assert said in refused(*of_runs(text, other))


def test_osu_s_pairs_of_processes_are_told(refused):
    files = [CASES / f"osu-unlike.{arm}-1.txt" for arm in ("native", "podman")]
    said = refused(*files, words=["--reference=osu-unlike.native"])
    assert "pairs: '1', but '8' in osu-unlike.native-1.txt" in said


def test_values_with_blanks_are_cases_of_their_own(compared):
    cases = set(compared(CASES / "reframe-tuple.json")["case"])
    assert cases == {"imported-t-size=-64-a", "imported-t-size=-64-b"}


def test_two_values_that_would_get_one_name_are_refused(altered, refused):
    def change(report):
        tests = report["runs"][0]["testcases"]
        for test, size in zip(tests, ["(1 2)", "(1,2)"] * 3, strict=True):
            test["display_name"] = test["display_name"].replace(" %.", f" %size={size} %.")

    report = altered(CASES / "reframe-lacking-value.json", change)
    assert "two cases would be called t-size=-1-2" in refused(report)


def experiment(name, arm, repeat=1, **more):
    figures = more.pop("foms", [{**FIGURE, "value": 1.5, "origin": "app"}])
    said = {"name": name, "RAMBLE_STATUS": "SUCCESS", "simplified_workload_namespace": "app-work"}
    said["RAMBLE_VARIABLES"] = {"arm": arm, "repeat_index": repeat}
    return {**said, "CONTEXTS": [{"name": "null", "foms": figures}], **more}


@pytest.fixture
def ramble(written):
    return lambda experiments: written("r.json", json.dumps({"experiments": experiments}))


FIGURE = {"name": "Time", "units": "s", "origin_type": "application"}


@pytest.mark.parametrize(("repeat", "figures", "metrics"), [
    # Figures of one name and two origins are two metrics.
    (1, [{"origin": of, "value": 1} for of in ("app", "papi")], {"Time_app", "Time_papi"}),
    # A repeat that is none and a type in words are no mistake.
    ("None", [{"value": "2", "fom_type": "TIME"}], {"Time"}),
])  # fmt: skip
def test_odd_figures_of_ramble_are_read(ramble, compared, repeat, figures, metrics):
    foms = [FIGURE | figure for figure in figures]
    experiments = [experiment(arm, arm, repeat, foms=foms) for arm in ("native", "podman")]
    assert set(compared(ramble(experiments))["metric"]) == metrics


ODD_RAMBLE = {
    "no namespace": (lambda one: one.pop("simplified_workload_namespace"), "simplified_workload"),
    "an object": (lambda one: one.update(CONTEXTS={}), "Expected `array | null`"),
    "a text for a context": (lambda one: one.update(CONTEXTS=["x"]), "Expected `object`"),
    "no figure's name": (lambda one: one["CONTEXTS"][0]["foms"][0].pop("name"), "`name`"),
    "no arm": (lambda one: one.update(RAMBLE_VARIABLES=None), "has no arm"),
}


@pytest.mark.parametrize(("change", "said"), ODD_RAMBLE.values(), ids=list(ODD_RAMBLE))
def test_odd_results_of_ramble_are_one_message(ramble, refused, change, said):
    one = experiment("e", "native")
    change(one)
    assert said in refused(ramble([one, experiment("f", "podman")]))


def test_results_that_are_none_of_ramble_s_are_one_message(ramble, refused):
    assert "missing required field" in refused(CASES / "ramble-0.3.json")
    assert "Expected `array`" in refused(ramble({"a": 1}))


# Good results are read.


@pytest.mark.parametrize(("name", "metrics"), [
    # A line on buffers names no columns.
    ("osu-gpu-header-1.txt", {"latency"}),
    ("osu-nonblocking.txt", {"overall", "compute", "pure_comm", "overlap"}),
    # A header may stand behind what a job printed first.
    ("ior-late-header.native-1.txt", {"write", "read"}),
])  # fmt: skip
def test_a_good_text_is_read(of_runs, compared, name, metrics):
    table = compared(*of_runs((CASES / name).read_text()))
    assert set(table["metric"]) == metrics
    assert name != "osu-gpu-header-1.txt" or len(table) == 3


def test_ior_s_unit_is_the_one_it_prints(of_runs, compared):
    table = compared(*of_runs(IOR.replace("bw(MiB/s)", "bw(GiB/s)")))
    assert set(table["unit"]) == {"GiB/s"}


KEPT = {
    "Windows": lambda text: text.replace("\n", "\r\n"),
    "a mark of byte order": lambda text: "\ufeff" + text,
    "srun --label": lambda text: "".join(f"0: {line}\n" for line in text.splitlines()),
}


@pytest.mark.parametrize("kept", KEPT.values(), ids=[*KEPT])
def test_how_a_text_was_kept_changes_nothing(of_runs, compared, kept):
    (row,) = compared(*of_runs(kept(LATENCY))).itertuples()
    assert (row.case, row.metric, row.arm) == ("imported-osu-latency-bytes=1", "latency", "podman")


@pytest.mark.parametrize(("text", "like"), [
    ("-- started at 11/25 --\nmdtest-3.3.0 was launched with 2 total task(s)\n", "mdtest"),
    ("0: # OSU\n1: # OSU\n", "several ranks"),
    ("arms,times\n1,2\n", "a table without the columns"),
])  # fmt: skip
def test_what_is_not_read_here_is_named(written, refused, text, like):
    assert like in refused(written("file.txt", text))


# A table is no way around what is refused. Of each: further columns, rows of an arm, what is said.
# A second line `valid` made a run count that its table says is lost.
TABLES = [
    *((",valid,source", f'"{block}",a,native,time,1,s,lower,no,"{source}"',
       "not one line of text|control character")
      for end in ("\n", "\r", "\u2028", "\u2029", "\x85", "\x0b")
      for block, source in ((f"x{end}valid", "us"), ("1", f"x{end}valid"))),
    *(("", f"1,a,native,time,1,{unit},lower", "unit is ")
      for unit in ("=1+1", "+1", "-1", "@SUM(A1)", "s\tx")),
    *((",raw", f"1,a,native,time,1,s,lower,{raw}", "is not below the folder of the table")
      for raw in ("/etc/passwd", "../secret", "link", "folder/../../secret")),
    (",raw", "1,a,native,x,1,s,lower,a/out.txt\n1,a,native,y,1,s,lower,b/out.txt",
     "two files of one run are called out.txt"),
]  # fmt: skip


@pytest.mark.parametrize(("columns", "rows", "said"), TABLES, ids=range(len(TABLES)))
def test_a_table_is_no_way_around_it(tmp_path, written, refused, columns, rows, said):
    for name in ("folder", "a", "b"):
        (tmp_path / "mine" / name).mkdir(parents=True)
    for name in ("secret", "mine/a/out.txt", "mine/b/out.txt"):
        written(name, name)
    (tmp_path / "mine/link").symlink_to(tmp_path / "secret")
    text = f"{HEAD}{columns}\n{rows}\n{rows.replace('native', 'podman')}\n"
    assert re.search(said, refused(written("mine/t.csv", text)))
