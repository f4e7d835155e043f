"""What stands in config/claims.yaml and config/published/: complete, unique, and in agreement."""

import csv
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from parity.claims.published import FIGURES, load_published, published_tables
from parity.claims.register import declared, load_register
from parity.report.paper import BANNED

CONFIG = Path(__file__).parents[3] / "config"
PUBLISHED = CONFIG / "published"
NUMBERS = load_published(PUBLISHED / "claims.csv")
REGISTER = yaml.safe_load((CONFIG / "claims.yaml").read_text(encoding="utf-8"))
CLAIMS: dict[str, dict[str, Any]] = {claim["id"]: claim for claim in REGISTER["claims"]}
PREFIXES = {
    "torrez19": ("torrez2019", 21), "ruiz15": ("ruiz2015", 25), "beserra15": ("beserra2015", 14),
    "yildirim21": ("yildirim2021", 10), "levy21": ("levy2021", 15),
}  # fmt: skip
each_claim = pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)


def rows_of(name: str) -> list[dict[str, str]]:
    with (PUBLISHED / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def of_rule(claim: dict[str, Any], rule: str) -> list[dict[str, Any]]:
    return [test for test in claim.get("tests", []) if test["rule"] == rule]


def test_all_85_claims_are_there_once() -> None:
    claims = load_register(CONFIG / "claims.yaml", PUBLISHED / "claims.csv", declared()).claims
    assert len(claims) == 85
    counts = Counter(claim.id.split("-")[0] for claim in claims)
    assert counts == {prefix: count for prefix, (_, count) in PREFIXES.items()}


@each_claim
def test_a_claim_says_what_and_where_and_is_tested_or_says_why_not(claim: dict[str, Any]) -> None:
    assert claim["study"] == PREFIXES[claim["id"].split("-")[0]][0]
    assert claim["study"] in REGISTER["studies"]
    assert claim["claim"].endswith((".", ")."))
    assert claim["where"] and claim["published"]
    assert ("tests" in claim) != ("not_tested" in claim)
    assert len(claim.get("not_tested", "-" * 61)) > 60
    numbers = NUMBERS.get(claim["id"], {})
    for test in of_rule(claim, "magnitude") + of_rule(claim, "anchor"):
        assert test["published"] in numbers
    texts = [claim[key] for key in ("claim", "published", "not_tested", "needs") if key in claim]
    texts += [test["reading"] for test in claim.get("tests", []) if "reading" in test]
    texts += [test.get("instead_of", "") for test in claim.get("tests", [])]
    for text in texts:
        # Words that no test can show, and quotation marks, because there are no quotations.
        assert not BANNED.search(text) and "significant" not in text
        assert not re.search("[\u201c\u201d«»]", text)


@each_claim
def test_what_no_archive_answers_says_what_it_takes_and_nothing_else_does(claim) -> None:
    with (CONFIG / "expected_verdicts.csv").open(newline="", encoding="utf-8") as file:
        ended = {row["verdict"] for row in csv.DictReader(file) if row["claim"] == claim["id"]}
    says_why = "not_tested" in claim or bool(of_rule(claim, "anchor"))
    assert ("needs" in claim or says_why) == (ended == {"not-tested"})
    assert not ("needs" in claim and says_why)


@each_claim
def test_equivalence_within_the_margins_of_its_kind_of_measurement(claim: dict[str, Any]) -> None:
    """Margins were chosen per kind of measurement; what differs is named here with its reason."""
    margins = {
        "sysbench": {1}, "sysbench-libaio": {1}, "likwid": {2}, "stream": {2}, "hpcc": {5},
        "memory": {1}, "hpcg": {3}, "netpipe": {5}, "hpl-copies": {5}, "orangefs": {10},
        "selfish": {10},
    }  # fmt: skip
    other = {
        "torrez19-hyp-nil": {1},  # nil means the narrowest margin everywhere
        "torrez19-hpcg-g2-32n": {1},  # 2 % is what it calls slower
        "ruiz15-init-const": {1.85},  # three published numbers, that far apart
    }
    for rule in ("equivalence", "group-equivalence"):
        for test in of_rule(claim, rule):
            allowed = other.get(claim["id"], margins.get(test["cells"]["benchmark"], ()))
            assert test["margin_percent"] in allowed


def test_a_claim_that_something_costs_at_most_so_much_has_the_published_limit() -> None:
    limits = {
        "ruiz15-inter-max": NUMBERS["ruiz15-inter-max"]["max_overhead_vs_SM/lxc"].value,
        "ruiz15-veth-g1": NUMBERS["ruiz15-veth-g1"]["max_overhead/lxc"].value,
        "ruiz15-rto": NUMBERS["ruiz15-rto"]["overhead/lxc-rto-2ms"].value,
        "ruiz15-veth-no-cost": 1.9,  # the largest of Table 1's totals, CG
        "ruiz15-cpu-zero": 1, "levy21-noimpact": 1, "levy21-1ms": 1,
        "levy21-shares-doc": 1,  # next to nothing
    }  # fmt: skip
    found = {
        claim["id"]: test["margin_percent"]
        for claim in CLAIMS.values()
        for test in of_rule(claim, "non-inferiority")
    }
    assert found == limits


def test_an_effect_that_counts_is_no_larger_than_the_published_one() -> None:
    """Where the paper gives a number, and where it calls less than a limit the same."""
    for identifier, rule, published in (
        ("torrez19-libaio", "interaction", 1.8),
        ("torrez19-hpcg-g2-32n", "interaction", 2),
        ("torrez19-hpcg-clusters", "interaction", 3),
        ("ruiz15-mn-faster-sm", "direction", 2.6),
        ("ruiz15-cpu-inflation", "direction", 26.6),
        ("ruiz15-k32-oversub", "trend", 1577),
        ("ruiz15-mapping", "trend", 15),
        ("beserra15-hpl-ep-v1", "direction", 5),
        ("yildirim21-cpu-podman", "direction", 10),
        ("levy21-podman-p99", "direction", 5),
    ):
        [smallest] = {t["smallest_effect_percent"] for t in of_rule(CLAIMS[identifier], rule)}
        assert smallest < published
        margins = {t["margin_percent"] for t in of_rule(CLAIMS[identifier], "interaction")}
        assert all(margin < published for margin in margins)


def test_a_claim_says_which_levels_of_its_program_s_size_it_speaks_of() -> None:
    sized = {"stream": {"threads", "elements"}, "hpcg": {"n"}, "orangefs": {"gigabytes"}}
    sized |= {name: {"threads", "prime"} for name in ("sysbench", "sysbench-libaio")}
    for claim in CLAIMS.values():
        for test in claim.get("tests", []):
            said = sized.get(test["cells"]["benchmark"], set())
            # Arguments without an experiment, and a value that is not compared.
            without = ("ruiz15-cpu-zero", "ruiz15-mgr-indep", "torrez19-cpu-bare-median")
            if claim["id"] not in without:
                assert said <= test["cells"].get("levels", {}).keys(), claim["id"]
    # Two claims had no levels, so that any size on any cluster supported all of them.
    for name in ("ruiz15-cpu-zero", "torrez19-mem-total"):
        assert CLAIMS[name]["scales"]["cluster"] == "proxy"
        assert not any("levels" in test["cells"] for test in CLAIMS[name]["tests"])


def test_published_numbers_are_complete_and_say_where_they_stand() -> None:
    for row in rows_of("claims.csv"):
        assert row["study"] in REGISTER["studies"] and row["unit"] and row["place"]
        assert row["claim"] in CLAIMS or row["claim"].endswith("-design")
    rows = rows_of("ruiz_table1.csv")
    assert len(rows) == 54
    assert {row["configuration"] for row in rows} == {"Multinode", "Container", "SM"}


def test_the_bars_of_ruiz_are_whole_and_give_what_the_text_says() -> None:
    assert len(rows_of("ruiz_figures.csv")) == 64
    bars = published_tables(PUBLISHED)[FIGURES]
    assert {place for place, *_ in bars.index} == {"Fig. 1a", "Fig. 1c", "Fig. 2", "Fig. 3"}
    for claim, key, place, code, x, series, base in (
        ("ruiz15-gain-32-316", "overhead_2_per_node_kernel_3.2/lxc", "Fig. 1a", "CG.B", "3.2",
         "2/node", "native"),
        ("ruiz15-gain-316-40", "overhead_2_per_node_kernel_3.16/lxc", "Fig. 1a", "CG.B", "3.16",
         "2/node", "native"),
        ("ruiz15-oversub-15-67", "overhead_8_per_node_ft/lxc", "Fig. 1c", "FT.B", "64", "8/node",
         "native"),
        ("ruiz15-inter-max", "max_overhead_vs_SM/lxc", "Fig. 2", "MG.C", "4", "container", "SM"),
        ("ruiz15-veth-cg", "overhead_at_128_procs/lxc", "Fig. 3", "CG.B", "128", "container",
         "native"),
    ):  # fmt: skip
        over, under = bars.loc[(place, code, x), [series, base]]
        assert 100 * (over / under - 1) == pytest.approx(NUMBERS[claim][key].value, abs=1)


def test_numbers_that_stand_in_two_files_are_the_same() -> None:
    """values.csv orders some numbers for the paper's table; claims.csv is their source."""
    source = {
        ("sysbench", "spread-of-medians", ""): ("torrez19-cpu-spread", "median_spread/all"),
        ("sysbench", "spread-of-runs", ""): ("torrez19-cpu-allruns", "range_spread/all"),
    }
    runtimes = {"charliecloud-dir": "charliecloud", "apptainer": "singularity"}
    memory = {
        "node_used_median": ("torrez19-mem-total", "median_node_mem_added"),
        "node_used_increment": ("torrez19-mem-incr", "median_incremental_mem_added"),
    }
    facts = {
        (row["claim"], f"{row['metric']}/{row['runtime']}"): row for row in rows_of("claims.csv")
    }
    for row in rows_of("values.csv"):
        if row["benchmark"] == "memory":
            claim, metric = memory[row["metric"]]
            key = (claim, f"{metric}/{runtimes.get(row['arm'], row['arm'])}")
        else:
            key = source[row["benchmark"], row["statistic"], row["arm"]]
        assert float(row["published"]) == float(facts[key]["value"])
        assert row["unit"].replace("%", "percent") == facts[key]["unit"]
        assert row["place"] == facts[key]["place"]
