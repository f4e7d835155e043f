"""The arithmetic of the papers, made again: what config/published/statements.csv says of it."""

import fnmatch
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from parity.claims.published import FIGURES, TABLE_1, defects, load_published, published_tables
from parity.core.errors import UserError
from parity.core.wording import listed

PUBLISHED = Path(__file__).parents[3] / "config" / "published"
STATEMENTS = PUBLISHED / "statements.csv"
NUMBERS = load_published(PUBLISHED / "claims.csv")
TABLE, BARS = (published_tables(PUBLISHED)[name] for name in (TABLE_1, FIGURES))
# What arithmetic gives, whether the statement holds, and what else stands in the sentence.
Outcome = tuple[str, bool, tuple[str, ...]]


def of(claim: str, *keys: str) -> list[float]:
    """Published numbers of a claim; `<metric>/*` stands for all of a metric."""
    there = {key: number.value for key, number in NUMBERS[claim].items()}
    chosen = [fnmatch.filter(there, key) for key in keys]
    assert all(chosen)
    return [there[name] for names in chosen for name in names]


def words(numbers: pd.Series | list[float], form: str) -> str:
    return listed(f"{number:{form}}" for number in numbers)


def of_torrez() -> Iterator[Outcome]:
    stated = [
        *of("torrez19-cpu-spread", "median_spread/all"),
        *of("torrez19-cpu-allruns", "range_spread/all"),
        *of("torrez19-hpcg-1024", "spread/all"),
    ]
    rates = of("torrez19-hpcg-1024", "rate_n1/*")
    ends = (
        of("torrez19-cpu-spread", "median_time/fastest", "median_time/slowest"),
        of("torrez19-cpu-allruns", "min_time/all", "max_time/all"),
        (min(rates), max(rates)),
    )
    spreads = [100 * (high / low - 1) for low, high in ends]
    agree = all(abs(a - b) < 0.05 for a, b in zip(stated, spreads, strict=True))
    yield f"{words(spreads, '.2f')} %", agree, ()
    nodes, bracketed, cores, array, rule, cut, seconds, side, ranks = of(
        "torrez19-design", "nodes/each", "nodes_in_brackets/each", "cores_per_node/each",
        "STREAM_ARRAY_SIZE/each", "cache_multiple_asked_for/each", "min_sample_kept/each",
        "run_time/each", "local_dim/each", "ranks_per_node/each",
    )  # fmt: skip
    yield f"{nodes * cores:,.0f} cores", nodes == bracketed, ()
    # Last-level cache of two Intel Xeon E5-2695 v4: 45 MiB each (Intel's data sheet).
    times = 8e9 * array / (rule * 90 * 2**20)
    sizes = (f"{8 * array:.0f} GB", f"{24e9 * array / 2**30:.0f} GiB", f"{cut:.0f} GiB")
    yield f"{times:.0f} times as much", 1 <= times < 2, sizes
    # An official result runs for half an hour, in a quarter of the memory (README of HPCG 3.1).
    yield "official from 1800 s", seconds >= 1800, ()
    # "Bytes per equation" in the summary that HPCG writes for local grids of 104³.
    used = ranks * side**3 * 714.7
    memories = of("torrez19-design", "memory/grizzly", "memory/fog")
    shares = [100 * used / 2**30 / memory for memory in memories]
    yield f"{words(shares, '.1f')} % of the memory", min(shares) >= 25, (f"{used / 1e9:.1f} GB",)
    added = max(
        of("torrez19-mem-total", "median_node_mem_added/*")
        + of("torrez19-mem-incr", "median_incremental_mem_added/*")
    )
    [most] = of("torrez19-mem-pct", "max_overhead_high/containers")
    share = 100 * added / (memories[0] * 2**10)
    yield f"{share:.1f} %", share <= most, (f"{added:.0f} MiB", f"within the {most:.0f} %")


def bars(place: str, code: str, *x: str) -> pd.DataFrame:
    """The bars of a code in a figure of Ruiz et al.: rows as on the x axis."""
    found = BARS.loc[[(place, code, each) for each in x]].set_axis(list(x), axis="index")
    return found.dropna(axis="columns", how="all")


def of_ruiz() -> Iterator[Outcome]:
    times, configurations = TABLE["time_ms"].T, "configuration"
    totals = times.groupby(configurations).sum()
    parts = 100 * times / times.groupby(configurations).transform("sum")
    agrees = ((TABLE["percent"] - parts.T).abs() <= 1).to_numpy()
    yield f"{agrees.sum()} agree with the times", agrees.all(), (f"Of {agrees.size} ",)
    wholes = TABLE["percent"].T.groupby(configurations).sum().to_numpy()
    within = wholes.min() >= 99 and wholes.max() <= 101
    yield f"sums of {wholes.min():.0f} to {wholes.max():.0f} %", within, ()

    kernels = bars("Fig. 1a", "CG.B", "3.2", "3.16", "4.0")
    two = 100 * (kernels["2/node"] / kernels["native"] - 1)
    faster = (kernels / kernels.shift(-1)).iloc[:-1]
    own = faster.drop(columns="native").div(faster["native"], axis=0)
    gains = (100 * (own - 1)).max(axis=1).tolist()
    stated = [
        *of("ruiz15-gain-32-316", "overhead_2_per_node_kernel_3.2/lxc"),
        *of("ruiz15-gain-316-40", "overhead_2_per_node_kernel_3.16/lxc"),
    ]
    yield (
        f"gains up to {words(gains, ',.0f')} %; the overheads of two containers are "
        f"{words(two.iloc[:-1], ',.0f')} %",
        all(abs(a / b - 1) <= 0.05 for a, b in zip(stated, gains, strict=True)),
        (f"{words(stated, 'g')} %",),
    )
    oldest = kernels.loc["3.2"]
    over = [100 * (oldest[f"{count}/node"] / oldest["native"] - 1) for count in (1, 2, 4)]
    yield f"{words(over, '+,.0f')} % with 1, 2 and 4", over[1] < 100 <= over[2], ()
    ranks = bars("Fig. 2", "MG.C", "4", "8", "16")
    lost = 100 * (ranks["container"] / ranks["SM"] - 1)
    [most] = of("ruiz15-inter-max", "max_overhead_vs_SM/lxc")
    same = abs(lost.max() - most) <= 0.05
    yield f"{words(lost, '+.1f')} % at 4, 8 and 16 ranks", same, (f"of {lost.idxmax()} processes",)
    several = 100 * (totals.loc["Multinode"] / totals.loc["SM"] - 1)[["EP.B", "LU.B", "MG.C"]]
    each = ", ".join(f"{code} {percent:+.0f}" for code, percent in several.items())
    yield f"{each} %", (several < 0).all(), ()
    codes = TABLE["time_ms"]["Container", "comm"] < TABLE["time_ms"]["Multinode", "comm"]
    yield f"{codes.sum()} of {len(codes)} codes", 2 * codes.sum() > len(codes), ()

    waits, wait, after = of(
        "ruiz15-rto", "timeouts_per_run/lxc", "tcp_min_rto_default/lxc", "overhead/lxc-rto-2ms"
    )
    native, container = bars("Fig. 3", "CG.B", "128").loc["128", ["native", "container"]]
    loss = container - native
    saved = loss - after / 100 * native
    figures = (
        f"{native:.2f} s natively, {container:.2f} s",
        f"{100 * loss / native:+.1f} %",
        f"takes {saved:.1f} s",
        f"as {saved / wait:.0f} waits",
    )
    enough = abs(waits * wait / loss - 1) <= 0.1
    yield f"{waits * wait:.1f} of {loss:.1f} s", enough, figures


def of_others() -> Iterator[Outcome]:
    [native] = of("beserra15-design", "memory/native")
    instances = of("beserra15-design", "instances/virtual-2", "instances/virtual-4")
    memory = of(
        "beserra15-design", "memory_per_instance/virtual-2", "memory_per_instance/virtual-4"
    )
    all_of = [count * each for count, each in zip(instances, memory, strict=True)]
    alike = all(each == native for each in all_of)
    yield f"{words(all_of, '.0f')} MB in the divided ones", alike, (f"{native:.0f} MB",)
    files, node = of("yildirim21-design", "w2_total/each", "memory/each")
    yield (
        f"{100 * files / node:.0f} % of {node:.0f} GB of memory",
        files >= node,
        (f"{files:.0f} GB",),
    )
    [least] = of("levy21-minquota", "min_cfs_quota/podman")
    periods = of(
        "levy21-design",
        *(f"cfs_period_{length}/podman" for length in ("shortest", "short", "long", "longest")),
    )
    shares = of(
        "levy21-design", *(f"smaller_quota_of_pair_{share}/podman" for share in (10, 25, 50))
    )
    below = [
        (share, period) for share in shares for period in periods if share / 100 * period < least
    ]
    refused = ", ".join(f"{share:.0f} % of {period:.0f} ms" for share, period in below)
    yield f"below {least:g} ms: {refused}", below == [(10.0, 5.0)], ()


def test_every_statement_says_what_arithmetic_gives_yes_or_no(tmp_path: Path) -> None:
    made = [*of_torrez(), *of_ruiz(), *of_others()]
    for defect, (gives, holds, others) in zip(defects(STATEMENTS), made, strict=True):
        assert (defect.gives, defect.holds) == (gives, bool(holds))
        missing = [text for text in others if text not in defect.sentence]
        assert not missing, defect.sentence
    path = tmp_path / "statements.csv"
    path.write_text(STATEMENTS.read_text().replace(",no,", ",maybe,", 1))
    with pytest.raises(UserError, match="neither yes nor no"):
        defects(path)
