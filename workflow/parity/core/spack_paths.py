"""Where the benchmarks that Spack builds lie: the same paths natively and in every image."""

from __future__ import annotations

from pathlib import Path

# The defaults of config/config.yaml, which binaries carry in them.
PREFIX = Path("/opt/parity")
TOOLCHAIN = "debian12"

# Every package in a folder of its own, and the toolchain's view of them.
TREE = PREFIX / "tree"
VIEW = PREFIX / TOOLCHAIN / "view"
