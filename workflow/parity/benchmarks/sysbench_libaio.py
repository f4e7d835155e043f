"""SysBench cpu, linked with libaio or not: the difference that was taken for a container's.

Torrez et al. 2019, section IV-A, saw the bare machine 1.8 % slower than any container, and
the reason was a library that only its build of SysBench had linked, and that the test
never calls. Both builds are run in every arm, so library and container are told apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from parity.benchmarks import programs
from parity.benchmarks.description import described
from parity.benchmarks.model import NodeFacts, Program
from parity.benchmarks.sysbench import TIME, SysbenchCpu

_LEVELS = ("linked", "absent")
# The run-time library by its file's name: without the header neither build takes it by itself.
_LIBAIO = "ldflags='-Wl,--no-as-needed -l:libaio.so.1'"


class SysbenchLibaio(SysbenchCpu):
    """Two builds that differ in nothing but libaio."""

    name = "sysbench-libaio"
    title = "SysBench cpu, libaio"
    packages = ()
    spack_packages = (
        programs.SpackPackage("sysbench", "1.0.20", _LIBAIO, "sysbench-libaio"),
        programs.SpackPackage("sysbench", "1.0.20"),
    )
    binaries = (
        programs.program_path("sysbench-libaio", "sysbench"),
        programs.program_path("sysbench", "sysbench"),
    )
    factors: ClassVar = {"libaio": _LEVELS}
    figures = described(__file__, TIME)[1]

    def program(self, parameters: Mapping[str, Any], node: NodeFacts) -> Program:
        """The command line of SysBench cpu with one of the two builds.

        Raises:
            UserError: more threads than logical CPUs.
        """
        program = super().program(parameters, node)
        path = self.binaries[_LEVELS.index(parameters["libaio"])]
        return replace(program, argv=(path, *program.argv[1:]))


BENCHMARK = SysbenchLibaio()
