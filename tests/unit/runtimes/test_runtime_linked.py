"""Link sets: what of the host's an arm shows, in the words of each runtime."""

from pathlib import Path

from parity.core.commands import Availability
from parity.runtimes import arms, derived, every_arm
from parity.runtimes.model import HOST_MPI, LINK_SETS, OWN, SHARED

SHOWN = (Path("/opt/parity/tree"), Path("/opt/parity/debian12"))


def test_every_container_arm_and_no_other_comes_with_every_link_set() -> None:
    for name in (name for name, arm in arms().items() if arm.image_format):
        own, tree, mpi = (every_arm()[f"{name}{end}"] for end in ("", "-shared-tree", "-host-mpi"))
        assert (own.link_set, tree.link_set, mpi.link_set) == (OWN, SHARED, HOST_MPI) == LINK_SETS
        for attribute in ("runtime", "isolates", "image_format"):
            assert len({getattr(arm, attribute) for arm in (own, tree, mpi)}) == 1
        assert not tree.is_native and tree.title == f"{own.title} (native tree)"
    outside = [name for name, arm in arms().items() if not arm.image_format]
    assert not [name for name in every_arm() for o in outside if name.startswith(f"{o}-shared")]


def test_without_a_native_build_there_is_nothing_to_show(monkeypatch) -> None:
    monkeypatch.setitem(derived._SHOWN, SHARED, tuple)
    arm = every_arm()["charliecloud-dir-shared-tree"]
    monkeypatch.setattr(type(arm.base), "probe", lambda _self: Availability(True, version="1"))
    presence = arm.probe()
    assert (presence.available, presence.remedy) == (False, "snakemake native")
    monkeypatch.setitem(derived._SHOWN, SHARED, lambda: SHOWN)
    assert arm.probe() == Availability(True, version="1")
    monkeypatch.setattr(type(arm.base), "probe", lambda _self: Availability(False, reason="gone"))
    assert arm.probe().reason == "gone"


def test_the_mpi_that_is_shown_has_no_symbolic_links(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "libmpi.so.40.30.4").touch()
    (tmp_path / "libmpi.so.40").symlink_to("libmpi.so.40.30.4")
    (tmp_path / "openmpi").mkdir()
    monkeypatch.setattr(derived, "_MPI", ((tmp_path, ("openmpi", "libmpi*.so.*")),))
    assert derived.host_mpi() == (tmp_path / "libmpi.so.40.30.4", tmp_path / "openmpi")
