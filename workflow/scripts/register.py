"""Rule register: add what is new or changed to config/registration.csv."""

import shutil
from pathlib import Path

from parity.claims import registration
from parity.claims.declared import declared
from parity.claims.register import load_register, load_users_claims
from parity.core.errors import shown_to_the_user
from parity.plan.plan import read_plan

if __name__ == "__main__":
    with shown_to_the_user():
        given, path = snakemake.input, Path(snakemake.params.registration)
        plans = [Path(plan) for plan in given.plans]
        names = declared(map(read_plan, plans))
        registers = [
            load_register(Path(given.claims), Path(given.published), names),
            *(load_users_claims(Path(path), names) for path in given.own),
        ]
        if not path.exists():
            # Used from another folder: the project's own registrations stay as they are.
            path.parent.mkdir(exist_ok=True)
            shutil.copyfile(snakemake.params.known, path)
        known = registration.load(path)
        current = registration.wanted(registers, plans)
        rows = registration.missing(known, current, registration.now())
        registration.append(path, rows)
        print(f"{path}: {len(rows)} of {len(current)} claims and plans registered anew")
