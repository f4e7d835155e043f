"""`parity measure` writes a folder, runs the workflow in it and prints the answer first."""

import errno
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from parity.command_line import measure
from parity.command_line.main import main
from parity.command_line.measure import chosen_arms
from parity.core.commands import Availability
from parity.core.errors import REFUSED, UserError
from parity.core.settings import check, schema
from parity.measure.side_by_side import Begun
from parity.plan.plan import IN_TURN, SIDE_BY_SIDE
from parity.plan.study import load_study
from parity.report import answer
from parity.runtimes import arms

ROOT = Path(__file__).parents[3]
WORDS = ["measure", "--runtimes=docker", "--", "./solver"]
# In place of Snakemake: says what it was asked for, and leaves the answer.
SNAKEMAKE = """#!/bin/sh
echo "$@" > called
echo progress
mkdir -p results/live/solver-measure
echo "the answer" > results/live/solver-measure/summary.txt
if [ -n "$STOPPED" ]; then
    trap 'echo told; exit 1' INT
    kill -$STOPPED $PPID
    sleep 60 & wait
fi
exit ${STATUS:-0}
"""


class Stub:
    """An arm that is there or not."""

    image_format, stands_in = "sif", False

    def __init__(self, name: str, runtime: str, available: bool = True) -> None:
        self.name, self.runtime, self.available = name, runtime, available

    def probe(self) -> Availability:
        return Availability(self.available, reason="not installed", remedy="apt-get install it")


NO_RUNTIMES = ("native", "native-a", "chroot", "chroot-a")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a user calls it, with a program and something in Snakemake's place."""
    (tmp_path / "bin").mkdir()
    for name, text in (("bin/snakemake", SNAKEMAKE), ("solver", "#!/bin/sh\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin/python"))
    monkeypatch.setattr(measure, "chosen_arms", lambda names, _known: list(names))
    monkeypatch.setattr(measure, "design_here", lambda _: Begun(IN_TURN))
    monkeypatch.setattr(answer, "read", Path)
    monkeypatch.setattr(answer, "not_tested", lambda _: {})
    return tmp_path


def test_the_answer_comes_first_and_the_folder_is_a_workflow_s(folder, capfd) -> None:
    main(["measure", "--runtimes=docker,podman", "--minutes=3", "--", "./solver", "--minutes", "x"])
    said = capfd.readouterr()
    assert said.out.splitlines()[0] == "the answer" and "progress" in said.err
    begin = said.err.splitlines()[0]
    assert begin.startswith("What containers cost ") and begin.endswith("Podman, for 3 min")
    assert "before that its image is made" in said.err
    made = folder / "parity-solver"
    summary = "results/live/solver-measure/summary.txt"
    assert (made / "called").read_text().split()[-2:] == [summary, "dashboard"]
    files = {str(path.relative_to(made)) for path in made.rglob("*") if path.is_file()}
    written = {"Snakefile", "config/config.yaml", "config/studies/solver.yaml", measure.PROFILE}
    assert files == written | {"called", summary}
    config = yaml.safe_load((made / "config/config.yaml").read_text())
    check(config, schema("config"), "config.yaml")
    assert (config["study"], config["data"]) == ("config/studies/solver.yaml", "live")
    study = yaml.safe_load((made / config["study"]).read_text())
    assert study["scales"][config["scale"]]["minutes"] == 3
    assert study["arms"] == ["native-a", "native-b", "docker", "podman"]
    command = study["benchmarks"]["solver"]["command"]
    assert command["program"] == [f"{folder}/solver", "--minutes", "x"]
    assert f"snakefile: '{measure.PROJECT}/Snakefile'" in (made / "Snakefile").read_text()


@pytest.fixture
def refused(folder: Path, capfd: pytest.CaptureFixture[str]):
    """Calls it, and gives the message with which it refuses."""

    def call(*options: str, program: str = "./solver", says: str = "") -> str:
        with pytest.raises(SystemExit) as ended:
            main(["measure", "--runtimes=docker", *options, "--", program])
        said = capfd.readouterr()
        assert (ended.value.code, bool(said.out)) == (REFUSED, bool(says))
        assert said.out.startswith(says)
        return said.err

    return call


def test_runtimes_of_a_site_are_the_default_and_a_long_word_is_no_file(folder, monkeypatch) -> None:
    asked = list[list[str]]()
    monkeypatch.setattr(measure, "chosen_arms", lambda names, _: asked.append(names) or ["docker"])
    main(["measure", "--", "./solver", "x" * 300])
    assert asked == [["apptainer", "charliecloud", "docker", "podman"]]
    assert {*asked[0]} <= {arm.runtime for arm in arms().values()}


def test_what_cannot_be_measured_leaves_no_folder(folder: Path, refused) -> None:
    assert "there is no program ./none" in refused(program="./none")
    assert "'My study' is no name" in refused("--name=My study")
    assert "there is no image none.sif" in refused("--image=none.sif")
    for option in ("--image", "--pattern", "--shorter"):
        assert f"an empty text\n  where:   {option}" in refused(f"{option}= ")
    assert "where:   --shorter" in refused("--shorter=./solver 'a", "--share=0.1")
    with pytest.raises(SystemExit, match=str(REFUSED)):
        main(["measure", "--runtimes=docker", "--", "./solver", "a\nb"])
    bad = ("--margin=0", "--minutes=nan", "--cpus=9999", "--pattern=((", "--pattern=x")
    for option in (*bad, "--better=higher"):
        assert f"where:   {option.partition('=')[0]}" in refused(option)
    assert not [*folder.glob("parity-*"), *folder.glob(".parity-*")]


def test_a_folder_is_there_whole_or_not_at_all(folder, monkeypatch) -> None:
    """A full disk left one that was refused for ever."""
    write = Path.write_text

    def full(path: Path, *text: str, **how: str) -> int:
        if "config.yaml" in path.name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return write(path, *text, **how)

    with monkeypatch.context() as disk:
        disk.setattr(Path, "write_text", full)
        with pytest.raises(SystemExit):
            main(WORDS)
    assert not [*folder.glob("parity-*")]
    main(WORDS)
    assert (folder / "parity-solver/Snakefile").exists() and not [*folder.glob(".parity-*")]


def test_a_workflow_that_failed_is_said(refused, monkeypatch) -> None:
    monkeypatch.setenv("STATUS", "3")
    assert "the workflow ended with status 3; no run was made" in refused()


def test_the_same_words_go_on_with_more_minutes_and_others_are_refused(
    folder, refused, capfd
) -> None:
    words = ["measure", "--runtimes=docker", "--pattern=took (.*)", "--better=higher"]
    words += ["--packages=libgomp1,libm", "--", "./solver"]
    for minutes in (3, 5):
        main([*words[:1], f"--minutes={minutes}", *words[1:]])
        (file,) = folder.glob("parity-solver/config/studies/*")
        study = yaml.safe_load(file.read_text())
        assert study["scales"]["measure"]["minutes"] == minutes
    command = study["benchmarks"]["solver"]["command"]
    assert command["packages"] == ["libgomp1", "libm"]
    (read,) = command["metrics"]
    assert (read["pattern"], read["better"]) == ("took (.*)", "higher")
    check(study, schema("study"), "solver.yaml")
    capfd.readouterr()
    for other in ("--margin=7", "--name=solver"):
        assert "parity-solver is there already, with another benchmarks" in refused(other)
    (folder / "parity-empty").mkdir()
    assert "parity-empty is there already" in refused("--name=empty")
    assert not [*(folder / "parity-empty").iterdir()]
    whole = file.read_text()
    file.write_text(f"{whole}image: {{from: /some/image.sif}}\n")
    assert "with another image" in refused(*words[2:5])
    file.write_text(whole.replace("  measure:", "  quick:"))
    assert "parity-solver is there already" in refused("--margin=7")


def test_what_began_on_a_busy_node_stays_side_by_side(folder, refused, capfd, monkeypatch) -> None:
    begun = iter([Begun(SIDE_BY_SIDE, "this node is busy")])
    monkeypatch.setattr(measure, "design_here", lambda _: next(begun))
    for minutes in (3, 5):
        main([*WORDS[:2], f"--minutes={minutes}", *WORDS[2:]])
    assert capfd.readouterr().err.startswith("this node is busy\n")
    study = yaml.safe_load((folder / "parity-solver/config/studies/solver.yaml").read_text())
    scale = study["scales"]["measure"]
    assert (scale["minutes"], scale["design"], "short" in scale) == (5, "side-by-side", False)
    assert study["benchmarks"]["solver"]["command"]["cpus"] == 1
    check(study, schema("study"), "solver.yaml")
    assert "another benchmarks and design" in refused("--design=in-turn")
    assert "where:   --cpus" in refused("--name=b", "--design=side-by-side", "--cpus=2")


@pytest.mark.parametrize("signal", ["INT", "TERM"])
def test_who_stops_it_alone_stops_the_workflow_and_is_told_how_to_go_on(
    folder, capfd, monkeypatch, signal
) -> None:
    monkeypatch.setenv("STOPPED", signal)
    with pytest.raises(SystemExit) as ended:
        main(WORDS)
    said = capfd.readouterr()
    assert ended.value.code == 130 and "Traceback" not in said.err and "told" in said.err
    assert said.out == (
        "no block was measured yet: nothing is known\nthe same command goes on with it\n"
    )


@pytest.mark.parametrize(("minutes", "blocks"), [(2, 90), (10, 90), (11, 144), (10_000, 987)])
def test_blocks_follow_from_the_minutes(folder, minutes, blocks) -> None:
    main(["measure", "--runtimes=docker", f"--minutes={minutes}", "--", "./solver"])
    study = load_study(folder / "parity-solver/config/studies/solver.yaml", "measure")
    assert (study.blocks, study.looks[0], study.looks[-1]) == (blocks, 8, blocks)


def test_what_failed_in_one_arm_alone_is_told_and_is_a_status(refused, monkeypatch) -> None:
    monkeypatch.setattr(answer, "not_tested", lambda _: {"it failed: 3": {"Docker": None}})
    assert "nothing is known of\nDocker: it failed: 3\n" in refused(says="the answer\n")


def test_a_runtime_is_its_first_arm_that_is_here(capsys: pytest.CaptureFixture[str]) -> None:
    known = [Stub("x-dir", "x", False), Stub("x-file", "x"), Stub("y", "y", False), Stub("z", "z")]
    assert chosen_arms(["z", "x", "y", "z"], known) == ["z", "x-file"]
    assert capsys.readouterr().err == "parity: left out: y: not installed; apt-get install it\n"
    with pytest.raises(UserError, match=r"none of these runtimes(.|\n)*x-dir: not installed"):
        chosen_arms(["y", "x-dir"], known)
    # Nor is what is no container one.
    for name, of in (("none", known), *((name, arms().values()) for name in NO_RUNTIMES)):
        with pytest.raises(UserError, match=f"unknown runtime: {name}"):
            chosen_arms([name], of)


def test_the_command_of_a_clone_answers_in_a_folder_with_modules_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "random.py").write_text("raise SystemExit('a module of the user')\n")
    environment = {key: os.environ[key] for key in os.environ if key != "PYTHONPATH"}
    words = [ROOT / "tools/parity", "--help"]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    named = re.findall(r"^\| `parity (\w+)", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert {"measure", "diagnose"} <= set(named)
    assert all(f"\n    {name} " in done.stdout for name in named), done.stdout
