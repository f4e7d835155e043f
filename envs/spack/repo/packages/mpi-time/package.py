"""Recipe of the library that stands between a program and MPI; its source lies beside this."""

from spack.package import *

try:
    # From Spack 1.0 on build systems lie with its packages, and compilers are depended on.
    from spack_repo.builtin.build_systems.generic import Package

    languages = ("c",)
except ImportError:
    languages = ()


class MpiTime(Package):
    """Time in MPI_Init, in MPI and between, and messages, of each rank."""

    # Nothing is fetched.
    has_code = False

    version("1")

    for language in languages:
        depends_on(language, type="build")
    depends_on("mpi")

    def install(self, spec, prefix):
        mkdirp(prefix.lib)
        source, library = (
            join_path(self.package_dir, "mpi_time.c"),
            prefix.lib.join("libmpitime.so"),
        )
        words = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-o", library, source]
        Executable(spec["mpi"].mpicc)(*words)
