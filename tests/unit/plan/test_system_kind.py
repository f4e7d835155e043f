"""What may be said of results because of where they were measured."""

import pytest

from parity.core.errors import UserError
from parity.plan.system import CLUSTER, KINDS, MACHINE, kind_of


def test_a_real_cluster_alone_supports_what_was_measured_on_one() -> None:
    assert {label for label, kind in KINDS.items() if kind.support == CLUSTER} == {"cluster"}
    # It was called by its batch system once.
    assert kind_of(["slurm", "cluster", "cluster"]) is KINDS["cluster"]


def test_several_kinds_are_no_cluster_and_say_all_that_each_says() -> None:
    both = kind_of(["virtual-cluster", "cluster", "vm"])
    assert both.label == "cluster + virtual-cluster + vm"
    assert (both.support, both.one_host) == (MACHINE, True)
    assert both.note == KINDS["virtual-cluster"].note
    assert both.threat == f"{KINDS['virtual-cluster'].threat} {KINDS['vm'].threat}"


def test_no_system_an_unknown_one_and_what_others_measured() -> None:
    assert (kind_of([]).label, kind_of([]).support) == ("", MACHINE)
    with pytest.raises(UserError, match="mainframe"):
        kind_of(["mainframe"])
    imported, ours = kind_of(["imported"]), kind_of(["vm"])
    assert "randomised" in ours.conduct and "{reference}" in ours.conduct
    assert "before" in ours.margin and "after the data" in imported.margin
    assert not {"We", "randomised"} & set(imported.conduct.split())
