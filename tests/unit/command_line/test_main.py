"""Commands: options that follow from a function's parameters, and words of rules that fit them."""

import inspect
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from parity.command_line import main as command_line
from parity.command_line import software
from parity.command_line.main import COMMANDS, MODULES, main
from parity.core.errors import REFUSED
from parity.core.package import PACKAGE

RULES = "".join(
    path.read_text()
    for path in [PACKAGE.parent / "Snakefile", *(PACKAGE.parent / "rules").glob("*.smk")]
)
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
    module = __import__(f"parity.command_line.{MODULES[name]}", fromlist=["_"])
    function = getattr(module, name.replace("-", "_"))
    options = inspect.signature(function).parameters.values()
    known = {option.name.replace("_", "-") for option in options}
    assert words <= known
    assert {o.name.replace("_", "-") for o in options if o.default is o.empty} <= words


def test_every_command_but_those_of_people_and_nodes_is_called_by_a_rule() -> None:
    others = {"measure", "diagnose", "import", "install", "progress", "check-node", "clean-up"}
    assert {name for name, _ in CALLS} == MODULES.keys() - others
    assert len(MODULES) == sum(map(len, COMMANDS.values()))


def test_options_are_what_the_parameters_say(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {}

    def lock(
        file: Path, many: list[Path], one: Path | None, site: Mapping[str, object],
        jobs: int, hours: float | None = None, loud: bool = False,
    ) -> None:  # fmt: skip
        """Say it.

        Args: none of which is in the summary.
        """
        seen.update(locals())

    monkeypatch.setattr("parity.command_line.software.lock", lock)
    words = "lock --file a --many --one --jobs 2 --loud --site"
    main([*words.split(), '{"a": 1}'])
    expected = {"file": Path("a"), "many": [], "one": None, "site": {"a": 1}, "jobs": 2}
    assert {key: seen[key] for key in expected} == expected
    assert (seen["hours"], seen["loud"]) == (None, True)
    words = "lock --file a --many b c --one d --jobs 2 --hours 1.5 --site {}"
    main(words.split())
    assert (seen["many"], seen["one"], seen["hours"]) == ([Path("b"), Path("c")], Path("d"), 1.5)
    assert command_line._command("lock").summary == "Say it."


def test_a_rule_s_empty_parameter_is_none_of_an_option() -> None:
    """Snakemake quotes an empty text as nothing, so what may be empty takes no word as well."""
    for name in ("bootstrap-base", "take-image", "build-image", "unpack-image", "convert-image"):
        function = getattr(software, name.replace("-", "_"))
        assert inspect.signature(function).parameters["folder"].annotation == "str | None", name


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
