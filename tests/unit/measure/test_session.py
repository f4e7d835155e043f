"""What a session finds out anew, and what it takes over from the one of the block before."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from trials import PAIR, case_of, trial

from parity.command_line.main import main
from parity.core.errors import UserError
from parity.measure import node, node_check, session
from parity.measure.documents import read_sessions
from parity.measure.node import Idleness
from parity.measure.node_check import AuditError
from parity.plan.plan import Plan
from parity.plan.system import Allocation, MpiLauncher, System
from parity.runtimes import arms
from parity.software.images import ImageRecord

HERE = Allocation(("here",))
TWO = Allocation(("one", "two"), "7")
LAUNCHER = MpiLauncher(command=("run",), each_node=("each", "{nodes}"), variables=(), rank="RANK")
ALONE = System("test", "vm", "bootstrap", 0.5, 3.0, 1.0)
CLUSTER = System("test", "vm", "bootstrap", 0.5, 3.0, 1.0, launcher=LAUNCHER)


@pytest.fixture(name="world")
def fixture_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "World":
    return World(tmp_path, monkeypatch)


class World:
    """Nodes of which each is a thread; no process of this machine is ended or waited for."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.busy = folder, {}
        self.images = {"directory": ImageRecord("directory", reason="no image")}
        self.hosts = threading.local()
        self.audit = Mock(wraps=node_check.audit_arm)
        self.presences = Mock(wraps=session._presences)
        (folder / "scratch").mkdir()
        monkeypatch.setattr(node_check, "SCRATCH", folder / "scratch")
        monkeypatch.setattr(node_check, "make_ready", lambda: None)
        monkeypatch.setattr(node, "node_name", lambda: getattr(self.hosts, "name", "here"))
        monkeypatch.setattr(node_check, "wait_until_idle", self._watched)
        monkeypatch.setattr(session, "output_of", self._on_each_node)
        monkeypatch.setattr(node_check, "audit_arm", self.audit)
        monkeypatch.setattr(session, "_presences", self.presences)

    @property
    def audited(self) -> list[str]:
        """The names of the arms that were audited."""
        return [asked.args[0].name for asked in self.audit.call_args_list]

    def _watched(self, limit: float, patience: float) -> Idleness:
        assert (limit, patience) == (0.5, 3.0)
        return Idleness(self.busy.get(node.node_name(), 0.0), "a neighbour")

    def _on_each_node(self, words: list[str]) -> str:
        assert words[:2] == ["each", "2"]

        def on(host: str) -> None:
            self.hosts.name = host
            main(words[-2:])

        with ThreadPoolExecutor() as pool:
            list(pool.map(on, TWO.hosts))
        return ""

    def begin(self, name: str, checked=None, plan=None, system=ALONE, allocation=HERE):
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        begun = session.begin_session(
            plan or startup_in(), self.images, {}, system, allocation, folder, checked=checked
        )
        self.started(name)
        return begun

    def started(self, name: str) -> dict:
        """The start document of a block's only session, which also is one that can be read."""
        (read,) = read_sessions(self.folder / name)
        assert read.number == 1
        return json.loads((self.folder / name / "session-1-start.json").read_text())


def startup_in(*more: str) -> Plan:
    parameters = {"repetitions": 2, "cache": "warm"}
    return trial(case_of("startup", parameters, margin=None), arms=(*PAIR, *more))


VARY = {"started", "busy_fraction", "node"}


def test_the_next_block_takes_arms_over_and_looks_for_idleness_anew(world: World) -> None:
    first = world.begin("first")
    assert sorted(world.audited) == ["native-a", "native-b"] and world.presences.call_count == 1
    world.busy["here"] = 0.25
    second = world.begin("second", checked=first)
    third = world.begin("third", checked=second)
    assert len(world.audited) == 2 and world.presences.call_count == 1
    assert first.states == second.states == third.states
    assert first.benchmarks == second.benchmarks and first.namespaces == second.namespaces
    documents = [world.started(name) for name in ("first", "second", "third")]
    assert [document["busy_fraction"] for document in documents] == [0.0, 0.25, 0.25]
    assert len({document["started"] for document in documents}) == 3
    fixed = [{key: each[key] for key in each.keys() - VARY} for each in documents]
    assert fixed[0] == fixed[1] == fixed[2]
    assert len({tuple(each) for each in documents}) == 1
    assert len(fixed[2]["binaries"]) == 2 and len(fixed[2]["arms"]) == 2


def test_an_arm_that_could_not_be_used_is_asked_again(world: World, monkeypatch) -> None:
    def silent(arm, *_rest):
        raise AuditError("no answer in 120 s")

    whole = node_check.audit_arm
    broken = {"native-b": silent}
    monkeypatch.setattr(
        node_check, "audit_arm", lambda arm, *rest: broken.get(arm.name, whole)(arm, *rest)
    )
    first = world.begin("first")
    assert first.states["native-b"].reason == "runtime-broken" and world.audited == ["native-a"]
    broken.clear()
    second = world.begin("second", checked=first)
    assert second.states["native-b"].reason == "" and world.audited == ["native-a", "native-b"]
    document = world.started("second")
    assert list(document["arms"]) == ["native-a", "native-b"]
    assert [binary["arm"] for binary in document["binaries"]] == ["native-a", "native-b"]
    world.begin("third", checked=second)
    assert len(world.audited) == 2


def test_a_node_that_became_busy_is_refused_as_ever(world: World) -> None:
    first = world.begin("first")
    world.busy["here"] = 0.75
    said = "the node is busy: others used 0.750 of CPU time, allowed 0.5, after 3 s of waiting"
    with pytest.raises(UserError) as raised:
        world.begin("second", checked=first)
    assert (raised.value.what, raised.value.where) == (said, "here: a neighbour")
    assert world.started("second")["busy_fraction"] == 0.75


def test_nodes_with_processors_that_differ_measure_nothing(world: World, monkeypatch) -> None:
    whole = node.facts

    def facts() -> dict[str, str]:
        return whole() | {"cpu_model": {"two": "Newer"}.get(node.node_name(), "Older")}

    monkeypatch.setattr(node, "facts", facts)
    with pytest.raises(UserError, match="the processors of this allocation differ") as refused:
        world.begin("first", system=CLUSTER, allocation=TWO)
    assert refused.value.where == "one: Older; two: Newer"
    assert "`constraint`" in refused.value.action


def test_an_image_that_is_another_stops_the_block(world: World, tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    made = {"location": str(tmp_path / "tree"), "digest": "sha256:" + "0" * 64, "recipe": "r"}
    world.images = {"directory": ImageRecord("directory", **made)}
    with pytest.raises(UserError, match="the image of namespaces is not the one") as refused:
        world.begin("first", plan=startup_in("namespaces"))
    assert made["digest"] in refused.value.where and "convert_image" in refused.value.action


@pytest.mark.parametrize(("other", "asked_again"), [
    ({"plan": startup_in("native-plus")}, 3), ({"allocation": Allocation(("elsewhere",))}, 2),
    # A system that is the same is no other question.
    ({"system": System("test", "vm", "bootstrap", 0.5, 3.0, 1.0)}, 0),
])  # fmt: skip
def test_nothing_is_taken_over_from_another_question_or_other_nodes(world, other, asked_again):
    first = world.begin("first")
    second = world.begin("second", checked=first, **other)
    assert len(world.audited) == 2 + asked_again
    assert set(second.states) == set((other.get("plan") or startup_in()).arms)


def test_each_of_several_nodes_is_asked_for_its_idleness_alone(world: World) -> None:
    where = {"system": CLUSTER, "allocation": TWO}
    first = world.begin("first", **where)
    assert sorted(world.audited) == ["native-a"] * 2 + ["native-b"] * 2
    world.busy = {"one": 0.125, "two": 0.25}
    # What the batch system says of a job changes while it runs; the nodes are the same.
    later = {"system": CLUSTER, "allocation": Allocation(TWO.hosts, TWO.job, {"a": "b"})}
    second = world.begin("second", checked=first, **later)
    assert len(world.audited) == 4 and first.states == second.states
    asked = json.loads((world.folder / "second/session-1-nodes/question.json").read_text())
    assert (asked["arms"], asked["binaries"]) == ([], {})
    before, after = world.started("first"), world.started("second")
    assert (after["busy_fraction"], after["other_nodes"][0]["busy_fraction"]) == (0.125, 0.25)
    for old, new in zip(
        (before, *before["other_nodes"]), (after, *after["other_nodes"]), strict=True
    ):
        assert old["arms"] == new["arms"] and old["binaries"] == new["binaries"]
        assert old["node_name"] == new["node_name"]
    assert len(after["binaries"]) == 2
    # Thousands of nodes say the same of arms and binaries as the first one, which says it for all.
    assert after["other_nodes"][0]["arms"] == {} and after["other_nodes"][0]["binaries"] == []
    world.busy["two"] = 0.75
    with pytest.raises(UserError, match=r"two: others used 0\.750"):
        world.begin("third", checked=second, **where)


def test_an_image_is_read_once_for_all_of_its_arms_and_never_for_two_formats() -> None:
    """Docker and Podman call an image by the same id, and keep it in stores of their own."""
    read = []

    def reading(name: str) -> SimpleNamespace:
        kind = arms()[name].image_format

        def digest(location: str) -> str:
            read.append((kind, location))
            return f"{kind} at {location}"

        return SimpleNamespace(image_format=kind, digest=digest)

    places = {"directory": "/tree", "docker": "id", "podman": "id"}
    records = {name: ImageRecord(name, digest="d", location=at) for name, at in places.items()}
    records |= {"sif": ImageRecord("sif", reason="none")}
    names = ("namespaces", "lxc", "charliecloud-dir", "docker", "podman", "podman-shared")
    with ThreadPoolExecutor() as pool:
        asked = [reading(name) for name in (*names, "apptainer")]
        found = node_check.image_digests(asked, records, pool)
        digests = {name: future.result() for name, future in found.items()}
    assert sorted(read) == sorted(places.items())
    assert digests == {name: f"{name} at {records[name].location}" for name in digests}
