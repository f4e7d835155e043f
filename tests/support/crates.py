"""RO-Crates, held against their profile by its validator, without a network."""

import atexit
import io
import json
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from requests import PreparedRequest, Response
from requests.adapters import HTTPAdapter
from requests_cache import CachedSession
from rocrate_validator import models, services
from urllib3 import HTTPResponse

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
