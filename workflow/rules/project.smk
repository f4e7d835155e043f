"""Where the project's own files are, which may be used from another folder: as a module, or deployed."""

import os
import subprocess
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.sourcecache import HostingProviderFile, LocalSourceFile


def checked_out(rules_folder):
    """The project's folder at the commit that a hosting service was asked for.

    Snakemake gives a hosted workflow single files, from a bare clone that it keeps. The
    package, the Dockerfile and the paper need theirs beside each other, and on every node.
    """
    clone = rules_folder.hosted_repo.repo_clone
    words = ["git", "-C", clone, "rev-parse", f"{rules_folder.ref}^{{commit}}"]
    commit = subprocess.run(
        words, capture_output=True, text=True, check=True
    ).stdout.strip()
    folder = Path.cwd() / ".snakemake/parity" / commit
    if not folder.exists():
        unfinished = folder.with_name(f"{commit}.{os.getpid()}")
        for words in (
            ["git", "clone", "--quiet", "--no-checkout", clone, unfinished],
            ["git", "-C", unfinished, "checkout", "--quiet", commit],
        ):
            subprocess.run(words, check=True)
        unfinished.rename(folder)
    return folder


rules_folder = workflow.current_basedir
if isinstance(rules_folder, HostingProviderFile):
    PROJECT = checked_out(rules_folder)
    sys.path.insert(0, str(PROJECT / "workflow"))
elif isinstance(rules_folder, LocalSourceFile):
    PROJECT = Path(rules_folder.get_path_or_uri(secret_free=True)).parents[1]
else:
    raise WorkflowError(
        f"parity: {rules_folder} is neither a folder nor a hosting service's\n"
        "  to do:   clone the project and name the clone's Snakefile, or use github(...)"
    )


def own(path):
    """A file of the project; in its own folder, Snakemake's messages keep the short name."""
    return path if Path.cwd() == PROJECT else str(PROJECT / path)


def configured(path):
    """A file of config/: the working directory's where it has one, else the project's own."""
    return path if Path(path).exists() else own(path)
