"""What `pip install` makes of a clone: a command that works in any folder, and needs none."""

import re
import subprocess
from itertools import product
from pathlib import Path

import pytest
from clones import files_of, outside_clones, refused, succeeded

WORKFLOW = Path(__file__).parents[2] / "workflow"
# The package is of use to notebooks that have no Snakemake.
ALONE = """
import sys; sys.modules["snakemake"] = None
import parity.analysis.methods, parity.claims.verdicts, parity.core.settings
import parity.report.dashboard.page
parity.core.settings.schema("study")
print(parity.__path__[0])
"""


@pytest.fixture(scope="module")
def package(installed: Path, tmp_path_factory) -> Path:
    words = [installed.with_name("python"), "-c", ALONE]
    where = {"cwd": tmp_path_factory.mktemp("alone"), "env": outside_clones()}
    done = subprocess.run(words, **where, capture_output=True, text=True, check=True)
    return Path(done.stdout.strip())


def test_an_installation_holds_the_whole_package_and_what_rules_name(package: Path) -> None:
    held = set(files_of(package))
    project = {path for path in held if path.parts[0] == "project"}
    assert held - project == set(files_of(WORKFLOW / "parity"))
    files = {path: path.read_text() for path in [WORKFLOW / "Snakefile", *WORKFLOW.glob("rules/*")]}
    assert all(Path("project/workflow") / path.relative_to(WORKFLOW) in held for path in files)
    named = re.findall(r'\b(?:own|configured)\(\s*"([^"{]+)"', "".join(files.values()))
    assert len(named) > 10
    assert [name for name in named if not (package / "project" / name).exists()] == []


def test_it_imports_draws_and_judges_in_a_folder_with_modules_of_its_own(
    installed: Path, package: Path, tmp_path: Path
) -> None:
    (tmp_path / "random.py").write_text("raise SystemExit('a module of the user')\n")
    rows = [
        f"solve,{arm},time,{seconds * (1 + block / 1000)},s,lower,{block}"
        for (arm, seconds), block in product(
            {"native-a": 1, "native-b": 1, "box": 1.2}.items(), range(9)
        )
    ]
    (tmp_path / "table.csv").write_text(
        "\n".join(["case,arm,metric,value,unit,better,block", *rows])
    )
    before = files_of(package)
    for target in ("figures", "claims", "dashboard"):
        said = refused(tmp_path, target, program=installed)
        assert "there is no archive in this folder" in said and str(tmp_path) in said
    assert "there is no program ./none" in refused(
        tmp_path, "measure", "--runtimes=none", "--", "./none", program=installed
    )
    # What measures is found as well.
    planned = succeeded(tmp_path, "snakemake", "--", "-n", "all", program=installed)
    assert (
        re.search(r"^run_batch +3$", planned, re.MULTILINE) and "containers/Dockerfile" in planned
    )
    succeeded(tmp_path, "import", "table.csv", "--study=mine", "--margin=5", program=installed)
    assert re.search(r"\n +box +1\.2", succeeded(tmp_path, "figures", program=installed))
    (drawn,) = tmp_path.glob("results/archive/imported-mine-*/figures/overview.pdf")
    assert drawn.stat().st_size
    assert "not-tested" in succeeded(tmp_path, "claims", program=installed)
    other = refused(tmp_path, "claims", "--archive=imported-other-2026-01-01", program=installed)
    assert "unknown archive" in other and drawn.parts[-3] in other
    made = {path.name for path in tmp_path.iterdir()}
    assert made == {"random.py", "table.csv", "results", ".snakemake"}
    assert files_of(package) == before
