"""A factor crossed with the container, the ladder, and what Spack provides: drawn and said."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
import pytest
import synthetic
from figure_help import drawn, texts, words_apart
from plans import plan_of

from parity.analysis import conclusions, outcomes
from parity.benchmarks.description import Form
from parity.report.figures import figures, specs, style
from parity.report.tables import results
from parity.report.view import View

SPECS = {spec.name: spec for spec in specs.FIGURES}
LINKED, ABSENT = "sysbench-libaio-linked", "sysbench-libaio-absent"
REST = ("npb-1x2-cg", "npb-1x2-ep", "ior-own", "mpip-cg")
# Each study that Spack makes possible, with its figures.
STUDIES = {
    "hpcg": (synthetic.hpcg_plan, {"hpcg", "stream"}),
    "libaio": (synthetic.libaio_plan, {"sysbench-libaio", "libaio"}),
    "ladder": (synthetic.ladder_plan, {"hpcg", "ladder"}),
    "rest": (partial(synthetic.spack_plan, "rest", REST), {"npb", "files", "mpi-time"}),
}


def view_of(folder: Path, study: str, blocks: int = 30, **plants: Any) -> View:
    return synthetic.view(folder / f"live/machine-{study}", STUDIES[study][0](blocks), **plants)


@pytest.mark.parametrize("blocks", [3, 30])
@pytest.mark.parametrize("study", list(STUDIES))
def test_every_such_study_can_be_drawn(tmp_path: Path, study: str, blocks: int) -> None:
    view = view_of(tmp_path, study, blocks, absent={"lxc": "needs root"})
    made = drawn(view)
    assert made.keys() == STUDIES[study][1] | {specs.OVERVIEW}
    assert [name for name, figure in made.items() if not words_apart(figure)] == []


def effect(view: View, name: str, arm: str) -> Any:
    found = view.crossed(SPECS["libaio"])
    (row,) = found[(found["effect"] == name) & (found["arm"] == arm)].itertuples(index=False)
    return row


def test_a_library_is_told_from_a_container(tmp_path: Path) -> None:
    plants = {"block_spread": 0.02, "effects": {(LINKED, "podman"): 1.03},
              "confounded": ((LINKED, "docker"),)}  # fmt: skip
    view = view_of(tmp_path, "libaio", **plants)
    for arm in ("native-a", "native-b", "docker"):
        library = effect(view, conclusions.LEVEL, arm)
        assert library.low95 < 1.038 / 1.02 < library.high95 or arm == "native-b"
        assert (library.low, library.high, library.outcome) == ("absent", "linked", "different")
    docker, podman = (effect(view, conclusions.INTERACTION, arm) for arm in ("docker", "podman"))
    assert (docker.outcome, docker.identity) == (outcomes.EQUIVALENT, "libraries differ")
    assert podman.outcome == outcomes.DIFFERENT
    assert podman.estimate == pytest.approx(1.03, abs=0.005)
    overall = effect(view, conclusions.ARM_OVERALL, "podman").estimate
    assert overall == pytest.approx(1.03**0.5, abs=0.004)
    assert "dotted: Torrez et al. 2019" in texts(figures.draw(view, SPECS["libaio"]))


def test_a_library_that_differs_in_the_pair_is_no_finding(tmp_path: Path) -> None:
    view = view_of(tmp_path, "libaio", effects={(LINKED, "native-b"): 1.1})
    for arm in ("native-a", "docker"):
        row = effect(view, conclusions.LEVEL, arm)
        assert (row.outcome, row.reason) == (outcomes.INCONCLUSIVE, "A/A pair differs")
    assert effect(view, conclusions.INTERACTION, "native-b").outcome == outcomes.DIFFERENT


def test_only_words_are_levels_and_an_arm_without_values_has_no_effect(tmp_path: Path) -> None:
    assert conclusions.crossings(synthetic.plan(1)) == []
    assert conclusions.crossings(synthetic.hpcg_plan(1)) == []
    (found,) = conclusions.crossings(synthetic.libaio_plan(1))
    assert found.cases == (ABSENT, LINKED)
    view = view_of(tmp_path, "libaio", 3, absent={"lxc": "needs root"})
    row = effect(view, conclusions.INTERACTION, "lxc")
    assert (row.blocks, row.outcome) == (0, outcomes.TOO_FEW_BLOCKS)


def test_a_step_is_held_against_the_step_before(tmp_path: Path) -> None:
    above = {("hpcg-1x1", f"ladder-{rung}"): 1.08 for rung in ("seccomp", "squashfs")}
    plants = {"effects": {**above, ("hpcg-1x1", "docker"): 1.09},
              "absent": {"ladder-net": "needs root"}, "block_spread": 0.02}  # fmt: skip
    view = view_of(tmp_path, "ladder", **plants)
    steps = view.steps("hpcg-1x1", "rate")
    before = {"ladder-cgroup": "native-a", "native-b": "native-a", "ladder-mount": "ladder-cgroup",
              "ladder-seccomp": "ladder-user",  # +net has no value
              "docker": "ladder-squashfs", "lxc": "ladder-squashfs"}  # fmt: skip
    assert {arm: steps[arm].before for arm in before} == before
    seccomp, net = steps["ladder-seccomp"], steps["ladder-net"]
    assert seccomp.estimate == pytest.approx(1.08, abs=0.01)
    assert seccomp.outcome == outcomes.DIFFERENT
    assert steps["ladder-squashfs"].outcome == outcomes.EQUIVALENT
    assert steps["docker"].estimate == pytest.approx(1.09 / 1.08, abs=0.01)
    assert (net.outcome, net.reason) == (outcomes.NOT_TESTED, "needs root")
    assert ("HPCG: 1 node", "+seccomp", "+user") in {row[:3] for row in results.steps(view).rows}


def test_a_ladder_that_adds_nothing_says_how_far_it_is_from_the_published_range(tmp_path) -> None:
    view = view_of(tmp_path, "ladder")
    rungs = conclusions.rungs(view.plan, view.arms)
    order = conclusions.ladder_order(view.plan, view.arms)
    assert order[:2] == ["native-a", "native-b"] and order[2 : 2 + len(rungs)] == rungs
    figure = figures.draw(view, SPECS["ladder"])
    assert "tinted: 8 % to 10 %, Medeiros et al. 2024" in texts(figure)


def test_a_study_without_a_ladder_says_so(tmp_path: Path) -> None:
    view = view_of(tmp_path, "hpcg", 2)
    assert view.shown(SPECS["ladder"]) == []
    assert "no arm of the ladder" in figures.missing(view, SPECS["ladder"])
    assert view.form(SPECS["hpcg"]) is Form.PANELS


def test_link_sets_of_a_runtime_look_alike_and_differ() -> None:
    arms = ("docker", "docker-shared-tree", "docker-host-mpi", "podman")
    runtimes = {arm: arm.partition("-")[0] for arm in arms}
    looks = style.arm_styles(plan_of({"arms": list(arms), "arm_runtimes": runtimes}))
    of_docker = [looks[arm] for arm in arms[:3]]
    assert len({look.marker for look in of_docker}) == 1
    assert len({(look.colour, look.hollow) for look in of_docker}) == 3
    assert looks["docker"] == style.arm_styles(synthetic.plan(1))["docker"]


def test_an_arm_that_a_case_leaves_out_is_said_to_be_no_part_of_it(tmp_path: Path) -> None:
    def kept(each: Any) -> bool:
        return (each.case, each.arm) != ("stream", "docker")

    whole = synthetic.hpcg_plan(3)
    blocks = tuple(msgspec.structs.replace(block, runs=tuple(filter(kept, block.runs)))
                   for block in whole.blocks)  # fmt: skip
    comparisons = tuple(filter(kept, whole.comparisons))
    plan = msgspec.structs.replace(whole, blocks=blocks, comparisons=comparisons)
    view = synthetic.view(tmp_path, plan)
    assert "Docker" not in texts(figures.draw(view, SPECS["stream"]))
    assert view.absence("stream", "docker") == "not planned"
    # Why its runs failed goes before why there are no more of them.
    lost = {"case": "stream", "arm": "podman", "stage": "ran"}
    rows = [lost | {"reason": why, "runs": runs} for why, runs in
            (("unparsable", 1), ("stopped-time", 9))]  # fmt: skip
    left = replace(view, analysis=replace(view.analysis, losses=pd.DataFrame(rows)))
    assert left.absence("stream", "podman") == "no valid run: unparsable"
    assert "docker" not in view.comparisons("stream", "copy")
