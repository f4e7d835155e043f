"""Commands: options from a function's parameters, words of rules that fit them, our profiles."""

import argparse
import inspect
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from parity.command_line import software
from parity.command_line.main import add_options, commands, main
from parity.command_line.workflow import with_our_profile
from parity.core.errors import REFUSED
from parity.core.package import PACKAGE, PROJECT

RULES = "".join(
    path.read_text()
    for path in [PACKAGE.parent / "Snakefile", *(PACKAGE.parent / "rules").glob("*.smk")]
)
COMMANDS = commands()
# Name, and all words, of every command that a rule calls.
CALLS = [
    (words.split()[0], set(re.findall(r"--([a-z-]+)", words)))
    for words in (
        re.sub(r'"\s+"', "", call)
        for call in re.findall(r'"(?:{params.modules})?parity ((?:[^\n"]|"\s+")+)"', RULES)
    )
]


@pytest.mark.parametrize(("name", "words"), CALLS, ids=[name for name, _ in CALLS])
def test_a_rule_gives_a_command_all_that_it_needs(name: str, words: set[str]) -> None:
    options = inspect.signature(COMMANDS[name].code).parameters.values()
    known = {option.name.replace("_", "-") for option in options}
    assert words <= known
    assert {o.name.replace("_", "-") for o in options if o.default is o.empty} <= words


def test_every_command_but_those_of_people_and_nodes_is_called_by_a_rule() -> None:
    others = {"measure", "diagnose", "import", "install", "progress", "clean"}
    others |= {"check-node", "clean-up"}
    others |= {"snakemake", "figures", "dashboard", "claims"}
    assert {name for name, _ in CALLS} == COMMANDS.keys() - others


def test_options_are_what_the_parameters_say(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {}

    def lock(
        file: Path, many: list[Path], one: Path | None, site: Mapping[str, object], jobs: int,
        hours: float | None = 2.5, loud: bool = False,
    ) -> None:  # fmt: skip
        """Say it.

        Args:
            hours: how long
                it takes
        """
        seen.update(locals())

    monkeypatch.setattr("parity.command_line.software.lock", lock)
    words = "lock --file a --many --one --jobs 2 --loud --site"
    main([*words.split(), '{"a": 1}'])
    expected = {"file": Path("a"), "many": [], "one": None, "site": {"a": 1}, "jobs": 2}
    assert {key: seen[key] for key in expected} == expected
    assert (seen["hours"], seen["loud"]) == (2.5, True)
    words = "lock --file a --many b c --one d --jobs 2 --hours 1.5 --site {}"
    main(words.split())
    assert (seen["many"], seen["one"], seen["hours"]) == ([Path("b"), Path("c")], Path("d"), 1.5)
    parser = argparse.ArgumentParser()
    add_options(parser, lock)
    assert "--hours [HOURS] how long it takes (2.5)" in " ".join(parser.format_help().split())


def test_a_rule_s_empty_parameter_is_none_of_an_option() -> None:
    """Snakemake quotes an empty text as nothing, so what may be empty takes no word as well."""
    for name in ("bootstrap-base", "take-image", "build-image", "unpack-image", "convert-image"):
        function = getattr(software, name.replace("-", "_"))
        assert inspect.signature(function).parameters["folder"].annotation == (str | None), name


@pytest.mark.parametrize("words", [["lock"], ["lock", "--jobs", "x"], ["lick"], []])
def test_wrong_words_are_refused_by_name(words: list[str], capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2 and "parity" in capsys.readouterr().err


def test_a_command_loads_only_what_it_needs_and_refuses_in_one_message() -> None:
    program = (
        "import sys; from parity.command_line.main import main\n"
        "try: main(['check-node', '--folder=none'])\n"
        "finally: print({'pandas', 'matplotlib', 'snakemake'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stderr
    assert done.returncode == REFUSED and done.stderr.startswith("parity: ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [["all", "--profile", "slurm"], ["all", "--profile=slurm"]])
def test_our_profile_is_found_by_its_name_but_where_a_folder_has_one(
    words, tmp_path, monkeypatch
) -> None:
    ours = [str(PROJECT / "profiles/slurm"), "--configfile", str(PROJECT / "config/slurm.yaml")]
    monkeypatch.chdir(tmp_path)
    assert with_our_profile(words) == ["all", "--profile", *ours]
    assert with_our_profile([*words, "--configfile=my.yaml"])[-1] == "--configfile=my.yaml"
    (tmp_path / "config").mkdir()
    (tmp_path / "config/slurm.yaml").touch()
    assert with_our_profile(words) == ["all", "--profile", ours[0]]
    (tmp_path / "slurm").mkdir()
    assert with_our_profile(words) == ["all", "--profile", "slurm"]
    for other in (["--profile"], ["--profile", "none"], ["--profile", "profiles/ours"], ["all"]):
        assert with_our_profile(other) == other
