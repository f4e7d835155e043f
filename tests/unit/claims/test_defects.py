"""The arithmetic of the papers: what comes out, and that a changed number is noticed."""

import csv
import shutil
from pathlib import Path

import pytest

from parity.claims.defects import Defect, defects
from parity.core.errors import UserError
from parity.report.text import adjudication

PUBLISHED = Path(__file__).parents[3] / "config" / "published"


def planted(folder: Path, file: str, change: dict[str, str], **where: str) -> tuple[Defect, ...]:
    """The defects after the one row of `file` that is `where` was changed."""
    shutil.copytree(PUBLISHED, folder, dirs_exist_ok=True)
    with (PUBLISHED / file).open(newline="", encoding="utf-8") as source:
        rows = list(csv.DictReader(source))
    found = [row for row in rows if where.items() <= row.items()]
    assert len(found) == 1, where
    found[0].update(change)
    with (folder / file).open("w", newline="", encoding="utf-8") as target:
        writer = csv.DictWriter(target, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return defects(folder)


def one(found: tuple[Defect, ...], study: str, place: str, word: str) -> Defect:
    """The only one of this study and place whose text has the word."""
    [defect] = [d for d in found if (d.study, d.place) == (study, place) and word in d.sentence]
    return defect


def test_what_comes_out_of_the_papers() -> None:
    found = defects(PUBLISHED)
    failing = [(defect.study, defect.says) for defect in found if not defect.holds]
    assert failing == [
        ("torrez2019", "1,024 nodes are 36,864 nodes"),
        ("torrez2019", "arrays of 2 billion elements match 4 times the cache"),
        ("torrez2019", "60 s per run, valid"),
        ("torrez2019", "36 ranks of 1,124,864 equations"),
        ("ruiz2015", "gains of 1577 and 22 % from one kernel to the next"),
        ("ruiz2015", "Linux 3.2 is slow with more than two containers"),
        ("ruiz2015", "20 waits of 0.2 s explain 180 %"),
        ("beserra2015", "3096 MB in every environment"),
        ("yildirim2021", "disk throughput with files of up to 8 GB"),
    ]
    assert len(found) == 17


@pytest.mark.parametrize(
    ("study", "place", "word", "gives"),
    [
        ("torrez2019", "IV-A, IV-C", "spreads", "0.07, 0.43 and 4.46 %"),
        ("torrez2019", "IV-C", "cores", "36,864 cores"),
        ("torrez2019", "III-E", "GB", "21.1 and 10.5 % of the memory"),
        ("torrez2019", "IV-D", "addition", "0.9 %"),
        ("ruiz2015", "Table 1", "beside", "54 agree with the times"),
        ("ruiz2015", "Table 1", "add up", "sums of 99 to 101 %"),
        (
            "ruiz2015",
            "4.2, Fig. 1a",
            "gain",
            "gains up to 3,239 and 20 %; the overheads of two containers are 1,578 and 23 %",
        ),
        ("ruiz2015", "4.2, Fig. 1a", "suffer", "+15, +1,578 and +3,932 % with 1, 2 and 4"),
        ("ruiz2015", "4.3, Fig. 2", "maximum", "+13.0, -11.9 and -4.9 % at 4, 8 and 16 ranks"),
        ("ruiz2015", "4.3", "several machines", "EP.B -6, LU.B -22, MG.C -15 %"),
        ("ruiz2015", "4.3, Table 1", "Communication", "6 of 6 codes"),
        ("ruiz2015", "4.4, Fig. 3", "waits", "4.0 of 7.2 s"),
        ("beserra2015", "IV-C, Table I", "memory", "3072 and 3072 MB in the divided ones"),
        ("levy2021", "slides, quota and period", "quotas", "below 1 ms: 10 % of 5 ms"),
    ],
)
def test_the_numbers_that_arithmetic_gives(study: str, place: str, word: str, gives: str) -> None:
    assert one(defects(PUBLISHED), study, place, word).gives == gives


@pytest.mark.parametrize(
    ("where", "value", "study", "word", "holds"),
    [
        ({"metric": "nodes_in_brackets"}, "1024", "torrez2019", "cores", True),
        ({"metric": "STREAM_ARRAY_SIZE"}, "0.05", "torrez2019", "cache", True),
        ({"metric": "run_time"}, "1800", "torrez2019", "HPCG ran", True),
        ({"metric": "local_dim"}, "192", "torrez2019", "ranks use", True),
        ({"metric": "spread", "runtime": "all"}, "5.4", "torrez2019", "spreads", False),
        (
            {"metric": "median_node_mem_added", "runtime": "charliecloud"},
            "4096",
            "torrez2019",
            "addition",
            False,
        ),
        ({"metric": "max_overhead_vs_SM"}, "15", "ruiz2015", "maximum", False),
        ({"metric": "timeouts_per_run"}, "36", "ruiz2015", "waits", True),
        ({"metric": "memory", "unit": "MB"}, "3072", "beserra2015", "memory", True),
        ({"metric": "w2_total"}, "256", "yildirim2021", "largest", True),
        ({"metric": "min_cfs_quota"}, "0.5", "levy2021", "quotas", False),
    ],
)
def test_a_changed_number_changes_the_outcome(
    tmp_path: Path, where: dict, value: str, study: str, word: str, holds: bool
) -> None:
    found = planted(tmp_path, "claims.csv", {"value": value}, **where)
    [defect] = [d for d in found if d.study == study and word in d.sentence]
    assert defect.holds is holds
    assert defect not in defects(PUBLISHED)


@pytest.mark.parametrize(
    ("where", "change", "word"),
    [
        (("Container", "cpu", "CG.B"), {"percent": "74"}, "beside"),
        (("Container", "cpu", "CG.B"), {"percent": "74"}, "add up"),
        (("Multinode", "cpu", "MG.C"), {"time_ms": "9000"}, "several machines"),
    ],
)
def test_a_changed_cell_of_table_1_is_noticed(
    tmp_path: Path, where: tuple[str, str, str], change: dict[str, str], word: str
) -> None:
    row = dict(zip(("configuration", "component", "benchmark"), where, strict=True))
    found = planted(tmp_path, "ruiz_table1.csv", change, **row)
    [defect] = [d for d in found if d.study == "ruiz2015" and word in d.sentence]
    assert not defect.holds


@pytest.mark.parametrize(
    ("where", "seconds", "word", "holds"),
    [
        # With a bar of half the height two containers are no trouble, and four are.
        (("Fig. 1a", "CG.B", "3.2", "2/node"), "8", "suffer", True),
        (("Fig. 2", "MG.C", "8", "container"), "20", "maximum", False),
        (("Fig. 3", "CG.B", "128", "container"), "8.1", "waits", True),
    ],
)
def test_a_changed_bar_of_a_figure_is_noticed(
    tmp_path: Path, where: tuple[str, ...], seconds: str, word: str, holds: bool
) -> None:
    row = dict(zip(("place", "benchmark", "x", "series"), where, strict=True))
    found = planted(tmp_path, "ruiz_figures.csv", {"seconds": seconds}, **row)
    [defect] = [d for d in found if d.study == "ruiz2015" and word in d.sentence]
    assert defect.holds is holds


def test_a_gain_is_what_containers_gain_beyond_native(tmp_path: Path) -> None:
    """Bars whose gains are the stated ones: 1577 % at most to 3.16, 22 % from there to 4.0."""
    bars = {
        "3.2": (1.0, 1.0, 1.0, 16.77),
        "3.16": (1.0, 1.0, 1.0, 1.0),
        "4.0": (1.0, 1.0, 1.0, 0.82),
    }
    shutil.copytree(PUBLISHED, tmp_path, dirs_exist_ok=True)
    rows = [
        f"Fig. 1a,f,CG.B,{kernel},{series},{seconds}"
        for kernel, each in bars.items()
        for series, seconds in zip(("native", "1/node", "2/node", "4/node"), each, strict=True)
    ]
    written = (PUBLISHED / "ruiz_figures.csv").read_text().splitlines()
    others = [line for line in written if not line.startswith("Fig. 1a")]
    (tmp_path / "ruiz_figures.csv").write_text("\n".join([*others, *rows]) + "\n")
    assert one(defects(tmp_path), "ruiz2015", "4.2, Fig. 1a", "gain").holds


def test_a_missing_bar_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no published number"):
        planted(tmp_path, "ruiz_figures.csv", {"place": "Fig. 9"}, x="128", series="container",
                benchmark="CG.B")  # fmt: skip


def test_communication_is_counted_code_by_code(tmp_path: Path) -> None:
    row = {"configuration": "Container", "component": "comm", "benchmark": "EP.B"}
    found = planted(tmp_path, "ruiz_table1.csv", {"time_ms": "143"}, **row)
    assert one(found, "ruiz2015", "4.3, Table 1", "Communication").gives == "5 of 6 codes"


def test_a_missing_number_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no published number"):
        planted(tmp_path, "claims.csv", {"metric": "other"}, metric="nodes_in_brackets")


def test_something_that_is_no_number_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a number"):
        planted(tmp_path, "claims.csv", {"value": "many"}, metric="nodes_in_brackets")


def test_the_table_of_the_paper() -> None:
    found = defects(PUBLISHED)
    table = adjudication.defects(found, dict.fromkeys((d.study for d in found), "they"))
    assert len(table.rows) == len(found)
    assert table.rows[1] == (
        "they",
        "IV-C",
        "1,024 nodes are 36,864 nodes",
        "36,864 cores",
        "no",
    )
