"""Debian's packages: which versions are installed natively, and where they come from."""

import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from parity.core.commands import answer_of, is_installed, output_of
from parity.core.files import digest


def installed_packages(names: Iterable[str] = ()) -> dict[str, str]:
    """Versions of packages that are installed natively, of all if none are named, by name."""
    if not is_installed("dpkg-query"):
        return {}
    # One call for all: Snakemake asks each time it reads the rules. It fails if a package
    # is unknown and answers for the others all the same.
    form = "--showformat=${db:Status-Abbrev}\t${Package}\t${Version}\n"
    query = ["dpkg-query", "--show", form, *names]
    answer = subprocess.run(query, capture_output=True, text=True, check=False).stdout
    lines = [line.split("\t") for line in answer.splitlines()]
    return {name: version for status, name, version in lines if status[1:2] == "i"}


@contextmanager
def nothing_starts_at_boot() -> Iterator[None]:
    """Keep services of what is installed meanwhile from starting at the next boot, and say so."""
    # Debian enables whatever it installs. Nothing here needs that: what is used is started by us.
    before = set(installed_packages())
    try:
        yield
    finally:
        # An installation that was interrupted may have enabled what it got to.
        _disable(sorted(set(installed_packages()) - before))


def _disable(new: Sequence[str]) -> None:
    """Let no service of these packages start at the next boot, and say so."""
    if not new or not is_installed("systemctl"):
        return
    files = map(Path, output_of(["dpkg", "--listfiles", *new]).splitlines())
    names = (path.name for path in files if path.parent.match("lib/systemd/system"))
    # A template is enabled by its instances' names, and none has any.
    ends = (".service", ".socket", ".timer")
    if units := sorted(name for name in names if name.endswith(ends) and "@" not in name):
        done, answer = answer_of(["systemctl", "--quiet", "disable", *units])
        outcome = "not started at boot" if done else f"still started at boot ({answer})"
        change = "`systemctl enable` and `disable` change that"
        print(f"{outcome}: {' '.join(units)}; {change}", flush=True)


def installed_versions(packages: Iterable[str]) -> list[str]:
    """`name=version` of each package that is installed natively, sorted."""
    # What is not installed is left out: it has nothing to be compared with. Without dpkg these
    # are bare names, and the audit says whether both sides have the same binaries.
    names = sorted(set(packages))
    if not is_installed("dpkg-query"):
        return names
    versions = installed_packages(names)
    return [f"{name}={versions[name]}" for name in names if name in versions]


def debian_sources(suite: str) -> list[str]:
    """The one-line entries (sources.list(5)) that apt, if any, has of a Debian release."""
    if not is_installed("apt-get"):
        return []
    form = "$(ORIGIN)\t$(RELEASE)\t$(REPO_URI)\t$(COMPONENT)"
    lines = output_of(["apt-get", "indextargets", "--format", form, "Created-By: Packages"])
    releases = {suite, f"{suite}-updates", f"{suite}-security"}
    targets = [line.split("\t") for line in lines.splitlines()]
    debian = [row for row in targets if row[0] == "Debian" and row[1] in releases]
    return sorted({f"deb {address} {release} {part}" for _, release, address, part in debian})


def releases_of(suite: str) -> list[str]:
    """Digests of what apt last read of a release from its mirrors; they change with any package."""
    lists = Path("/var/lib/apt/lists")
    found = (path for end in ("InRelease", "Release") for path in lists.glob(f"*_{suite}*_{end}"))
    return sorted(map(digest, found))
