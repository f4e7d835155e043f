"""Bad input by the dozen: one message with file, key and what is allowed; never a traceback."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from parity.core.errors import UserError
from parity.core.settings import SCHEMAS, load_yaml, schema
from parity.plan.study import load_study
from parity.plan.system import load_system, refuse_without_batch_system

ROOT = Path(__file__).parents[3]
STUDY = ROOT / "config/studies/torrez2019.yaml"
SCALING = ROOT / "config/studies/scaling.yaml"


def _write(folder: Path, change, study: Path = STUDY) -> Path:
    """A study's file with a change: of a document, or all of its text."""
    path = folder / "study.yaml"
    if isinstance(change, str):
        path.write_text(change)
        return path
    document = yaml.safe_load(study.read_text())
    change(document)
    path.write_text(yaml.safe_dump(document))
    return path


def _set(place: str, value):
    *keys, last = place.split()

    def change(document):
        for key in keys:
            document = document[key]
        document[last] = value

    return change


TABLES = yaml.safe_load(Path(__file__).with_name("bad_settings.yaml").read_text())
CHROOTS = ["chroot-a", "chroot-b"]
BAD_STUDIES = {
    **{name: (STUDY, _set(place, value), words)
       for name, (place, value, *words) in TABLES["changes"].items()},
    "a chroot where the image is ours": (
        STUDY,
        lambda study: (study.update(aa_pair=CHROOTS, reference=CHROOTS[0], arms=CHROOTS),
                       [size.pop("arms", None) for size in study["scales"].values()]),
        ["is not native, and no reference but with `image`"],
    ),
    **{f"text: {name}": (STUDY, text, [words]) for name, (text, words) in TABLES["texts"].items()},
    **{f"allocations: {name}": (SCALING, _set("scales smoke allocations hpcc", value), [words])
       for name, (value, words) in TABLES["allocations"].items()},
    "allocations: of what is not placed": (
        SCALING, _set("benchmarks sysbench", {"margin_percent": 1, "allocations": ["1x1"]}),
        ["sysbench is not placed on allocations"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_STUDIES)
def test_a_bad_study_is_refused_in_words(name: str, tmp_path: Path) -> None:
    study, change, expected = BAD_STUDIES[name]
    path = _write(tmp_path, change, study)
    with pytest.raises(UserError) as caught:
        load_study(path, "smoke")
    message = str(caught.value)
    assert str(path) in message
    for words in expected:
        assert words in message


def test_a_chroot_is_the_reference_of_a_foreign_image_alone(tmp_path: Path) -> None:
    (tmp_path / "app.sif").touch()

    def change(study) -> None:
        image = {"from": str(tmp_path / "app.sif")}
        study.update(aa_pair=CHROOTS, reference=CHROOTS[0], image=image)
        study["arms"] += CHROOTS
        for size in study["scales"].values():
            size.pop("arms", None)

    study = load_study(_write(tmp_path, change), "machine")
    assert (study.reference, study.image) == ("chroot-a", str(tmp_path / "app.sif"))


def test_a_missing_file_is_named_with_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "torrez.yaml").write_text("{}")
    with pytest.raises(UserError, match=r"no such file(.|\n)*torrez\.yaml"):
        load_study(tmp_path / "torres.yaml", "smoke")
    with pytest.raises(UserError, match="no such file"):
        load_study(tmp_path / "nowhere/torres.yaml", "smoke")
    # In the project's folder .pre-commit-config.yaml was named as a study that is allowed.
    (tmp_path / ".hooks.yaml").write_text("{}")
    with pytest.raises(UserError, match="no such file") as refused:
        load_study(tmp_path / "torres", "smoke")
    assert "hooks" not in str(refused.value)


def test_an_unknown_scale_is_refused_with_the_known_ones() -> None:
    known = "smoke, quick, hour, campaign, whole, node, sharp, machine, cluster"
    with pytest.raises(UserError, match=rf"no scale 'huge'(.|\n)*{known}"):
        load_study(STUDY, "huge")


@given(st.binary(max_size=60))
def test_no_bytes_make_the_reader_fail_otherwise(tmp_path_factory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("any") / "any.yaml"
    path.write_bytes(content)
    try:
        load_yaml(path)
    except UserError:
        return


def test_containers_of_a_node_are_a_parameter_only_where_they_are_written(tmp_path: Path) -> None:
    change = _set("scales smoke allocations hpcc", ["1x4", "1x4/1", "1x4/2"])
    path = _write(tmp_path, change, SCALING)
    cases = [case for case in load_study(path, "smoke").cases if case.benchmark == "hpcc"]
    assert [case.name for case in cases] == ["hpcc-1x4", "hpcc-1x4in1", "hpcc-1x4in2"]
    of_all = [case.parameters.get("containers_per_node") for case in cases]
    assert of_all == [None, 1, 2] and "containers_per_node" not in cases[0].parameters


def test_allocations_are_needed_by_benchmarks_that_are_placed(tmp_path: Path) -> None:
    def less(document) -> None:
        del document["benchmarks"]["netpipe"]["allocations"]
        del document["scales"]["virtual"]["allocations"]["netpipe"]

    with pytest.raises(UserError, match="netpipe needs the allocations"):
        load_study(_write(tmp_path, less, SCALING), "virtual")


def _system(folder: Path, launcher=(), **changed) -> Path:
    """The virtual cluster's file with another launcher, or other keys."""
    document = yaml.safe_load((ROOT / "config/systems/slurm.yaml").read_text())
    document |= {"launcher": document["launcher"] | dict(launcher)} | changed
    path = folder / "system.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


LAUNCHER = yaml.safe_load((ROOT / "config/systems/slurm.yaml").read_text())["launcher"]
BAD_SYSTEMS = TABLES["systems"] | {
    "ranks of what is started once per node": (
        {"launcher": {"each_node": [*LAUNCHER["each_node"], "{ranks}"]}},
        r"each_node\n  allowed: \{nodes\}$",
    ),
    # `{nodes.foo}` ended in a traceback, and `{nodes[0]}` would where it is filled in.
    **{
        f"{words} in {key}": ({"launcher": {key: [*LAUNCHER[key], words]}}, "of the known ones")
        for words in ("{nodes.foo}", "{nodes!r}", "{nodes[0]}", "{nodes:3}", "{}")
        for key in ("command", "each_node")
    },
}


@pytest.mark.parametrize("name", BAD_SYSTEMS)
def test_a_bad_system_is_refused_in_words(name: str, tmp_path: Path) -> None:
    changed, expected = BAD_SYSTEMS[name]
    with pytest.raises(UserError, match=expected):
        load_system(_system(tmp_path, **changed))


def test_a_missing_batch_system_is_said_with_what_to_do(monkeypatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UserError) as caught:
        refuse_without_batch_system(load_system(ROOT / "config/systems/slurm.yaml"), now=False)
    assert "sbatch, squeue, scontrol, srun cannot be found" in caught.value.what
    assert "batch_system" in caught.value.where and "make cluster-up" in caught.value.action


def test_a_controller_that_does_not_answer_is_said_with_what_to_do(monkeypatch, tmp_path) -> None:
    for name in ("sbatch", "squeue", "scontrol", "srun"):
        (tmp_path / name).write_text("#!/bin/sh\necho no controller >&2; exit 1\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    slurm = load_system(ROOT / "config/systems/slurm.yaml")
    refuse_without_batch_system(slurm, now=False)
    with pytest.raises(UserError, match="squeue does not answer: no controller") as caught:
        refuse_without_batch_system(slurm, now=True)
    assert "see whether its server runs" in caught.value.action


@pytest.mark.parametrize("names", ["itself.yaml", "other.yaml"])
def test_a_file_named_for_its_toolchains_has_to_have_some(names: str, tmp_path: Path) -> None:
    text = (ROOT / "config/systems/epyc2.yaml").read_text().rpartition("toolchains_of")[0]
    (tmp_path / "other.yaml").write_text(text + "toolchains_of: itself.yaml\n")
    path = tmp_path / "itself.yaml"
    path.write_text(text + f"toolchains_of: {names}\n")
    with pytest.raises(UserError, match=f"{names} has no toolchains") as caught:
        load_system(path)
    assert f"{path}: toolchains_of" in str(caught.value)


@pytest.mark.parametrize("command", ["mpiexec -n {ranks} --ppn {ranks_per_node}",
                                     "jsrun -n {nodes} -a {ranks_per_node}"])  # fmt: skip
def test_two_sizes_of_a_launcher_tell_the_third(tmp_path: Path, command: str) -> None:
    """`mpiexec` takes no number of nodes, and was refused."""
    assert load_system(_system(tmp_path, {"command": command.split()})).launcher


def _properties(rules: dict):
    for name, rule in rules.get("properties", {}).items():
        yield name, rule
    for part in ("properties", "$defs"):
        for rule in rules.get(part, {}).values():
            yield from _properties(rule)
    for part in ("items", "additionalProperties"):
        if isinstance(rules.get(part), dict):
            yield part, rules[part]
            yield from _properties(rules[part])


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_every_key_of_a_schema_is_described_and_no_other_is_taken(name: str) -> None:
    rules = schema(name)
    for key, rule in _properties(rules):
        assert rule.get("description"), key
        if rule.get("type") == "object" and "properties" in rule:
            assert rule["additionalProperties"] is False, key
    if rules["type"] == "object":
        assert rules["additionalProperties"] is False
