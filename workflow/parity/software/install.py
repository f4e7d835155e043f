"""Which arms and benchmarks are on this machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from textwrap import wrap

from parity import runtimes
from parity.benchmarks import benchmarks, programs
from parity.benchmarks.model import Benchmark
from parity.core.commands import Availability, is_installed, output_of
from parity.core.errors import UserError
from parity.core.package import extensions_with
from parity.core.settings import toolchains_of
from parity.core.spack_paths import DISTRIBUTION
from parity.runtimes import arms, every_arm
from parity.software import build
from parity.software.debian_packages import installed_packages, nothing_starts_at_boot
from parity.software.images import IMAGES, RECORDS, ROOT, forget_failures
from parity.software.toolchain import COMPOSED, choose_toolchain, debian_packages


@dataclass(frozen=True)
class Probe:
    """Whether an arm or a benchmark (its kind) is on this machine."""

    kind: str
    name: str
    presence: Availability


def probes(
    names: Sequence[str] | None = None,
    used: Mapping[str, Benchmark] | None = None,
    provider: str = DISTRIBUTION,
) -> list[Probe]:
    """Ask every arm and benchmark, or the arms of these names and these benchmarks.

    Without names those arms that differ in their link set alone are not asked.
    """
    asked = arms() if names is None else names
    found = [Probe("arm", name, every_arm()[name].probe()) for name in asked]
    of = benchmarks() if used is None else used
    return found + [
        Probe("benchmark", name, benchmark.provided_by(provider).probe())
        for name, benchmark in of.items()
    ]


def summary_lines(asked: Iterable[Probe]) -> list[str]:
    """How many arms and benchmarks are here, and which are not."""
    lines = []
    for kind, of_kind in groupby(asked, key=lambda probe: probe.kind):
        found = list(of_kind)
        missing = [probe.name for probe in found if not probe.presence.available]
        said = f"{len(found) - len(missing)} of {len(found)} {kind}s are here"
        lines += _folded(f"{said}, not {', '.join(missing)}" if missing else said)
    return [*lines, "`snakemake probe` says which version of each, or why not and what to do"]


def probe_lines(asked: Iterable[Probe] | None = None) -> list[str]:
    """Every arm and benchmark asked: version, or why it is not here and what to do.

    No line is wider than the terminal, unless one word is.
    """
    lines: list[str] = []
    for probe in probes() if asked is None else asked:
        found = probe.presence
        said = (
            f"yes  {found.version}"
            if found.available
            else f"no   {found.reason}; {found.remedy}".rstrip("; ")
        )
        lines += _folded(f"{probe.kind:<10} {probe.name:<20} {said}")
    return lines


def _folded(text: str) -> list[str]:
    return wrap(
        text, shutil.get_terminal_size().columns, subsequent_indent=" " * 12,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


PAPER_PACKAGES = (
    "latexmk",
    "texlive-fonts-recommended",
    "texlive-latex-base",
    "texlive-latex-recommended",
    "texlive-publishers",
)
# A real browser, in which the tests open the dashboard; Debian's, so that its driver
# (Playwright, from PyPI) has nothing to download. And readelf, which they hold our own
# reader of programs against.
TEST_PACKAGES = ("binutils", "chromium-headless-shell")
SYSTEM = Path("config/systems/machine.yaml")
_say = partial(print, flush=True)
_APT = ("apt-get", "--yes", "-o", "DPkg::Lock::Timeout=300")
_UNATTENDED = {"DEBIAN_FRONTEND": "noninteractive"}


def image_folders() -> list[Path]:
    """Where records of images are: of bases, of what is built on each, and what is gathered."""
    roots = [Path(ROOT), *COMPOSED.glob("*/images")]
    first = ("*/base.json", "*/*/oci.json", f"*/*/{RECORDS}*/{IMAGES}")
    return sorted({path.parent for root in roots for name in first for path in root.glob(name)})


def wanted_packages(
    toolchain: str | None = None, system: Path = SYSTEM
) -> dict[str, tuple[str, ...]]:
    """The Debian packages of everything that may be used, by what wants them.

    Those of a toolchain only if it is named, as config/config.yaml does.

    Raises:
        UserError: there is no such toolchain, or it does not say what it takes.
    """
    wanted: dict[str, tuple[str, ...]] = {
        f"arm {arm.name}": arm.packages for arm in arms().values()
    }
    wanted |= {
        f"benchmark {each.name}": (*each.packages, *programs.compiler_packages(each.sources))
        for each in benchmarks().values()
    }
    for packages in extensions_with(runtimes, "PACKAGES"):
        wanted |= packages
    wanted |= {"images": build.PACKAGES, "paper": PAPER_PACKAGES, "tests": TEST_PACKAGES}
    if toolchain:
        entries = toolchains_of(system)
        named = debian_packages(choose_toolchain(toolchain, entries, str(system)))
        wanted[f"toolchain {toolchain}"] = (*named.build, *named.run)
    return wanted


def missing_packages(
    wanted: Mapping[str, Iterable[str]], installed: Iterable[str]
) -> dict[str, list[str]]:
    """The packages that are not installed, by what wants them; complete ones are left out."""
    lacking = {what: sorted(set(names).difference(installed)) for what, names in wanted.items()}
    return {what: names for what, names in lacking.items() if names}


def _apt_install(missing: Mapping[str, list[str]]) -> dict[str, str]:
    """Install packages all at once or, if that fails, group by group.

    Returns:
        What went wrong, by what wanted the packages; empty if nothing did.
    """
    names = sorted({name for group in missing.values() for name in group})
    _say(f"installing {len(names)} Debian packages: {' '.join(names)}")
    install = [*_APT, "install", "--no-install-recommends"]
    try:
        output_of([*_APT, "update"], environment=_UNATTENDED)
        output_of([*install, *names], environment=_UNATTENDED)
        return {}
    except UserError as error:
        _say(f"{error}\nnow one by one")
    failures = {}
    for what, group in missing.items():
        try:
            output_of([*install, *group], environment=_UNATTENDED)
        except UserError as error:
            failures[what] = str(error)
    return failures


def _prepare_arms() -> dict[str, str]:
    """What packages cannot do: programs that Debian lacks, and daemons."""
    failures = {}
    for arm in arms().values():
        try:
            arm.install()
            arm.start_service()
        except (UserError, OSError) as error:
            failures[f"arm {arm.name}"] = str(error)
    return failures


def outdated_libraries() -> list[str]:
    """Installed packages that the benchmarks depend on and that the mirror has newer."""
    known = benchmarks().values()
    wanted = {
        n for each in known for n in (*each.packages, *programs.compiler_packages(each.sources))
    }
    names = sorted(wanted.intersection(installed_packages()))
    if not names or not is_installed("apt-cache"):
        return []
    hard = [f"--no-{kind}" for kind in ("recommends", "suggests", "conflicts", "breaks")]
    hard += ["--no-replaces", "--no-enhances", "--installed", "--recurse"]
    lines = output_of(["apt-cache", "depends", *hard, *names]).splitlines()
    needed = sorted({line for line in lines if line and not line.startswith((" ", "<", "|"))})
    plan = output_of(["apt-get", "--simulate", "--only-upgrade", "install", *needed])
    newer = {line.split()[1] for line in plan.splitlines() if line.startswith("Inst ")}
    return sorted(newer & {name.partition(":")[0] for name in needed})


def level_libraries(upgrade: bool) -> None:
    """Upgrade what the benchmarks depend on to the mirror's version, or name it."""
    names = outdated_libraries()
    if not names:
        return
    _say(f"older here than in the image: {' '.join(names)}")
    if upgrade:
        _say("upgrading them")
        output_of([*_APT, "--only-upgrade", "install", *names], environment=_UNATTENDED)
        # The images have to come from the same day. Snakemake makes nothing anew for a record
        # that is missing as long as the later ones are there, so all of them go.
        for folder in image_folders():
            for record in folder.glob("*.json"):
                record.unlink()
    else:
        _say("comparisons that load them are marked as confounded; to level both sides:")
        _say(f"  sudo apt-get install --only-upgrade {' '.join(names)}")


def install_as_root(wanted: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Install and start everything that can be; what failed, by what it was for."""
    failures = {}
    if not is_installed("apt-get"):
        _say("this is no Debian: packages are left to the site, what is there is used")
    elif missing := missing_packages(wanted, installed_packages()):
        with nothing_starts_at_boot():
            failures = _apt_install(missing)
    return failures | _prepare_arms()


def advise_user(wanted: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Say what is missing and the one command that an administrator can run; nothing failed."""
    if missing := missing_packages(wanted, installed_packages()):
        _say("missing on this machine (the study goes on with what is there):")
        for what, group in missing.items():
            _say(f"  {what:<28} {' '.join(group)}")
        _say("an administrator can install all of it:")
        names = sorted({name for group in missing.values() for name in group})
        _say(f"  sudo apt-get install --no-install-recommends {' '.join(names)}")
        _say("or, with Apptainer and a Docker daemon as well: sudo make setup")
    return {}


def install(toolchain: str | None, system: Path, keep_libraries: bool) -> None:
    """Install, or advise; then say what can be used. Never fails for want of a runtime.

    Args:
        toolchain: also what building with it takes: one of the system's file, or a path.
        keep_libraries: as root, leave the libraries of the benchmarks as old as they are.

    Raises:
        UserError: there is no such toolchain.
    """
    wanted = wanted_packages(toolchain, system)
    root = os.getuid() == 0
    failures = install_as_root(wanted) if root else advise_user(wanted)
    try:
        level_libraries(upgrade=root and not keep_libraries)
    except UserError as error:
        failures["libraries"] = str(error)
    for folder in image_folders():
        if again := forget_failures(folder):
            _say(f"images of {folder} to be tried again: {', '.join(again)}")
    _say("\n".join(summary_lines(probes())))
    for what, why in failures.items():
        _say(f"could not install {what}: {why}")
