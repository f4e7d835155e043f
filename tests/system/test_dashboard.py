"""The dashboard in a real browser that has no network: from an answer down to one run.

Needs: Debian's chromium-headless-shell or chromium, which `make setup` installs as root.
Pictures of every view are left in results/dashboard-screenshots/ for people to look at.
"""

import json
import math
import os
import re
import shlex
import shutil
import socketserver
import subprocess
from collections.abc import Iterator
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sample_claims
from clones import succeeded
from playwright.sync_api import Browser, BrowserContext, Error, Page, expect, sync_playwright

from parity.analysis import analysis, dataset
from parity.claims.verdicts import Judgement
from parity.report import formatting
from parity.report.dashboard import page
from parity.report.view import View, origin_of, rows_of

pytestmark = [pytest.mark.system, pytest.mark.beside]
ROOT = Path(__file__).parents[2]
ARCHIVE = ROOT / "results/archive/machine-2026-11-20"
PICTURES = ROOT / "results/dashboard-screenshots"
BROWSERS = ("chromium-headless-shell", "chromium")
# A network namespace of its own, with no interface but a loopback that is down.
OFFLINE = ["unshare", "--net"] if os.getuid() == 0 else ["unshare", "--map-current-user", "--net"]
PHONE = {"width": 360, "height": 740}
WIDE = {"width": 1400, "height": 1000}
DATASET = f"archive/{ARCHIVE.name}"
DOCKER = f"docker/native-a/archive%2F{ARCHIVE.name}"
CELL = f"#/claim/linear/2/likwid-stream/bandwidth/{DOCKER}"
RUN = f"#/run/archive%2F{ARCHIVE.name}/torrez2019-machine-b0001-52231473/likwid-stream.docker/1"
COMPARED = "#/compared/docker/likwid-stream"
COMPARISON = f"#/comparison/archive%2F{ARCHIVE.name}/likwid-stream/bandwidth/docker"
VIEWS = {
    "start": "#/", "compared": COMPARED, "comparison": COMPARISON, "claim": "#/claim/linear",
    "cell": CELL, "run": RUN,
}  # fmt: skip
# A run of the second native that does not count: there the first one is the reference alone.
LEFT_OUT = {"dataset": DATASET, "block": "torrez2019-machine-b0001-52231473",
            "run": "hpcc.native-b", "reason": "left out by a test", "who": "a test",
            "date": "2026-11-21"}  # fmt: skip
# How many controls of a page have no name.
NAMELESS = """[...document.querySelectorAll("a, button, input, select, [role=img], [role=region]")]
.filter(each => !each.textContent.trim() && !each.ariaLabel && !each.labels?.length).length"""


@pytest.fixture(scope="module")
def view() -> View:
    held = dataset.load(ARCHIVE)
    return View(held, analysis.analyse(held, [LEFT_OUT]), origin_of(ARCHIVE), ARCHIVE)


@pytest.fixture(scope="module")
def address(view: View, tmp_path_factory) -> str:
    return _written(sample_claims.content(view), tmp_path_factory.mktemp("dashboard"))


def _written(content: page.Content, folder: Path) -> str:
    """The address of a dashboard that holds this."""
    page.write(content, folder / "dashboard.html")
    return (folder / "dashboard.html").as_uri()


@pytest.fixture(scope="module")
def browser(tmp_path_factory) -> Iterator[Browser]:
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} is installed; `make setup` as root does it")
    if subprocess.run([*OFFLINE, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this user may not make a network namespace")
    start = tmp_path_factory.mktemp("browser") / "offline-browser"
    start.write_text(f'#!/bin/sh\nexec {shlex.join([*OFFLINE, program])} "$@"\n')
    start.chmod(0o755)
    # Chromium refuses to make its sandbox as root; the page is our own, and there is no network.
    words = ["--no-sandbox"] if os.getuid() == 0 else []
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=start, args=words)
        yield made
        made.close()


@pytest.fixture()
def context(browser: Browser, request) -> Iterator[BrowserContext]:
    """A window of the browser; every test ends with a look at what it asked for and said."""
    look = {"viewport": {"width": 1280, "height": 900}} | getattr(request, "param", {})
    made = browser.new_context(**look, reduced_motion="reduce", offline=True)
    made.set_default_timeout(10_000)
    asked, said = [], []
    made.on("request", lambda request: asked.append(request.url))
    made.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
    made.on("weberror", lambda error: said.append(str(error.error)))
    yield made
    made.close()
    assert asked and not [url for url in asked if not url.startswith("file:")]
    assert not said


def _open(context: BrowserContext, address: str, hash_: str = "") -> Page:
    opened = context.new_page()
    opened.goto(address + hash_)
    opened.locator("main h1").wait_for()
    return opened


def _picture(opened: Page, tmp_path: Path, name: str) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    opened.screenshot(path=tmp_path / f"{name}.png", full_page=True)
    shutil.copy(tmp_path / f"{name}.png", PICTURES)


def _expect_claims(opened: Page, *claims: str) -> None:
    """Wait until these claims, and no others, are listed in this order."""
    opened.wait_for_function(
        """claims => [...document.querySelectorAll(".claims h3 a")].map(link => link.hash).join()
        === claims.map(claim => `#/claim/${claim}`).join()""",
        arg=list(claims),
    )


def test_neither_the_browser_nor_the_page_has_a_network(browser: Browser, address: str) -> None:
    with socketserver.TCPServer(("127.0.0.1", 0), socketserver.BaseRequestHandler) as server:
        here = f"http://127.0.0.1:{server.server_address[1]}/"
        opened = browser.new_page()
        with pytest.raises(Error, match="ERR_"):
            opened.goto(here)
        opened.close()
        # The page would not even try: its own policy forbids it.
        said = []
        opened = browser.new_page()
        opened.on("console", lambda message: said.append(message.text))
        opened.goto(address)
        opened.evaluate("here => fetch(here).catch(() => {})", here)
        assert "Content Security Policy" in said[0]
        opened.close()


def test_claims_are_filtered_and_the_address_keeps_the_filter(context, address) -> None:
    opened = _open(context, address)
    expect(opened.locator(".claims li")).to_have_count(7)
    opened.get_by_role("combobox", name="Study").select_option("second2021")
    _expect_claims(opened, "memory", "start", "kernel")
    opened.get_by_role("combobox", name="Kind").select_option("magnitude")
    _expect_claims(opened, "memory")
    opened.get_by_role("button", name="Clear").click()
    opened.get_by_role("combobox", name="Verdict").select_option("not-tested")
    _expect_claims(opened, "kernel", "hostile")
    opened.get_by_role("searchbox", name="Search").fill("KERNEL not")
    _expect_claims(opened, "kernel")
    expect(opened.locator(".found-claims")).to_have_text("1 of 7 claims")
    again = _open(context, opened.url)
    _expect_claims(again, "kernel")
    again.get_by_role("list", name="Verdicts").get_by_role("link", name="order ok").click()
    _expect_claims(again, "memory")


def test_a_text_of_the_data_is_never_markup(context: BrowserContext, address: str) -> None:
    opened = _open(context, address, "#/claim/hostile")
    expect(opened.get_by_role("heading", level=1)).to_have_text(f"A claim {sample_claims.HOSTILE}")
    assert opened.title() == "hostile · Parity"


def test_from_a_claim_to_a_run_and_back(context, address, view) -> None:
    opened = _open(context, address)
    opened.get_by_role("link", name="claim linear takes").click()
    expect(opened.locator(".facts").first).to_contain_text("HPL for HPCG")
    cells = opened.get_by_role("region", name="Cells of test 2")
    found = view.comparisons("likwid-stream", "bandwidth")["docker"]
    row = cells.get_by_role("row").filter(has_text="Docker")
    expect(row).to_contain_text(f"{found.estimate:.3f} [{found.low95:.3f}, {found.high95:.3f}]")
    row.get_by_role("link", name="Docker").click()
    blocks = opened.get_by_role("region", name="Blocks of Docker")
    expect(blocks.locator("tbody tr")).to_have_count(found.blocks)
    for line, pair in zip(_blocks(opened), _pairs(view, "likwid-stream", "bandwidth"), strict=True):
        value, *others = map(float, [*line.values()][1:6])
        natives, ratios = others[:2], others[2:]
        assert value == pytest.approx(pair.value, rel=1e-4)
        assert geometric_mean(natives) == pytest.approx(pair.reference_value, rel=1e-4)
        assert ratios == pytest.approx([native / value for native in natives], rel=1e-3)
    # Margin, interval, estimate and no cost at all: drawn where that is typical of these effects.
    effects = opened.locator(".panel").last
    expect(effects.locator("rect.band, rect.within, line.none")).to_have_count(4)
    ratio = pytest.approx(found.estimate, abs=6e-4)
    label = opened.get_by_role("img").first.get_attribute("aria-label")
    assert float(re.search(r"in all ([\d.]+)", label)[1]) == ratio
    blocks.locator("tbody tr").first.get_by_role("link").first.click()
    run = view.dataset.runs.query("run == 'likwid-stream.docker'").sort_values("block").iloc[0]
    kernel = view.dataset.nodes.query("fact == 'kernel'")["value"].iloc[0]
    for text in (run["image_digest"], run["binary_sha256"], run["started"][:10], "Memory", kernel):
        expect(opened.locator("main")).to_contain_text(text)
    command = opened.get_by_label("Exact command", exact=True).inner_text()
    assert shlex.split(opened.locator("pre.command").text_content()) == json.loads(run["command"])
    assert command.startswith("docker run")
    seen = opened.locator("details", has_text="What the process itself saw")
    seen.locator("summary").click()
    parts = (seen.locator(part).all_inner_texts() for part in ("dt", "dd"))
    told, whole = dict(zip(*parts, strict=True)), json.loads(run["evidence"])
    assert {"marker", "seccomp"} <= told.keys()
    # Of a namespace its number tells nobody anything.
    ours = {
        name: told.pop(name) for name in whole if name.startswith("namespace.") and name in told
    }
    assert (ours["namespace.mnt"], ours["namespace.user"]) == ("its own", "the node's")
    assert whole | told == whole
    opened.get_by_role("navigation").get_by_role("link", name="Docker").click()
    expect(opened.get_by_role("heading", level=1)).to_contain_text("Docker against Native A")
    opened.go_back()
    expect(opened.get_by_role("heading", level=2, name="Exact command")).to_be_visible()


def _lines(opened: Page, name: str) -> list[dict[str, str]]:
    """The lines of a table, each by the heads of its columns."""
    found = opened.get_by_role("region", name=name).evaluate(
        """region => [...region.querySelectorAll("tbody tr")].map(row =>
        [...region.querySelectorAll("th[scope=col]")].map((head, at) =>
          [head.innerText, row.cells[at].innerText]))"""
    )
    return [{head: " ".join(said.split()) for head, said in line} for line in found]


def _blocks(opened: Page) -> list[dict[str, str]]:
    """The lines of a cell's blocks."""
    return _lines(opened, "Blocks of ")


def _pairs(view: View, case: str, metric: str) -> list[Any]:
    """What Docker gave beside the reference, block by block."""
    wanted = "case == @case and metric == @metric and arm == 'docker'"
    return rows_of(view.analysis.pairs.query(wanted).sort_values("block"))


@pytest.mark.parametrize(("cell", "unit", "effect", "scale"), [
    ("compute/1/sysbench/time", " (s)", "Cost ratio to", None),
    ("linear/1/hpcc/hpl", " (Gflop/s)", "Cost ratio to", None),
    ("memory/1/memory/node_used_increment", " (MiB)", "Difference (MiB) from", 1),
    ("start/1/startup-cold/start_seconds", " (ms)", "Difference (ms) from", 1000),
])  # fmt: skip
def test_the_lines_of_a_cell_give_its_effects(context, address, view, cell, unit, effect, scale):
    lines = _blocks(_open(context, address, f"#/claim/{cell}/{DOCKER}"))
    effects = [f"{effect} Native {native}" for native in "AB"]
    arms = [arm + unit for arm in ("Docker", "Native A", "Native B")]
    assert list(lines[0]) == ["Block", *arms, *effects, "Counts"]
    numbers = {block.name: str(block.number) for block in view.plan.blocks}
    pairs = _pairs(view, *cell.split("/")[2:])
    of_block = {numbers[pair.block]: pair.effect for pair in pairs}
    assert {line["Counts"] for line in lines if line["Block"] in of_block} == {"yes"}
    assert {line["Counts"] for line in lines if line["Block"] not in of_block} <= {"no"}
    for number, planned in of_block.items():
        (line,) = (line for line in lines if line["Block"] == number)
        values = [float(line[head].replace("\N{MINUS SIGN}", "-")) for head in effects]
        if scale is None:
            assert geometric_mean(values) == pytest.approx(math.exp(planned), abs=6e-5)
        else:
            assert sum(values) / 2 == pytest.approx(scale * planned, rel=6e-3)


def test_a_native_that_does_not_count_in_a_block_takes_the_block_out(context, address) -> None:
    opened = _open(context, address, f"#/claim/linear/1/hpcc/hpl/{DOCKER}")
    first, *others = _blocks(opened)
    head = "Native B (Gflop/s)"
    assert first[head].endswith(" (does not count)") and first["Counts"] == "no"
    assert {first[f"Cost ratio to Native {native}"] for native in "AB"} == {"–"}
    assert not [line for line in others if "not count" in line[head]]
    # From the run of the second native the way leads back to the cell.
    rows = opened.get_by_role("region", name="Blocks of ").get_by_role("row")
    rows.nth(2).get_by_role("link").nth(2).click()
    expect(opened.get_by_role("heading", level=1)).to_contain_text("Native B, ")
    opened.get_by_role("navigation").get_by_role("link", name="Docker").click()
    expect(opened.get_by_role("heading", level=1)).to_contain_text("Docker against Native A")


def test_a_point_of_a_plot_leads_on(context: BrowserContext, address: str) -> None:
    opened = _open(context, address, COMPARISON)
    last = opened.locator(".panel").last.locator(".mark").last
    expect(last.locator("title")).to_contain_text("cost ratio to Native B, block 30: ")
    last.click()
    expect(opened).to_have_url(re.compile("#/run/archive%2F.*/torrez2019-machine-b0030"))


def _matrix(opened: Page) -> dict[tuple[str, str], str]:
    """What the cells of the matrix say, by the names of their line and their column."""
    lines = (list(line.items()) for line in _lines(opened, "Cost against the reference"))
    return {(name, head): said for (_, name), *cells in lines for head, said in cells}


def test_the_page_opens_with_every_planned_comparison(context, address, view) -> None:
    opened = _open(context, address)
    matrix = _matrix(opened)
    expect(opened.locator("h1 + div")).to_be_empty()
    runtimes = {"Native B (A/A)", "Apptainer", "Charliecloud", "Docker", "LXC", "Namespaces",
                "Podman"}  # fmt: skip
    assert {head for _, head in matrix} == runtimes
    assert len(matrix) == len(view.planned()) * len(runtimes)
    found = view.comparisons("likwid-stream", "bandwidth")["docker"]
    said = f"≤ at most {formatting.bound(found)} {found.estimate:.3f}"
    said += f" [{found.low95:.3f}, {found.high95:.3f}] n {found.blocks} · the same · ±2 %"
    assert matrix["likwid-bench stream; bandwidth", "Docker"] == said
    # Two variants of one runtime share a cell, which names the one that it shows.
    shared = matrix["likwid-bench stream; bandwidth", "Charliecloud"]
    assert "· directory also 1 at most" in shared or "· SquashFS also 1 at most" in shared
    assert matrix["Start-up cold; start-up time", "Podman"].startswith("○ no margin ")


def test_an_answer_is_found_by_its_words_and_leads_to_a_run(context: BrowserContext, address: str):
    opened = _open(context, address)
    opened.get_by_role("searchbox").fill("stream docker")
    assert set(_matrix(opened)) == {
        ("likwid-bench stream; bandwidth", head) for head in ("Native B (A/A)", "Docker")
    }
    _expect_claims(opened, "linear")
    opened.get_by_role("link", name="at most").last.click()
    expect(opened).to_have_url(re.compile(f"{re.escape(COMPARED)}$"))
    opened.get_by_text("other number of the same runs").click()
    expect(opened.get_by_role("region", name="Other numbers")).to_be_visible()
    against = opened.get_by_role("region", name="against the reference")
    against.get_by_role("link", name="Docker").click()
    expect(opened).to_have_url(re.compile(f"{re.escape(COMPARISON)}$"))
    opened.locator("tbody td a").first.click()
    expect(opened.get_by_role("heading", level=2, name="Exact command")).to_be_visible()
    opened.get_by_role("navigation").get_by_role("link", name="Start").click()
    expect(opened.get_by_role("searchbox")).to_have_value("stream docker")


def test_a_native_that_differs_from_itself_stands_above_all(context, view, tmp_path) -> None:
    made = sample_claims.content(view)
    (archive,) = made.archives
    of = archive.comparisons
    for place, case in enumerate(of["case"]):
        if case == "likwid-copy" and of["planned"][place]:
            of["control"][place] = "different"
        if case == "likwid-stream" and of["arm"][place] == "docker":
            of["identity"][place] = "libraries differ"
    opened = _open(context, _written(made, tmp_path))
    alarm = opened.locator("h1 + div")
    expect(alarm).to_contain_text("The reference differs from itself in 1 case")
    expect(alarm.get_by_role("link")).to_have_text([re.compile("^likwid-bench: copy, bandwidth")])
    _picture(opened, tmp_path, "light-alarm")
    matrix = _matrix(opened)
    marked = {line for (line, _), said in matrix.items() if "A/A fails" in said}
    assert marked == {"likwid-bench copy; bandwidth"}
    confounded = [key for key, said in matrix.items() if "confounded: libraries differ" in said]
    assert confounded == [("likwid-bench stream; bandwidth", "Docker")]
    # It stays there whatever is searched.
    opened.get_by_role("searchbox").fill("triad docker")
    expect(alarm).to_contain_text("The reference differs from itself")


@pytest.mark.parametrize("context", [{"viewport": WIDE}, {"viewport": PHONE}], indirect=True)
def test_no_table_is_cut_without_a_hint(context: BrowserContext, address: str) -> None:
    for hash_ in VIEWS.values():
        opened = _open(context, address, hash_)
        opened.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        tables = opened.locator("main .scroll")
        for number in range(tables.count()):
            cut = tables.nth(number).evaluate("each => each.scrollWidth > each.clientWidth")
            assert not (cut and opened.viewport_size == WIDE)
            hint = tables.nth(number).locator("xpath=preceding-sibling::p")
            expect(hint).to_be_visible() if cut else expect(hint).to_be_hidden()
        opened.close()


def _tab_to(opened: Page, what: str, most: int = 60) -> None:
    """Press Tab until an element that matches has the focus, and see that it shows it."""
    for _ in range(most):
        opened.keyboard.press("Tab")
        if opened.evaluate("what => document.activeElement.matches(what)", what):
            style = "getComputedStyle(document.activeElement)"
            assert opened.evaluate(f"{style}.outlineStyle") == "solid"
            assert opened.evaluate(f"parseFloat({style}.outlineWidth)") >= 2
            return
    raise AssertionError(f"Tab does not come to {what}")


def test_all_of_it_works_with_the_keyboard_alone(context, address, tmp_path) -> None:
    opened = _open(context, address)
    _tab_to(opened, ".skip", most=1)
    opened.keyboard.press("Enter")
    _tab_to(opened, "input[type=search]", most=1)
    opened.keyboard.type("linear")
    _expect_claims(opened, "linear")
    _tab_to(opened, ".claims a")
    _picture(opened, tmp_path, "light-focus")
    opened.keyboard.press("Enter")
    expect(opened.get_by_role("heading", level=1)).to_be_focused()
    _tab_to(opened, ".cells a")
    opened.keyboard.press("Enter")
    expect(opened.get_by_role("heading", level=1)).to_be_focused()
    _tab_to(opened, "tbody a")
    opened.keyboard.press("Enter")
    expect(opened.get_by_role("heading", level=2, name="Exact command")).to_be_visible()
    _tab_to(opened, "summary")
    opened.keyboard.press("Enter")
    expect(opened.locator("main details[open]")).to_have_count(1)


def _luminance(colour: str) -> float:
    """Relative luminance of `rgb(r, g, b)` or `color(srgb r g b)` (WCAG 2.2, definitions)."""
    whole = 1 if colour.startswith("color") else 255
    parts = [float(part) / whole for part in re.findall(r"[\d.]+", colour)[:3]]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def _contrasts(opened: Page) -> dict[str, float]:
    """Contrast of all visible texts with what is behind them, the smallest for each colour."""
    found = opened.evaluate(
        """() => [...document.querySelectorAll("body *:not(svg *)")].filter(each => each.checkVisibility()
          && [...each.childNodes].some(child => child.nodeType === 3 && child.textContent.trim())).map(each => {
            let behind = each;
            while (getComputedStyle(behind).backgroundColor === "rgba(0, 0, 0, 0)") behind = behind.parentElement;
            return [getComputedStyle(each).color, getComputedStyle(behind).backgroundColor];
          })"""  # noqa: E501
    )
    contrasts = {}
    for pair in found:
        low, high = sorted(map(_luminance, pair))
        contrasts[" on ".join(pair)] = (high + 0.05) / (low + 0.05)
    return contrasts


@pytest.mark.parametrize(
    "context", [{"color_scheme": "light"}, {"color_scheme": "dark"}, {"viewport": PHONE}],
    ids=["light", "dark", "phone"], indirect=True,
)  # fmt: skip
def test_every_view_is_readable_and_names_its_controls(context, address, tmp_path, request) -> None:
    look = request.node.callspec.id
    for name, hash_ in VIEWS.items():
        opened = _open(context, address, hash_)
        _picture(opened, tmp_path, f"{look}-{name}")
        # Nothing but a table of its own may be wider than the screen.
        width = opened.evaluate("document.documentElement.scrollWidth")
        assert width <= opened.viewport_size["width"]
        for pair, contrast in _contrasts(opened).items():
            assert contrast >= 4.5, f"{name}: {pair}"
        assert opened.get_by_role("heading", level=1).count() == 1
        assert opened.evaluate(NAMELESS) == 0
        ink = opened.evaluate("getComputedStyle(document.body).color")
        assert (_luminance(ink) > 0.5) == (look == "dark")
        opened.close()


@pytest.fixture(scope="module")
def made(clone: Path) -> Path:
    """The archive's own dashboard, made without a network."""
    path = clone / "results/claims/dashboard.html"
    said = succeeded(clone, "dashboard", within=OFFLINE)
    assert f"{path.stat().st_size / 1e6:.1f} MB" in said
    assert path.stat().st_size < 3_000_000  # small enough to send
    return path


def test_every_claim_of_the_archives_opens_and_leads_to_a_run(context, made, tmp_path) -> None:
    opened = _open(context, made.as_uri())
    folders = sorted((made.parents[1] / "archive").glob("*/claims"))
    folders.sort(key=lambda folder: folder.parent.name != ARCHIVE.name)
    judged = page.on_all_systems([Judgement.read(each) for each in folders])
    assert 1 < judged.verdicts["judged"].nunique() <= len(folders)
    leading = set(judged.evidence.loc[judged.evidence["case"] != "", "claim"])
    known = judged.verdicts["claim"].drop_duplicates()
    # What each claim is on the systems that test it.
    rows = judged.verdicts[judged.verdicts["verdict"] != "not-tested"]
    tested = rows.groupby("claim")["verdict"].agg(set).to_dict()
    verdicts = {claim: tested.get(claim, {"not-tested"}) for claim in known}
    _expect_claims(opened, *sorted(known, key=lambda claim: verdicts[claim] == {"not-tested"}))
    for verdict in set().union(*verdicts.values()):
        count = sum(verdict in of_claim for of_claim in verdicts.values())
        expect(opened.locator(f".tally.verdict-{verdict} b")).to_have_text(str(count))
    _picture(opened, tmp_path, "archive-start")
    led = 0
    for claim, of_claim in verdicts.items():
        opened.evaluate("hash => { location.hash = hash; }", f"#/claim/{claim}")
        expect(opened.locator("main .path")).to_contain_text(claim)
        badges = opened.locator("main .claim-head .badge").all_inner_texts()
        said = {badge.split(" ", 1)[1] for badge in badges}
        assert said == {verdict.replace("-", " ") for verdict in of_claim}
        cells = opened.locator(".cells tbody th a")
        if not cells.count():
            assert of_claim == {"not-tested"}
            continue
        _picture(opened, tmp_path, f"archive-{claim}")
        cells.first.click()
        opened.locator("tbody td a").first.click()
        expect(opened.get_by_role("heading", level=2, name="Exact command")).to_be_visible()
        led += 1
    assert led == len(leading) > 0


def test_a_claim_is_told_of_each_system_that_tests_it(context, view, tmp_path) -> None:
    first = sample_claims.judgement(view)
    elsewhere = {"linear": "contradicted", "kernel": "supported"}
    rows = first.verdicts.assign(
        judged="archive/other", verdict=first.verdicts["claim"].map(elsewhere).fillna("not-tested")
    )
    both = sample_claims.content(view, Judgement(rows, first.evidence))
    opened = _open(context, _written(both, tmp_path))
    _expect_claims(opened, "compute", "linear", "memory", "start", "size", "kernel", "hostile")
    expect(opened.locator(".tally.verdict-contradicted b")).to_have_text("2")
    expect(opened.locator(".tally.verdict-not-tested b")).to_have_text("1")
    opened.get_by_role("combobox", name="Verdict").select_option("contradicted")
    _expect_claims(opened, "linear", "start")
    expect(opened.locator(".claims .claim").first).to_contain_text("contradicted other: ")
    opened.get_by_role("link", name="claim linear takes").click()
    heads = opened.get_by_role("heading", level=2)
    expect(heads).to_have_text(["Inconclusive on sample", "Contradicted on other"])
    expect(opened.get_by_role("region", name="Cells of test 2 on other")).to_be_visible()


def test_many_cases_are_told_by_benchmark(context: BrowserContext, made: Path) -> None:
    opened = _open(context, made.as_uri())
    opened.set_viewport_size(WIDE)
    found = opened.locator(".matrix")
    fits = "each => each.parentElement.scrollWidth <= each.parentElement.clientWidth"
    assert found.evaluate(fits)
    said = _matrix(opened)
    # The question of a visitor: is Apptainer slower than native for HPCG?
    assert re.match(
        r"≤ 8 at most 10 % ▲ 1 costs ▼ 1 saves 1\.00\d \[0\.99\d, 1\.01\d\] "
        r"7 the same · best known · n 30 · ±3 % · machine$",
        said["HPCG 8 cases", "Apptainer"].replace("\u2009", " "),
    )
    assert re.search(r"Ladder: \d at most", said["HPCG 8 cases", "Other arms"])
    line = opened.locator(".matrix tr", has_text="HPCG")
    line.get_by_role("link", name="8 at most").click()
    expect(opened.get_by_role("heading", level=1)).to_have_text("Apptainer, HPCG")
    rows = opened.get_by_role("region", name="HPCG rating against the reference")
    expect(rows.get_by_role("link", name="Apptainer")).to_have_count(10)


def test_a_cell_holds_a_runtime_as_offered_and_programs_of_people_come_first(context, made) -> None:
    opened = _open(context, made.as_uri())
    said = _matrix(opened)
    assert next(iter(said))[0].startswith(("GROMACS", "LAMMPS"))
    # Limits of CPU time, and networks, are no cost of the runtime that sets them.
    assert re.search(r"Podman, variants: .*\d+ cost", said["Selfish 2 cases", "Other arms"])
    assert "cost" not in said["Selfish 2 cases", "Podman"]
    opened.get_by_role("searchbox").fill("likwid singularity, likwid docker")
    heads = {head for _, head in _matrix(opened)}
    assert heads == {"Native B (A/A)", "Apptainer", "Docker"}
    opened.get_by_role("combobox", name="Not ruled out: more than").select_option("0.05")
    shown = set(_matrix(opened).values())
    with opened.expect_download() as downloaded:
        opened.get_by_role("button", name="Save as CSV").click()
    rows = pd.read_csv(downloaded.value.path())
    compared = rows[~rows["arm"].str.startswith("native")]
    assert shown and len(compared) and (compared["high90"].fillna(np.inf) > 1.05).all()
    assert set(compared["arm"]) <= {"apptainer", "docker"}


def test_there_is_one_count_of_costs(context: BrowserContext, made: Path) -> None:
    opened = _open(context, made.as_uri())
    rows = re.findall(
        r"^\| \S+ \| \S+ \| \d+ \| (\d+) ", (ROOT / "docs/answers.md").read_text(), re.M
    )
    said = f"{sum(map(int, rows))} costs of runtimes as a site offers them: "
    expect(opened.locator(".found-comparisons")).to_contain_text(said)


def test_the_page_holds_every_archive(context: BrowserContext, made: Path) -> None:
    archives = sorted(path.parent.name for path in (ROOT / "results/archive").glob("*/plan.json"))
    opened = _open(context, made.as_uri())
    opened.get_by_text(re.compile(f"^From {len(archives)} archives")).click()
    listed = opened.get_by_role("region", name="Archives on this page").locator("tbody th")
    expect(listed).to_have_text(archives)
    # HPCG was measured in several archives: its cell says how others ended, and leads to all.
    opened.get_by_role("searchbox").fill("hpcg-1x1 apptainer")
    assert re.search(r"also \d+ ", _matrix(opened)["HPCG 1 node; HPCG rating", "Apptainer"])
    opened.locator('.answer a[href$="/apptainer/hpcg-1x1"]').click()
    expect(opened.get_by_role("heading", level=2, name="HPCG rating")).to_be_visible()
    assert opened.locator(".cells tbody th a").count() > 1
