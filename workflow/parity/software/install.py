"""Which arms and benchmarks are on this machine, and what installs the others."""

import os
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby
from pathlib import Path
from textwrap import TextWrapper
from typing import NamedTuple

import msgspec

from parity import runtimes
from parity.benchmarks import benchmarks, programs
from parity.benchmarks.model import Benchmark
from parity.core.commands import Availability, is_installed, output_of
from parity.core.errors import UserError
from parity.core.package import configured, extensions_with
from parity.core.settings import toolchains_of
from parity.core.spack_paths import DISTRIBUTION
from parity.runtimes import arms, every_arm
from parity.software.debian_packages import installed_packages, nothing_starts_at_boot
from parity.software.images import IMAGES, RECORDS, ROOT, forget_failures
from parity.software.toolchain import COMPOSED, choose_toolchain, debian_packages

SYSTEM = Path(configured("config/systems/machine.yaml"))
_OF_THE_PROJECT = msgspec.yaml.decode(
    Path(__file__).with_name("packages.yaml").read_bytes(), type=dict[str, tuple[str, ...]]
)
_say = partial(print, flush=True)
_NEEDED_ALONE = "--no-install-recommends"


class Probe(NamedTuple):
    """Whether an arm or a benchmark (its kind) is on this machine."""

    kind: str
    name: str
    presence: Availability


def probes(
    names: Sequence[str] | None = None, used: Mapping[str, Benchmark] | None = None,
    provider: str = DISTRIBUTION,
) -> list[Probe]:  # fmt: skip
    """Ask every arm and benchmark, or the arms of these names and these benchmarks."""
    # Without names those arms that differ in their link set alone are not asked.
    asked = arms() if names is None else names
    known = benchmarks() if used is None else used
    return [Probe("arm", name, every_arm()[name].probe()) for name in asked] + [
        Probe("benchmark", name, benchmark.provided_by(provider).probe())
        for name, benchmark in known.items()
    ]


def probe_lines(asked: Iterable[Probe] | None = None) -> list[str]:
    """Every arm and benchmark asked: version, or why it is not here; folded for the terminal."""
    lines: list[str] = []
    for probe in probes() if asked is None else asked:
        answer = probe.presence
        no = f"no   {answer.reason}; {answer.remedy}".rstrip("; ")
        what = f"yes  {answer.version}" if answer.available else no
        lines += _folded(f"{probe.kind:<10} {probe.name:<20} {what}")
    return lines


def _folded(text: str) -> list[str]:
    folding = TextWrapper(shutil.get_terminal_size().columns, subsequent_indent=" " * 12)
    folding.break_long_words = folding.break_on_hyphens = False
    return folding.wrap(text)


def image_folders() -> list[Path]:
    """Where records of images are: of bases, of what is built on each, and what is gathered."""
    roots = [Path(ROOT), *COMPOSED.glob("*/images")]
    first = ("*/base.json", "*/*/oci.json", f"*/*/{RECORDS}*/{IMAGES}")
    return sorted({path.parent for root in roots for name in first for path in root.glob(name)})


def wanted_packages(
    toolchain: str | None = None, system: Path = SYSTEM
) -> dict[str, tuple[str, ...]]:
    """The Debian packages of everything that may be used, by what wants them; or UserError."""
    # Those of a toolchain only if it is named, as config/config.yaml does; UserError if there is
    # none of that name, or it does not say what it takes.
    wanted: dict[str, tuple[str, ...]] = {f"arm {a.name}": a.packages for a in arms().values()}
    wanted |= {f"benchmark {name}": _packages_of(b) for name, b in benchmarks().items()}
    for packages in (*extensions_with(runtimes, "PACKAGES"), _OF_THE_PROJECT):
        wanted |= packages
    if toolchain:
        named = debian_packages(choose_toolchain(toolchain, toolchains_of(system), str(system)))
        wanted[f"toolchain {toolchain}"] = (*named.build, *named.run)
    return wanted


def _packages_of(benchmark: Benchmark) -> tuple[str, ...]:
    return (*benchmark.packages, *programs.compiler_packages(benchmark.sources))


def missing_packages(wanted: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """The packages that are not installed, by what wants them; complete ones are left out."""
    here = installed_packages()
    lacking = {what: sorted(set(names).difference(here)) for what, names in wanted.items()}
    return {what: names for what, names in lacking.items() if names}


def apt(*words: str) -> None:
    """Call apt-get, which asks nothing, and waits for others that do."""
    patient = ["apt-get", "--yes", "-o", "DPkg::Lock::Timeout=300"]
    environment = {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
    output_of([*patient, *words], environment=environment, told=_Progress().told)


class _Progress:
    """Says ten times at most how many packages apt has downloaded, and how many it has set up."""

    def __init__(self) -> None:
        self._all, self._done = 0, Counter[str]()

    def told(self, line: str) -> None:
        """A line of apt's output."""
        if found := re.match(r"(\d+) upgraded, (\d+) newly installed", line):
            self._all = int(found[1]) + int(found[2])
        # By the first word of a line.
        does = {"Get": "downloaded", "Setting": "set up"}.get(re.split("[: ]", line, maxsplit=1)[0])
        if self._all and does:
            self._done[does] += 1
            if self._done[does] % -(-self._all // 10) == 0:
                # Nobody who reads ends apt in the middle of its work.
                with suppress(OSError):
                    _say(f"  {does} {self._done[does]} of {self._all} packages")


def _install_packages(missing: Mapping[str, list[str]]) -> dict[str, str]:
    """Install all at once or, if that fails, group by group; what failed, by what wanted it."""
    names = sorted(set().union(*missing.values()))
    _say(f"installing {len(names)} Debian packages: {' '.join(names)}")
    try:
        apt("update")
        apt("install", _NEEDED_ALONE, *names)
        return {}
    except UserError as error:
        _say(f"{error}\nnow one by one")
    failures = {}
    for what, group in missing.items():
        try:
            apt("install", _NEEDED_ALONE, *group)
        except UserError as error:
            failures[what] = str(error)
    return failures


def outdated_libraries() -> list[str]:
    """Installed packages that the benchmarks depend on and that the mirror has newer."""
    wanted = set().union(*map(_packages_of, benchmarks().values()))
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
    if not (names := outdated_libraries()):
        return
    _say(f"older here than in the image: {' '.join(names)}")
    if not upgrade:
        _say("comparisons that load them are marked as confounded; to level both sides:")
        _say(f"  sudo apt-get install --only-upgrade {' '.join(names)}")
        return
    _say("upgrading them")
    apt("--only-upgrade", "install", *names)
    # The images have to come from the same day. Snakemake makes nothing anew for a record
    # that is missing as long as the later ones are there, so all of them go.
    for folder in image_folders():
        for record in folder.glob("*.json"):
            record.unlink()


def install_as_root(wanted: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Install and start everything that can be; what failed, by what it was for."""
    failures = {}
    if not is_installed("apt-get"):
        _say("this is no Debian: packages are left to the site, what is there is used")
    elif missing := missing_packages(wanted):
        with nothing_starts_at_boot():
            failures = _install_packages(missing)
    # What packages cannot do: programs that Debian lacks, and daemons.
    for arm in arms().values():
        try:
            arm.install()
            arm.start_service()
        except (UserError, OSError) as error:
            failures[f"arm {arm.name}"] = str(error)
    return failures


def advise_user(wanted: Mapping[str, Iterable[str]]) -> None:
    """Say what is missing and the one command that an administrator can run."""
    if missing := missing_packages(wanted):
        _say("missing on this machine (the study goes on with what is there):")
        for what, group in missing.items():
            _say(f"  {what:<28} {' '.join(group)}")
        names = sorted(set().union(*missing.values()))
        _say("an administrator can install all of it:")
        _say(f"  sudo apt-get install {_NEEDED_ALONE} {' '.join(names)}")
        _say("or, with Apptainer and a Docker daemon as well: sudo make setup")


def install(toolchain: str | None, system: Path, keep_libraries: bool) -> None:
    """Install, or advise; then say what can be used. Never fails for want of a runtime."""
    # With a toolchain also what building with it takes; UserError if there is no such. As root, the
    # libraries of the benchmarks are left as old as they are where `keep_libraries` says so.
    wanted, failures = wanted_packages(toolchain, system), dict[str, str]()
    if is_root := os.getuid() == 0:
        failures = install_as_root(wanted)
    else:
        advise_user(wanted)
    try:
        level_libraries(upgrade=is_root and not keep_libraries)
    except UserError as error:
        failures["libraries"] = str(error)
    for folder in image_folders():
        if again := forget_failures(folder):
            _say(f"images of {folder} to be tried again: {', '.join(again)}")
    for kind, of_kind in groupby(probes(), key=lambda probe: probe.kind):
        asked = list(of_kind)
        missing = [probe.name for probe in asked if not probe.presence.available]
        count = f"{len(asked) - len(missing)} of {len(asked)} {kind}s are here"
        _say("\n".join(_folded(f"{count}, not {', '.join(missing)}" if missing else count)))
    _say("`snakemake probe` says which version of each, or why not and what to do")
    for what, why in failures.items():
        _say(f"could not install {what}: {why}")
