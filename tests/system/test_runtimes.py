"""Every runtime that is here, really run: where it ran, what it saw, what it leaves behind.

Needs: each runtime and its image; an arm without is skipped with its reason, and the last
line says which really ran.
"""

import os
import platform
import signal
import subprocess
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from benchmark_help import running, wait_for
from trials import image_of

from parity.benchmarks.model import Program
from parity.measure import places
from parity.measure.gates import binding_gate, where_gate
from parity.measure.inner_command import EVIDENCE, evidence, program_environment, witnessed
from parity.measure.node_check import host_namespaces
from parity.measure.places import WORK
from parity.measure.timed_process import kill_group, launch_environment
from parity.runtimes import arms
from parity.runtimes.model import KERNEL, SCRATCH, Launch

pytestmark = pytest.mark.system
CPU = max(os.sched_getaffinity(0))
HOST = host_namespaces()
RAN = set()
BEYOND = {
    # gVisor of 2022 refuses statx(2) as Debian's ls asks with it, and shows no topology in /sys,
    # without which Open MPI does not start.
    "gvisor": ("test_system_folders_are_there", "test_two_mpi_ranks_inside"),
    # It passes no empty words on.
    "udocker": ("test_words_reach_the_program_untouched",),
}


@pytest.fixture(params=arms())
def arm(request):
    """One arm after the other; those that cannot run here are skipped with their reason."""
    arm = arms()[request.param]
    presence = arm.probe()
    if not presence.available:
        pytest.skip(f"{arm.name}: {presence.reason}")
    return arm


@pytest.fixture(autouse=True)
def beyond_it(arm, request):
    """What a runtime is known not to do must go on failing, or its list is wrong."""
    if request.function.__name__ in BEYOND.get(arm.name, ()):
        request.applymarker(pytest.mark.xfail(strict=True, raises=AssertionError))


@pytest.fixture
def launch(arm, images, tmp_path):
    places.make_places(SCRATCH)
    launch = Launch(f"parity-test-{arm.name}", image_of(arm, images), SCRATCH, tmp_path)
    RAN.add(arm.name)
    # A block that begins elsewhere on this machine empties where we work, and ends what it finds.
    with places.only_one(SCRATCH, "a measurement on this node"):
        WORK.mkdir(exist_ok=True)
        arm.cleanup(launch)
        yield launch


def run(arm, launch, script, *arguments):
    """Run a script in an arm as the runner would; its own output and the evidence."""
    program = Program(argv=("/bin/sh", "-c", script, "script", *arguments), cpus=(CPU,))
    done = subprocess.run(
        arm.command(launch, witnessed(program)), env=launch_environment(os.environ),
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    return done, evidence(done.stderr)


def test_the_host_s_name_is_found_without_a_name_server(arm, launch):
    # mpirun looks it up; a name server that does not answer cost five seconds a run.
    # A copy of the image in memory takes longer than that, so the look-up alone is timed, inside.
    look_up = 'begin=$(date +%s); getent hosts "$(uname -n)"; ended=$?'
    done, _ = run(arm, launch, f"{look_up}; echo $(($(date +%s) - begin)) >&2; exit $ended")
    assert KERNEL in arm.isolates or int(done.stderr.split()[-1]) < 5
    native = subprocess.run(["getent", "hosts", platform.node()], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (native.returncode, native.stdout)


def test_it_ran_where_it_says_with_its_own_environment_and_leaves_the_image(arm, launch, images):
    done, found = run(arm, launch, "pwd; /usr/bin/env; echo err >&2; exit 7")
    assert done.returncode == 7, done.stderr
    lines = done.stderr.splitlines(keepends=True)
    assert [line for line in lines if not line.startswith(EVIDENCE)] == ["err\n"]
    directory, *variables = done.stdout.splitlines()
    expected = program_environment(Program(argv=(), cpus=()))
    # `sh` adds these itself, natively as well.
    seen = {v for v in variables if v.partition("=")[0] not in ("PWD", "_", "OLDPWD")}
    assert directory == str(WORK)
    assert seen == {f"{name}={value}" for name, value in expected.items()}
    recipe = images["oci"].recipe if arm.image_format else ""
    assert where_gate(arm, found, HOST, recipe).detail == "", done.stderr
    assert binding_gate((CPU,), found).detail == ""
    # Another kernel's numbers tell nothing of networks here.
    if KERNEL not in arm.isolates:
        assert (found["namespace.net"] != HOST["net"]) == ("net" in arm.isolates)
    if arm.image_format:
        record = images[arm.image_format]
        assert arm.digest(record.location) == record.digest


def test_words_reach_the_program_untouched(arm, launch):
    words = ["a b", "$HOME", "`id`", "'\"", "\\n", "*", ""]
    done, _ = run(arm, launch, 'printf "<%s>\n" "$@"', *words)
    assert done.stdout.splitlines() == [f"<{word}>" for word in words]


def test_scratch_is_writable_from_inside_and_the_root_is_not(arm, launch):
    file = WORK / f"written-by-{arm.name}"
    file.unlink(missing_ok=True)
    script = 'echo here > "$1"'
    # Native has the host's root, and of some arms it is the difference that theirs can be written.
    if arm.image_format and not getattr(arm, "is_writable", False):
        script += " && ! ( : > /usr/written ) 2>/dev/null && ! ( : > /written ) 2>/dev/null"
    done, _ = run(arm, launch, script, str(file))
    assert done.returncode == 0, done.stderr
    assert file.read_text() == "here\n"
    assert file.stat().st_uid == os.getuid()
    file.unlink()


def test_system_folders_are_there(arm, launch):
    done, _ = run(arm, launch, "ls -d /proc/self /sys/devices/system/cpu /dev/null; df /dev/shm")
    assert done.returncode == 0, done.stderr
    assert "tmpfs" in done.stdout


def test_two_mpi_ranks_inside(arm, launch):
    if not Path("/usr/bin/mpirun").exists():
        pytest.skip("no Open MPI here")
    script = """
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    exec /usr/bin/mpirun --oversubscribe --bind-to none -n 2 /bin/echo rank
    """
    done, _ = run(arm, launch, script)
    assert done.stdout == "rank\nrank\n", done.stderr


def test_a_killed_run_leaves_nothing(arm, launch):
    # No other test's: what one leaves must not be taken for what another does.
    seconds = f"98765.{sorted(arms()).index(arm.name):03d}{os.getpid()}"
    asleep = partial(running, ["/bin/sleep", seconds].__eq__)
    program = Program(argv=("/bin/sleep", seconds), cpus=(CPU,))
    if KERNEL in arm.isolates:
        # Its processes are not ours to see: the program says that it began, and by its name
        # the whole container is looked for.
        begun = WORK / f"begun-{seconds}"
        script = (f"touch {begun}; exec /bin/sleep {seconds}",)
        program = replace(program, argv=("/bin/sh", "-c", *script))
        asleep = partial(running, lambda words: launch.name in words)
    process = subprocess.Popen(
        arm.command(launch, witnessed(program)), env=launch_environment(os.environ),
        stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    wait_for(begun.exists if KERNEL in arm.isolates else asleep)
    kill_group(process.pid)
    assert process.wait() == -signal.SIGKILL
    arm.cleanup(launch)
    wait_for(lambda: not asleep())
    assert str(launch.state) not in Path("/proc/mounts").read_text()
    # The same run can be made again under its name.
    done, _ = run(arm, launch, "exit 3")
    assert done.returncode == 3, done.stderr


def test_says_which_runtimes_ran(capsys):
    absent = {name: arm.probe().reason for name, arm in arms().items() if name not in RAN}
    with capsys.disabled():
        print(f"\nreally run: {', '.join(sorted(RAN)) or 'none'}; not here: {absent or 'none'}")
