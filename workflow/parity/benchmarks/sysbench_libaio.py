"""SysBench cpu, linked with libaio or not: the difference that was taken for a container's.

Torrez et al. 2019, section IV-A, saw the bare machine 1.8 % slower than any container, and
the reason was a library that only its build of SysBench had linked, and that the test
never calls. Both builds are run in every arm, so library and container are told apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from parity.benchmarks import spack
from parity.benchmarks.figure_spec import FigureSpec, Form
from parity.benchmarks.model import NodeFacts, Program
from parity.benchmarks.sysbench import TIME, SysbenchCpu
from parity.core.availability import Presence

_BUILDS = {
    "linked": spack.program_path("sysbench-libaio", "sysbench"),
    "absent": spack.program_path("sysbench", "sysbench"),
}


class SysbenchLibaio(SysbenchCpu):
    """Two builds that differ in nothing but libaio."""

    name = "sysbench-libaio"
    title = "SysBench cpu, libaio"
    packages = ()
    specs = ("sysbench@1.0.20",)
    binaries = tuple(_BUILDS.values())
    factors: ClassVar = {"libaio": tuple(_BUILDS)}
    figures = (
        FigureSpec(
            "sysbench-libaio",
            (TIME,),
            "Computing time with and without libaio",
            "Time that SysBench reports for a fixed number of prime searches, of two builds that "
            "differ in libaio alone, which the test never calls.",
            finding="SysBench with and without libaio",
            order=120,
            relative=True,
        ),
        FigureSpec(
            "libaio",
            (TIME,),
            "Library or container",
            "The library libaio crossed with the container. Torrez et al. (2019, section IV-A) "
            "found the bare machine about 1.8 % slower than any container, because its build of "
            "SysBench alone had linked libaio; built without it, the difference disappeared. The "
            "dotted line marks their ratio.",
            order=130,
            form=Form.CROSSED,
            factor="libaio",
            contrast="the library over that without",
            published=(1.018,),
            source="Torrez et al. 2019",
        ),
    )

    def probe(self) -> Presence:
        """Whether both builds are there."""
        return spack.built(self.binaries, self.specs)

    def program(self, parameters: Mapping[str, Any], node: NodeFacts) -> Program:
        """The command line of SysBench cpu with one of the two builds.

        Raises:
            UserError: more threads than logical CPUs.
        """
        program = super().program(parameters, node)
        return replace(program, argv=(_BUILDS[parameters["libaio"]], *program.argv[1:]))


BENCHMARK = SysbenchLibaio()
