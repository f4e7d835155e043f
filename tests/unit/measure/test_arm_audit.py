"""What an arm answers about its programs, and what counts as no answer."""

import hashlib
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from parity.measure import node_check
from parity.measure.node_check import AuditError, audit_arm
from parity.runtimes import arms
from parity.runtimes.native import Native

SHELL = {"startup": ("/bin/sh", "/no such file"), "other": ("/bin/sh",)}


@dataclass(frozen=True)
class Wrapped(Native):
    """The host's own programs with words of a shell around them."""

    name: str = "wrapped"
    title: str = "Wrapped"
    script: str = 'exec "$@"'
    cleaned: list[str] = field(default_factory=list)

    def command(self, launch, inner):
        return ["/bin/sh", "-c", self.script, "wrapped", *inner]

    def cleanup(self, launch):
        self.cleaned.append(launch.name)


@pytest.fixture(autouse=True)
def _scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_check, "SCRATCH", tmp_path)


def test_each_benchmark_has_its_programs_and_the_witness_its_say() -> None:
    rows, evidence = audit_arm(arms()["native-a"], None, SHELL)
    asked = [(benchmark, path) for benchmark, paths in SHELL.items() for path in paths]
    assert [(row.benchmark, row.path) for row in rows] == asked
    assert rows[0].sha256 == hashlib.sha256(Path("/bin/sh").read_bytes()).hexdigest()
    assert rows[1].sha256 == "" and rows[0].closure_sha256 == rows[2].closure_sha256
    assert evidence["marker"] == "" and "namespace.mnt" in evidence


def test_what_a_runtime_says_beside_it_is_passed_over() -> None:
    remarks = 'echo remark; yes warning | head -n 100000 >&2; "$@"; echo remark'
    rows, evidence = audit_arm(Wrapped(script=remarks), None, SHELL)
    assert len(rows[0].sha256) == 64 and "root" in evidence


@pytest.mark.parametrize(("script", "why", "starts"), [
    ("echo no such container >&2; exit 125", "no such container", 2),
    ('"$@"; echo broken at its end >&2; exit 1', "broken at its end", 2),
    ('"$@" | head -c 3000', "the answer about programs and libraries is cut off", 1),
    ("exit 0", "the answer about programs and libraries is cut off", 1),
])  # fmt: skip
def test_a_failure_and_an_answer_that_is_not_whole_are_no_answer(script, why, starts) -> None:
    arm = Wrapped(script=script)
    with pytest.raises(AuditError, match=r"^cannot run a command: ") as raised:
        audit_arm(arm, None, SHELL)
    assert str(raised.value).endswith(why)
    assert len(arm.cleaned) == starts


def test_a_start_that_another_container_s_end_broke_is_made_anew(tmp_path: Path) -> None:
    mark = tmp_path / "was here"
    arm = Wrapped(script=f'[ -e "{mark}" ] || {{ touch "{mark}"; exit 1; }}; exec "$@"')
    rows, _ = audit_arm(arm, None, SHELL)
    assert rows and len(arm.cleaned) == 1


@pytest.mark.parametrize("script", ["sleep 60", "sleep 60 & exit 0", '"$@"; exec sleep 60 >&-'])
def test_an_arm_that_does_not_end_is_given_up(script: str, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(node_check, "TIMEOUT_SECONDS", 1)
    arm, begun = Wrapped(script=script), time.monotonic()
    with pytest.raises(AuditError):
        audit_arm(arm, None, SHELL)
    assert time.monotonic() - begun < 20 and len(arm.cleaned) == 1
    assert list(tmp_path.iterdir()) == []
