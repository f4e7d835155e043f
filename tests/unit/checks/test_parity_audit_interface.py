"""What an arm answers about its kernel, read from text; and the real script on this machine."""

import io
import os
import resource
import subprocess

import pytest
from benchmark_help import golden

from parity.checks.side import is_whole, parse_interface, question
from parity.measure.inner_command import evidence
from parity.software.binaries import read_audit

OURS = {"mnt": "1", "pid": "2", "user": "3"}
SEEN = {"root": "overlay,ro,relatime", "namespace.mnt": "9", "namespace.pid": "2"}
TEXT = golden("interface.txt")


def test_facts_of_a_known_text():
    facts = parse_interface(TEXT, SEEN, OURS)
    assert {name: value for name, value in facts.items() if value} == {
        "kernel": "6.1.0", "glibc": "ldd (Debian GLIBC 2.36-9+deb12u14) 2.36",
        "transparent huge pages": "madvise", "huge pages of the process": "off",
        "seccomp": "filter", "no new privileges": "yes",
        "effective capabilities": "00000000800405fb", "/dev/shm": "tmpfs, 64 MiB",
        "root file system": "overlay", "root options": "ro,relatime",
        "namespaces of its own": "mnt", "user": "0, outside 1000", "group": "7, outside nobody",
        "variables of the program": "PATH TZ", "variables of the runtime": "HOME USER",
        "limit of open files": "1024/524288", "limit of realtime timeout": "unlimited",
        "cgroup cpu.max": "no limit", "cgroup cpu.weight": "100", "cgroup memory.max": "1073741824",
        "cgroup pids.max": "2048",
    }  # fmt: skip


def test_what_cannot_be_seen_is_empty_and_never_an_error():
    assert set(parse_interface("", {}, OURS).values()) == {""}
    for text in ("shm", "shm tmpfs", "shm x y z", "user -1", "cgroup memory.max"):
        parse_interface(text, {}, OURS)
    # An unlimited shared memory is not an empty one.
    assert parse_interface("shm tmpfs 4096 0", {}, {})["/dev/shm"] == "tmpfs, no limit"


@pytest.mark.parametrize("end", range(0, len(TEXT), 7))
def test_an_answer_that_is_cut_off_is_seen_to_be(end):
    cut = TEXT[:end]
    assert not is_whole(cut)
    parse_interface(cut, SEEN, OURS)


def test_the_real_script_sees_this_machine(tmp_path, monkeypatch):
    monkeypatch.setattr("parity.measure.inner_command.WORK", tmp_path)
    cpu = min(os.sched_getaffinity(0))
    environment = {"PATH": os.environ["PATH"], "SPACE": "two\nlines=here"}
    words = question(["/bin/sh"], [cpu])
    done = subprocess.run(words, env=environment, capture_output=True, check=True)
    (shell,), text = read_audit(io.BytesIO(done.stdout))
    assert shell.sha256 and is_whole(text)
    facts = parse_interface(text, evidence(done.stderr.decode()), {})
    assert facts["kernel"] == os.uname().release
    assert facts["glibc"].startswith("ldd (") and facts["root file system"]
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert facts["limit of open files"] == (str(soft) if soft == hard else f"{soft}/{hard}")
    assert facts["user"].startswith(f"{os.getuid()}, outside ")
    # The runtime's variables do not reach the program, whose own are fixed.
    assert facts["variables of the runtime"] == "PATH SPACE"
    assert facts["variables of the program"] == "HOME LC_ALL PATH TMPDIR TZ"
