"""The study of one program that a command line names: its file's content. Pure but for looks."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parity.benchmarks import benchmarks
from parity.benchmarks.programs import packages_of
from parity.core.commands import answer_of, output_of
from parity.core.errors import UserError
from parity.runtimes import arms

SCALE = "measure"
# A block is one run in each arm; the first look comes as soon as both tests can decide.
BLOCKS, LOOKS = 90, [8, 13, 21, 34, 55, 90]
_LIBRARY, _MISSING = re.compile(r"=> (/\S+) \(0x"), re.compile(r"(\S+) => not found")
# Where Debian's packages put programs.
_SYSTEM = ("/usr/", "/bin/", "/sbin/")
# What is no file of anybody's.
_PSEUDO = (Path("/dev"), Path("/proc"), Path("/sys"))


@dataclass(frozen=True)
class OwnProgram:
    """A program as it is called.

    Attributes:
        words: its absolute path and its words, those that name files of this machine absolute.
        needs: files and folders of this machine that it needs in containers, by absolute path.
        packages: Debian packages that bring it and its libraries; none with an image of its own.
        is_here: whether its native build is on this machine.
    """

    words: tuple[str, ...]
    needs: tuple[str, ...]
    packages: tuple[str, ...]
    is_here: bool

    @property
    def name(self) -> str:
        """The name of its study: letters and digits of the program's."""
        plain = re.sub(r"[^a-z0-9]", "", Path(self.words[0]).name.lower()).lstrip("0123456789")
        return plain[:24] or "program"


def own_program(words: Sequence[str], has_image: bool, folder: Path) -> OwnProgram:
    """The program that `words` call in `folder`.

    Without an image of its own everything is this machine's: what Debian brought comes with its
    package into the image, all else is needed. With one, relative paths are this machine's, and
    absolute ones the image's.

    Raises:
        UserError: there is no such program, or it is not one that can be run.
    """
    if not words:
        raise UserError("no program is given", action="parity measure … -- ./solver in.dat")
    program = _program(words[0], has_image, folder)
    others = [_word(word, has_image, folder) for word in words[1:]]
    # With an image there are no packages, and what is named by an absolute path lies in it.
    brought = {} if has_image else _brought(program)
    is_there = program in brought or (has_image and words[0].startswith("/"))
    needs = {path for _, path in others if path} | ({str(program)} if not is_there else set())
    return OwnProgram(
        words=(str(program), *(word for word, _ in others)),
        needs=tuple(sorted(needs)),
        packages=tuple(sorted(set().union(*brought.values()))),
        is_here=program.is_file() and os.access(program, os.X_OK),
    )


def _program(word: str, has_image: bool, folder: Path) -> Path:
    if "/" not in word:
        if has_image:
            raise UserError(
                f"where the image has {word} is not known",
                action="give its absolute path in the image, or a path of this folder",
            )
        word = shutil.which(word) or word
        # A link of a virtual environment, say, is in no image.
        if not word.startswith(_SYSTEM) and (real := Path(word).resolve()).is_relative_to("/usr"):
            word = str(real)
    path = Path(os.path.normpath(folder / word))
    if has_image and word.startswith("/"):
        return path
    if not path.is_file():
        raise UserError(f"there is no program {word}", where=str(folder))
    if not os.access(path, os.X_OK):
        raise UserError(f"{word} cannot be run", where=str(path), action=f"chmod +x {path}")
    return path


def _word(word: str, has_image: bool, folder: Path) -> tuple[str, str]:
    """A word as it is run, and the file or folder of this machine that it names, if any.

    That is all of it, or what is behind its last `=`.
    """
    begin, sign, value = word.rpartition("=")
    path = Path(os.path.normpath(folder / value))
    is_of_image = has_image and value.startswith("/")
    if not value or is_of_image or any(path.is_relative_to(each) for each in _PSEUDO):
        return word, ""
    # A folder that holds the one that we stand in is no input.
    if not path.is_file() and not (path.is_dir() and not folder.is_relative_to(path)):
        return word, ""
    return f"{begin}{sign}{path}", str(path)


def _brought(program: Path) -> dict[Path, set[str]]:
    """What Debian's packages brought of a program and its libraries, with their names, by path.

    Raises:
        UserError: a library is not there, or no package brought it, so no image would have it.
    """
    answered, _ = answer_of(["ldd", program])
    said = output_of(["ldd", program]) if answered else ""
    if missing := _MISSING.search(said):
        raise UserError(f"{program} does not find its library {missing[1]}")
    libraries = {Path(path) for path in _LIBRARY.findall(said)}
    # dpkg knows many a library by the path that it had before /lib was a link.
    names = {
        path: {path, path.resolve(), _before(path.resolve())} for path in {program, *libraries}
    }
    known = packages_of(set().union(*names.values()))
    found = {
        path: {name.partition(":")[0] for each in these for name in known.get(str(each), ())}
        for path, these in names.items()
    }
    without = [path for path in libraries if not found[path]]
    if known and without:
        raise UserError(
            f"no Debian package brought {min(without)}, so the image would not have it",
            where=str(program),
            action="give an image that has it: --image",
        )
    return {path: packages for path, packages in found.items() if packages}


def _before(path: Path) -> Path:
    return Path("/", path.relative_to("/usr")) if path.is_relative_to("/usr") else path


def study_of(
    program: OwnProgram,
    name: str,
    in_arms: Sequence[str],
    *,
    margin: float,
    minutes: float,
    cpus: int | None = None,
    image: str = "",
) -> dict[str, Any]:
    """The content of the study's file. The reference is native wherever there is a native build."""
    pair = [
        each.name
        for each in arms().values()
        if (each.is_native if program.is_here else each.stands_in)
    ][:2]
    line = shlex.join(program.words)
    # A brace would be a place that a factor or parameter fills.
    words = [word.replace("{", "{{").replace("}", "}}") for word in program.words]
    command = {
        "title": Path(program.words[0]).name[:60],
        "program": words,
        "binaries": [program.words[0]],
        "packages": list(program.packages),
        "needs": list(program.needs),
        "cpus": cpus,
    }
    benchmark = f"own-{name}" if name in benchmarks() else name
    return {
        "study": name,
        "title": f"What containers cost {line}",
        "reproduces": "none",
        "seed": zlib.crc32(line.encode()),
        **({"image": {"from": image}} if image else {}),
        "reference": pair[0],
        "aa_pair": pair,
        "arms": [*pair, *in_arms],
        "benchmarks": {
            benchmark: {
                "margin_percent": margin,
                "command": {key: value for key, value in command.items() if value},
            }
        },
        "scales": {
            SCALE: {"blocks": BLOCKS, "looks": LOOKS, "blocks_per_job": BLOCKS, "minutes": minutes}
        },
    }
