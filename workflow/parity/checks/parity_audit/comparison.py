"""Holds each side against the reference: programs, libraries, kernel interface. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parity.analysis.identity import CONFOUNDED, identity
from parity.checks.parity_audit.side import Programs, Side
from parity.core.errors import UserError
from parity.core.spack_paths import PREFIX
from parity.runtimes.model import SHARED


@dataclass(frozen=True)
class Program:
    """One program on both sides.

    Attributes:
        verdict: a word of `analysis.identity`.
        sha256, reference_sha256, build_id: empty where the program is not there.
        libraries: names of those that differ, or that one side alone resolves, sorted.
    """

    path: str
    verdict: str
    sha256: str
    reference_sha256: str
    build_id: str
    libraries: tuple[str, ...]


@dataclass(frozen=True)
class Likeness:
    """A benchmark in one arm, held against the reference arm.

    Attributes:
        verdict: the worst of its programs', as `analysis.identity` finds it.
        reason: why there is no finding; empty if there is one.
    """

    benchmark: str
    arm: str
    title: str
    link_set: str
    verdict: str
    reason: str
    programs: tuple[Program, ...]

    @property
    def is_confounded(self) -> bool:
        """Whether a difference in cost may come from the programs rather than the runtime."""
        return self.verdict in CONFOUNDED


@dataclass(frozen=True)
class Difference:
    """A fact of the kernel interface that is another one than the reference's."""

    arm: str
    fact: str
    value: str
    reference: str


@dataclass(frozen=True)
class Mismatch:
    """A program that is another file than it must be.

    Attributes:
        expected, found: SHA-256, or MD5 where that is all that is known; `found` is empty
            where the program is not there.
        source: where the expected one comes from.
    """

    path: str
    arm: str
    expected: str
    found: str
    source: str


def reference_of(sides: Sequence[Side], reference: str) -> Side:
    """The side that the others are held against; KeyError if it was not asked."""
    return {side.arm: side for side in sides}[reference]


def likenesses(sides: Sequence[Side], reference: str, programs: Programs) -> list[Likeness]:
    """Each benchmark in each arm but the reference, by benchmark, then in the sides' order."""
    base = reference_of(sides, reference)
    return [
        _likeness(benchmark, paths, side, base)
        for benchmark, paths in programs.items()
        for side in sides
        if side is not base and benchmark in side.benchmarks
    ]


def _likeness(benchmark: str, paths: Sequence[str], side: Side, base: Side) -> Likeness:
    return Likeness(
        benchmark=benchmark,
        arm=side.arm,
        title=side.title,
        link_set=side.link_set,
        verdict=_verdict(paths, side, base),
        reason=side.reason or base.reason or _missing(paths, side, base),
        programs=tuple(_program(path, side, base) for path in paths),
    )


def _verdict(paths: Sequence[str], side: Side, base: Side) -> str:
    """What the analysis would say of runs of these programs: one definition for both."""
    hashes = {
        ("", path, each.arm): (each.sha256(path), each.closure_sha256(path))
        for path in paths
        for each in (side, base)
    }
    pairs = [{"block": "", "case": p, "arm": side.arm, "reference": base.arm} for p in paths]
    return identity(hashes, pairs)


def _missing(paths: Sequence[str], side: Side, base: Side) -> str:
    for each in (base, side):
        if gone := [Path(path).name for path in paths if not each.sha256(path)]:
            return f"{each.title} has no {' and no '.join(gone)}"
    return ""


def _program(path: str, side: Side, base: Side) -> Program:
    ours, theirs = side.programs.get(path, {}), base.programs.get(path, {})
    both_there = bool(side.sha256(path) and base.sha256(path))
    return Program(
        path=path,
        verdict=_verdict([path], side, base),
        sha256=side.sha256(path),
        reference_sha256=base.sha256(path),
        build_id=ours.get("build_id", ""),
        libraries=tuple(_other_libraries(ours, theirs)) if both_there else (),
    )


def _other_libraries(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    closures = [
        {(lib["library"], lib["sha256"]) for lib in row["closure"]} for row in (ours, theirs)
    ]
    return sorted({name for name, _ in closures[0] ^ closures[1]})


def differences(sides: Sequence[Side], reference: str) -> list[Difference]:
    """What each arm's kernel interface has otherwise than the reference's, in the facts' order.

    A fact that only one side can see is a difference, too; then the other's is empty.
    """
    base = reference_of(sides, reference)
    return [
        Difference(side.arm, fact, side.interface.get(fact, ""), base.interface.get(fact, ""))
        for side in sides
        if side is not base and not side.reason and not base.reason
        for fact in (base.interface | side.interface)
        if side.interface.get(fact, "") != base.interface.get(fact, "")
    ]


def mismatches(
    sides: Sequence[Side],
    reference: str,
    expected: Mapping[str, str],
    altered: Mapping[str, tuple[str, str]],
) -> list[Mismatch]:
    """Programs that are other files than they must be.

    Native ones must be those that were installed, shared ones those of the reference.

    Args:
        expected: SHA-256 by path of the programs that a native build recorded.
        altered: programs of Debian by path: MD5 sum of the package and of the file.
    """
    asked = [side for side in sides if not side.reason]
    native = [(side, path) for side in asked if side.is_outside for path in side.programs]
    built = (
        Mismatch(path, side.arm, expected[path], side.sha256(path), "recorded by its build")
        for side, path in native
        if side.sha256(path) != expected.get(path, side.sha256(path))
    )
    packaged = (
        Mismatch(path, side.arm, *altered[path], "MD5 of its Debian package")
        for side, path in native
        if path in altered
    )
    base = reference_of(sides, reference)
    shared = (
        Mismatch(path, side.arm, base.sha256(path), side.sha256(path), f"as in {base.arm}")
        for side in asked
        if side.link_set == SHARED
        # What else a benchmark runs comes from the image, even where the build is shared.
        for path in side.programs
        if Path(path).is_relative_to(PREFIX) and base.sha256(path) not in ("", side.sha256(path))
    )
    return [*built, *packaged, *shared]


def refuse(found: Sequence[Mismatch]) -> None:
    """Refuse programs that are other files than they must be.

    Raises:
        UserError: there are some; with each one's name and both hashes.
    """
    if found:
        lines = [
            f"{each.path} in {each.arm}: expected {each.expected} ({each.source}),"
            f" found {each.found or 'nothing'}"
            for each in found
        ]
        raise UserError(
            "\n".join(["these programs are not the ones they must be:", *lines]),
            action="install them again: make setup, or snakemake native and then images",
        )
