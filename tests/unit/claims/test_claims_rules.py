"""Each rule, on numbers with planted effects: for it, against it, and open."""

from pathlib import Path

import claims_data as data
import numpy as np
import pytest
from claims_data import judged

from parity.claims.rules.magnitude import compare


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


def test_a_runtime_is_not_blamed_for_what_runs_beside_its_container(tmp_path: Path) -> None:
    test = data.test_of("equivalence", {"arms": "containers"}, margin_percent=1)
    disturbed = "podman-beside-memory"
    values = data.quiet() | {("spin", disturbed): data.around(2.0, seed=9)}
    found = judged(tmp_path, test, values, arms=data.ARMS | {disturbed: "podman"})
    assert (found.verdict, found.cells) == ("supported", 2)


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


def test_a_share_needs_a_pair_that_is_that_close_to_itself(tmp_path: Path) -> None:
    """Natives 2 % of the node apart, give or take, let a bound of 2 % pass."""
    test = data.test_of("share-of-node", bound_percent=2)
    values = {
        ("spin", arm): list(2000 + 4000 * data.noise(seed)) for seed, arm in enumerate(data.ARMS)
    }
    assert judged(tmp_path, test, values, unit="MiB").verdict == "supported"
    values["spin", "native-b"] = list(2000 - 330 + 20000 * data.noise(5))
    found = judged(tmp_path, test, values, unit="MiB")
    assert (found.verdict, found.control) == ("inconclusive", "inconclusive")
    del values["spin", "native-b"]
    assert judged(tmp_path, test, values, unit="MiB").verdict == "inconclusive"


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


def test_a_small_effect_of_the_expected_sign_does_not_contradict(tmp_path: Path) -> None:
    """A true +5 % was contradicted where 10 % were thought to count."""
    test = data.test_of("direction", expect="costs-more", smallest_effect_percent=10)
    found = judged(tmp_path, test, data.quiet(box=1.05), kind="direction")
    assert found.verdict == "inconclusive" and "not beyond" in found.reason


@pytest.mark.parametrize(
    "test",
    [
        data.test_of("direction", expect="costs-more", smallest_effect_percent=1),
        data.test_of("minimum-effect", expect="costs-more", minimum_percent=1),
    ],
    ids=lambda test: test["rule"],
)
def test_that_there_is_no_effect_needs_a_pair_that_shows_none(tmp_path: Path, test: dict) -> None:
    """To contradict by sameness is to claim sameness: the A/A pair has to pass as well."""
    values = data.quiet(box=1.0)
    assert judged(tmp_path, test, values, kind="direction").verdict == "contradicted"
    values |= {("spin", "native-b"): data.around(1.0, 5, spread=0.05)}
    found = judged(tmp_path, test, values, kind="direction")
    assert found.verdict == "inconclusive"
    assert found.reason.startswith("the A/A pair is not equivalent; ")


@pytest.mark.parametrize(
    "ratio, spread, verdict",
    [
        (0.80, 0.005, "supported"),  # a gain, which two-sided equivalence called contradicted
        (1.05, 0.005, "supported"),
        (1.098, 0.05, "inconclusive"),
        (1.30, 0.005, "contradicted"),
    ],
)
def test_non_inferiority(tmp_path: Path, ratio: float, spread: float, verdict: str) -> None:
    test = data.test_of("non-inferiority", margin_percent=10)
    assert judged(tmp_path, test, data.quiet(box=ratio, spread=spread)).verdict == verdict


@pytest.mark.parametrize(
    "ratio, spread, verdict",
    [
        (1.50, 0.005, "supported"),
        (1.31, 0.05, "inconclusive"),  # its point is above 30 %, which was enough
        (1.05, 0.005, "contradicted"),
        (0.60, 0.005, "contradicted"),
    ],
)
def test_minimum_effect(tmp_path: Path, ratio: float, spread: float, verdict: str) -> None:
    for expect, side in (("costs-more", ratio), ("costs-less", 1 / ratio)):
        test = data.test_of("minimum-effect", expect=expect, minimum_percent=30)
        values = data.quiet(box=side, spread=spread)
        assert judged(tmp_path, test, values, kind="direction").verdict == verdict


RULES_OF_ONE_CELL = [
    data.test_of("equivalence", margin_percent=1),
    data.test_of("non-inferiority", margin_percent=1),
    data.test_of("direction", expect="costs-less", smallest_effect_percent=1),
    data.test_of("direction", expect="costs-more", smallest_effect_percent=1),
    data.test_of("minimum-effect", expect="costs-more", minimum_percent=1),
    data.test_of("minimum-effect", expect="costs-less", minimum_percent=1),
    data.test_of("coefficient-of-variation", bound_percent=0.01),
    data.test_of("less-variable", than="native-a"),
    data.test_of("spread-ratio", factor=1.5),
]


@pytest.mark.parametrize("test", RULES_OF_ONE_CELL, ids=lambda test: test["rule"])
@pytest.mark.parametrize("blocks", [2, 3, 5])
def test_fewer_than_six_blocks_show_no_difference(tmp_path: Path, test: dict, blocks: int) -> None:
    """Three blocks of a busy machine printed `contradicted`."""
    values = data.quiet(blocks=blocks, spread=0.003) | {
        ("spin", "box"): data.around(1.5, 9, blocks=blocks, spread=0.2)
        if test["rule"] in ("less-variable", "spread-ratio")
        else data.around(1.5, 9, blocks=blocks, spread=0.003)
    }
    assert judged(tmp_path, test, values, kind="direction").verdict == "inconclusive"


def test_what_only_one_of_two_methods_says_hangs_on_the_method(tmp_path: Path) -> None:
    """Three blocks that gain much hide from the mean, and not from ranks, that 27 lose."""
    logs = data.noise(7, 30, 0.002) + 0.006
    logs[::10] -= 0.04
    values = data.quiet(spread=0.002) | {("spin", "box"): list(np.exp(logs))}
    for rule, options in (
        ("equivalence", {"margin_percent": 0.6}),
        ("non-inferiority", {"margin_percent": 0.6}),
    ):
        found = judged(tmp_path, data.test_of(rule, **options), values)
        assert found.verdict == "inconclusive"
        assert "hangs on the method" in found.reason


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
        # The wider interval was supported for being wide.
        ((0.15, 0.20, 0.005, 0.395), "order-ok", "order-ok"),
        ((0.15, 0.14, 0.13, 0.149), "order-ok", "order-ok"),
    ],
)
def test_a_published_effect_beside_ours(numbers, on_machine: str, on_cluster: str) -> None:
    assert compare(*numbers, cluster=False)[0] == on_machine
    assert compare(*numbers, cluster=True)[0] == on_cluster


@pytest.mark.parametrize("label, verdict", [("vm", "order-ok"), ("cluster", "supported"),
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


@pytest.mark.parametrize("rule, size", [
    ("direction", "smallest_effect_percent"), ("minimum-effect", "minimum_percent")
])  # fmt: skip
@pytest.mark.parametrize("expect, sign", [("costs-more", 1), ("costs-less", -1)])
def test_no_direction_where_native_has_it_too(tmp_path, rule, size, expect, sign) -> None:
    """Native B cost 1.1 % more, as the box did, and `costs more` was supported."""
    test = data.test_of(rule, expect=expect, **{size: 0.8})
    for native, verdict in (
        (1.0, "supported"),
        (1.011, "inconclusive"),
        (1 / 1.011, "inconclusive"),
    ):
        values = data.quiet()
        base = np.array(values["spin", "native-a"])
        values["spin", "native-b"] = list(base * data.around(native, 51, spread=0.0085))
        values["spin", "box"] = list(base * data.around(1.011**sign, 52, spread=0.004))
        found = judged(tmp_path, test, values, kind="direction")
        assert found.verdict == verdict
        assert ("the A/A pair differs from itself" in found.reason) == (native != 1)


@pytest.mark.parametrize(
    ("rule", "options", "ratio", "blocks"),
    [
        ("magnitude", {"published": "overhead/box", "scale": "ratio"}, 1.146, 30),
        ("rank", {"along": "nodes", "order": [1, 2], "minimum_tau": 1}, 1.004, 30),
    ],
)
def test_one_of_two_cells_may_be_against_by_chance(tmp_path, rule, options, ratio, blocks) -> None:
    """P just below 0.05 in one cell contradicted however many there are."""
    values, cases = data.levels(1.0, ratio, blocks=blocks)
    case = {} if rule == "rank" else {"parameters": {"nodes": 2}}
    if rule == "magnitude":
        values["spin-2", "crate"] = [1.3 * value for value in values["spin-2", "crate"]]
    lines = "one,s,b,box,1,overhead,30,percent,p\n"
    for arms, is_chance in ((["box"], False), (["box", "crate"], True)):
        test = data.test_of(rule, {"arms": arms, **case}, **options)
        found = judged(tmp_path, test, values, lines=lines, cases=cases, kind="magnitude")
        assert ("to be expected of one among 2" in found.reason) == is_chance
        assert (found.verdict == "inconclusive") == is_chance


def test_an_anchor_is_shown_and_never_compared(tmp_path: Path) -> None:
    test = data.test_of("anchor", {"arms": ["native-a"]}, published="median/native")
    lines = "one,s,b,native,1,median,129.36,s,p\n"
    for label in ("vm", "cluster"):
        found = judged(tmp_path, test, data.quiet(), label, lines, kind="magnitude")
        assert found.verdict == "not-tested"
        assert "129.36 s" in found.reason and "median here is 1.0" in found.reason


@pytest.mark.parametrize(
    ("more", "ended", "words"),
    [
        (0.0, "supported", "lies within ±0.001"),
        (0.004, "contradicted", "lies outside ±0.001"),
        (-0.004, "contradicted", "lies outside ±0.001"),
        (0.001, "inconclusive", "not shown within ±0.001"),
    ],
)
def test_shares_are_the_same_by_their_difference(
    tmp_path: Path, more: float, ended: str, words: str
) -> None:
    """A tenth of a percentage point of a share of one per cent, where a ratio would be of 10 %."""
    shares = {
        ("spin", arm): 0.01 + added + data.noise(seed, spread=0.0002)
        for seed, (arm, added) in enumerate(
            {"native-a": 0.0, "native-b": 0.0, "box": more, "crate": 0.0}.items()
        )
    }
    test = data.test_of("equivalent-difference", margin=0.001)
    found = data.judged(tmp_path, test, shares, unit="1")
    assert found.verdict == ended and words in found.reason
    spoiled = shares | {("spin", "native-b"): shares["spin", "native-b"] + 0.004}
    assert data.judged(tmp_path, test, spoiled, unit="1").verdict == "inconclusive"
