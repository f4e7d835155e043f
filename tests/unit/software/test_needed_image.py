"""What a study needs of an image, and where it lies."""

import pytest

from parity.benchmarks import benchmarks
from parity.runtimes import arms, every_arm
from parity.software import install
from parity.software.images import NeededImage, maker_of, needed_image


def needs(names: str, *chosen: str, base: str = "bootstrap") -> NeededImage:
    used = [benchmarks()[name] for name in names.split()]
    return needed_image(base, used, [every_arm()[name] for name in chosen])


@pytest.mark.parametrize(
    ("arm", "chain"),
    [
        ("native-a", ()),
        ("podman", ("base", "oci", "podman")),
        ("podman-shared", ("base", "oci", "podman")),
        ("docker", ("base", "oci", "docker")),
        ("apptainer", ("base", "oci", "sif")),
        ("apptainer-host-mpi", ("base", "oci", "sif")),
        ("lxc", ("base", "oci", "directory")),
        ("charliecloud-dir", ("base", "oci", "directory")),
        ("charliecloud-sqfs", ("base", "oci", "directory", "squashfs")),
        ("ladder-net", ()),
        ("ladder-squashfs", ("base", "oci", "directory", "squashfs")),
    ],
)
def test_each_arm_needs_its_own_format_and_what_that_is_made_from(arm, chain):
    assert needs("sysbench", arm).chain == chain


def test_a_format_comes_after_what_it_is_made_from():
    chain = needs("sysbench", *arms()).chain
    formats = {arm.image_format for arm in arms().values() if arm.image_format}
    assert sorted(chain[:3]) == ["base", "directory", "oci"]
    assert len(chain) == len(set(chain)) == len({"base", "oci"} | formats)
    assert {maker_of(name).made_from for name in chain[3:]} <= {*chain[:3]}


def test_studies_of_the_same_packages_share_an_image_and_each_has_its_records():
    one, same = needs("likwid", "podman"), needs("memory likwid", "docker", "podman")
    assert one.image_in("r") == same.image_in("r") == "r/bootstrap/likwid"
    assert one.records_in("r") == "r/bootstrap/likwid/records-podman"
    assert same.records_in("r") == "r/bootstrap/likwid/records-docker-podman"


def test_other_packages_or_another_base_are_another_image_on_a_shared_base():
    debian = f"docker.io/library/debian@sha256:{'12' * 32}"
    one, other = needs("memory", "podman"), needs("memory sysbench", "podman")
    elsewhere = needs("memory", "podman", base=debian)
    assert one.base_in("r") == other.base_in("r") == "r/bootstrap"
    assert elsewhere.base_in("r") == "r/121212121212"
    assert len({each.image_in("r") for each in (one, other, elsewhere)}) == 3


def test_only_a_study_of_programs_with_own_sources_has_them_in_its_image():
    plain, with_source = needs("likwid", "podman"), needs("likwid selfish", "podman")
    assert (plain.sources, with_source.sources) == ((), ("selfish.c",))
    assert plain.packages == with_source.packages
    assert plain.image_in("r") == "r/bootstrap/likwid"
    assert with_source.image_in("r") == "r/bootstrap/likwid_selfish.c"


def test_without_packages_or_without_containers_there_is_a_place_all_the_same():
    assert needs("hpcg", "podman").image_in("r") == "r/bootstrap/no-packages"
    assert needs("hpcg", "native-a").records_in("r") == "r/no-image"


def test_the_installation_finds_all_records_and_nothing_of_the_images(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    needed = needs("likwid", "podman", "lxc")
    for root in (install.ROOT, "results/spack/debian12/images"):
        image, base = needed.image_in(root), needed.base_in(root)
        for name in (f"{image}/oci/index.json", f"{image}/directory/etc/oci.json"):
            (tmp_path / name).parent.mkdir(parents=True)
            (tmp_path / name).touch()
        (tmp_path / needed.records_in(root)).mkdir()
        records = (f"{base}/base", f"{image}/oci", f"{needed.records_in(root)}/images")
        for name in records:
            (tmp_path / f"{name}.json").touch()
    found = [str(folder) for folder in install.image_folders()]
    assert sorted(found) == sorted(
        place
        for root in (install.ROOT, "results/spack/debian12/images")
        for place in (needed.base_in(root), needed.image_in(root), needed.records_in(root))
    )
