"""Programs whose C source lies beside a benchmark's module: where they lie, whether they are there.

One script compiles them, natively and in the image, so the same compiler makes the same bytes. A
source may also be a script that writes its program, where that is a file of another language.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from parity.core.availability import Availability
from parity.core.spack_paths import PREFIX

COMPILED = PREFIX / "compiled"
SCRIPT = Path(__file__).with_name("compile.sh")
# What our sources include.
HEADER = SCRIPT.with_name("trace.h")


def compiled_path(source: str) -> str:
    """The absolute path of the program of a source, natively and in the image."""
    return str(COMPILED / Path(source).stem)


def compiler_packages(sources: Sequence[str]) -> tuple[str, ...]:
    """Debian packages that compile sources, natively and in a stage that no image keeps.

    A source says by what it includes whether it needs MPI; the script goes by the same line.
    """
    texts = [SCRIPT.with_name(name).read_text(encoding="utf-8") for name in sources]
    mpi = any("\n#include <mpi.h>\n" in text for text in texts)
    return (*(("gcc", "libc6-dev") if sources else ()), *(("libopenmpi-dev",) if mpi else ()))


def source_paths(sources: Sequence[str]) -> list[Path]:
    """The sources of that name, if there are any, with what all of them include and the script."""
    return [SCRIPT, HEADER, *(SCRIPT.with_name(name) for name in sources)] if sources else []


def all_compiled(binaries: Sequence[str]) -> Availability:
    """Whether all `binaries` are there."""
    missing = [path for path in binaries if not os.access(path, os.X_OK)]
    if missing:
        reason = f"not compiled: {', '.join(missing)}"
        return Availability(
            False, reason=reason, remedy="`snakemake --force compile` with a study of it"
        )
    return Availability(True, version="compiled from its source")
