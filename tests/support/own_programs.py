"""A C program and a Python script of somebody's, and the study that describes both."""

import subprocess
from pathlib import Path
from typing import Any

SOLVER = Path(__file__).with_name("programs") / "solver.c"
COUNTER = """
import sys
words = open(sys.argv[1]).read().split()
for _ in range(int(sys.argv[2])):
    found = len(set(words))
print("found", found)
"""


def make(folder: Path) -> dict[str, Any]:
    """Compile and write both with their input; the study of them."""
    solver, counter, words = folder / "solver", folder / "count.py", folder / "words.txt"
    subprocess.run(["gcc", "-O1", "-static", "-o", solver, SOLVER], check=True)
    counter.write_text(COUNTER)
    words.write_text("\n".join(map(str, range(10_000))))
    python = "/usr/bin/python3"
    return {
        "study": "mine", "title": "Programs of my own", "reproduces": "none", "seed": 7,
        "reference": "native-a", "aa_pair": ["native-a", "native-b"],
        "arms": ["native-a", "native-b", "podman", "charliecloud-dir"],
        "benchmarks": {
            "solver": {
                "margin_percent": 25,
                "factors": {"size": ["short", "long"]},
                "command": {
                    "title": "Solver of mine",
                    "program": [str(solver), "{size}"],
                    "binaries": [str(solver)],
                    "needs": [str(solver)],
                    "metrics": [{
                        "name": "solving", "title": "solving time", "unit": "s",
                        "better": "lower", "pattern": r"^solved in ([\d.]+) s$",
                    }],
                    "valid": "^x = ",
                },
            },
            "counter": {
                "margin_percent": 25,
                "parameters": {"passes": 50},
                "command": {
                    "title": "Counter of mine",
                    "program": [python, str(counter), str(words), "{passes}"],
                    "binaries": [python, str(counter)],
                    "packages": ["python3-minimal"],
                    "needs": [str(counter), str(words)],
                    "cpus": 1,
                    "valid": "^found 10000$",
                },
            },
        },
        "scales": {"tiny": {"blocks": 3}},
    }  # fmt: skip


def linked(folder: Path) -> dict[str, Any]:
    """A program that is shown in every container, and a library of it that is only here."""
    program, library = folder / "linked", folder / "libmine.so"
    answer = "int answer() { return 42; }"
    asks = "int answer(); int main() { return answer() != 42; }"
    shared = ["-shared", "-fPIC", "-Wl,-soname,libmine.so"]
    own = [f"-Wl,-rpath,{folder}", "-x", "none", library]
    for made, text, words in ((library, answer, shared), (program, asks, own)):
        line = ["gcc", "-o", made, "-x", "c", "-", *words]
        subprocess.run(line, input=text, text=True, check=True)
    command = {"title": "Linked", "program": [str(program)], "binaries": [str(program)]}
    return {"margin_percent": 25, "command": command | {"needs": [str(program)]}}
