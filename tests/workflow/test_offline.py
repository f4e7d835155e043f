"""The archive: drawn without network, the same bytes twice, and refused when it was changed."""

import filecmp
import re
from pathlib import Path

import pytest
import yaml
from clones import OFFLINE, called, refused, succeeded

from parity.core.files import digest

ROOT = Path(__file__).parents[2]
ARCHIVE = (
    Path("results/archive") / yaml.safe_load((ROOT / "config/config.yaml").read_text())["archive"]
)
ARCHIVES = sorted(path.name for path in (ROOT / "results/archive").iterdir() if path.is_dir())
# With AVX-512 numpy rounds otherwise, which moves a letter of a figure by less than a pixel.
# Processors without it ignore these words.
ALIKE = (*OFFLINE, "env", "NPY_DISABLE_CPU_FEATURES=X86_V4 AVX512_ICL AVX512_SPR")


@pytest.fixture(scope="module")
def drawn(new_clone) -> tuple[Path, Path, str]:
    """All archives drawn in one clone, the configured one in another, and what was printed."""
    first, second = new_clone(), new_clone()
    said = succeeded(first, "figures", within=ALIKE)
    # Figures and tables are made with the list of what is not drawn, and stand in folders.
    files = [name for name in _made(first) if "/figures/" not in name and "/tables/" not in name]
    succeeded(second, *files, f"{ARCHIVE}/not-drawn.txt", within=ALIKE)
    return first, second, said


def _made(folder: Path) -> dict[str, str]:
    """The digests of what was made of the archive; to tell where bytes differ takes minutes."""
    parts = ("figures/*", "tables/*", "analysis/*", "numbers.tex", "summary.txt")
    paths = sorted(path for part in parts for path in (folder / ARCHIVE).glob(part))
    return {str(path.relative_to(folder)): digest(path) for path in paths}


def test_drawing_twice_gives_the_same_bytes_and_reading_again_the_same_records(drawn) -> None:
    first, second, said = drawn
    made = _made(first)
    assert len([name for name in made if name.endswith(".pdf")]) >= 6
    assert made == _made(second)
    for words in ("seed 20191118", "Ledger", "A/A pair: native-b against native-a"):
        assert words in said
    assert f"of {len(ARCHIVES)} datasets; this is {ARCHIVE.name}" in said
    said = succeeded(second, "reparse", within=OFFLINE)
    assert said.count("parsed again, the same bytes") == len(ARCHIVES)


def test_the_figure_of_the_readme_is_the_archive_s_own(drawn) -> None:
    overview = drawn[0] / ARCHIVE / "figures/overview.png"
    assert filecmp.cmp(overview, ROOT / "docs/overview.png", shallow=False), (
        "draw the archive and copy figures/overview.png to docs/"
    )


@pytest.mark.parametrize("name", ARCHIVES)
def test_every_archive_is_small_and_drawn(drawn, name: str) -> None:
    made = drawn[0] / "results/archive" / name
    assert sum(path.stat().st_size for path in (made / "records").iterdir()) < 30e6
    # Where nothing has a margin the list of what is not drawn says so.
    is_drawn = (made / "figures/overview.pdf").exists()
    assert is_drawn != ("overview: " in (made / "not-drawn.txt").read_text())
    assert (made / "summary.txt").exists()


def test_figures_that_stand_for_published_ones_are_drawn_of_the_archives_beside_them(drawn) -> None:
    text = (ROOT / "docs/reproduce.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ")][2:]
    named = [[re.findall(r"`([^`]+)`", cell) for cell in row[2:4]] for row in rows]
    assert any(figures for figures, _ in named)
    for figures, archives in filter(any, named):
        there = {
            name: {figure for figure in figures if _is_drawn(drawn[0], name, figure)}
            for name in archives
        }
        assert all(there.values()), there
        assert set().union(*there.values()) == {*figures}


def _is_drawn(clone: Path, archive: str, figure: str) -> bool:
    return (clone / f"results/archive/{archive}/figures/{figure}.png").exists()


def test_the_answer_of_any_archive_is_printed_first_and_once(drawn) -> None:
    other = next(name for name in ARCHIVES if name != ARCHIVE.name)
    call = called(drawn[0], "figures", "--config", f"archive={other}", within=OFFLINE)
    assert call.status == 0, call.stderr
    answer, *others, where = call.stdout.strip().split("\n\n")
    summary = (drawn[0] / f"results/archive/{other}/summary.txt").read_text()
    assert answer == summary.split("\n\n")[0] and answer not in others
    assert where == f"results/archive/{other}/figures"
    # Nothing but where it comes from stands before it.
    assert len(call.stderr.splitlines()) <= 3, call.stderr


def test_who_asks_to_be_shown_what_was_not_measured_measures_nothing(new_clone) -> None:
    clone = new_clone()
    said = refused(clone, "figures", "--config", "data=live", within=OFFLINE)
    assert "nothing was measured in this folder yet" in said and "results/live/" in said
    assert not (clone / "results/live").exists() and not [*clone.glob(".snakemake/locks/*")]
    live = re.search(r"results/live/\S+", said)[0]
    succeeded(clone, f"{live}/plan.json", within=OFFLINE)
    said = refused(clone, "figures", "--config", "data=live", within=OFFLINE)
    assert "nothing was measured in this folder yet" in said
    assert not (clone / "results/blocks").exists()


def test_figures_of_one_archive_draw_no_other_one_and_work_where_a_path_has_a_space(
    new_clone,
) -> None:
    folder = new_clone()
    folder = folder.rename(folder.with_name("a clone of mine"))
    guests, words = "epyc2-guests-2026-11-22", ("--config", "archive=epyc2-guests-2026-11-22")
    call = called(folder, "figures", *words, within=OFFLINE)
    assert call.status == 0 and call.stdout.strip().endswith(f"{guests}/figures"), call.said
    drawn = [path.parent.name for path in folder.glob("results/archive/*/summary.txt")]
    assert drawn == [guests]
    dashboard = succeeded(folder, "-n", "dashboard", *words)
    assert all(f"results/archive/{name}/" in dashboard for name in ARCHIVES)


@pytest.mark.parametrize("name", ["records/raw.parquet", "plan.json"])
def test_a_tampered_archive_is_refused_by_name(new_clone, name) -> None:
    folder = new_clone()
    path = folder / ARCHIVE / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    # Of this archive alone: `figures` would first draw the others, which are whole.
    assert name in refused(folder, f"{ARCHIVE}/figures", f"{ARCHIVE}/summary.txt", within=OFFLINE)
    assert not (folder / ARCHIVE / "figures/overview.pdf").exists()


def test_a_paper_tells_of_all_archives_or_of_the_one_that_is_named() -> None:
    name = "epyc3-applications-2026-11-23"
    said = (
        succeeded(ROOT, "-n", "-F", *words, "--", "paper")
        for words in ((), ("--config", f"archive={name}"))
    )
    every, one = (re.findall(r"rule (build_paper\w*):\n +input: (.*)\n", of) for of in said)
    ((rule, given),), ((alone, _),) = every, one
    assert (rule, alone) == ("build_paper", "build_paper_of_dataset")
    told = set(re.findall(r"/([^/ ]+)/analysis/conclusions\.parquet", given))
    assert told == {*ARCHIVES}


def test_the_paper_of_all_archives_is_set_and_nothing_runs_into_its_margins(drawn) -> None:
    succeeded(drawn[0], "paper", within=ALIKE)
    log = (drawn[0] / "results/paper/build_paper.log").read_text()
    # TeX reads its own references in the last of several passes. 3 pt are a millimetre.
    last = log.rpartition("This is pdfTeX")[2]
    assert "Output written on main.pdf" in last and "undefined" not in last
    too_wide = re.findall(r"Overfull \\hbox \(([0-9.]+)pt too wide\)", last)
    assert all(float(points) < 3 for points in too_wide), too_wide
