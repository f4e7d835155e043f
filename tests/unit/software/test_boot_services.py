"""What is installed here starts nothing at the next boot; with clients that only speak."""

from pathlib import Path

import pytest

from parity.software.debian_packages import nothing_starts_at_boot

QUERY = """\
printf 'ii \\tssh\\t1\\n'
if [ -e {done} ]; then printf 'ii \\tslurmd\\t1\\nii \\tmunge\\t1\\n'; fi"""
LIST = """\
[ "$*" = "--listfiles munge slurmd" ] || exit 1
printf '/lib/systemd/system/%s\\n' slurmd.service slurmd@.service munge.socket x.target
echo /usr/share/doc/slurmd.service"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch) -> Path:
    """What says that packages were installed; systemctl writes down what it was told."""
    done = tmp_path / "done"
    scripts = {
        "dpkg-query": QUERY.format(done=done),
        "dpkg": LIST,
        "systemctl": f'echo "$@" > {tmp_path}/told',
    }
    for name, script in scripts.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return done


def test_only_services_that_came_with_packages_are_disabled(installed: Path, capsys) -> None:
    """Debian enables what it installs: a virtual cluster left a slurmd for the next boot."""
    with nothing_starts_at_boot():
        installed.touch()
    told = installed.with_name("told")
    assert told.read_text() == "--quiet disable munge.socket slurmd.service\n"
    assert "not started at boot: munge.socket slurmd.service" in capsys.readouterr().out
    told.unlink()
    with nothing_starts_at_boot():
        pass
    assert not told.exists()
