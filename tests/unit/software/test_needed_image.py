"""What a study needs of an image, and where it lies."""

import pytest

from parity.benchmarks import benchmarks
from parity.runtimes import arms, every_arm
from parity.software import install
from parity.software.images import NeededImage, maker_of, needed_image


def needs(names: str, *chosen: str, base: str = "bootstrap") -> NeededImage:
    used = [benchmarks()[name] for name in names.split()]
    return needed_image(base, used, [every_arm()[name] for name in chosen])


@pytest.mark.parametrize(("names", "chain"), [
    ("native-a ladder-net", ()),
    ("podman podman-shared", ("base", "oci", "podman")),
    ("docker", ("base", "oci", "docker")),
    ("apptainer apptainer-host-mpi", ("base", "oci", "sif")),
    ("lxc charliecloud-dir", ("base", "oci", "directory")),
    ("charliecloud-sqfs ladder-squashfs", ("base", "oci", "directory", "squashfs")),
])  # fmt: skip
def test_each_arm_needs_its_own_format_and_what_that_is_made_from(names, chain):
    assert {needs("sysbench", name).chain for name in names.split()} == {chain}


def test_a_format_comes_after_what_it_is_made_from():
    chain = needs("sysbench", *arms()).chain
    formats = {arm.image_format for arm in arms().values() if arm.image_format}
    assert sorted(chain[:3]) == ["base", "directory", "oci"]
    assert len(chain) == len(set(chain)) == len({"base", "oci"} | formats)
    assert {maker_of(name).made_from for name in chain[3:]} <= {*chain[:3]}


def test_studies_of_the_same_packages_and_base_share_an_image_and_each_has_its_records():
    one, same = needs("likwid", "podman"), needs("memory likwid", "docker", "podman")
    assert one.image_in("r") == same.image_in("r") == "r/bootstrap/likwid"
    assert one.records_in("r") == "r/bootstrap/likwid/records-podman"
    assert same.records_in("r") == "r/bootstrap/likwid/records-docker-podman"
    debian = f"docker.io/library/debian@sha256:{'12' * 32}"
    elsewhere = needs("likwid", "podman", base=debian)
    assert elsewhere.image_in("r") == "r/121212121212/likwid"
    # Programs with own sources have them in their image.
    selfish = needs("likwid selfish", "podman")
    assert (selfish.sources, selfish.packages) == (("selfish.c",), one.packages)
    assert selfish.image_in("r") == "r/bootstrap/likwid_selfish.c"
    # Without packages or without containers there is a place all the same.
    assert needs("hpcg", "podman").image_in("r") == "r/bootstrap/no-packages"
    assert needs("hpcg", "native-a").records_in("r") == "r/no-image"


def test_the_installation_finds_all_records_and_nothing_of_the_images(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    needed, expected = needs("likwid", "podman", "lxc"), []
    for root in (install.ROOT, "results/spack/debian12/images"):
        image, base, records = needed.image_in(root), needed.base_in(root), needed.records_in(root)
        of_images = (f"{image}/oci/index.json", f"{image}/directory/etc/oci.json")
        of_records = (f"{base}/base.json", f"{image}/oci.json", f"{records}/images.json")
        for name in (*of_images, *of_records):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).touch()
        expected += [base, image, records]
    assert sorted(map(str, install.image_folders())) == sorted(expected)
