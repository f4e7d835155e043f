"""Limited arms: their names, what each runtime is told, where they run, and their neighbours."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from parity.core.errors import UserError
from parity.plan.study import load_study
from parity.runtimes import arms, every_arm, ladder, limits
from parity.runtimes.ladder import CONTROL_GROUP
from parity.runtimes.limits import NO_LIMIT, CpuLimit
from parity.runtimes.model import SCRATCH, Cpus, Image, Launch

INNER = ["/bin/echo", "a b", ""]
ROOT = Path(__file__).parents[3]
STUDY = ROOT / "config/studies/limits.yaml"
SNAPSHOT = ROOT / "tests/golden/limited.txt"
HALF = CpuLimit(50_000, 100_000)
FILES = ["cpu.cfs_period_us=100000", "cpu.cfs_quota_us=50000"]


def launch(arm, cpus=(1,)) -> Launch:
    image = Image(arm.image_format, "/images/one", "") if arm.image_format else None
    return Launch("run", image, SCRATCH, Path("/state"), cpus=cpus)


def added(arm, cpus=(1,)) -> list[str]:
    """The words that an arm has and its base has not, which stand in one place."""
    own = arm.unlimited.command(launch(arm), INNER)
    limited = arm.command(launch(arm, cpus), INNER)
    more = len(limited) - len(own)
    pairs = enumerate(zip(own, limited, strict=False))
    start = next((at for at, pair in pairs if len(set(pair)) > 1), 0)
    assert limited[:start] + limited[start + more :] == own
    return limited[start : start + more]


@pytest.fixture(autouse=True)
def version_1(monkeypatch):
    monkeypatch.setattr(ladder, "control_group_version", lambda: 1)


def halves(name: str) -> str:
    """What a name tells: title, words of the program's limit, words of its neighbour's."""
    arm = every_arm()[name]
    cpus = arm.placed((1,), tuple(range(13)) if "12" in name else (0, 1))
    assert arm.name == name and not arm.is_native
    assert (arm.neighbour is None) == (not cpus.neighbour)
    beside = "alone" if arm.neighbour is None else added(arm.neighbour, cpus.neighbour)
    return f"{name}: {arm.title}\n    {added(arm, cpus.program)} {beside}\n"


def test_a_name_tells_both_halves(monkeypatch):
    """A snapshot, with the names in it; PARITY_SNAPSHOTS=1 writes it anew."""
    monkeypatch.setattr("parity.runtimes.derived._SHOWN", {"shared": tuple, "host-mpi": tuple})
    snapshot = SNAPSHOT.read_text(encoding="utf-8")
    names = [line.partition(":")[0] for line in snapshot.splitlines()[::2]]
    text = "".join(map(halves, names))
    if os.environ.get("PARITY_SNAPSHOTS"):
        SNAPSHOT.write_text(text, encoding="utf-8")
    assert text == SNAPSHOT.read_text(encoding="utf-8") and len(names) == 20


@pytest.mark.parametrize("name", [
    *("podman-alone", "podman-quota-5-of-6", "podman-quota-0-of-5-us", "podman-shares-05"),
    *("podman-quota-5-of-6-us-own-cpu", "podman-quota-5-of-6-us-burst", "unheard-of-cpu0"),
    *("podman-shares-4-own-cpu", "podman-beside-idle-alone", "podman-same-cpu-cpu01"),
    *("podman-beside-memory-alone", "podman-beside-io-cpu0", "podman-beside-io-own-cpu"),
    *("podman-beside-disk", "kvm-beside-memory", "gvisor-same-cpu"),
    # These cannot set one.
    *("native-a-shares-4", "apptainer-quota-5-of-6-us", "lxc-shares-5", "namespaces-shares-5"),
])  # fmt: skip
def test_what_is_no_name_of_one_is_no_arm(name):
    assert name not in every_arm() and every_arm().get(name) is None


def test_nobody_reads_a_list_of_all_limits():
    assert not [name for name in every_arm() if "quota" in name or "cpu" in name.split("-")]
    assert len(every_arm()) == len(list(every_arm())) > len(arms())


def test_all_else_is_that_of_the_unlimited_arm(monkeypatch):
    arm, own = every_arm()["podman-shares-5"], arms()["podman"]
    assert arm.unlimited is own and own.unlimited is own and own.limit == NO_LIMIT
    for name in ("runtime", "image_format", "root_filesystem", "isolates", "lasting", "link_set"):
        assert getattr(arm, name) == getattr(own, name)
    # What is not timed is not limited: an audit of the arm is one of its base.
    assert arm.command(launch(arm, ()), INNER) == own.command(launch(arm, ()), INNER)
    seen = []
    monkeypatch.setattr(type(own), "cleanup", lambda _self, *launches: seen.extend(launches))
    arm.cleanup(first := launch(arm))
    assert [each.name for each in seen] == ["run", "run-neighbour"]
    assert first.beside("neighbour").state == Path("/state/neighbour")


def test_a_program_and_its_neighbour_have_the_cpus_that_the_name_says():
    def placed(ending, asked=(3,), node=(0, 1, 2, 3)):
        return every_arm()[f"native-a-{ending}"].placed(asked, node)

    assert arms()["native-a"].placed((3,), (0, 3)) == Cpus((3,), ())
    # The first has most interrupts, so it is the last choice.
    assert placed("own-cpu") == Cpus((3,), (2,))
    assert placed("own-cpu", (0,), (0, 1)) == Cpus((0,), (1,))
    assert placed("same-cpu") == Cpus((3,), (3,))
    assert placed("unpinned") == Cpus((0, 1, 2, 3), (0, 1, 2, 3))
    assert placed("cpu0") == Cpus((0,), ())
    for ending, node in (("own-cpu", (3,)), ("cpu7", (0, 3))):
        with pytest.raises(UserError, match="this node has no"):
            placed(ending, node=node)


def test_files_of_both_versions():
    words = limits.control_group_words
    every = replace(HALF, burst_us=7, shares=512, is_idle=True, cpus=(0, 2))
    common = ["cpu.idle=1", "cpuset.cpus=0,2"]
    assert words(every, 1) == [*FILES, "cpu.cfs_burst_us=7", "cpu.shares=512", *common]
    one_line = ["cpu.max=50000 100000", "cpu.max.burst=7", "cpu.weight=20", *common]
    assert words(every, 2) == one_line
    assert words(NO_LIMIT, 1) == words(NO_LIMIT, 2) == []
    # runc's table (libcontainer's ConvertCPUSharesToCgroupV2Value).
    weights = {2: 1, 128: 5, 256: 10, 512: 20, 1024: 39, 262144: 10000}
    assert {each: CpuLimit(shares=each).weight for each in weights} == weights


@pytest.mark.parametrize(("file", "text", "version"), [
    ("cgroup.controllers", "cpuset cpu io memory\n", 2),
    ("unified/cgroup.controllers", "cpu\n", 2), ("unified/cgroup.controllers", "\n", 1),
    ("cgroup.controllers", "cpuset memory\n", 1), ("cpu/cpu.shares", "1024\n", 1),
])  # fmt: skip
def test_the_version_that_rules_cpu_time(file, text, version, tmp_path):
    (path := tmp_path / file).parent.mkdir(exist_ok=True)
    path.write_text(text)
    assert limits.control_group_version(tmp_path) == version


def in_tree(tmp_path, words, files=("cpu.max", "cpu.weight")):
    """Run the script of control groups on a made-up tree of version 2, whose folders are none."""
    (tmp_path / "tree/parent").mkdir(parents=True)
    (tmp_path / "tree/cgroup.procs").touch()
    (lines := tmp_path / "lines").write_text("0::/parent/own\n")
    (inside := tmp_path / "inside").write_text("0::/parent/run\n")
    script = CONTROL_GROUP.replace("/proc/$$/cgroup", str(lines))
    script = script.replace("/proc/self/cgroup", str(inside))
    script = script.replace("mounted=/sys/fs/cgroup", f"mounted={tmp_path}/tree")
    made = "; ".join(f': > "$1/{name}"' for name in files)
    script = f'mkdir() {{ command mkdir "$1"; {made}; }}\nrmdir() {{ :; }}\n{script}'
    whole = ["/bin/sh", "-euc", script, "control-group", "run", *words]
    done = subprocess.run(whole, capture_output=True, text=True, timeout=30)
    group = tmp_path / "tree/parent/run"
    return done, {name: (group / name).read_text() for name in files}


def test_the_files_of_a_made_up_version_2_are_written(tmp_path):
    limit = replace(HALF, shares=128)
    words = [*limits.control_group_words(limit, 2), "/bin/echo", "cpu.max=1", "a  b"]
    done, files = in_tree(tmp_path, words)
    assert (done.returncode, done.stdout) == (0, "cpu.max=1 a  b\n"), done.stderr
    assert files == {"cpu.max": "50000 100000\n", "cpu.weight": "5\n"}


def test_a_limit_without_its_file_is_no_refusal_and_nothing_runs(tmp_path):
    done, _ = in_tree(tmp_path, ["cpu.max=1 2", "cpu.idle=1", "/bin/echo", "ran"])
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "no files for these limits here\n"
    assert not limits.refusal(done.stderr)


@pytest.mark.parametrize("said", [
    # Podman 4.3 and Docker 20.10.
    "Error: CPU cfs quota cannot be less than 1ms (i.e. 1000)",
    "docker: Error response from daemon: CPU cfs quota can not be less than 1ms (i.e. 1000).",
    "write /sys/fs/cgroup/cpu/a/cpu.cfs_quota_us: invalid argument: unknown",
    "write /sys/fs/cgroup/a/cpu.max: invalid argument",
    "cpu.cfs_quota_us=500 was refused",
])  # fmt: skip
def test_a_refusal_is_told_from_all_else(said):
    assert limits.refusal(f"first\n{said}  \nlast") == said
    assert limits.refusal("no space left on device: /sys/fs/cgroup/memory\n") == ""


def test_the_study_has_every_pair_of_the_slides():
    names = load_study(STUDY, "quota").arms
    found = [every_arm()[name].limit for name in names if "quota" in name]
    pairs = {(limit.quota_us, limit.period_us) for limit in found}
    shares = {100: (90, 75, 50, 25, 10), 50: (90, 75, 50, 25, 10), 10: (90, 75, 50, 25, 10)}
    shares[5] = (75, 50, 25, 10)
    expected = {(10 * ms * share, 1000 * ms) for ms, of in shares.items() for share in of}
    assert pairs == expected and len(pairs) == 19
