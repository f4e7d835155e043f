"""What names a machine or a person in a text, and what stands for it where others read that."""

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import psutil

from parity.core.files import DATA_URL
from parity.core.package import PACKAGE

# Where a name may begin: JSON writes the end of a line as a letter, too.
_BEGINS = r"(?:(?<![\w.}-])|(?<=\\[nrt]))"
HOME, CLONE, USER, NODES = PLACES = ("{home}", "{clone}", "{user}", "{nodes}")
# What lies above the results of whichever clone, which may be in a user's folder, and is of bounded
# length, because outputs that are no text have no end of a path; these folders; and the number of
# the user who measures, unless it is root's.
_ANYWHERE = {
    CLONE: _BEGINS + r"/[^\s\"'\\:,;=]{1,255}?(?=/results/(?:blocks|images|live|native|spack)\b)",
    HOME: _BEGINS + r"/root(?![\w.-])|/(?:home|Users)/[^/\s\"'\\:,;=]+",
    USER: r"(?:(?<=/tmp/parity/)|(?<=/dev/shm/parity-))[1-9][0-9]*",
}
_NO_TEXT = re.compile(
    rf"({re.escape(DATA_URL)}(?:[A-Za-z0-9+/]{{4}})*(?:[A-Za-z0-9+/]{{2,3}}=?=)?(?![\w+/=]))"
)
# One of these stands in whatever is private of itself.
_MARKS = ("/results/", "/root", "/home/", "/Users/", "/tmp/parity/", "/dev/shm/parity-")
# Users that images and clouds bring along: their names are words of programs, and name nobody.
_NOBODY = {"root", "admin", "user", "test", "debian", "ubuntu", "fedora", "centos", "runner"}
# A name is no part of another word, nor of the kernel's settings (/proc/sys/vm); and what a system
# is called in its own file is for all to read.
_NAME = _BEGINS + r"(?<!/sys/)(?<!\"system\": \")(?<!\"scale_label\": \")(?:%s)(?![\w-])"


class Private:
    """What is private here, and what stands for it: paths, the user, and nodes if there are any."""

    def __init__(self, nodes: Mapping[str, str] | None = None) -> None:
        """`nodes`: what stands for each of these names."""
        paths = {os.path.expanduser("~"): HOME, str(Path.cwd()): CLONE}  # noqa: PTH111
        if not PACKAGE.is_relative_to(sys.prefix):
            paths[str(PACKAGE.parents[1])] = CLONE
        # The root, or a folder right below it, is as others have it.
        self._paths = {path: place for path, place in paths.items() if path.count("/") > 1}
        # JSON writes some characters otherwise.
        self._paths |= {json.dumps(path)[1:-1]: place for path, place in self._paths.items()}
        # A user without a name has a number there.
        user = psutil.Process().username()
        self._names = {} if user in _NOBODY or user.isdecimal() else {user: USER}
        self._names |= dict(nodes or {})
        patterns, self._marks = _ANYWHERE, {*_MARKS, *self.known}
        if nodes:
            # Slurm writes many of them as n[1-4].
            stems = {re.sub(r"\d+$", "", node) for node in nodes}
            self._marks |= stems
            patterns = {**patterns, NODES: rf"{_BEGINS}{_any_of(stems)}\d*\[[\d,-]+\]"}
        self._places = ("", *patterns)
        own = rf"{_any_of(self._paths)}(?![\w.-])" if self._paths else "(?!)"
        self._path = re.compile("|".join(f"({each})" for each in (own, *patterns.values())))
        self._name = re.compile(_NAME % _any_of(self._names)) if self._names else None

    @property
    def known(self) -> list[str]:
        """The paths and names that are private here."""
        return [*self._paths, *self._names]

    def left_out(self, text: str) -> str:
        """The text with what stands for each private name in its place; of that text, the same.

        What is no text stands in it as data URLs, whose letters are words by chance alone.
        """
        if not any(mark in text for mark in self._marks):
            return text
        parts = enumerate(_NO_TEXT.split(text))
        return "".join(part if number % 2 else self._replaced(part) for number, part in parts)

    def _replaced(self, text: str) -> str:
        def place(found: re.Match[str]) -> str:
            return self._places[(found.lastindex or 1) - 1] or self._paths[found[0]]

        text = self._path.sub(place, text)
        return self._name.sub(lambda found: self._names[found[0]], text) if self._name else text


def numbered(nodes: Iterable[tuple[str, str]]) -> dict[str, str]:
    """`node1` and so on for names, in their order: the batch system's of each, and its own."""
    called = set(nodes)
    names = sorted({name for name, _ in called})
    width = len(str(len(names)))
    numbers = {name: f"node{place:0{width}d}" for place, name in enumerate(names, start=1)}
    known = {own: numbers[name] for name, own in called if own} | numbers
    return {name: number for name, number in known.items() if name != "localhost"}


def _any_of(names: Iterable[str]) -> str:
    return f"(?:{'|'.join(map(re.escape, sorted(names, key=len, reverse=True)))})"
