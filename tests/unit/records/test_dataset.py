"""A dataset's own documents: where it came from, and the list of its files."""

import json
import re
import shutil
from pathlib import Path

import pytest
from plans import block_record_of, plan_of

from parity.claims import registration
from parity.command_line.records import archive
from parity.core.documents import canonical
from parity.core.errors import UserError
from parity.plan.plan import write_plan
from parity.records import dataset, schema
from parity.records.dataset import CHECKSUMS, PROVENANCE, archived, provenance, read_sums

ARCHIVE = Path(__file__).parents[3] / "results/archive"
ARCHIVED = sorted(path.name for path in ARCHIVE.iterdir())


@pytest.mark.parametrize("archive", ARCHIVED)
def test_an_archive_is_whole_and_follows_from_its_raw_outputs(archive, monkeypatch) -> None:
    assert dataset.broken_files(ARCHIVE / archive) == []
    assert dataset.differing_tables(ARCHIVE / archive) == []
    brought = provenance(ARCHIVE / archive)
    content = json.loads((ARCHIVE / archive / PROVENANCE).read_text())
    assert json.loads(canonical(brought)) == {"version": 2} | content
    monkeypatch.setattr(dataset, "PROVENANCE", "not there")
    assert provenance(ARCHIVE / archive) == brought


def test_a_broken_block_of_a_dataset_is_named(tmp_path: Path) -> None:
    (tmp_path / "records").mkdir()
    record = canonical(block_record_of()).replace('"number":1', '"number":"one"', 1)
    row = {"campaign": "a", "block": "b", "block_number": 1, "record": record}
    schema.write(schema.BLOCKS, [row], tmp_path / "records/blocks.parquet")
    with pytest.raises(UserError, match="no block record") as refused:
        provenance(tmp_path)
    assert refused.value.where.startswith(f"{tmp_path / 'records/blocks.parquet'}: b")


@pytest.mark.parametrize(
    "text", ["5e  a\n5e  a\n", "5e\n", "no checksum\n", "5e  \n", "\xff", "5e a\n", "\n"]
)
def test_a_list_of_files_that_is_none_is_refused_with_its_line(tmp_path: Path, text: str) -> None:
    (tmp_path / CHECKSUMS).write_bytes(text.encode("latin-1"))
    with pytest.raises(UserError, match=CHECKSUMS):
        read_sums(tmp_path)


def test_archives_say_their_system_and_study_and_one_with_a_broken_plan_is_left_out(
    tmp_path: Path, caplog
) -> None:
    held = {
        "machine-2026-11-20": ("machine", "torrez2019"),  # an old name
        "machine-hpcg-2026-11-22": ("machine", "hpcg"),
        "my-cluster-hpcg-2026-11-22": ("my-cluster", "hpcg"),
    }
    for name in (*held, "bad-2026-11-20"):
        (tmp_path / name).mkdir()
    for name, (_, study) in held.items():
        write_plan(tmp_path / name / "plan.json", plan_of({"study": study}))
    (tmp_path / "bad-2026-11-20/plan.json").write_text('{"version": 99}')
    assert archived(tmp_path) == held
    assert f"{tmp_path / 'bad-2026-11-20'} is left out: " in caplog.text


def test_two_archives_of_the_same_outputs_are_not_judged_together(tmp_path: Path) -> None:
    for name, raw in (("one", "a"), ("other", "b"), ("copy", "a")):
        (tmp_path / name).mkdir()
        dataset.write_sums(tmp_path / name, {"records/raw.parquet": raw, PROVENANCE: raw * 2})
    dataset.refuse_copies([tmp_path / "one", tmp_path / "other"])
    with pytest.raises(UserError, match="one holds the same outputs") as refused:
        dataset.refuse_copies([tmp_path / name for name in ("one", "other", "copy")])
    assert refused.value.where == str(tmp_path / "copy")


def test_a_changed_margin_or_pair_of_a_plan_that_is_registered_is_found(tmp_path: Path) -> None:
    """With its checksum made anew, nothing told of it."""
    source = ARCHIVE / ARCHIVED[0] / "plan.json"
    registered = registration.load(ARCHIVE.parents[1] / "config/registration.csv")
    registration.refuse_another_plan(source, registered)
    content = json.loads(source.read_text())
    for changed in (
        {"aa_pair": content["aa_pair"][::-1]},
        {"cases": [case | {"margin": 0.5} for case in content["cases"]]},
        {"seed": content["seed"] + 1},
    ):
        path = tmp_path / "plan.json"
        path.write_text(json.dumps(content | changed))
        with pytest.raises(UserError, match="none of those that were registered"):
            registration.refuse_another_plan(path, registered)


SMALL = ARCHIVE / "slurm-2026-11-21"


def test_an_archive_names_neither_clone_nor_node_and_says_the_same(tmp_path: Path) -> None:
    live = shutil.copytree(SMALL, tmp_path / "live")
    named = {"{clone}": "/home/somebody/parity"} | {f"node{n}": f"login-{n}" for n in range(1, 5)}

    def as_measured(value: str | bytes) -> str | bytes:
        for pair in named.items():
            value = value.replace(*(map(str.encode, pair) if isinstance(value, bytes) else pair))
        return value

    for table, columns in ((schema.RAW, dataset.TEXTS), (schema.BLOCKS, ("record",))):
        path = f"records/{table.name}.parquet"
        rows = schema.read_rows(table, SMALL / path)
        made = [row | {key: as_measured(row[key]) for key in columns} for row in rows]
        schema.write_rows(table, made, live / path)
    dataset.parse_dataset(live, live / "records")
    assert b"login-1" in (live / "records/runs.parquet").read_bytes()
    archive = dataset.archive_dataset(live, tmp_path, "slurm")
    assert read_sums(archive) | {PROVENANCE: ""} == read_sums(SMALL) | {PROVENANCE: ""}


def test_outputs_that_a_name_of_the_machine_is_read_from_are_not_archived(tmp_path, monkeypatch):
    monkeypatch.setattr(dataset, "numbered", lambda _: {"SingleDGEMM_Gflops": "node1"})
    with pytest.raises(UserError, match=r"without .*SingleDGEMM_Gflops.* other numbers"):
        dataset.archive_dataset(SMALL, tmp_path, "slurm")
    # Not even in part: whatever looks for archives would find it.
    assert not [*tmp_path.iterdir()]


def test_an_archive_is_not_called_as_those_of_another_machine(tmp_path: Path, monkeypatch, capsys):
    root = tmp_path / "results/archive"
    shutil.copytree(ARCHIVE / "machine-libaio-2026-11-21", root / "machine-libaio-2026-11-21")
    monkeypatch.chdir(tmp_path)
    systems = []
    for name in ("slurm-2026-11-21", "epyc2-guests-2026-11-22", "epyc2-isolation-2026-11-22"):
        before = {*root.iterdir()}
        archive(ARCHIVE / name / "plan.json", "machine")
        (kept,) = {*root.iterdir()} - before
        systems.append(archived(root)[kept.name][0])
    same, other, again = systems
    assert same == "machine" and other == again and re.fullmatch("machine-[0-9a-f]{4}", other)
    assert capsys.readouterr().out.count(f"so this one is called {other}") == 2
