"""Commands of the rules on claims: judged, held against what is expected, and registered."""

import shutil
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from parity.claims import registration
from parity.claims import verdicts as documents
from parity.claims.register import Register, declared, load_register, load_users_claims
from parity.claims.sums import load_judged
from parity.core.errors import print_checks
from parity.plan.plan import read_plan
from parity.records.dataset import archived, refuse_copies


def judge(
    claims: Path, published: Path, own: list[Path], plan: Path, beside: list[Path],
    registered: Path, folder: Path,
) -> None:  # fmt: skip
    """Decide every published claim, or those of the first of one's own files, by its rule.

    Args:
        beside: plans of the other datasets of the same system.
        folder: where the verdicts go.
    """
    registers = _registers(claims, published, own, [plan, *beside])
    registration.refuse_shared_ids(registers)
    judged, *others = (path.parent for path in (plan, *beside))
    refuse_copies([judged, *others])
    loaded = {each: load_judged(each) for each in sorted({judged, *others})}
    alike = [data for data in loaded.values() if data.is_of_same_system(loaded[judged])]
    is_archived = judged.parent.name == "archive"
    system = archived(judged.parent)[judged.name][0] if is_archived else ""
    name = f"archive/{system}" if system else loaded[judged].dataset.name
    register, known = registers[1 if own else 0], registration.load(registered)
    documents.judge(register, alike, known, name).write(folder)


def expect(verdicts: list[Path], known: Path) -> None:
    """Fail if a verdict on any of the data is not the one that is expected of them."""
    as_expected = partial(documents.as_expected, documents.load_expected(known), str(known))
    judged = [documents.Judgement.read(each.parent).verdicts for each in verdicts]
    checks = ((each["judged"].iloc[0], partial(as_expected, each)) for each in judged)
    print_checks(checks)


def accept(verdicts: Path, known: Path, path: Path) -> None:
    """Expect these verdicts of their data from now on."""
    judged = documents.Judgement.read(verdicts.parent).verdicts
    path.parent.mkdir(exist_ok=True)
    documents.accept(documents.load_expected(known), judged, path)
    print(f"{path}: {len(judged)} verdicts are expected of {judged['judged'].iloc[0]}")


def register(
    claims: Path, published: Path, own: list[Path], plans: list[Path], known: Path, registered: Path
) -> None:
    """Add claims and plans that are new or changed to the list of registrations."""
    registers = _registers(claims, published, own, plans)
    if not registered.exists():
        # Used from another folder: the project's own registrations stay as they are.
        registered.parent.mkdir(exist_ok=True)
        shutil.copyfile(known, registered)
    current, now = registration.wanted(registers, plans), datetime.now(UTC)
    moment, before = now.isoformat(timespec="seconds"), registration.load(registered)
    registration.refuse_short_plans(registers, plans, before)
    rows = registration.missing(before, current, moment)
    registration.append(registered, rows)
    print(f"{registered}: {len(rows)} of {len(current)} claims and plans registered anew")


def _registers(claims: Path, published: Path, own: list[Path], plans: list[Path]) -> list[Register]:
    """The register of published claims, then one's own; what they name, these plans declare."""
    names = declared(map(read_plan, plans))
    return [
        load_register(claims, published, names),
        *(load_users_claims(path, names) for path in own),
    ]
