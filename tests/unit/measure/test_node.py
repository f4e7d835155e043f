import os

import pytest
from benchmark_help import golden

from parity.measure import node

MOUNTS = """\
tmpfs /sys/fs/cgroup tmpfs rw,relatime,mode=755 0 0
cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu,cpuacct 0 0
cgroup /sys/fs/cgroup/memory cgroup rw,nosuid,relatime,memory 0 0
cgroup /sys/fs/cgroup/systemd cgroup rw,relatime,name=systemd 0 0
"""
UNIFIED = "cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0\n"
ZONEINFO = golden("zoneinfo.txt")


def test_facts_of_this_machine():
    facts = node.facts()
    assert list(facts) == sorted(facts)
    assert all(isinstance(value, str) for value in facts.values())
    assert facts["kernel"] == os.uname().release
    assert facts["memory_total"].endswith(" kB")
    assert "v1" in facts["cgroup_versions"] or "v2" in facts["cgroup_versions"]
    assert {"config_hz", "cpu_governor", "transparent_hugepage", "microcode"} <= facts.keys()


def test_what_benchmarks_size_themselves_by():
    facts = node.node_facts()
    assert facts.cpus == tuple(sorted(os.sched_getaffinity(0)))
    assert facts.memory == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert facts.last_level_cache >= 0


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
