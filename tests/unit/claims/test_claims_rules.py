"""Each rule, on numbers with planted effects: for it, against it, and open."""

import math
from pathlib import Path

import claims_data as data
import numpy as np
import pytest

from parity.claims.rules.magnitude import compare
from parity.claims.rules.rank import tau


def judged(folder: Path, test: dict, values: dict, label: str = "vm", lines: str = "", **options):
    """The verdict of a claim with one test."""
    claim = data.claim(test, kind=options.pop("kind", "equivalence"))
    known = data.register(folder, claim, published=lines)
    return data.row(data.verdicts(known, data.dataset(values, label=label, **options)))


def test_equivalence(tmp_path: Path) -> None:
    test = data.test_of("equivalence", margin_percent=1)
    same = judged(tmp_path, test, data.quiet(box=1.002))
    assert (same.verdict, same.control, same.blocks, same.cells) == (
        "supported",
        "equivalent",
        30,
        1,
    )
    assert same.estimate == pytest.approx(1.002)
    assert same.margin == 0.01 and same.smallest_margin < 0.01
    assert judged(tmp_path, test, data.quiet(box=1.05)).verdict == "contradicted"
    near = judged(tmp_path, test, data.quiet(box=1.0095))
    assert near.verdict == "inconclusive"
    assert "would pass" in near.reason and near.smallest_margin > 0.01


def test_rates_are_turned_into_costs(tmp_path: Path) -> None:
    test = data.test_of("direction", expect="costs-more", smallest_effect_percent=5)
    slower = judged(tmp_path, test, data.quiet(box=0.8), better="higher", unit="GB/s")
    assert slower.verdict == "supported"
    assert slower.estimate == pytest.approx(1.25)


def test_group_equivalence_looks_at_every_pair(tmp_path: Path) -> None:
    test = data.test_of("group-equivalence", {"arms": "containers"}, margin_percent=1)
    assert judged(tmp_path, test, data.quiet(box=1.001, crate=0.999)).verdict == "supported"
    # Both are within 1 % of native, but not of each other.
    apart = judged(tmp_path, test, data.quiet(box=1.007, crate=0.993))
    assert (apart.verdict, apart.cells) == ("contradicted", 1)
    assert judged(tmp_path, test, data.quiet(box=1.05, crate=0.95)).verdict == "contradicted"


@pytest.mark.parametrize(
    "added, verdict", [(100.0, "supported"), (328.0, "inconclusive"), (900.0, "contradicted")]
)
def test_share_of_node(tmp_path: Path, added: float, verdict: str) -> None:
    # The node has 16 GiB, of which 2 % are 328 MiB.
    values = {
        ("spin", arm): list(2000 + extra + 4000 * data.noise(seed))
        for seed, (arm, extra) in enumerate(
            {"native-a": 0, "native-b": 0, "box": added, "crate": 0}.items()
        )
    }
    test = data.test_of("share-of-node", bound_percent=2)
    found = judged(tmp_path, test, values, unit="MiB")
    assert found.verdict == verdict
    assert found.estimate == pytest.approx(100 * added / 16384)
    assert judged(tmp_path, test, values, unit="s").verdict == "not-tested"


@pytest.mark.parametrize(
    "ratio, verdict",
    [
        (1.20, "supported"),
        (0.80, "contradicted"),  # the other way
        (1.001, "contradicted"),  # equivalent to nothing within the smallest effect
        (1.08, "inconclusive"),  # the right way, but less than what counts
    ],
)
def test_direction(tmp_path: Path, ratio: float, verdict: str) -> None:
    test = data.test_of("direction", expect="costs-more", smallest_effect_percent=10)
    values = data.quiet(box=ratio, spread=0.05 if ratio == 1.08 else 0.005)
    assert judged(tmp_path, test, values, kind="direction").verdict == verdict
    mirrored = data.test_of("direction", expect="costs-less", smallest_effect_percent=10)
    values = data.quiet(box=1 / ratio, spread=0.05 if ratio == 1.08 else 0.005)
    assert judged(tmp_path, mirrored, values, kind="direction").verdict == verdict


@pytest.mark.parametrize(
    "numbers, on_machine, on_cluster",
    [
        ((0.30, 0.28, 0.25, 0.31), "order-ok", "supported"),
        ((0.30, 0.22, 0.20, 0.24), "order-ok", "order-ok"),
        ((0.30, 0.05, 0.01, 0.09), "differs", "differs"),
        ((0.30, -0.20, -0.30, -0.10), "differs", "differs"),
        ((0.30, 0.14, -0.10, 0.40), "inconclusive", "inconclusive"),
        ((0.30, 0.90, 0.40, 1.40), "inconclusive", "inconclusive"),
        ((-0.30, -0.28, -0.31, -0.25), "order-ok", "supported"),
    ],
)
def test_a_published_effect_beside_ours(numbers, on_machine: str, on_cluster: str) -> None:
    assert compare(*numbers, cluster=False)[0] == on_machine
    assert compare(*numbers, cluster=True)[0] == on_cluster


@pytest.mark.parametrize("label, verdict", [("vm", "order-ok"), ("slurm", "supported"),
                                            ("virtual-cluster", "order-ok")])  # fmt: skip
def test_magnitude_is_supported_on_a_cluster_only(tmp_path: Path, label: str, verdict: str) -> None:
    test = data.test_of("magnitude", published="overhead/box", scale="ratio")
    lines = "one,s,b,box,1,overhead,30,percent,p\n"
    found = judged(tmp_path, test, data.quiet(box=1.3), label, lines, kind="magnitude")
    assert found.verdict == verdict
    assert found.estimate == pytest.approx(1.3)
    wrong = judged(tmp_path, test, data.quiet(box=1.05), label, lines, kind="magnitude")
    assert wrong.verdict == "differs"


def test_magnitude_of_a_difference_needs_the_same_unit(tmp_path: Path) -> None:
    test = data.test_of("magnitude", published="added/box", scale="difference")
    values = data.quiet() | {("spin", "box"): list(1.5 + data.noise(9))}
    for unit, verdict in (("MiB", "order-ok"), ("GiB", "not-tested")):
        lines = f"one,s,b,box,1,added,0.5,{unit},p\n"
        found = judged(tmp_path, test, values, "vm", lines, unit="MiB", kind="magnitude")
        assert found.verdict == verdict


@pytest.mark.parametrize(
    "spread, bound, verdict",
    [(0.01, 5, "supported"), (0.05, 5, "inconclusive"), (0.12, 5, "contradicted")],
)
def test_coefficient_of_variation(
    tmp_path: Path, spread: float, bound: float, verdict: str
) -> None:
    test = data.test_of("coefficient-of-variation", bound_percent=bound)
    values = data.quiet() | {("spin", "box"): data.around(1, 3, spread=spread)}
    found = judged(tmp_path, test, values, kind="dispersion")
    assert found.verdict == verdict
    assert found.estimate == pytest.approx(100 * math.sqrt(math.expm1(spread**2)))


def test_a_machine_that_scatters_by_itself_cannot_tell_what_a_container_adds(tmp_path) -> None:
    test = data.test_of("coefficient-of-variation", bound_percent=5)
    found = judged(tmp_path, test, data.quiet(spread=0.2), kind="dispersion")
    assert (found.verdict, found.control) == ("inconclusive", "different")


@pytest.mark.parametrize(
    "spread, ratio, less",
    [(0.005, "supported", "inconclusive"), (0.05, "contradicted", "contradicted"),
     (0.001, "supported", "supported")],
)  # fmt: skip
def test_ratios_of_scatter(tmp_path: Path, spread: float, ratio: str, less: str) -> None:
    values = data.quiet() | {("spin", "box"): data.around(1, 77, spread=spread)}
    test = data.test_of("spread-ratio", factor=2)
    assert judged(tmp_path, test, values, kind="dispersion").verdict == ratio
    test = data.test_of("less-variable", than="native-a")
    assert judged(tmp_path, test, values, kind="dispersion").verdict == less


def test_scatter_of_what_never_varies_is_open(tmp_path: Path) -> None:
    values = data.quiet() | {("spin", "box"): [1.0] * 30}
    found = judged(tmp_path, data.test_of("spread-ratio", factor=2), values)
    assert found.verdict == "inconclusive" and "does not vary" in found.reason


def levels(*ratios: float, along: str = "nodes", **options) -> tuple[dict, list[dict]]:
    """Values and cases of a factor with as many levels, and the ratio of `box` at each."""
    cases = [
        {"case": f"spin-{2**place}", "benchmark": "spin", "parameters": {along: 2**place}}
        for place in range(len(ratios))
    ]
    values = {}
    for case, ratio in zip(cases, ratios, strict=True):
        values |= data.quiet(case["case"], box=ratio, **options)
    return values, cases


@pytest.mark.parametrize(
    "ratios, trend, slope",
    [
        ((1.0, 1.1, 1.2, 1.3), "supported", "contradicted"),
        ((1.3, 1.2, 1.1, 1.0), "contradicted", "contradicted"),
        ((1.0, 1.0, 1.0, 1.0), "inconclusive", "supported"),
        ((1.0, 1.1), "not-tested", "not-tested"),
    ],
)
def test_along_a_factor(tmp_path: Path, ratios, trend: str, slope: str) -> None:
    values, cases = levels(*ratios)
    test = data.test_of("trend", along="nodes", expect="rising")
    assert judged(tmp_path, test, values, cases=cases, kind="direction").verdict == trend
    test = data.test_of("slope", along="nodes", margin_percent=1)
    assert judged(tmp_path, test, values, cases=cases).verdict == slope


@pytest.mark.parametrize(
    "rule, options",
    [
        ("trend", {"along": "nodes", "expect": "rising"}),
        ("trend", {"along": "nodes", "expect": "falling"}),
        ("rank", {"along": "nodes", "order": [8, 4, 2, 1], "minimum_tau": 0.6}),
    ],
)
def test_a_pair_that_follows_the_factor_by_itself_stops_it(tmp_path, rule, options) -> None:
    values, cases = levels(1.0, 1.1, 1.2, 1.3)
    for case, ratio in zip(cases, (1.0, 1.1, 1.2, 1.3), strict=True):
        again = (case["case"], "native-b")
        values[again] = [ratio * value for value in values[again]]
    found = judged(tmp_path, data.test_of(rule, **options), values, cases=cases, kind="direction")
    assert (found.verdict, found.control) == ("inconclusive", "different")
    assert found.reason.startswith("the A/A pair differs from itself; ")


def test_a_pair_that_scatters_unlike_itself_says_nothing_of_scatter(tmp_path: Path) -> None:
    values = data.quiet() | {
        ("spin", "box"): data.around(1, 77, spread=0.001),
        ("spin", "native-b"): data.around(1, 78, spread=0.05),
    }
    test = data.test_of("less-variable", than="native-a")
    found = judged(tmp_path, test, values, kind="dispersion")
    assert (found.verdict, found.control) == ("inconclusive", "different")


def test_a_factor_that_no_case_has_is_not_tested(tmp_path: Path) -> None:
    test = data.test_of("trend", along="nodes", expect="rising")
    found = judged(tmp_path, test, data.quiet(), kind="direction")
    assert (found.verdict, found.reason) == ("not-tested", "no case of spin has a parameter nodes")


@pytest.mark.parametrize(
    "order, verdict", [([1, 2, 4, 8], "contradicted"), ([8, 4, 2, 1], "supported")]
)
def test_rank(tmp_path: Path, order: list, verdict: str) -> None:
    values, cases = levels(1.0, 1.1, 1.2, 1.3)
    test = data.test_of("rank", along="nodes", order=order, minimum_tau=0.6)
    assert judged(tmp_path, test, values, cases=cases, kind="direction").verdict == verdict
    test = data.test_of("rank", along="nodes", order=[*order, 16], minimum_tau=0.6)
    assert judged(tmp_path, test, values, cases=cases, kind="direction").verdict == "not-tested"


def test_tau_of_the_published_order_is_one() -> None:
    assert tau(np.array([3.0, 2.0, 1.0])) == pytest.approx(1)
    assert tau(np.array([1.0, 2.0, 3.0])) == pytest.approx(-1)
    assert tau(np.array([1.0, 1.0, 1.0])) == 0


@pytest.mark.parametrize(
    "link, box, verdict",
    [
        (1.05, 1.0, "supported"),  # the library costs, the container does not
        (1.0, 1.0, "contradicted"),  # the library costs nothing
        (1.05, 1.1, "contradicted"),  # the container costs more with one of the libraries
    ],
)
def test_interaction(tmp_path: Path, link: float, box: float, verdict: str) -> None:
    cases = [
        {"case": f"spin-{level}", "benchmark": "spin", "parameters": {"link": level}}
        for level in ("no", "yes")
    ]
    linked = {
        key: list(link * np.array(numbers))
        for key, numbers in data.quiet("spin-yes", box=box).items()
    }
    test = data.test_of("interaction", factor="link", levels=["no", "yes"], margin_percent=1)
    values = data.quiet("spin-no") | linked
    found = judged(tmp_path, test, values, cases=cases, kind="direction")
    assert (found.verdict, found.cells) == (verdict, 2)
    alone = judged(tmp_path, test, data.quiet("spin-no"), cases=cases[:1], kind="direction")
    assert alone.verdict == "not-tested"


def test_quantiles_need_enough_blocks(tmp_path: Path) -> None:
    test = data.test_of("quantile-ratio", quantiles=[0.5, 0.9], margin_percent=10)
    assert judged(tmp_path, test, data.quiet(blocks=100)).verdict == "supported"
    assert judged(tmp_path, test, data.quiet(box=1.3, blocks=100)).verdict == "contradicted"
    few = judged(tmp_path, test, data.quiet(blocks=10))
    assert few.verdict == "inconclusive" and "are there" in few.reason


@pytest.mark.parametrize(
    "seen, expect, verdict",
    [
        ([1.0] * 4, True, "supported"),
        ([0.0] * 4, True, "contradicted"),
        ([0.0] * 4, False, "supported"),
        ([1.0] * 4, False, "contradicted"),
        ([1.0, 0.0, 1.0, 1.0], True, "inconclusive"),
        # A run that failed counts against what should happen, and shows nothing of what should not.
        ([1.0, math.nan, 1.0, 1.0], True, "inconclusive"),
        ([0.0, math.nan, 0.0, 0.0], False, "supported"),
        ([math.nan] * 4, False, "inconclusive"),
    ],
)
def test_exists(tmp_path: Path, seen: list, expect: bool, verdict: str) -> None:
    test = data.test_of("exists", expect=expect)
    values = data.quiet(blocks=4) | {("spin", "box"): seen}
    assert judged(tmp_path, test, values, kind="mechanism").verdict == verdict


def test_an_anchor_is_shown_and_never_compared(tmp_path: Path) -> None:
    test = data.test_of("anchor", {"arms": ["native-a"]}, published="median/native")
    lines = "one,s,b,native,1,median,129.36,s,p\n"
    for label in ("vm", "slurm"):
        found = judged(tmp_path, test, data.quiet(), label, lines, kind="magnitude")
        assert found.verdict == "not-tested"
        assert "129.36 s" in found.reason and "median here is 1.0" in found.reason
