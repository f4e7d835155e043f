"""Each archive is an RO-Crate that its profile's validator accepts, the same bytes each time.

The validator is held off the network.
"""

import atexit
import io
import json
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from requests import PreparedRequest, Response
from requests.adapters import HTTPAdapter
from requests_cache import CachedSession
from rocrate_validator import models, services
from urllib3 import HTTPResponse

from parity.records.crate import CRATE, write_crate

ARCHIVES = sorted((Path(__file__).parents[3] / "results/archive").glob("*/plan.json"))
# The project has no address of its own, which the validator would like to see.
WISHES = {
    "process-run-crate-0.5_3.2: The Application SHOULD have a url",
    "process-run-crate-0.5_5.1: The SoftwareApplication id SHOULD be an absolute URI",
    "ro-crate-1.1_31.2: The organization SHOULD have a URL.",
}
CONTEXT = "https://w3id.org/ro/crate/1.1/context"
PROFILE = "process-run-crate"
# What RO-Crate 1.1 calls as schema.org does, of what our crates say, and what it does not.
OF_SCHEMA = [
    *("CreateAction", "CreativeWork", "Dataset", "Organization", "SoftwareApplication", "about"),
    *("actionStatus", "agent", "author", "contentSize", "datePublished", "description", "endTime"),
    *("encodingFormat", "hasPart", "instrument", "license", "mentions", "name", "object", "result"),
    *("publisher", "softwareRequirements", "softwareVersion", "startTime", "version"),
]
TERMS = {term: f"http://schema.org/{term}" for term in OF_SCHEMA} | {
    "File": "http://schema.org/MediaObject",
    "conformsTo": "http://purl.org/dc/terms/conformsTo",
}


class _Context(HTTPAdapter):
    """Answers with the part of RO-Crate's context that our crates need."""

    def send(self, request: PreparedRequest, *args: Any, **kwargs: Any) -> Response:
        raw = HTTPResponse(
            body=io.BytesIO(json.dumps({"@context": TERMS}).encode()),
            headers={"Content-Type": "application/ld+json"},
            status=200,
            preload_content=False,
            request_url=request.url,
        )
        return self.build_response(request, raw)


@cache
def _answers() -> str:
    """The cache of answers that the validator reads in place of asking; it keeps one for good."""
    path = Path(mkdtemp(prefix="parity-crates-"), "answers")
    with CachedSession(str(path)) as session:
        session.mount("https://", _Context())
        session.get(CONTEXT)
    atexit.register(shutil.rmtree, path.parent, ignore_errors=True)
    return str(path)


def problems(crate: Path) -> set[str]:
    """What the profile's validator has to say of a crate, down to recommendations."""
    found = services.validate(
        services.ValidationSettings(
            rocrate_uri=str(crate), profile_identifier=PROFILE,
            requirement_severity=models.Severity.RECOMMENDED, cache_path=_answers(), offline=True,
        )
    )  # fmt: skip
    return {f"{issue.check.identifier}: {issue.message}" for issue in found.get_issues()}


def without_crate(archive: Path, folder: Path) -> Path:
    """All of an archive but its crate, by links in a new folder of its name."""
    (again := folder / archive.name).mkdir()
    for path in archive.iterdir():
        if path.name != CRATE:
            (again / path.name).symlink_to(path)
    return again


@pytest.mark.parametrize("plan", ARCHIVES, ids=lambda path: path.parent.name)
def test_an_archive_is_the_crate_that_follows_from_it(plan: Path, tmp_path: Path) -> None:
    again = without_crate(plan.parent, tmp_path)
    assert write_crate(again).read_bytes() == (plan.parent / CRATE).read_bytes()


# The validator takes seconds for each; the oldest form and the newest are looked at every day.
DAILY = ARCHIVES[:: len(ARCHIVES) - 1]
OTHERS = [pytest.param(path, marks=pytest.mark.long) for path in ARCHIVES[1:-1]]


@pytest.mark.parametrize("plan", [*DAILY, *OTHERS], ids=lambda path: path.parent.name)
def test_the_profile_s_validator_accepts_it(plan: Path) -> None:
    assert problems(plan.parent) == WISHES


def test_the_validator_would_notice_what_is_missing(tmp_path: Path) -> None:
    archive = ARCHIVES[0].parent
    again, document = without_crate(archive, tmp_path), json.loads((archive / CRATE).read_text())
    (action,) = (each for each in document["@graph"] if each["@id"] == "#measurement")
    del action["instrument"]
    (again / CRATE).write_text(json.dumps(document))
    assert problems(again) - WISHES
