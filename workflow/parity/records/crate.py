"""An archived dataset as an RO-Crate: what each file holds, and the action that made them.

The profile is Process Run Crate 0.5, of the collection Workflow Run RO-Crate (Leo et al., PLOS ONE
2024). The file is made from what the archive holds, the same bytes each time, and is no part of it:
`SHA256SUMS` does not list it, and it says of each file what `SHA256SUMS` says.
"""

from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Any

from rocrate.model.contextentity import ContextEntity
from rocrate.model.creativework import CreativeWork
from rocrate.model.softwareapplication import SoftwareApplication
from rocrate.rocrate import ROCrate

from parity.core.wording import counted
from parity.plan.plan import PLAN, read_plan
from parity.records import schema
from parity.records.dataset import CHECKSUMS, PROVENANCE, Provenance, provenance, read_sums
from parity.software.images import IMAGES

CRATE = "ro-crate-metadata.json"
PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
LICENSE = "https://spdx.org/licenses/MIT"  # the program's is that of what it measured
_ABOUT = {
    PLAN: "What was planned: cases, arms, blocks and comparisons.",
    IMAGES: "The images that containers ran from, as a chain of digests.",
    PROVENANCE: "When it was measured, by which states of the program, with which runtimes.",
    CHECKSUMS: "SHA-256 of every file of the dataset, which stands for all of it.",
}
_FORMATS = {".json": "application/json", ".parquet": "application/vnd.apache.parquet"}


def write_crate(archive: Path) -> Path:
    """Write an archive's `ro-crate-metadata.json`, return its path; UserError: a file is broken."""
    plan, origin = read_plan(archive / PLAN), provenance(archive)
    crate = ROCrate(version="1.1")
    # Of the profile's own vocabulary, beside RO-Crate's.
    crate.metadata.extra_terms["sha256"] = "https://w3id.org/ro/terms/workflow-run#sha256"
    crate.name = f"{plan.title} ({archive.name})"
    size = f"{counted(len(plan.cases), 'case')} in {counted(origin.blocks, 'block')}"
    arms = "; ".join(plan.arm_titles[arm] for arm in plan.arms)
    crate.description = f"{size}, measured in: {arms}"
    crate.datePublished = origin.ended
    crate.license = crate.add(CreativeWork(crate, LICENSE, {"name": "MIT License"}))
    profile = CreativeWork(crate, PROFILE, {"name": "Process Run Crate", "version": "0.5"})
    crate.root_dataset["conformsTo"] = crate.add(profile)
    sums = read_sums(archive)
    told = {name: _properties(archive / name, name, sums) for name in sorted([*sums, CHECKSUMS])}
    files = {name: crate.add_file(archive / name, name, properties=of) for name, of in told.items()}
    authors = {"@type": "Organization", "name": "The Parity authors"}
    by = crate.add(ContextEntity(crate, "#authors", authors))
    crate.root_dataset["author"] = crate.root_dataset["publisher"] = by
    action = {
        "@type": "CreateAction", "name": f"Measurement of {plan.campaign}",
        "description": f"{plan.title}, in {counted(origin.sessions, 'session')}",
        "startTime": origin.began, "endTime": origin.ended, "agent": by,
        "actionStatus": "http://schema.org/CompletedActionStatus",
        "instrument": _programs(crate, origin), "object": [files[name] for name in (PLAN, IMAGES)],
        "result": [file for name, file in files.items() if name not in (PLAN, IMAGES)],
    }  # fmt: skip
    crate.root_dataset["mentions"] = crate.add(ContextEntity(crate, "#measurement", action))
    crate.metadata.write(archive)
    return archive / CRATE


def _properties(path: Path, name: str, sums: dict[str, str]) -> dict[str, Any]:
    table = schema.TABLES.get(path.stem) if path.suffix == ".parquet" else None
    about = table.doc if table else _ABOUT.get(name, "What Spack made of the study's programs.")
    return {
        "name": name, "description": about, "contentSize": str(path.stat().st_size),
        "encodingFormat": _FORMATS.get(path.suffix, "text/plain"),
        **({"sha256": sums[name]} if name in sums else {}),
    }  # fmt: skip


def _programs(crate: ROCrate, origin: Provenance) -> Any:
    """The states of the program that measured, named by the digests of the package (RFC 6920)."""
    needed = [f"{arm}: {', '.join(said)}" for arm, said in sorted(origin.runtimes.items())]
    found = []
    for each in origin.programs:
        digest = urlsafe_b64encode(bytes.fromhex(each.package_sha256)).decode().rstrip("=")
        about = {
            "name": "Parity", "softwareRequirements": needed,
            "softwareVersion": each.commit + (" with changes" if each.changed else ""),
        }  # fmt: skip
        found.append(crate.add(SoftwareApplication(crate, f"ni:///sha-256;{digest}", about)))
    # RO-Crate has a single value without a list around it.
    return found[0] if len(found) == 1 else found
