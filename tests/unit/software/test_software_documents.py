"""images.json and native.json: of today and of the archive, and broken ones in one message."""

import json
from functools import partial
from pathlib import Path

import pytest

from parity.core.documents import read_document, write_document
from parity.core.errors import UserError
from parity.software.images import ImageRecord, read_images, without_location, write_images
from parity.software.native import read_native

ARCHIVE = Path(__file__).parents[3] / "results/archive"
RECORD = ImageRecord("sif", digest="sha256:1", parent="oci", location="/images/a.sif", bytes=3)
BROKEN = ["[]", "null", "{", '{"version": 99}', '{"sif": {"format": "sif", "bytes": "3"}}', "1e999"]


@pytest.mark.parametrize("path", sorted(ARCHIVE.glob("*/images.json")), ids=lambda p: p.parent.name)
def test_the_archived_images_are_read(path: Path) -> None:
    images = read_images(path)
    plain = json.loads(path.read_text())
    # The oldest hold nothing but the formats.
    plain = plain.get("formats", plain)
    assert {name: record.digest for name, record in images.items()} == {
        name: record["digest"] for name, record in plain.items()
    }
    assert {record.location for record in images.values()} == {""}


@pytest.mark.parametrize("path", sorted(ARCHIVE.glob("*/native.json")), ids=lambda p: p.parent.name)
def test_the_archived_native_builds_are_read(path: Path) -> None:
    native, plain = read_native(path), json.loads(path.read_text())
    assert native.programs == {
        f"{plain['view']}/{row['path']}": row["sha256"] for row in plain["binaries"]
    }
    assert [package.hash for package in native.specs] == [row["hash"] for row in plain["specs"]]


def test_what_is_written_is_read_and_not_under_another_s_name(tmp_path: Path) -> None:
    path = tmp_path / "images.json"
    write_images(path, {"sif": RECORD})
    assert read_images(path) == {"sif": RECORD}
    assert json.loads(path.read_text())["version"] == 2
    write_document(tmp_path / "sif.json", RECORD)
    assert read_document(tmp_path / "sif.json", ImageRecord) == RECORD
    assert sorted(file.name for file in tmp_path.iterdir()) == ["images.json", "sif.json"]
    assert without_location({"sif": RECORD})["sif"].location == ""
    write_images(path, {"oci": RECORD})
    with pytest.raises(UserError, match="record of oci is another one"):
        read_images(path)


@pytest.mark.parametrize("text", BROKEN)
@pytest.mark.parametrize(
    "read", [read_images, read_native, partial(read_document, kind=ImageRecord)]
)
def test_a_broken_document_is_one_message_with_its_file(tmp_path: Path, read, text: str) -> None:
    path = tmp_path / "document.json"
    path.write_text(text)
    with pytest.raises(UserError, match=r"document\.json"):
        read(path)
