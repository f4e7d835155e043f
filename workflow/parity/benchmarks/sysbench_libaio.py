"""SysBench cpu, linked with libaio or not: the difference that was taken for a container's.

Only the bare machine's build of Torrez et al. 2019, section IV-A, had linked that library, which
the test never calls; both builds are run in every arm, so library and container are told apart.
"""

from dataclasses import replace

from parity.benchmarks.model import Asked, NodeFacts, Program
from parity.benchmarks.programs import SpackPackage, program_path
from parity.benchmarks.sysbench import SysbenchCpu

# The run-time library by its file's name: without the header neither build takes it by itself.
_LIBAIO = "ldflags='-Wl,--no-as-needed -l:libaio.so.1'"


class SysbenchLibaio(SysbenchCpu):
    """Two builds that differ in nothing but libaio, in the order of the factor's levels."""

    packages = ()
    spack_packages = (
        SpackPackage("sysbench", "1.0.20", _LIBAIO, "sysbench-libaio"),
        SpackPackage("sysbench", "1.0.20"),
    )
    binaries = tuple(program_path(build, "sysbench") for build in ("sysbench-libaio", "sysbench"))

    def program(self, parameters: Asked, node: NodeFacts) -> Program:
        program = super().program(parameters, node)
        path = self.binaries[self.factors["libaio"].index(parameters["libaio"])]
        return replace(program, argv=(path, *program.argv[1:]))


BENCHMARK = SysbenchLibaio()
