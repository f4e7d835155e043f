"""What a node says of itself, and the time that others take: of the CPU that lost most."""

import os
import subprocess
from collections import namedtuple
from types import SimpleNamespace

import psutil
import pytest
from benchmark_help import golden

from parity.measure import node
from parity.measure.node import busiest, steal_fraction, wait_until_idle

MOUNTS = """\
tmpfs /sys/fs/cgroup tmpfs rw,relatime,mode=755 0 0
cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu,cpuacct 0 0
cgroup /sys/fs/cgroup/memory cgroup rw,nosuid,relatime,memory 0 0
cgroup /sys/fs/cgroup/systemd cgroup rw,relatime,name=systemd 0 0
"""
UNIFIED = "cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0\n"
ZONEINFO = golden("zoneinfo.txt")


def test_facts_of_this_machine():
    facts, size = node.facts(), node.node_facts()
    assert list(facts) == sorted(facts)
    assert all(isinstance(value, str) for value in facts.values())
    assert facts["kernel"] == os.uname().release
    assert facts["memory_total"].endswith(" kB")
    assert "v1" in facts["cgroup_versions"] or "v2" in facts["cgroup_versions"]
    assert {"config_hz", "cpu_governor", "transparent_hugepage", "microcode"} <= facts.keys()
    assert size.cpus == tuple(sorted(os.sched_getaffinity(0)))
    assert size.memory == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert size.last_level_cache >= 0


CPUINFO = "processor\t: 0\nmodel name\t: One: fast\n\nprocessor\t: 1\nnothing\n"
BOOT = "secret=1 nohz_full=1-3 mitigations=off quiet isolcpus=2 -- isolcpus=9"


@pytest.mark.parametrize(("said", "text", "found"), [
    (node.cgroup_versions, MOUNTS, "v1: cpu,cpuacct,memory"),
    (node.cgroup_versions, UNIFIED, "v2"),
    (node.cgroup_versions, MOUNTS + UNIFIED, "v1: cpu,cpuacct,memory; v2"),
    (node.cgroup_versions, "", ""), (node.cgroup_versions, "short line\n", ""),
    # The first of each key is kept, and of boot parameters those that are known.
    (node.pairs, CPUINFO, {"processor": "0", "model name": "One: fast"}),
    (node.boot_parameters, BOOT, "isolcpus=2 mitigations=off nohz_full=1-3"),
    (node.selected, "always [madvise] never", "madvise"),
    (node.selected, "always", ""), (node.selected, "", ""),
    (node.size_in_bytes, "266240K", 272_629_760), (node.size_in_bytes, "1G", 2**30),
    (node.size_in_bytes, "7", 7), (node.size_in_bytes, "", 0), (node.size_in_bytes, "x", 0),
    # Pages on the lists of each CPU.
    (node.free_per_cpu, ZONEINFO, 1024 * os.sysconf("SC_PAGE_SIZE")),
    (node.free_per_cpu, "", 0),
])  # fmt: skip
def test_what_the_kernel_s_texts_say(said, text, found):
    assert said(text) == found


VOLUNTARY = {"CONFIG_PREEMPT_VOLUNTARY": "y", "CONFIG_PREEMPT_DYNAMIC": "y"}


@pytest.mark.parametrize(("config", "in_force", "model"), [
    ({"CONFIG_PREEMPT_NONE": "y"}, "", "PREEMPT_NONE"),
    ({"CONFIG_PREEMPT_NONE": "y"}, "none voluntary (full)", "full"),
    (VOLUNTARY, "", "PREEMPT_VOLUNTARY, may be changed at boot"),
    ({}, "", ""),
])  # fmt: skip
def test_preemption(config, in_force, model, monkeypatch):
    monkeypatch.setattr(node, "read", lambda _path: in_force)
    assert node.preemption(config) == model


def test_the_last_level_is_the_highest(tmp_path):
    caches = [("1", "Data", "48K"), ("1", "Instruction", "32K"), ("2", "Unified", "2048K")]
    for number, (level, kind, size) in enumerate([*caches, ("3", "Unified", "260M")]):
        index = tmp_path / "cache" / f"index{number}"
        index.mkdir(parents=True)
        for name, text in (("level", level), ("type", kind), ("size", size)):
            (index / name).write_text(text + "\n")
    assert node.last_level_cache(tmp_path) == 260 * 2**20
    assert node.last_level_cache(tmp_path / "cache") == 0


def test_governors_are_named_once_and_a_file_that_is_not_there_reads_as_nothing(tmp_path):
    files = [tmp_path / str(number) for number in range(3)]
    for path, governor in zip(files, ("performance", "powersave", "performance"), strict=True):
        path.write_text(governor + "\n")
    assert node.governors([*files, tmp_path / "absent"]) == "performance,powersave"
    assert node.read(tmp_path / "absent") == node.read(tmp_path) == ""


def test_a_parser_gets_the_size_of_a_node_or_zero_where_it_is_not_told() -> None:
    known = {"last_level_cache": "272629760 B", "memory_total": "24684092 kB"}
    sizes = {"last_level_cache": 272_629_760, "memory": 24_684_092 * 1024}
    assert node.sizes(known) == sizes and node.sizes({}) == dict.fromkeys(sizes, 0)
    for text in ("", "many", "-1 kB", "12", "12 furlongs"):
        assert node.sizes({"memory_total": text})["memory"] == 0


Times = namedtuple("Times", "user system idle iowait steal guest")
START = Times(0, 0, 0, 0, 0, 0)
IDLE = [Times(0, 0, 10, 0, 0, 0)] * 15


@pytest.mark.parametrize(("after", "cpus", "share"), [
    ([Times(8, 0, 0, 0, 2, 0), *IDLE], (0, 1), 0.2),
    ([Times(8, 0, 0, 0, 2, 0), *IDLE], (1, 2), 0.0),
    # Guest time is part of user time; no time at all is no share.
    ([Times(5, 0, 0, 0, 5, 5)], (0,), 0.5), ([START], (0,), 0.0),
    # One that goes offline lost all of its time.
    ([START], (0, 1), 1.0),
])  # fmt: skip
def test_steal_is_that_of_the_cpu_that_lost_most(after, cpus, share: float) -> None:
    before = dict.fromkeys(range(16), START)
    assert steal_fraction(before, dict(enumerate(after)), cpus) == share


@pytest.mark.parametrize(("told", "usable", "numbers"), [
    ("cpu  9\ncpu0 4\ncpu2 5\nintr 1", {0, 2}, [0, 2]), ("cpu0 4\ncpu1 5", {6, 7}, [6, 7]),
    ("cpu0 4\ncpu1 5", {1}, [0, 1]),
])  # fmt: skip
def test_a_cpu_s_time_is_that_of_the_kernel_s_number(told, usable, numbers, monkeypatch) -> None:
    """Where some are offline; and within lxcfs, which numbers them anew."""
    monkeypatch.setattr(node, "read", lambda _: told)
    monkeypatch.setattr(node.os, "sched_getaffinity", lambda _: usable)
    monkeypatch.setattr(node.psutil, "cpu_times", lambda percpu: ["first", "second"])
    assert node.cpu_times() == dict(zip(numbers, ["first", "second"], strict=True))


@pytest.mark.parametrize(("shares", "said"), [
    ({"init": 1.0, "loop": 96.2, "gone": None}, "loop (process 2) takes 96 % of a CPU"),
    ({"init": 1.0}, "no program of this machine"), ({}, "no program of this machine"),
])  # fmt: skip
def test_what_takes_most_is_named(shares, said: str, monkeypatch) -> None:
    processes = [
        SimpleNamespace(pid=pid, cpu_percent=lambda: 0.0, info={"name": name, "cpu_percent": share})
        for pid, (name, share) in enumerate(shares.items(), start=1)
    ]
    monkeypatch.setattr(psutil, "process_iter", lambda _attributes=(): iter(processes))
    assert busiest().startswith(said)


def test_a_program_that_works_is_found_beside_all_others() -> None:
    with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as loop:
        try:
            assert "takes" in busiest()
        finally:
            loop.kill()


def test_an_idle_node_is_not_waited_for_and_patience_ends(capsys) -> None:
    assert wait_until_idle(1.0, 0.0).taken_by == ""
    assert capsys.readouterr().out == ""
    ended = wait_until_idle(-1.0, 0.0)
    assert ended.busy_fraction >= 0 and ended.taken_by
    wait_until_idle(-1.0, 1.0)
    assert capsys.readouterr().out.count("waiting 1 s at most for an idle node: ") == 1
