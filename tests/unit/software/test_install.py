"""What is installed, for whom and how new, and what that starts; with programs that only speak."""

from pathlib import Path

import pytest

from parity.command_line.main import main
from parity.core.commands import output_of
from parity.core.errors import UserError
from parity.software import install
from parity.software.debian_packages import nothing_starts_at_boot


def test_packages_are_wanted_and_missing_by_what_wants_them(monkeypatch):
    wanted = {"arm a": ("x", "y"), "arm b": ("y",), "paper": ("z",)}
    monkeypatch.setattr(install, "installed_packages", lambda: frozenset({"y", "z"}))
    assert install.missing_packages(wanted) == {"arm a": ["x"]}
    wanted = install.wanted_packages()
    assert "podman" in wanted["arm podman"] and "sysbench" in wanted["benchmark sysbench"]
    assert {"umoci", "skopeo", "mmdebstrap"} <= set(wanted["images"])
    # Compilers are wanted with own sources, and with a toolchain only where one is named.
    assert set(wanted["benchmark selfish"]) == {"gcc", "libc6-dev"}
    assert {"gcc", "libopenmpi-dev"} <= set(wanted["benchmark steps"])
    assert "gcc" not in wanted["benchmark sysbench"] and "toolchain debian12" not in wanted
    named = install.wanted_packages("debian12")["toolchain debian12"]
    assert {"gcc-12", "openmpi-bin"} <= set(named)


def test_one_failed_install_does_not_stop_the_others_and_an_unknown_toolchain_has_none(
    monkeypatch, capsys
):
    asked = []

    def apt(argv, **_):
        asked.append([word for word in argv if word in ("good", "bad")])
        if "bad" in asked[-1]:
            raise UserError("no package bad")
        return ""

    monkeypatch.setattr(install, "output_of", apt)
    failures = install._install_packages({"arm a": ["bad"], "arm b": ["good"]})
    assert failures == {"arm a": "no package bad"}
    assert asked[-2:] == [["bad"], ["good"]]
    monkeypatch.setattr(install, "install_as_root", lambda _wanted: pytest.fail("installed"))
    with pytest.raises(SystemExit):
        main(["install", "--toolchain", "debian99"])
    assert "unknown toolchain" in capsys.readouterr().err


def test_a_user_gets_one_command_and_outdated_is_what_the_benchmarks_depend_on(monkeypatch, capsys):
    monkeypatch.setattr(install, "installed_packages", frozenset)
    install.advise_user({"arm a": ("x",), "paper": ("x", "y")})
    assert "sudo apt-get install --no-install-recommends x y\n" in capsys.readouterr().out
    answers = {
        "apt-cache": "sysbench\n  Depends: libssl3\nlibssl3\n<virtual>\n",
        "apt-get": "Inst libssl3 [1] (2 Debian)\nInst postgresql [1] (2 Debian)\nConf libssl3\n",
    }
    monkeypatch.setattr(install, "output_of", lambda argv, **_: answers[argv[0]])
    monkeypatch.setattr(install, "installed_packages", lambda: frozenset({"sysbench"}))
    monkeypatch.setattr(install, "is_installed", lambda _program: True)
    assert install.outdated_libraries() == ["libssl3"]


def test_apt_says_ten_times_how_far_it_is(capsys):
    told = install._Progress().told
    lines = ["Reading lists...", "1 upgraded, 19 newly installed, 0 to remove and 2 not upgraded."]
    lines += [f"Get:{n} http://deb x{n} [1 kB]" for n in range(1, 21)] + ["Setting up x1 (2) ..."]
    for line in lines:
        told(line)
    said = capsys.readouterr().out.splitlines()
    assert said == [f"  downloaded {n} of 20 packages" for n in range(2, 21, 2)]
    seen = list[str]()
    words = ["/bin/sh", "-c", "echo got; echo failed >&2"]
    assert output_of(words, told=seen.append) == "got\nfailed\n" == "".join(seen)


def test_libraries_are_only_named_unless_asked_for(monkeypatch, capsys, tmp_path):
    asked = []
    for name in ("base.json", "oci.json", "images.json", "base.tar"):
        (tmp_path / name).touch()
    monkeypatch.setattr(install, "image_folders", lambda: [tmp_path])
    monkeypatch.setattr(install, "outdated_libraries", lambda: ["libssl3"])
    monkeypatch.setattr(install, "output_of", lambda argv, **_: asked.append(argv))
    install.level_libraries(upgrade=False)
    assert not asked and (tmp_path / "images.json").exists()
    assert "--only-upgrade libssl3" in capsys.readouterr().out
    install.level_libraries(upgrade=True)
    assert asked[0][-1] == "libssl3"
    # What is made of them is made anew, and nothing of the machine's own images is touched.
    assert [path.name for path in tmp_path.iterdir()] == ["base.tar"]


def test_only_services_that_came_with_packages_are_disabled(tmp_path: Path, monkeypatch, capsys):
    """Debian enables what it installs: a virtual cluster left a slurmd for the next boot."""
    done, told = tmp_path / "done", tmp_path / "told"
    listed = "slurmd.service slurmd@.service munge.socket x.target"
    for name, script in {
        "dpkg-query": "printf 'hi \\tssh\\t1\\nrc \\tmunge\\t1\\n'\n"
        f"if [ -e {done} ]; then printf 'ii \\tslurmd\\t1\\nii \\tmunge\\t1\\n'; fi",
        "dpkg": '[ "$*" = "--listfiles munge slurmd" ] || exit 1\n'
        f"printf '/lib/systemd/system/%s\\n' {listed}\necho /usr/share/doc/slurmd.service",
        "systemctl": f'echo "$@" > {told}',
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(KeyboardInterrupt), nothing_starts_at_boot():
        done.touch()
        raise KeyboardInterrupt
    assert told.read_text() == "--quiet disable munge.socket slurmd.service\n"
    assert "not started at boot: munge.socket slurmd.service" in capsys.readouterr().out
    told.unlink()
    with nothing_starts_at_boot():
        pass
    assert not told.exists()
