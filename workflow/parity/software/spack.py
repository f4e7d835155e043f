"""Gets Spack and runs it, shut off from any other Spack of the same user."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from parity.core.commands import answer_of, output_of
from parity.core.errors import UserError

# The oldest and the newest Spack that the recipes and locks were tried with.
TRIED = ("0.22.1", "0.23.0.dev0")


@dataclass(frozen=True)
class SpackSite:
    """Where Spack comes from here, and where it installs.

    Attributes:
        repository: address of its git repository, or a folder that holds a checkout.
        release: tag that is cloned; of no effect where `repository` is a folder.
        python: Python that runs Spack; empty for the first on PATH. Where the network
            does not let Spack fetch its solver, one that has clingo installed.
        sources: folder or address of a Spack source mirror that is asked first; empty for
            none.
        prefix: folder of all installations. Binaries carry it in their run paths, so the
            same prefix is needed for the same bytes.
        jobs: how many compilers run at a time.
    """

    repository: str
    release: str
    python: str
    sources: str
    prefix: Path
    jobs: int


def spack_site(section: Mapping[str, str], jobs: int) -> SpackSite:
    """The `spack` section of config/config.yaml, checked by its schema before."""
    prefix = Path(section["prefix"]).expanduser().resolve()
    words = {key: value for key, value in section.items() if key != "toolchain"}
    return SpackSite(**{**words, "prefix": prefix}, jobs=jobs)


@dataclass(frozen=True)
class Spack:
    """A Spack that answers.

    Attributes:
        program: absolute path of bin/spack.
        version: what it says of itself.
        commit: commit of its checkout; empty if it is none.
        scope: folder of the configuration that it is given in every call.
    """

    program: Path
    version: str
    commit: str
    scope: Path
    site: SpackSite

    def run(self, *words: str | Path, log: Path | None = None) -> str:
        """Run it to its end and return its standard output; raises UserError."""
        argv = [self.program, "--config-scope", self.scope, *words]
        return output_of(argv, environment=_environment(self.site), log=log)


def find_spack(site: SpackSite, recipes: Path, log: Path) -> Spack:
    """The Spack of this site; it is cloned first where there is none yet.

    Args:
        recipes: our own repository of recipes, which goes before Spack's.

    Raises:
        UserError: it cannot be cloned, or does not run.
    """
    folder = Path(site.repository).expanduser().resolve()
    if not folder.is_dir():
        folder = site.prefix / f"spack-{site.release}"
        if not (folder / "bin/spack").exists():
            _clone(site, folder, log)
    program = folder / "bin/spack"
    if not program.exists():
        raise _no_spack(site, f"{folder} holds no bin/spack")
    variables = [f"{name}={value}" for name, value in _environment(site).items()]
    answers, said = answer_of(["env", *variables, str(program), "--version"], seconds=60)
    if not answers:
        raise _no_spack(site, f"{program} does not run: {said}")
    _, commit = answer_of(["git", "-C", str(folder), "rev-parse", "HEAD"])
    _make_prefix(site.prefix)
    scope = site.prefix / "scope"
    write_scope(site, recipes.resolve(), scope)
    is_checkout = (folder / ".git").exists()
    return Spack(program, said.split(" ")[0], commit if is_checkout else "", scope, site)


def _clone(site: SpackSite, folder: Path, log: Path) -> None:
    _make_prefix(site.prefix)
    words = ["--quiet", "--depth=1", "--branch", site.release, site.repository, str(folder)]
    try:
        # Without a terminal git would wait for a password for ever.
        output_of(["git", "clone", *words], environment={"GIT_TERMINAL_PROMPT": "0"}, log=log)
    except UserError as error:
        last = error.what.splitlines()[-1]
        raise _no_spack(site, f"{site.repository} cannot be cloned: {last}") from None


def _no_spack(site: SpackSite, why: str) -> UserError:
    return UserError(
        f"there is no Spack here: {why}",
        where="config/config.yaml: spack.repository",
        allowed="the address of a git repository, or a folder with a checkout",
        action=f"where the network allows it, git clone --depth=1 --branch {site.release}"
        " https://github.com/spack/spack.git, then `snakemake native --config"
        " 'spack={repository: <that folder>, sources: <a source mirror, if the network has"
        " no sources>}'`; or `provider: system` in the study, which needs no Spack",
    )


def _make_prefix(prefix: Path) -> None:
    try:
        prefix.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"{prefix} cannot be made: {error.strerror}",
            where="config/config.yaml: spack.prefix",
            allowed="a folder that you may write to, or that you may make",
            action=f"as root, once: install -d -o <your name> {prefix}",
        ) from None


def _environment(site: SpackSite) -> dict[str, str]:
    """Variables that keep Spack off the user's own configuration and caches."""
    return {
        "SPACK_DISABLE_LOCAL_CONFIG": "1",
        "SPACK_USER_CACHE_PATH": str(site.prefix / "cache"),
        **({"SPACK_PYTHON": site.python} if site.python else {}),
    }


def write_scope(site: SpackSite, recipes: Path, scope: Path) -> None:
    """The site's own words as a scope of Spack's configuration; JSON is YAML, too.

    Args:
        recipes: absolute path of our own recipes, where Spack runs.
        scope: folder of the scope.
    """
    scope.mkdir(exist_ok=True)
    documents: dict[str, object] = {
        "config": {
            "install_tree": {
                "root": str(site.prefix / "tree"),
                "projections": {"all": "{name}-{version}-{hash:7}"},
            },
            "build_stage": [str(site.prefix / "stage")],
            "source_cache": str(site.prefix / "cache/sources"),
            "build_jobs": site.jobs,
        },
        "repos": [str(recipes)],
        "mirrors": {"sources": _address(site.sources)} if site.sources else {},
    }
    for name, document in documents.items():
        (scope / f"{name}.yaml").write_text(json.dumps({name: document}, indent=1) + "\n")


def _address(sources: str) -> str:
    """A source mirror's address; a folder becomes one, too."""
    return sources if "://" in sources else Path(sources).expanduser().resolve().as_uri()
