"""Files of the host that programs need, shown to every arm: copies in the folder that all see.

No image has a place for a path of the host, and not every runtime can make one in an image that
it must not change. So what a program needs is copied below the working folder, which is the same
in all arms, the native ones included; words that name a path of it name the copy. Its content is
a part of the case, so a copy of anything else is refused, and one that was changed is made anew.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from parity.benchmarks.model import Program
from parity.core.digests import digest
from parity.core.errors import UserError
from parity.plan.plan import Plan
from parity.runtimes.model import SCRATCH

NEEDS = SCRATCH / f"{os.geteuid()}" / "needs"


def stage(needs: Mapping[str, str]) -> None:
    """Copy files and folders to where all arms see them, unless they are there already.

    Args:
        needs: by absolute path, the digest of the content.

    Raises:
        UserError: one cannot be read, or is not what was planned with.
    """
    for path, expected in needs.items():
        source, copy = Path(path), Path(staged(path, needs))
        try:
            if copy.exists() and digest(copy) == expected:
                continue
            _copy(source, copy)
            found = digest(copy)
        except (OSError, shutil.Error) as error:
            raise UserError(f"it cannot be copied: {error}", where=path) from None
        if found != expected:
            raise UserError(
                f"its content is not what was planned with: {found}, expected {expected}",
                where=path,
                action="start Snakemake again: with other content it is another case",
            )


def _copy(source: Path, copy: Path) -> None:
    if copy.is_dir():
        shutil.rmtree(copy)
    copy.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, copy, symlinks=True)
    else:
        shutil.copy2(source, copy)


def staged(word: str, needs: Mapping[str, str]) -> str:
    """A word with the copy's path for each path of `needs` in it, and for those below one."""
    for path in sorted(needs, key=len, reverse=True):
        word = re.sub(rf"(?<![\w./-]){re.escape(path)}(?![\w.-])", f"{NEEDS}{path}", word)
    return word


def staged_program(program: Program, needs: Mapping[str, str]) -> Program:
    """The program with the copies' paths in its words and variables."""
    if not needs:
        return program
    variables = {name: staged(text, needs) for name, text in program.environment.items()}
    argv = tuple(staged(word, needs) for word in program.argv)
    return replace(program, argv=argv, environment=variables)


def binaries_of(plan: Plan) -> dict[str, tuple[str, ...]]:
    """The programs of a plan's benchmarks as its provider installs them, where arms see them."""
    return {
        name: tuple(staged(path, each.needs) for path in each.provided_by(plan.provider).binaries)
        for name, each in plan.definitions.items()
    }
