"""Foreign files that once gave a wrong answer or a traceback, through the command itself.

`golden/imports/cases` holds one of each kind; the others of a kind are made here.
"""

import json
import shutil
from pathlib import Path

import pytest

from parity.analysis.analysis import analysed
from parity.command_line.main import main
from parity.core.errors import REFUSED

CASES = Path(__file__).parents[2] / "golden/imports/cases"
HEAD = "block,case,arm,metric,value,unit,better"
LATENCY = (
    "# OSU MPI Latency Test v5.6.2\n# Size          Latency (us)\n1                       {}\n"
)
IOR = (CASES / "ior-late-header.native-1.txt").read_text().partition("IOR-")[2]


@pytest.fixture
def concluded(tmp_path):
    """Imports files by the command; gives blocks, outcome and reason by case, metric and arm."""

    def run(*files, words=("--reference=native", "--margin=5")):
        main(["import", *map(str, files), "--study=x", *words, f"--out={tmp_path}/archive"])
        (archive,) = (tmp_path / "archive").iterdir()
        table = analysed(archive).analysis.comparisons
        return {
            (row.case.removeprefix("imported-"), row.metric, row.arm): (
                row.blocks, row.outcome, row.reason,
            )
            for row in table.itertuples()
        }  # fmt: skip

    return run


@pytest.fixture
def refused(tmp_path, capsys):
    """Imports files by the command, which refuses them; gives its one message."""

    def run(*files, words=()):
        with pytest.raises(SystemExit) as ended:
            main(["import", *map(str, files), "--study=x", *words, f"--out={tmp_path}/archive"])
        said = capsys.readouterr().err
        assert ended.value.code == REFUSED
        assert said.startswith("parity: ") and "Traceback" not in said
        assert not (tmp_path / "archive").exists()
        return said

    return run


def of_runs(tmp_path, text, other=None):
    """The same text as a run of each of two arms, or two texts."""
    files = [tmp_path / "native-1.txt", tmp_path / "podman-1.txt"]
    for file, content in zip(files, (text, text if other is None else other), strict=True):
        file.write_text(content)
    return files


# What failed is lost, and counts as lost.


def test_ramble_s_failed_repeats_are_lost(concluded):
    words = ("--reference=native", "--double=native-2", "--margin=5")
    rows = concluded(CASES / "ramble-failed-repeats.json", words=words)
    (found,) = [row for (_, _, arm), row in rows.items() if arm == "podman"]
    assert found == (8, "inconclusive", "runs were lost: 4 in podman, 0 in native of 12")


@pytest.mark.parametrize("name", ["reframe-failed-sanity", "reframe-nan"])
def test_reframe_s_failed_tests_are_lost(concluded, name):
    words = ("--reference=native", "--double=native-2", "--margin=5")
    rows = concluded(CASES / f"{name}.json", words=words)
    assert rows["t", "elapsed", "native-2"][0] == 2
    assert rows["t", "elapsed", "podman"][0] == 1


def test_a_value_that_could_not_be_read_is_lost_alone(concluded):
    words = ("--reference=native", "--double=native-2", "--margin=5")
    rows = concluded(CASES / "reframe-lacking-value.json", words=words)
    assert rows["t", "elapsed", "podman"][0] == 1 and rows["t", "other", "podman"][0] == 2


def report(tmp_path, change):
    """A report of ReFrame, changed."""
    content = json.loads((CASES / "reframe-lacking-value.json").read_text())
    change(content["runs"])
    file = tmp_path / "report.json"
    file.write_text(json.dumps(content))
    return file


def test_what_tests_stand_on_is_no_run_and_each_rerun_is_a_block(tmp_path, concluded):
    def change(runs):
        runs[0]["testcases"] = [
            {**test, "display_name": test["display_name"].partition(" %.")[0]}
            for test in runs[0]["testcases"]
            if "repeat_no=0" in test["display_name"]
        ]
        build = {**runs[0]["testcases"][0], "display_name": "build ~generic", "fixture": True}
        runs[0]["testcases"].append(build)
        runs += [runs[0]] * 5

    words = ("--reference=native", "--double=native-2", "--margin=5")
    rows = concluded(report(tmp_path, change), words=words)
    assert rows["t", "elapsed", "podman"][0] == 6


# A text of a run that did not end well is refused, however whole it looks.

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


@pytest.mark.parametrize("death", DEATHS)
def test_a_launcher_s_last_words_refuse_a_text(tmp_path, refused, death):
    assert "did not end well" in refused(*of_runs(tmp_path, f"{LATENCY.format(1)}{death}\n"))


BAD_TEXTS = {
    "osu-killed-1": ("osu-killed-1", "did not end well: 'slurmstepd: error"),
    "ior3-incorrect-data": ("ior3-incorrect-data", "IOR says that it failed: FAILED comparison"),
}


@pytest.mark.parametrize(("name", "said"), BAD_TEXTS.values(), ids=list(BAD_TEXTS))
def test_a_failed_text_is_refused(tmp_path, refused, name, said):
    assert said in refused(*of_runs(tmp_path, (CASES / f"{name}.txt").read_text()))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("WARNING: incorrect data on read (5 errors found).", "incorrect data"),
        ("[1] FAILED comparison of buffer containing 8-byte ints:", "FAILED comparison"),
    ],
)
def test_ior_s_own_words_of_failure_count_in_any_spelling(tmp_path, refused, wrong, said):
    text = f"IOR-{IOR}".replace("Summary of", f"{wrong}\nSummary of")
    assert said in refused(*of_runs(tmp_path, text))


def test_a_rate_of_nothing_is_no_rate(tmp_path, refused):
    text = f"IOR-{IOR}".replace("100.00     4096", "0.00     4096")
    assert "no number above zero" in refused(*of_runs(tmp_path, text))


# What makes runs unlike each other is told.


@pytest.mark.parametrize(
    ("line", "other", "said"),
    [
        ("# [ pairs: 8 ] [ window size: 64 ]", "# [ pairs: 1 ] [ window size: 64 ]", "pairs: '1'"),
        ("# Synchronization: MPI_Win_flush", "# Synchronization: MPI_Win_lock", "Synchronization"),
        ("# Window creation: MPI_Win_create", "", "Window creation: 'not said'"),
        ("# Send Buffer on HOST (H)", "# Send Buffer on DEVICE (D)", "buffers"),
        ("# Datatype: MPI_CHAR.", "# Datatype: MPI_INT.", "Datatype"),
    ],
)
def test_runs_of_osu_that_ran_otherwise_are_no_pair(tmp_path, refused, line, other, said):
    texts = [LATENCY.format(1).replace("# Size", f"{head}\n# Size") for head in (line, other)]
    assert said in refused(*of_runs(tmp_path, *texts))


def test_versions_of_osu_are_no_pair(tmp_path, refused):
    texts = LATENCY.format(1), LATENCY.format(1).replace("v5.6.2", "v7.4")
    assert "version: '7.4', but '5.6.2' in native-1.txt" in refused(*of_runs(tmp_path, *texts))


def test_osu_s_pairs_of_processes_are_told(refused):
    files = [CASES / f"osu-unlike.{arm}-1.txt" for arm in ("native", "podman")]
    said = refused(*files, words=["--reference=osu-unlike.native"])
    assert "pairs: '1', but '8' in osu-unlike.native-1.txt" in said


@pytest.mark.parametrize(
    ("option", "other"),
    [("segments            : 1", "segments            : 8"),
     ("type                : independent", "type                : collective"),
     ("constant task offset", "random task offset"),
     ("nodes               : 1", "nodes               : 2")],
)  # fmt: skip
def test_runs_of_ior_that_ran_otherwise_are_no_pair(tmp_path, refused, option, other):
    text = f"IOR-{IOR}"
    assert option in text
    said = refused(*of_runs(tmp_path, text, text.replace(option, other)))
    assert "but '" in said and "native-1.txt" in said


def test_values_with_blanks_are_cases_of_their_own(concluded):
    rows = concluded(CASES / "reframe-tuple.json")
    assert {case for case, *_ in rows} == {"t-size=-64-a", "t-size=-64-b"}


def test_two_values_that_would_get_one_name_are_refused(tmp_path, refused):
    def change(runs):
        for test, size in zip(runs[0]["testcases"], ["(1 2)", "(1,2)"] * 3, strict=True):
            test["display_name"] = test["display_name"].replace(" %.", f" %size={size} %.")

    assert "two cases would be called t-size=-1-2" in refused(report(tmp_path, change))


def experiment(name, arm, repeat=1, **more):
    figure = {"name": "Time", "value": 1.5, "units": "s", "origin": "app"}
    figures = [{**figure, "origin_type": "application"}]
    return {
        "name": name, "RAMBLE_STATUS": "SUCCESS", "simplified_workload_namespace": "app-work",
        "RAMBLE_VARIABLES": {"arm": arm, "repeat_index": repeat},
        "CONTEXTS": [{"name": "null", "foms": more.pop("foms", figures)}], **more,
    }  # fmt: skip


def ramble(tmp_path, experiments):
    file = tmp_path / "results.json"
    file.write_text(json.dumps({"experiments": experiments}))
    return file


def test_figures_of_one_name_and_two_origins_are_two_metrics(tmp_path, concluded):
    figure = {"name": "Time", "units": "s", "origin_type": "application"}
    figures = [figure | {"origin": "app", "value": 1}, figure | {"origin": "papi", "value": 9}]
    arms = ("native", "podman")
    rows = concluded(ramble(tmp_path, [experiment(arm, arm, foms=figures) for arm in arms]))
    assert {metric for _, metric, _ in rows} == {"Time_app", "Time_papi"}


ODD_RAMBLE = {
    "no namespace": (lambda one: one.pop("simplified_workload_namespace"), "simplified_workload"),
    "an object": (lambda one: one.update(CONTEXTS={}), "Expected `array | null`"),
    "a text for a context": (lambda one: one.update(CONTEXTS=["x"]), "Expected `object`"),
    "no figure's name": (lambda one: one["CONTEXTS"][0]["foms"][0].pop("name"), "`name`"),
    "no arm": (lambda one: one.update(RAMBLE_VARIABLES=None), "has no arm"),
}


@pytest.mark.parametrize(("change", "said"), ODD_RAMBLE.values(), ids=list(ODD_RAMBLE))
def test_odd_results_of_ramble_are_one_message(tmp_path, refused, change, said):
    one = experiment("e", "native")
    change(one)
    assert said in refused(ramble(tmp_path, [one, experiment("f", "podman")]))


def test_results_of_the_first_ramble_are_one_message(refused):
    assert "missing required field" in refused(CASES / "ramble-0.3.json")


def test_experiments_that_are_no_list_are_one_message(tmp_path, refused):
    assert "Expected `array`" in refused(ramble(tmp_path, {"a": 1}))


def test_a_repeat_that_is_none_and_a_type_in_words_are_no_mistake(tmp_path, concluded):
    figure = {"name": "Time", "value": "2", "units": "s", "origin_type": "application"}
    figures = [figure | {"fom_type": "TIME"}]
    arms = ("native", "podman")
    assert concluded(ramble(tmp_path, [experiment(a, a, "None", foms=figures) for a in arms]))


# Good results are read.


def test_a_line_on_buffers_names_no_columns(tmp_path, concluded):
    text = (CASES / "osu-gpu-header-1.txt").read_text()
    assert len(concluded(*of_runs(tmp_path, text))) == 3


def test_every_column_of_an_operation_that_does_not_block_is_a_metric(tmp_path, concluded):
    rows = concluded(*of_runs(tmp_path, (CASES / "osu-nonblocking.txt").read_text()))
    metrics = {metric for _, metric, _ in rows}
    assert metrics == {"overall", "compute", "pure_comm", "overlap"}


def test_a_header_may_stand_behind_what_a_job_printed_first(tmp_path, concluded):
    late = shutil.copy(CASES / "ior-late-header.native-1.txt", tmp_path / "native-1.txt")
    other = shutil.copy(late, tmp_path / "podman-1.txt")
    rows = concluded(late, other)
    assert {metric for _, metric, _ in rows} == {"write", "read"}


@pytest.mark.parametrize(
    "written",
    [lambda text: text.replace("\n", "\r\n"), lambda text: "\ufeff" + text,
     lambda text: "".join(f"0: {line}\n" for line in text.splitlines())],
    ids=["Windows", "a mark of byte order", "srun --label"],
)  # fmt: skip
def test_how_a_text_was_kept_changes_nothing(tmp_path, concluded, written):
    files = of_runs(tmp_path, "")
    for file in files:
        file.write_bytes(written(LATENCY.format(1)).encode())
    assert list(concluded(*files)) == [("osu-latency-bytes=1", "latency", "podman")]


@pytest.mark.parametrize(
    ("text", "like"),
    [
        ("-- started at 11/25 --\nmdtest-3.3.0 was launched with 2 total task(s)\n", "mdtest"),
        ("jube_wp_id,nodes,runtime\n0,1,2.5\n", "JUBE"),
        ("job_completion_time|version|perf_var\n2026|4.10|1\n", "perflogs of ReFrame"),
        ('{"results": [ {"command": "sleep 1", "mean": 1.0} ]}', "hyperfine"),
        ('{"machine_info": {}, "benchmarks": []}', "pytest-benchmark"),
        ('{"context": {"num_cpus": 2}, "benchmarks": []}', "Google Benchmark"),
        ("0: # OSU\n1: # OSU\n", "several ranks"),
        ("arms,times\n1,2\n", "a table without the columns"),
    ],
)
def test_what_is_not_read_here_is_named(tmp_path, refused, text, like):
    file = tmp_path / "file.txt"
    file.write_text(text)
    assert like in refused(file)


# A table is no way around what is refused.


@pytest.mark.parametrize("end", ["\n", "\r", "\u2028", "\u2029", "\x85", "\x0b"])
@pytest.mark.parametrize("column", ["source", "block"])
def test_no_cell_is_two_lines(tmp_path, refused, end, column):
    """A second line `valid` made a run count that its table says is lost."""
    cells = {"block": "1", "source": "us"} | {column: f"x{end}valid"}
    file = tmp_path / "t.csv"
    file.write_bytes(
        f'{HEAD},valid,source\n"{cells["block"]}",a,native,time,1,s,lower,no,"{cells["source"]}"\n'
        "2,a,podman,time,1,s,lower,yes,\n".encode()
    )
    said = refused(file)
    assert "not one line of text" in said or "control character" in said


@pytest.mark.parametrize("unit", ["=1+1", "+1", "-1", "@SUM(A1)", "s\tx"])
def test_a_unit_is_no_formula(tmp_path, refused, unit):
    file = tmp_path / "t.csv"
    file.write_text(f"{HEAD}\n1,a,native,time,1,{unit},lower\n1,a,podman,time,1,{unit},lower\n")
    assert "unit is " in refused(file)


@pytest.mark.parametrize("raw", ["/etc/passwd", "../secret", "link", "folder/../../secret"])
def test_raw_output_lies_below_the_table(tmp_path, refused, raw):
    folder = tmp_path / "mine"
    (folder / "folder").mkdir(parents=True)
    (tmp_path / "secret").write_text("secret\n")
    (folder / "link").symlink_to(tmp_path / "secret")
    file = folder / "t.csv"
    file.write_text(f"{HEAD},raw\n1,a,native,time,1,s,lower,{raw}\n1,a,podman,time,1,s,lower,\n")
    assert "is not below the folder of the table" in refused(file)


def test_two_raw_files_of_one_name_do_not_overwrite_each_other(tmp_path, refused):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "out.txt").write_text(name)
    rows = "".join(
        f"1,c,native,{metric},1,s,lower,{folder}/out.txt\n1,c,podman,{metric},1,s,lower,\n"
        for metric, folder in (("x", "a"), ("y", "b"))
    )
    (tmp_path / "t.csv").write_text(f"{HEAD},raw\n{rows}")
    assert "two files of one run are called out.txt" in refused(tmp_path / "t.csv")


def test_ior_s_unit_is_the_one_it_prints(tmp_path, concluded):
    text = f"IOR-{IOR}".replace("bw(MiB/s)", "bw(GiB/s)")
    assert concluded(*of_runs(tmp_path, text))
    (archive,) = (tmp_path / "archive").iterdir()
    assert set(analysed(archive).analysis.comparisons["unit"]) == {"GiB/s"}
