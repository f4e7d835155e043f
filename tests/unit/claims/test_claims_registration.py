"""What was fixed when: the append-only list, and what it says of a verdict."""

from pathlib import Path

import claims_data as data
import pytest

from parity.claims import registration
from parity.claims.registration import Registration
from parity.claims.verdicts import load_expected
from parity.core.documents import canonical
from parity.core.errors import UserError

RUN = "2026-05-01T12:00:00+00:00"
EARLY, EARLIER, LATE = (f"2026-{month:02}-01T00:00:00+00:00" for month in (4, 3, 6))
PLAN_EARLY = ("plan:p", "P", EARLY)


def status(*rows: tuple[str, str, str], claim: str = "X", plan: str = "P", run: str = RUN) -> str:
    registered = sorted((Registration(*row) for row in rows), key=lambda row: row.registered)
    return registration.status(registered, ("one", claim), ("plan:p", plan), run)


@pytest.mark.parametrize("rows, expected", [
    ([("one", "X", EARLY), PLAN_EARLY], "before-data"),
    # Changed before the data, and not since.
    ([("one", "W", EARLIER), ("one", "X", EARLY), PLAN_EARLY], "before-data"),
    ([("one", "X", LATE), PLAN_EARLY], "after-data"),
    ([("one", "X", LATE), ("plan:p", "P", LATE)], "after-data"),
    # The claim was early, but not the plan; or nobody registered a plan at all.
    ([("one", "X", EARLY), ("plan:p", "P", LATE)], "after-data"),
    ([("one", "X", EARLY)], "after-data"),
    # Another rule before this one, or after it, or now.
    ([("one", "W", EARLY), ("one", "X", LATE), PLAN_EARLY], "amended"),
    ([("one", "X", EARLY), ("one", "W", LATE), PLAN_EARLY], "amended"),
    ([("one", "W", EARLY), PLAN_EARLY], "amended"),
    # Nobody ever registered this claim, whatever became of the plan.
    ([("other", "X", EARLY), PLAN_EARLY], "unregistered"),
    ([PLAN_EARLY], "unregistered"), ([("plan:p", "Q", EARLY)], "unregistered"),
    ([], "unregistered"),
    # Changed and changed back after the data.
    ([("one", "X", EARLY), ("one", "W", LATE), ("one", "X", LATE), PLAN_EARLY], "amended"),
    # The campaign was planned anew, later or before; these data are of this plan.
    ([("one", "X", EARLY), PLAN_EARLY, ("plan:p", "Q", LATE)], "before-data"),
    ([("one", "X", EARLY), ("plan:p", "P", EARLIER), ("plan:p", "Q", EARLY)], "after-data"),
    # Another plan than the registered one.
    ([("one", "X", EARLY), ("plan:p", "Q", EARLY)], "amended"),
])  # fmt: skip
def test_status(rows: list, expected: str) -> None:
    assert status(*rows) == expected


def test_a_dataset_without_runs_has_everything_before_it() -> None:
    assert status(("one", "X", LATE), ("plan:p", "P", LATE), run="") == "before-data"


def test_only_what_is_new_or_changed_is_added(tmp_path: Path) -> None:
    path = tmp_path / "registration.csv"
    path.write_text("what,sha256,registered\n")
    current = [("one", "X"), ("plan:p", "P"), ("plan:p", "Q")]
    first = registration.missing(registration.load(path), current, EARLY)
    registration.append(path, first)
    before = path.read_text()
    assert registration.missing(registration.load(path), current, LATE) == []
    changed = registration.missing(registration.load(path), [("one", "Y"), *current[1:]], LATE)
    registration.append(path, changed)
    assert path.read_text() == before + f"one,Y,{LATE}\n"
    # Changing back is a change, too.
    assert registration.missing(registration.load(path), current, LATE)[0].sha256 == "X"


@pytest.mark.parametrize(("load", "text"), [
    (registration.load, "what,when\n"),
    (registration.load, "what,sha256,registered\na,b,yesterday\n"),
    (registration.load, f"what,sha256,registered\na,b,{LATE}\nb,c,{EARLY}\n"),
    (load_expected, "a,b\n"), (load_expected, "dataset,claim,verdict\nd,c,v\nd,c,v\n"),
    (load_expected, None),
])  # fmt: skip
def test_a_broken_list_is_refused(tmp_path: Path, load, text: str | None) -> None:
    path = tmp_path / "list.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UserError):
        load(path)


def test_a_changed_margin_amends_a_verdict(tmp_path: Path) -> None:
    """From the register to the table: the planted data are of May."""
    made, plan = data.dataset(data.quiet()), tmp_path / "plan.json"

    def judged(margin: float, rows: list[Registration]) -> str:
        known = data.register(tmp_path, data.claim(data.same(margin=margin)))
        return data.row(data.verdicts(known, made, registered=rows)).registration

    known = data.register(tmp_path, data.claim(data.same()))
    plan.write_text(canonical(made[0].plan))
    wanted = registration.wanted([known], [plan])
    assert [what for what, _ in wanted] == ["one", "plan:planted-smoke"]
    early = registration.missing((), wanted, EARLY)
    assert judged(1, early) == "before-data"
    assert judged(1, registration.missing((), wanted, LATE)) == "after-data"
    assert judged(2, early) == "amended"


@pytest.mark.parametrize(
    ("blocks", "at_least", "takes"),
    [(28, 0.9, 29), (29, 0.9, 0), (8, 0.7, 9), (9, 0.7, 0), (6, 0.5, 0), (5, 0.9, 0)],
)
def test_a_new_plan_that_cannot_decide_its_claim_is_refused(tmp_path, blocks, at_least, takes):
    """One that is registered or archived stays so; one of fewer than six blocks is a rehearsal."""
    seen = data.claim(data.test_of("exists", expect=True, at_least=at_least))
    same = data.claim(data.test_of("equivalence", margin_percent=1), name="two")
    known = data.register(tmp_path, seen, same)
    path = tmp_path / "plan.json"
    path.write_text(canonical(data.dataset(data.quiet(blocks=blocks))[0].plan))
    rows = registration.missing((), registration.wanted([known], [path]), EARLY)
    registration.refuse_short_plans([known], [path], rows)
    if not takes:
        registration.refuse_short_plans([known], [path], ())
        return
    with pytest.raises(UserError, match=rf"planted-smoke cannot .*: one takes {takes} blocks\n"):
        registration.refuse_short_plans([known], [path], ())
    (tmp_path / "SHA256SUMS").touch()
    registration.refuse_short_plans([known], [path], ())


def test_of_several_datasets_the_latest_registration_counts(tmp_path: Path) -> None:
    entry = data.claim(data.same({"arms": ["box", "crate"]}), data.same())
    known, one = data.register(tmp_path, entry), data.dataset(data.quiet())
    two = data.dataset(data.quiet(blocks=20), name="live/other-smoke")
    rows = [
        Registration("one", known.claims[0].sha256, EARLY),
        Registration("plan:planted-smoke", one[0].plan_sha256, EARLY),
    ]
    first = data.row(data.verdicts(known, one, registered=rows))
    assert first.registration == "before-data"
    found = data.row(data.verdicts(known, one, two, registered=rows))
    assert found.registration == "amended"
    assert found.plan_sha256.split() == sorted([one[0].plan_sha256, two[0].plan_sha256])
    assert data.row(data.verdicts(known, one, two)).registration == "unregistered"


def test_two_files_may_not_have_a_claim_of_the_same_name(tmp_path: Path) -> None:
    registers = []
    for name, claims in (("a", ["one", "two"]), ("b", ["two"])):
        (folder := tmp_path / name).mkdir()
        registers.append(data.register(folder, *(data.claim(data.same(), name=n) for n in claims)))
    with pytest.raises(UserError, match="same name: two"):
        registration.wanted(registers, [])
    assert len(registration.wanted(registers[:1], [])) == 2
    path = Path(__file__).parents[3] / "config/registration.csv"
    assert path.read_text().startswith("what,sha256,registered\n") and registration.load(path)
