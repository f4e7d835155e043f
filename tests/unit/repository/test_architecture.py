"""The house plan of docs/design.md: its packages, their order, what they own and name."""

import ast
import re
import subprocess
import tomllib
from pathlib import Path

from parity.benchmarks import benchmarks
from parity.core.package import LAYERS, PACKAGE
from parity.runtimes import arms

ROOT = PACKAGE.parents[1]
# Rows of the table, highest first: package, what happens there, its documents, whom it knows.
ROWS = {
    cells[0].strip(" `"): cells[1:]
    for line in (ROOT / "docs/design.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| `") and len(cells := line.strip("|").split("|")) == 4
}
LONG = {".py": 450, ".smk": 160}  # lines of a module, and of a file of rules


def _texts(path: Path) -> set[str]:
    """All texts in a module's code, f-strings' fixed parts included, docstrings excluded."""
    nodes = [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    alone = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    constants = [n for n in nodes if isinstance(n, ast.Constant) and id(n) not in alone]
    return {node.value for node in constants if isinstance(node.value, str)}


TEXTS = {path.relative_to(PACKAGE): _texts(path) for path in PACKAGE.rglob("*.py")}


def test_imports_go_downwards_and_none_is_of_snakemake() -> None:
    done = subprocess.run(["lint-imports"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_table_contract_and_digests_have_every_package_in_the_same_order() -> None:
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert packages == set(ROWS) == {*LAYERS, "extensions"}
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = [re.findall(r"\w+", layer) for layer in linter["contracts"][0]["layers"]]
    height = {name: -row for row, names in enumerate(layers) for name in names}
    assert height.keys() == set(LAYERS)
    for package, row in ROWS.items():
        for known in set(re.findall(r"`(\w+)`", row[2])) - {"extensions"}:
            assert package == "extensions" or height[known] < height[package], package
    # What a digest holds is all that may be imported.
    assert [height[name] for name in LAYERS] == sorted(height.values())


def test_a_document_is_named_in_its_owner_s_package_alone() -> None:
    """By itself, or at a path's end; a text for people may be named where it is shown."""
    for package, row in ROWS.items():
        for name in re.findall(r"`([\w./]+\.(?:json|txt|tex)|SHA256SUMS)`", row[1]):
            path_to = re.compile(rf"(.*/)?{re.escape(name)}", re.DOTALL)
            users = {p.parts[0] for p, texts in TEXTS.items() if any(map(path_to.fullmatch, texts))}
            assert package in users or "/" in name, name
            assert users <= {package} or name.endswith((".txt", ".tex")), name


def test_a_module_is_one_idea_and_not_long() -> None:
    files = [*PACKAGE.rglob("*.py"), *PACKAGE.parent.rglob("*.smk")]
    lines = {path: len(path.read_text().splitlines()) for path in files}
    assert len({path.suffix for path in files}) == len(LONG)
    assert [path for path, count in lines.items() if count > LONG[path.suffix]] == []


def test_nothing_outside_its_own_file_names_a_runtime_or_a_benchmark() -> None:
    names = {arm.runtime for arm in arms().values()} | set(benchmarks())
    names -= {"native", "startup", "memory", "namespaces", "ladder", "imports"}  # words, too
    # The builder of images is one of the runtimes' programs, and stores are named after theirs.
    own = {"runtimes", "benchmarks", "software", "extensions"}
    for path, texts in TEXTS.items():
        assert path.parts[0] in own or not texts & names, path
