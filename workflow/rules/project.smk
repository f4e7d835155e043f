"""Finds the package, which knows where the project's own files are: here, deployed, or installed."""

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
    sys.path.insert(0, str(checked_out(rules_folder) / "workflow"))
elif not isinstance(rules_folder, LocalSourceFile):
    raise WorkflowError(
        f"parity: {rules_folder} is neither a folder nor a hosting service's\n"
        "  to do:   clone the project and name the clone's Snakefile, or use github(...)"
    )

# Only now is it found.
from parity.core.package import configured, own
