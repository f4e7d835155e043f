"""Recipe of HPC Challenge 1.5.0 that builds where MPI has lost the functions of MPI-1."""

from spack.package import *

try:
    # From Spack 1.0 on build systems lie with its packages, and compilers are depended on.
    from spack_repo.builtin.build_systems.makefile import MakefilePackage

    languages = ("c",)
except ImportError:
    languages = ()


class Hpcc(MakefilePackage):
    """HPC Challenge: HPL, STREAM and all that hpcc runs beside them."""

    homepage = "https://icl.utk.edu/hpcc"
    url = "https://icl.cs.utk.edu/projectsfiles/hpcc/download/hpcc-1.5.0.tar.gz"

    license("BSD-3-Clause")

    version("1.5.0", sha256="0a6fef7ab9f3347e549fed65ebb98234feea9ee18aea0c8f59baefbe3cf7ffb8")

    for language in languages:
        depends_on(language, type="build")
    depends_on("gmake", type="build")
    depends_on("mpi")
    depends_on("blas")

    # Its makefiles make directories and archives that they use at once.
    parallel = False

    sanity_check_is_file = ["bin/hpcc"]

    def patch(self):
        # MPI-3 removed both; MPI-2's successors take the same arguments.
        pack = FileFilter("hpl/src/comm/HPL_packL.c")
        pack.filter(r"MPI_Address\(", "MPI_Get_address(")
        pack.filter(r"MPI_Type_struct\(", "MPI_Type_create_struct(")

    def edit(self, spec, prefix):
        settings = {
            "SHELL": "/bin/sh",
            "CD": "cd",
            "CP": "cp",
            "LN_S": "ln -s",
            "MKDIR": "mkdir -p",
            "RM": "rm -f",
            "TOUCH": "touch",
            "ARCH": "$(arch)",
            "TOPdir": "../../..",
            "INCdir": "$(TOPdir)/include",
            "BINdir": "$(TOPdir)/bin/$(ARCH)",
            "LIBdir": "$(TOPdir)/lib/$(ARCH)",
            "HPLlib": "$(LIBdir)/libhpl.a",
            "F2CDEFS": "-DAdd_ -DF77_INTEGER=int -DStringSunStyle",
            "HPL_INCLUDES": "-I$(INCdir) -I$(INCdir)/$(ARCH)",
            "HPL_LIBS": f"$(HPLlib) {spec['blas'].libs.ld_flags} -lm",
            "HPL_DEFS": "$(F2CDEFS) $(HPL_INCLUDES)",
            "CC": spec["mpi"].mpicc,
            # HPL finds out the machine's arithmetic, which optimisation would spoil.
            "CCNOOPT": "$(HPL_DEFS) -O0",
            "CCFLAGS": "$(HPL_DEFS) -O3",
            "LINKER": spec["mpi"].mpicc,
            "LINKFLAGS": "",
            "ARCHIVER": "ar",
            "ARFLAGS": "r",
            "RANLIB": "echo",
        }
        with open("hpl/Make.parity", "w") as file:
            file.writelines(f"{name} = {value}\n" for name, value in settings.items())

    def setup_build_environment(self, env):
        # hpcc prints the time of its compilation; the release's makes the same bytes again.
        env.set("SOURCE_DATE_EPOCH", "1458259200")

    @property
    def build_targets(self):
        return ["arch=parity"]

    def install(self, spec, prefix):
        mkdirp(prefix.bin)
        install("hpcc", prefix.bin)
