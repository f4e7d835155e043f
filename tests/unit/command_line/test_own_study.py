"""The study of a command line: its words, what it needs, and what it is compared with."""

from pathlib import Path

import pytest

from parity.command_line.measure import OwnProgram, own_program, study_of
from parity.core.errors import UserError
from parity.core.settings import schema


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a program of one's own and its input."""
    (tmp_path / "work/data").mkdir(parents=True)
    for name in ("work/in.dat", "work/data/one", "work/solver", "other"):
        (tmp_path / name).write_text("1\n")
    (tmp_path / "work/solver").chmod(0o755)
    return tmp_path / "work"


def test_files_that_words_name_are_needed_and_absolute(folder: Path) -> None:
    words = ["./solver", "100", "in.dat", "--mesh=data", "../other", "-n=3", "none.dat"]
    found = own_program([*words, "/dev/null"], has_image=False, folder=folder)
    other, named = f"{folder.parent}/other", ("data", "in.dat", "solver")
    absolute = (f"{folder}/solver", "100", f"{folder}/in.dat", f"--mesh={folder}/data", other)
    assert found.words == (*absolute, "-n=3", "none.dat", "/dev/null")
    assert found.needs == tuple(sorted([other, *(f"{folder}/{name}" for name in named)]))
    assert found.is_here and found.packages == ()
    # The folder that we stand in is no input.
    assert own_program(["./solver", ".", ".."], False, folder).needs == (f"{folder}/solver",)


@pytest.mark.skipif(not Path("/var/lib/dpkg/status").exists(), reason="needs Debian's packages")
def test_what_debian_brought_comes_with_its_packages() -> None:
    found = own_program(["sort", "/etc/hostname"], False, Path("/"))
    assert found.words[0] == "/usr/bin/sort" and found.needs == ("/etc/hostname",)
    assert {"coreutils", "libc6"} <= set(found.packages)


def test_with_an_image_absolute_paths_are_its_own(folder: Path) -> None:
    found = own_program(["/opt/none/solver", "in.dat", "/etc/hostname"], True, folder)
    assert found.words == ("/opt/none/solver", f"{folder}/in.dat", "/etc/hostname")
    assert found.needs == (f"{folder}/in.dat",) and not found.is_here and found.packages == ()
    ours = own_program(["./solver"], True, folder)
    assert ours.needs == (f"{folder}/solver",) and ours.is_here


@pytest.mark.parametrize(("words", "has_image", "message"), [
    (["./none"], False, "there is no program ./none"),
    (["no-such-program-anywhere"], False, "there is no program no-such"),
    (["./in.dat"], False, "in.dat cannot be run"),
    (["./data"], False, "there is no program ./data"),
    (["solver"], True, "where the image has solver is not known"),
])  # fmt: skip
def test_what_cannot_be_run_is_refused(folder, words, has_image, message) -> None:
    with pytest.raises(UserError, match=message):
        own_program(words, has_image, folder)


def test_the_study_s_file_is_called_after_its_program() -> None:
    names = {"solver": "solver", "My-Solver_2.x": "mysolver2x", "3d": "d", "++": "program"}
    for file, name in (names | {30 * "x": 24 * "x"}).items():
        assert OwnProgram((f"/a/{file}",), (), (), True).name == name
    program = OwnProgram(("/a/solver", "in {1}"), ("/a/solver",), ("libgomp1",), True)
    made = study_of(program, "solver", ["podman"], margin=2.0, minutes=10.0, cpus=1)
    scale = made.pop("scales")["measure"]
    assert scale["minutes"] == 10 and scale["looks"][-1] == scale["blocks"]
    command = {
        "title": "solver", "program": ["/a/solver", "in {{1}}"], "binaries": ["/a/solver"],
        "packages": ["libgomp1"], "needs": ["/a/solver"], "cpus": 1,
    }  # fmt: skip
    assert made == {
        "study": "solver", "title": "What containers cost /a/solver 'in {1}'",
        "reproduces": "none", "seed": made["seed"], "reference": "native-a",
        "aa_pair": ["native-a", "native-b"], "arms": ["native-a", "native-b", "podman"],
        "benchmarks": {"solver": {"margin_percent": 2, "command": command}},
    }  # fmt: skip
    assert made.keys() <= schema("study")["properties"].keys()


def test_without_a_native_build_the_reference_is_a_chroot() -> None:
    program = OwnProgram(("/opt/app",), (), (), False)
    made = study_of(program, "stream", ["podman"], margin=2, minutes=1, image="/a/app.sif")
    assert made["image"] == {"from": "/a/app.sif"}
    assert (made["reference"], made["aa_pair"]) == ("chroot-a", ["chroot-a", "chroot-b"])
    # A benchmark of ours has that name.
    assert list(made["benchmarks"]) == ["own-stream"]
