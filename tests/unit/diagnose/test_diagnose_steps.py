"""What differs between two processes, and the exact words that make it on this machine."""

import os
import shutil
import subprocess
import sys
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from parity.command_line import diagnose as command
from parity.command_line.main import main
from parity.core.errors import REFUSED, UserError
from parity.diagnose import surroundings
from parity.diagnose.look import look
from parity.diagnose.setting import Setting
from parity.diagnose.steps import Step, proven, steps_of
from parity.diagnose.surroundings import Surroundings, document, read
from parity.runtimes.ladder import CONTROL_GROUP
from parity.runtimes.limits import control_group_version
from parity.runtimes.model import name_in
from parity.runtimes.namespaces import MOUNTED

SPACES = {name: f"{name}:[1]" for name in surroundings.NAMESPACES}
NATIVE = Surroundings(
    cpus="0-1", quota=None, limits={"nofile": "100:100"}, namespaces=SPACES, filters=0,
    variables={"LANG": "C", "TOKEN": "secret"}, shared_memory=2**30, root="ext4",
    files={
        "/bin/solver": "a" * 64, "/lib/ld-linux-x86-64.so.2": "0" * 64,
        "/lib/libc.so.6": "b" * 64, "/lib/libwork.so": "c" * 64,
    },
    command=("/bin/solver", "in.dat"), busy="/bin/solver", capabilities=0b111,
)  # fmt: skip


def parted(*sides) -> tuple[list[Step], list[str]]:
    """The steps that are made, and the others as they are told."""
    steps = list(steps_of(*sides))
    left_out = [step for step in steps if step.obstacle]
    told = [f"{it.title}: {it.native} → {it.container} ({it.obstacle})" for it in left_out]
    return [step for step in steps if not step.obstacle], told


def test_each_difference_is_a_step_in_a_fixed_order(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    code, image = tmp_path / "code", tmp_path / "image/files"
    code.mkdir()
    image.mkdir(parents=True)
    for name in ("ld-linux-x86-64.so.2", "libc.so.6", "libwork.so", "solver"):
        (code / name).touch()
    (tmp_path / "filter-0.bpf").touch()
    container = replace(
        NATIVE, cpus="0", quota=(5000, 10000), limits={"nofile": "10:10"},
        variables={"LANG": "C", "OMP_NUM_THREADS": "1", "PATH": "/usr/bin", "SITE": "x"},
        namespaces={**SPACES, "mnt": "mnt:[2]", "net": "net:[2]"}, capabilities=0b101, filters=1,
        shared_memory=65536, root="overlay", mounts={"/data": "/srv/data"}, folder="/data", nice=5,
        huge_pages="0", memory_limit=2**30, most_processes=2048, user="1000",
        files={name: "d" * 64 for name in NATIVE.files},
    )  # fmt: skip
    made, left_out = parted(NATIVE, container, tmp_path)
    assert [step.title for step in made] == [
        *("CPU binding", "CPU quota", "memory limit", "limit of processes", "priority (nice)"),
        *("transparent huge pages", "resource limits"),
        *("environment: OMP_NUM_THREADS", "environment: PATH", "environment"),
        *("namespaces", "network namespace", "capabilities", "size of /dev/shm"),
        *("seccomp filters", "C library of the image", "libraries of the image", "program file"),
        *("image as a directory", "root file system"),
    ]
    assert left_out == ["user:  → 1000 (not made)"]
    by_title = {step.title: step for step in made}
    # A value may be a secret, so it is told nowhere.
    said = by_title["environment"]
    assert (said.native, said.container) == ("TOKEN", "SITE")
    assert "secret" not in str(document(NATIVE))
    assert [value for step in made for value in step.secrets.values()] == ["1", "/usr/bin", "x"]
    assert by_title["size of /dev/shm"].container == "64 KiB"
    assert by_title["libraries of the image"].loads == {"d" * 64}
    words = by_title["program file"].setting.words(["solver", "in.dat"], NATIVE.command)
    limits = (
        ["cpu.cfs_period_us=10000", "cpu.cfs_quota_us=5000", f"memory.limit_in_bytes={2**30}"]
        if control_group_version() == 1
        else ["cpu.max=5000 10000", f"memory.max={2**30}"]
    )
    limits.append("pids.max=2048")
    opened = 'filters=$1; shift; exec "$@" 9< "$filters/filter-0.bpf"'
    pages = words[words.index("-c", words.index("nice")) + 1]
    own = [f"PARITY_VARIABLE_{number}" for number in range(3)]
    pairs = zip(("OMP_NUM_THREADS", "PATH", "SITE"), own, strict=True)
    values = " ".join(f'"{name}=${{{variable}}}"' for name, variable in pairs)
    before = [
        *("/bin/sh", "-euc", CONTROL_GROUP, "control-group", name_in(tmp_path), *limits),
        *("taskset", "-c", "0", "nice", "-n", "5", sys.executable, "-c", pages, "1"),
        *("prlimit", "--nofile=10:10"),
    ]
    variables = ["env", "-u", "TOKEN", *(word for name in own for word in ("-u", name))]
    filtered = [*variables, "-S", values, "/bin/sh", "-euc", opened, "filtered", str(tmp_path)]
    inside = ["--perms", "1777", "--size", "65536", "--tmpfs", "/dev/shm", "--unshare-net"]
    inside += ["--cap-drop", "CAP_DAC_OVERRIDE", "--add-seccomp-fd", "9"]
    assert words == [
        *(*before, *filtered, shutil.which("bwrap") or "bwrap", "--dev-bind", "/", "/", *inside),
        *(str(code / "ld-linux-x86-64.so.2"), "--library-path", str(code)),
        *(str(code / "solver"), "in.dat"),
    ]
    root = str(tmp_path / "image/root")
    last = made[-1].setting.words(["solver", "in.dat"], NATIVE.command)
    assert last == [
        *(*before, "unshare", "--mount", "/bin/sh", "-euc", MOUNTED, "mounted", "overlay"),
        *(str(image), root, *filtered, shutil.which("bwrap") or "bwrap", "--bind", root, "/"),
        *("--dev-bind", "/dev", "/dev", "--bind", "/proc", "/proc", "--ro-bind", "/sys", "/sys"),
        *("--chdir", "/data", "--bind", "/srv/data", "/data", *inside, "solver", "in.dat"),
    ]
    of_c = Path(by_title["C library of the image"].setting.libraries)
    assert sorted(path.name for path in of_c.iterdir()) == ["ld-linux-x86-64.so.2", "libc.so.6"]


@pytest.mark.parametrize(("loader", "library"), [
    ("ld-linux-aarch64.so.1", "libc.so.6"), ("ld-musl-x86_64.so.1", "libz.so.1"),
    ("ld64.so.2", "libc-2.31.so"),
])  # fmt: skip
def test_any_loader_is_one_and_a_program_of_another_c_library_comes_with_it(
    tmp_path, loader, library
):
    assert parted(NATIVE, NATIVE, tmp_path) == ([], [])
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / loader).touch()
    files = {f"/lib/{loader}": "d" * 64, f"/lib/{library}": "e" * 64, "/bin/solver": "f" * 64}
    first, *_ = steps_of(NATIVE, replace(NATIVE, files=files), tmp_path)
    assert first.title == "C library of the image" and first.setting.program.endswith("/solver")
    assert "program ffffffff" in first.container and "d" * 64 in first.loads


# Workers beside it may let it wait for most of a second before it can be read.
SLEEP = ["/bin/sleep", "3"]


def test_what_is_preloaded_may_have_the_name_of_another_library(tmp_path, monkeypatch):
    """Both were copied to one file by that name, and what was said to be preloaded was not."""
    native, _ = look(SLEEP, SLEEP)
    (ours,) = (path for path in native.files if path.endswith("/libc.so.6"))
    preloaded = tmp_path / "opt/libc.so.6"
    preloaded.parent.mkdir()
    shutil.copy(Path(ours).with_name("libm.so.6"), preloaded)
    words = ["env", f"LD_PRELOAD={preloaded}:/gone.so", *SLEEP]
    container, _ = look(words, SLEEP, tmp_path)
    assert container.preloaded == {str(preloaded): str(preloaded)}
    assert container.libraries == native.libraries
    copy = tmp_path / f"preload{preloaded}"
    for kept, source in ((tmp_path / "code/libc.so.6", Path(ours)), (copy, preloaded)):
        assert kept.read_bytes() == source.read_bytes()
    made, _ = parted(native, container, tmp_path)
    assert [step.secrets for step in made] == [{"PARITY_VARIABLE_0": f"{copy}:/gone.so"}]
    monkeypatch.setenv("PARITY_VARIABLE_0", made[0].secrets["PARITY_VARIABLE_0"])
    (step,) = proven(made, [], SLEEP, native.command)
    assert (step.title, step.obstacle) == ("environment: LD_PRELOAD", "")
    assert step.loads == {container.files[str(preloaded)]}


def test_within_the_image_what_is_preloaded_is_where_it_was(tmp_path, monkeypatch):
    """Also where both sides have one variable, which names another file in the image."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    for folder in ("code", "image/files"):
        (tmp_path / folder).mkdir(parents=True)
    native, container = (
        replace(
            NATIVE,
            namespaces={**SPACES, "mnt": f"mnt:[{digest}]"},
            variables={**NATIVE.variables, "LD_PRELOAD": "slow.so"},
            files={**NATIVE.files, "/opt/slow.so": digest * 64},
            preloaded={"slow.so": "/opt/slow.so"},
        )
        for digest in "12"
    )
    made, _ = parted(native, container, tmp_path)
    titles = ["environment: LD_PRELOAD", "namespaces", "image as a directory"]
    assert [step.title for step in made] == titles
    secrets = made[0].secrets | made[2].secrets
    values = [secrets[step.setting.variables["LD_PRELOAD"]] for step in made]
    assert values == [f"{tmp_path}/preload/opt/slow.so"] * 2 + ["slow.so"]


# What is over at once proves nothing, and what fails is a row that says so.
@pytest.mark.parametrize(("program", "is_loaded", "is_kept"), [
    ("", True, True), ("", False, False), ("/bin/true", True, False), ("/bin/false", True, True),
])  # fmt: skip
def test_a_step_that_loads_files_has_to_prove_it(tmp_path, program, is_loaded, is_kept):
    own, _ = look(SLEEP, SLEEP)
    loads = frozenset({own.executable if is_loaded else "0" * 64})
    step = Step("it", "a", "b", loads=loads, setting=Setting(tmp_path, program=program))
    (seen,) = proven([step], [], SLEEP, own.command)
    assert bool(seen.obstacle) != is_kept and seen == step._replace(obstacle=seen.obstacle)


def test_what_the_program_or_its_launcher_sets_itself_surrounds_nobody(tmp_path):
    native = replace(NATIVE, nice=-5, variables={**NATIVE.variables, "OMPI_COMM_WORLD_RANK": "0"})
    reason = "the program or its launcher sets it itself"
    alone = [f"priority (nice): -5 → 0 ({reason})"]
    assert parted(native, NATIVE, tmp_path, NATIVE) == ([], alone)
    # A plain setting is the program itself.
    assert Setting(tmp_path).words(["./a", "b"], ["/x/a", "b"]) == ["./a", "b"]
    assert Setting(tmp_path).start() == ["/bin/true"]


def test_the_program_is_looked_at_and_not_the_script_in_front_of_it(tmp_path):
    """A script's words end with the program's as well, and so do those of somebody else."""
    script = tmp_path / "site.sh"
    script.write_text('#!/bin/sh\nsleep 0.1\ntaskset -c 0 env MADE=1 "$@"\nsleep 0.2\n')
    script.chmod(0o755)
    loop = 'import time; end = time.time() + 3\nwhile time.time() < end: pass\nprint("done")'
    program = [sys.executable, "-c", loop]
    for words in (
        [str(script), *program],
        ["/bin/sh", str(script), *program],
        [sys.executable, "-c", "import os, sys; os.execv(sys.argv[1], sys.argv[1:])", *program],
    ):
        other = subprocess.Popen(program, stdout=subprocess.DEVNULL)
        time.sleep(0.1)
        seen, written = look(words, program)
        other.wait()
        assert written == "done\n" and Path(seen.busy).samefile(sys.executable)
        assert seen.variables.get("MADE") == ("1" if str(script) in words else None)
        assert (seen.cpus == "0") == (str(script) in words)


def test_of_a_program_that_starts_others_the_one_that_uses_the_cpu_is_read(tmp_path):
    loop = f"{sys.executable} -c 'for _ in range(50_000_000): pass'; sleep 0.2"
    seen, _ = look(["/bin/sh", "-c", loop], ["/bin/sh", "-c", loop])
    assert Path(seen.busy).samefile(sys.executable) and seen.command[1:] == ("-c", loop)
    _, left_out = parted(seen, replace(seen, files={seen.busy: "a"}), tmp_path)
    assert left_out[-1].endswith("(of a process that the program starts)")


def test_what_only_root_can_make_is_left_out_with_the_reason(tmp_path, monkeypatch):
    native = replace(NATIVE, memory_limit=2**20)
    container = replace(NATIVE, quota=(1, 2), memory_limit=2**21, nice=-5, filters=2)
    never = [
        "memory limit: 1 MiB → 2 MiB (this machine's own is not lifted)",
        "seccomp filters: 0 → 2 (the kernel does not give them to us)",
    ]
    for user, titles, others in (
        (0, ["CPU quota", "priority (nice)"], []),
        (1000, [], ["CPU quota: none → 1 of 2 us", "priority (nice): 0 → -5"]),
    ):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        made, left_out = parted(native, container, tmp_path)
        assert [step.title for step in made] == titles
        assert sorted(left_out) == sorted([*never, *(f"{other} (needs root)" for other in others)])


def test_our_own_surroundings_are_read():
    own = read(os.getpid())
    assert own.command[0].startswith("/") and own.cpus and own.root
    assert any(name.rpartition("/")[2].startswith("libc") for name in own.files)
    assert set(own.namespaces) == set(surroundings.NAMESPACES)


def test_a_step_has_the_priority_and_the_pages_that_it_says(tmp_path):
    for pages, nice in (("0", 3), ("1", 0)):
        setting = Setting(tmp_path, nice=nice, huge_pages=pages)
        asked = "nice; grep THP_enabled /proc/self/status"
        words = setting.words(["/bin/sh", "-c", asked], ["/bin/sh"])
        said = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
        assert said == [str(os.nice(0) + nice), "THP_enabled:", pages]


def test_a_name_leads_to_no_folder_of_others(tmp_path, monkeypatch, capfd) -> None:
    """What stood there was deleted when the look failed."""
    kept = tmp_path / "clone/x/file"
    kept.parent.mkdir(parents=True)
    kept.touch()
    monkeypatch.chdir(kept.parents[1])
    words = ["--container=/bin/false", "--name=a/../../x", "--", "/bin/sleep", "1"]
    with pytest.raises(SystemExit) as ended:
        main(["diagnose", *words])
    assert ended.value.code == REFUSED and "'a/../../x' is no name" in capfd.readouterr().err
    assert kept.exists()
    with pytest.raises(SystemExit):
        main(["diagnose", "--container=podman run 'x", "--", "/bin/sleep", "1"])
    assert "where:   --container" in capfd.readouterr().err


@pytest.mark.parametrize("end", [None, UserError("it fails"), KeyboardInterrupt()])
def test_no_copy_of_an_image_stays(tmp_path, monkeypatch, end):
    def looked_at(_launcher, _container, program, folder, _pattern):
        (folder / "image/files").mkdir(parents=True)
        (folder / "surroundings.json").touch()
        return [], program

    def measured(_study, folder):
        folder.mkdir()
        if end:
            raise end

    replaced = {"_looked_at": looked_at, "measure": measured, "table_of": str}
    for name, made in (*replaced.items(), ("concluded", lambda *_: "the answer")):
        monkeypatch.setattr(command, name, made)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(type(end)) if end else nullcontext():
        command.diagnose("sleep", "1", container="env", name="x")
    kept = {path.name for path in (tmp_path / "parity-diagnose-x").iterdir()}
    assert kept == {"runs", "surroundings.json"} | (set() if end else {"answer.txt", "table.csv"})
