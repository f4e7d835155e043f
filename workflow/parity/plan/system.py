"""The machine or cluster that a study runs on: its file, its kind, and its batch system."""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from parity.core.commands import answer_of, is_installed, output_of
from parity.core.documents import Document, as_document
from parity.core.errors import UserError, refuse_unknown
from parity.core.settings import load_checked, toolchains_of

_HERE = Path(__file__).parent
MACHINE, CLUSTER = "machine", "cluster"  # the entries of `scales` in the register of claims
_FORMER = {"slurm": "cluster"}  # in documents up to 2026-11-22, whichever batch system it has
# Of `scontrol show job`; the rest names users and paths.
_KEPT = {
    *("JobId", "JobState", "Partition", "NodeList", "BatchHost", "NumNodes", "NumCPUs", "NumTasks"),
    *("TRES", "OverSubscribe", "TimeLimit", "SubmitTime", "StartTime", "Features", "Reservation"),
}
_PLACE = re.compile(r"\{(\w+)\}")  # in a launcher's words; doubled braces stand for themselves


class SystemKind(Document, frozen=True):
    """What follows from one kind of system, or from several together."""

    label: str  # its name, such as vm; several are joined by ` + `
    conduct: str  # how runs came about, for the paper's abstract; `{reference}` is its title
    note: str = ""  # what stands in every figure and table; empty where the system's name says it
    threat: str = ""  # what it means for validity, for the paper
    margin: str = "a margin that was fixed before the measurement"  # of a test for equivalence
    support: str = MACHINE  # CLUSTER where sizes measured on it can support a published size
    one_host: bool = False  # whether its nodes are namespaces of one host, so one block at a time


_KINDS = (_HERE / "system_kinds.yaml").read_bytes()
KINDS = {kind.label: kind for kind in msgspec.yaml.decode(_KINDS, type=list[SystemKind])}


def kind_of(labels: Iterable[str]) -> SystemKind:
    """The kind of the systems with these labels; of several no cluster; UserError: one is none."""
    names = sorted({_FORMER.get(label, label) for label in labels})
    refuse_unknown(names, KINDS, "scale_label", "kind of system")
    kinds = [KINDS[name] for name in names]
    if len(kinds) == 1:
        return kinds[0]

    def each(key: str, between: str = " ") -> str:
        return between.join(dict.fromkeys(filter(None, (getattr(kind, key) for kind in kinds))))

    return SystemKind(
        label=" + ".join(names), note=each("note"), threat=each("threat"), conduct=each("conduct"),
        margin=each("margin", " or "), one_host=any(kind.one_host for kind in kinds),
    )  # fmt: skip


class Allocation(NamedTuple):
    """The nodes that a block has for itself."""

    hosts: tuple[str, ...]  # each named once, as `node_name` of measure/node.py does
    job: str = ""  # the batch system's number of the job; empty without a batch system
    facts: Mapping[str, str] = MappingProxyType({})  # that it says, but nobody's name or folders


class BatchSystem(Document, frozen=True):
    """What has to be known of a batch system."""

    title: str  # what people call it
    profile: str  # the value of --profile with which Snakemake submits to it
    programs: tuple[str, ...]  # what has to be on PATH where Snakemake is started
    asks: tuple[str, ...]  # a command that succeeds where it would take a job now
    job_variable: str  # the environment variable that tells a job that it is one
    variables: tuple[str, ...]  # beginnings of the names of those by which a launcher finds its job
    trial: str = ""  # what tries it where there is none; empty where nothing does

    @property
    def advice(self) -> str:
        """How to come into a job."""
        return f"let Snakemake submit it: snakemake --profile {self.profile} all"

    def job(self) -> Allocation:
        """The job that we are in, where `job_variable` is set; raises UserError."""
        told = os.environ
        if self.title == "Slurm":
            return _slurm_job(told[self.job_variable])
        if self.title == "Flux":
            # Inside of a job Flux's commands are about the job's own instance.
            number, facts = output_of(["flux", "getattr", "jobid"]).strip(), {}
            listed = ["flux", "resource", "list", "--states=all", "--no-header"]
            nodes = output_of([*listed, "--format={nodelist}"]).split()
            # A node may be called as a job could be, and is no job for that.
            hosts = output_of(["flux", "hostlist", "--fallback", "--expand", *nodes]).split()
        elif self.title == "LSF":
            number, facts = told[self.job_variable], {"queue": told.get("LSB_QUEUE", "")}
            # A long list is only with the numbers of slots.
            hosts = told.get("LSB_HOSTS", "").split() or told.get("LSB_MCPU_HOSTS", "").split()[::2]
        else:
            # The node file of OpenPBS, PBS Professional and Torque.
            number, facts = told.get("PBS_JOBID", ""), {"queue": told.get("PBS_QUEUE", "")}
            file = Path(told[self.job_variable])
            try:
                hosts = file.read_text(encoding="utf-8").split()
            except OSError as error:
                problem = f"PBS's file of nodes cannot be read: {error.strerror}"
                raise UserError(problem, where=str(file)) from None
        # Hosts are named once for each of their slots, with or without a domain.
        once = dict.fromkeys(host.partition(".")[0] for host in hosts)
        return Allocation(tuple(once), number, facts)


_SYSTEMS = (_HERE / "batch_systems.yaml").read_bytes()
BATCH_SYSTEMS = msgspec.yaml.decode(_SYSTEMS, type=dict[str, BatchSystem])


def _slurm_job(number: str) -> Allocation:
    told = output_of(["scontrol", "show", "job", "--oneliner", number]).splitlines()
    # The number of one task of an array is that of the array, too, and tells all of them.
    facts = job_facts(next((line for line in told if line.startswith(f"JobId={number} ")), ""))
    hosts = output_of(["scontrol", "show", "hostnames", facts.get("NodeList", "")]).split()
    queue = output_of(["squeue", "--noheader", f"--jobs={number}", "--format=%i|%P|%T|%D|%N|%h"])
    return Allocation(tuple(hosts), number, facts | {"squeue": queue.strip()})


def job_facts(line: str) -> dict[str, str]:
    """The facts that we keep of the line that `scontrol show job --oneliner` prints."""
    pairs = (word.partition("=") for word in line.split())
    return {key: value for key, _, value in pairs if key in _KEPT}


class MpiLauncher(Document, frozen=True):
    """How the site starts MPI ranks on the nodes of an allocation."""

    # Starts `{ranks}` processes in blocks over `{nodes}` nodes, `{ranks_per_node}` on each.
    command: tuple[str, ...]
    each_node: tuple[str, ...]  # starts one process on each of `{nodes}` nodes, without MPI
    rank: str  # the variable in which a process finds its rank
    # Beginnings of the names of those by which a program finds its peers; it sees no others.
    variables: tuple[str, ...]


class System(Document, frozen=True, rename={"name": "system"}):
    """A machine or cluster."""

    name: str
    scale_label: str
    base_image: str
    max_busy_fraction: float
    settle_seconds: float
    max_steal_fraction: float
    batch_system: str = ""  # its name, or empty where blocks run on the machine itself
    launcher: MpiLauncher | None = None  # None where no program can be placed on several nodes
    modules: tuple[str, ...] = ()  # environment modules that are loaded before a block
    module_variables: tuple[str, ...] = ()  # what these set, beside PATH, for runtimes and launcher
    image_folder: str | None = None  # where images go; None for the folder of their records
    images_on_node: bool = False  # whether images are made in a job of their own
    # What Spack may build with, as the file has it, and the prefixes of what the site built itself.
    toolchains: dict[str, Any] = msgspec.field(default_factory=dict)
    software: dict[str, str] = msgspec.field(default_factory=dict)
    patience_minutes: float = 60.0  # for how long the batch system may not answer while jobs wait


def load_system(path: Path | str) -> System:
    """The system file at `path`; raises UserError."""
    document = load_checked(path, "system")
    if document.pop("toolchains_of", None):
        document["toolchains"] = toolchains_of(path)
    base = document["base_image"]
    if base != "bootstrap" and not re.fullmatch(r"[a-z0-9._:/-]+@sha256:[0-9a-f]{64}", base):
        problem, action = f"{base!r} can change under its name", "give the image by its digest"
        allowed = "bootstrap, or name@sha256:<64 hexadecimal digits>"
        raise UserError(problem, where=f"{path}: base_image", allowed=allowed, action=action)
    if named := document.get("batch_system"):
        refuse_unknown([named], BATCH_SYSTEMS, f"{path}: batch_system", "batch system")
    images = document.pop("images", {})
    document |= document.pop("quiet_node")
    document["image_folder"] = images.get("folder")
    document["images_on_node"] = images.get("made_on") == "node"
    if "launcher" in document:
        _check_launcher(document["launcher"], str(path))
    return as_document(document, System, str(path))


def refuse_without_batch_system(system: System, *, now: bool) -> None:
    """Refuse (UserError) a system whose batch system is not here, or takes no jobs `now`."""
    if not (around := BATCH_SYSTEMS.get(system.batch_system)):
        return
    if missing := ", ".join(program for program in around.programs if not is_installed(program)):
        problem = f"{missing} cannot be found on PATH"
        action = "start Snakemake on the cluster's login node"
    else:
        answered, said = answer_of(around.asks, seconds=60) if now else (True, "")
        if answered:
            return
        problem, action = f"{around.asks[0]} does not answer: {said}", "see whether its server runs"
    problem = f"system {system.name} needs {around.title}, and {problem}"
    action = f"{action}{around.trial}"
    raise UserError(problem, where="batch_system of its file, as in config/systems", action=action)


def _check_launcher(entry: Mapping[str, Any], path: str) -> None:
    """Refuse words that do not say how many nodes and ranks there are, or something unknown."""
    sizes = ("nodes", "ranks", "ranks_per_node")
    # Two of the three tell the third: some launchers take no number of nodes, or none of ranks.
    for key, known, needed in (("command", sizes, 2), ("each_node", sizes[:1], 1)):
        text = "\n".join(entry[key]).replace("{{", "").replace("}}", "")
        held = set(_PLACE.findall(text))
        allowed = ", ".join(f"{{{name}}}" for name in known)
        if not held <= set(known) or re.search("[{}]", _PLACE.sub("", text)):
            problem = "a word has braces that are none of the known ones"
        elif len(held) < needed or not entry[key][0]:
            problem = "the command does not say how many there are"
            allowed = f"words with {needed} of {allowed}"
        else:
            continue
        raise UserError(problem, where=f"{path}: launcher.{key}", allowed=allowed)
