"""Who provides the programs, and where those that Spack builds lie, natively and in images."""

from pathlib import Path

# The distribution's packages, or Spack with the toolchain of that name below.
DISTRIBUTION, SPACK, TOOLCHAIN = "system", "spack", "debian12"
# Binaries carry it. Each toolchain has a folder in it, with its installations and its view.
PREFIX = Path("/opt/parity")


def view_of(toolchain: str) -> Path:
    """The folder that has, for each build, a folder with its bin and lib."""
    return PREFIX / toolchain / "view"


def provider_of(toolchain: str) -> str:
    """How plans call Spack with a toolchain: `spack`, or `spack-<toolchain>` for another one."""
    return SPACK if toolchain == TOOLCHAIN else f"{SPACK}-{toolchain}"


def toolchain_of(provider: str) -> str:
    """The toolchain of a provider; empty for the distribution."""
    named = {DISTRIBUTION: "", SPACK: TOOLCHAIN}
    return named.get(provider, provider.removeprefix(f"{SPACK}-"))
