"""Sides held against the reference: programs, libraries, interface, and what is printed of it."""

import csv
import json
import re

import pytest
from msgspec.structs import astuple, replace
from plans import changed, plan_of

from parity.checks import parity_audit
from parity.checks.parity_audit import report, verdict_text
from parity.checks.side import Side, benchmarks_of
from parity.core.documents import read_document
from parity.core.errors import UserError
from parity.core.spack_paths import PREFIX
from parity.measure.places import binaries_of
from parity.software.binaries import Library, ProgramFile, closure_digest

ONE, TWO = "/usr/bin/one", f"{PREFIX}/debian12/view/two/bin/two"
PROGRAMS = {"bench": (ONE, TWO)}
LIBRARIES = {"libc.so.6": "c" * 64, "libm.so.6": "d" * 64}
FACTS = {"kernel": "6.1.0", "seccomp": "off", "variables of the runtime": "HOME PATH"}
PLAN = plan_of({"campaign": "study-smoke", "reference": "base"})


def program(path, sha256="a" * 64, **libraries):
    wanted = {name: digest for name, digest in (LIBRARIES | libraries).items() if digest and sha256}
    closure = tuple(Library(library=name, sha256=digest) for name, digest in wanted.items())
    return ProgramFile(path, sha256, "", closure, closure_digest(closure) if sha256 else "")


def side(arm, one=None, two=None, **others):
    programs = [one or program(ONE), two or program(TWO)]
    known = {"title": arm.capitalize(), "link_set": "own", "benchmarks": ("bench",)}
    known |= {"programs": {each.path: each for each in programs}, "interface": dict(FACTS)}
    return Side(arm=arm, **known | others)


BASE = side("base", is_outside=True)


def only(other, base=BASE):
    (row,) = parity_audit.likenesses([base, other], base, PROGRAMS)
    return row


OTHER_C = {"libc.so.6": "e" * 64, "libm.so.6": "e" * 64, "libaio.so.1": "f" * 64}
DIFFER, SILENT = "same program, libraries differ:", {"programs": {}, "interface": {}}
LIKE = [
    (side("box"), "same", "identical"),
    (side("box", program(ONE, **OTHER_C)), "libraries differ", f"{DIFFER} libc.so.6 (2 others)"),
    *((side("box", program(ONE, **{"libm.so.6": other})), "libraries differ",
       f"{DIFFER} libm.so.6") for other in ("", "not-found")),
    (side("box", program(ONE, "b" * 64, **{"libm.so.6": ""})), "binary differs", "other program"),
    (side("box", program(ONE, "")), "not recorded", "not recorded: Box has no one"),
    (side("box", **SILENT), "not recorded", "not recorded: Box has no one and no two"),
    (side("box", **SILENT, reason="no daemon"), "not recorded", "not recorded: no daemon"),
]  # fmt: skip


@pytest.mark.parametrize(("box", "verdict", "said"), LIKE)
def test_a_side_is_like_the_reference_or_not(box, verdict, said):
    row = only(box)
    assert (row.verdict, verdict_text(row)) == (verdict, said)
    assert row.confounded == (verdict in ("libraries differ", "binary differs"))
    assert len(row.programs) == 2


def test_each_program_is_held_against_its_own():
    row = only(side("box", program(ONE, **OTHER_C)))
    assert row.programs[0].libraries == ("libaio.so.1", "libc.so.6", "libm.so.6")
    assert (row.programs[1].verdict, row.programs[1].libraries) == ("same", ())


def test_a_reference_that_cannot_be_asked_leaves_nothing_known():
    base = replace(BASE, **SILENT, reason="broken")
    assert verdict_text(only(side("box"), base)) == "not recorded: broken"
    assert parity_audit.differences([base, side("box")], base) == []
    # Nor is a benchmark held against an arm that does not run it.
    assert parity_audit.likenesses([BASE, side("box", benchmarks=())], BASE, PROGRAMS) == []


def test_differences_of_the_interface_have_both_values():
    other = {"kernel": "6.1.0", "seccomp": "filter", "cgroup pids.max": "2048"}
    found = parity_audit.differences([BASE, side("box", interface=other)], BASE)
    assert [(each.fact, each.value, each.reference) for each in found] == [
        ("seccomp", "filter", "off"),
        ("variables of the runtime", "", "HOME PATH"),
        ("cgroup pids.max", "2048", ""),
    ]


A, B = "a" * 64, "b" * 64
OTHER_TWO, AS_BASE = {"two": program(TWO, B)}, "as in base"
SHARED = {"link_set": "shared"}
DEBIAN_S = ("1" * 32, "2" * 32)


@pytest.mark.parametrize(("box", "recorded", "altered", "found"), [
    # What is not in the shared tree comes from the image, so it is listed and no more.
    (side("box", program(ONE, B), **OTHER_TWO, **SHARED), {}, {}, (TWO, "box", A, B, AS_BASE)),
    (side("box", two=program(TWO, ""), **SHARED), {}, {}, (TWO, "box", A, "", AS_BASE)),
    (side("box", programs={}, **SHARED, reason="not installed"), {}, {}, None),
    (side("box", **OTHER_TWO, link_set="own"), {}, {}, None),
    (side("box", **OTHER_TWO, link_set="host-mpi"), {}, {}, None),
    (side("box"), {TWO: A}, {}, None),
    (side("box"), {TWO: B}, {}, (TWO, "base", B, A, "recorded by its build")),
    (side("box"), {}, {ONE: DEBIAN_S}, (ONE, "base", *DEBIAN_S, "MD5 of its Debian package")),
])  # fmt: skip
def test_a_program_that_is_another_file_is_refused_with_both_hashes(box, recorded, altered, found):
    mismatches = parity_audit.mismatches([BASE, box], BASE, recorded, altered)
    assert [astuple(each) for each in mismatches] == [found] * bool(found)
    if not found:
        parity_audit.refuse(mismatches)
    else:
        path, arm, expected, seen, source = found
        words = f"{path} in {arm}: expected {expected} ({source}), found {seen or 'nothing'}"
        with pytest.raises(UserError, match=re.escape(words)):
            parity_audit.refuse(mismatches)


def test_a_reason_of_many_lines_stays_one_line():
    row = only(side("box", **SILENT, reason="it said\n" + "word\n" * 200))
    said = verdict_text(row)
    assert "\n" not in said and len(said) < 80 and said.endswith("…")


def test_builds_of_one_program_are_told_apart():
    paths = (TWO, f"{PREFIX}/debian12/view/other/bin/two")
    base, box = (side(name, program(ONE), program(TWO)) for name in ("base", "box"))
    for each in (base, box):
        each.programs[paths[1]] = program(paths[1], "b" * 64)
    audit = parity_audit.audit_of(PLAN, [base, box], {"bench": paths}, {}, {})
    said = "\n".join(report(audit, {"bench": paths}))
    assert "two/two aaaaaaaa, other/two bbbbbbbb" in said


def audit_of(*others):
    return parity_audit.audit_of(PLAN, [BASE, *others], PROGRAMS, {}, {})


def test_the_report_says_all_of_it():
    changed = FACTS | {"seccomp": "filter", "variables of the runtime": "HOME TERM"}
    audit = audit_of(
        side("twin"),
        side("box", program(ONE, **{"libc.so.6": "e" * 64}), interface=changed),
        side("gone", **SILENT, reason="daemon not running"),
    )
    said = "\n".join(report(audit, PROGRAMS))
    for words in (
        "every arm asked, held against Base",
        "one aaaaaaaa, two aaaaaaaa",
        "same program, libraries differ: libc.so.6",
        "not recorded: daemon not running",
        "  Twin: the same",
        "  Gone: not asked: daemon not running",
        "filter (reference: off)",
        "also TERM; without PATH",
        "  bench (libraries differ): Box",
        "Not known, because not seen: 1 of 3 (Gone)",
    ):
        assert words in said
    alike = report(audit_of(side("twin")), PROGRAMS)
    assert alike[-1].startswith("Nothing is confounded")


def test_what_is_left_can_be_read_again(tmp_path):
    box = side("box", program(ONE, "b" * 64))
    audit = audit_of(box)
    parity_audit.write(tmp_path, audit)
    path = tmp_path / "study-smoke.json"
    assert read_document(path, parity_audit.ParityAudit) == audit
    left = json.loads(path.read_text())
    assert left["likenesses"][0]["verdict"] == "binary differs" and left["provider"] == "system"
    assert left["sides"][1]["programs"][ONE]["closure"][0]["library"] == "libc.so.6"
    with (tmp_path / "study-smoke.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["program"], row["verdict"], row["confounded"]) for row in rows] == [
        (ONE, "binary differs", "yes"),
        (TWO, "same", "yes"),
    ]
    with (tmp_path / "study-smoke-interface.csv").open() as file:
        assert {row["differs"] for row in csv.DictReader(file)} == {"no"}


def test_programs_and_benchmarks_follow_from_the_plan():
    named = {"likwid-copy": ("likwid", "b"), "x": ("hpcc", "a")}
    cases = [{"case": case, "benchmark": benchmark} for case, (benchmark, _) in named.items()]
    runs = [{"run": case, "case": case, "arm": arm} for case, (_, arm) in named.items()][::-1]
    plan = plan_of({"cases": cases, "blocks": [{"block": "b", "number": 1, "runs": runs}]})
    assert list(binaries_of(plan)) == ["hpcc", "likwid"]
    assert binaries_of(plan)["likwid"] == ("/usr/bin/likwid-bench",)
    spack = binaries_of(changed(plan, provider="spack"))
    assert all(path.startswith(str(PREFIX)) for path in spack["hpcc"][:1])
    assert benchmarks_of(plan, "a") == ("hpcc",) and benchmarks_of(plan, "c") == ()
