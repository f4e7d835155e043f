"""Recipe of NetPIPE 3.7, which Spack's own repository does not have."""

from spack.package import *

try:
    # From Spack 1.0 on build systems lie with its packages, and compilers are depended on.
    from spack_repo.builtin.build_systems.makefile import MakefilePackage

    languages = ("c",)
except ImportError:
    languages = ()


class Netpipe(MakefilePackage):
    """NetPIPE of Ames Laboratory: latency and bandwidth over bare TCP and over MPI."""

    homepage = "http://www.scl.ameslab.gov/Projects/NetPIPE/"
    # The hash is of the archive in Debian 12 (netpipe_3.7.2.orig.tar.gz); whether this
    # address still serves the same bytes was not seen.
    url = "http://netpipe.cs.ksu.edu/download/NetPIPE-3.7.2.tar.gz"

    license("GPL-2.0-or-later")

    version("3.7.2", sha256="13dac884ff52951636f651c421f5ff4a853218a95aa28a4a852402ee385a2ab8")

    for language in languages:
        depends_on(language, type="build")
    depends_on("gmake", type="build")
    depends_on("mpi")

    sanity_check_is_file = ["bin/NPtcp", "bin/NPopenmpi"]

    def build(self, spec, prefix):
        make("tcp", f"CC={spack_cc}", "CFLAGS=-O2")
        make("mpi", f"MPICC={spec['mpi'].mpicc}", "CFLAGS=-O2")

    def install(self, spec, prefix):
        mkdirp(prefix.bin)
        install("NPtcp", prefix.bin)
        # Named as in Debian's package, so that both providers have the same program.
        install("NPmpi", prefix.bin.NPopenmpi)
