"""What the kernel and the runtime show a program, asked inside the arm as the program would be.

Like the audit of binaries this is a constant shell script. Every line of its answer begins with
what it is about, so whatever a runtime says beside it is passed over.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import msgspec
from msgspec.structs import replace

from parity.benchmarks.model import Program
from parity.core.documents import Document
from parity.measure import node, places
from parity.measure.gates import where_gate
from parity.measure.inner_command import evidence, namespaces, witnessed
from parity.measure.node import selected
from parity.measure.node_check import AuditError, arm_state, host_namespaces, run_in_arm
from parity.measure.places import WORK, binaries_of, lay_out, tool, tools_for
from parity.plan.plan import Plan
from parity.runtimes import every_arm
from parity.runtimes.model import NAMESPACES, SCRATCH
from parity.software.binaries import ProgramFile, audit_script
from parity.software.images import ImageRecord

# The names of the variables that the shell was started with, from the kernel, because a
# shell adds some of its own. The shell opens the file, so it is about the shell.
_VARIABLES = r"""
exec 3< /proc/self/environ
sed -z 's/=.*//' <&3 | tr '\0' '\n' | sed "s/^/$0 /"
exec 3<&-
"""
# What the runtime hands over, before `env -i` takes it away.
_HANDED_OVER = rf"""{_VARIABLES}
exec "$@"
"""
# Ends with what `is_whole` looks for.
_SCRIPT = _VARIABLES + Path(__file__).with_suffix(".sh").read_text(encoding="utf-8")


class _Words(Document, frozen=True):
    """The words of side.yaml, which says what each is."""

    status: dict[str, str]
    spelt: dict[str, dict[str, str]]
    limits: tuple[str, ...]


_WORDS = msgspec.yaml.decode(Path(__file__).with_suffix(".yaml").read_bytes(), type=_Words)


def question(paths: Sequence[str], cpus: Sequence[int], tools: str = "") -> list[str]:
    """The inner command that asks an arm for its interface, and for the binaries at `paths`.

    It takes the place of a timed program: bound to `cpus`, with the fixed environment.
    """
    shell = tool(tools, "/bin/sh")
    argv = (*shell, "-c", _SCRIPT, "variable", *audit_script(paths, shell))
    inner = witnessed(Program(argv, tuple(cpus)), tools=tools)
    return [*shell, "-c", _HANDED_OVER, "handed-over", *inner]


def is_whole(text: str) -> bool:
    """Whether an answer ends where the script does."""
    return "answered everything" in text.splitlines()


def parse_interface(
    text: str, evidence: Mapping[str, str], ours: Mapping[str, str]
) -> dict[str, str]:
    """The facts of an answer to `question`, in a fixed order; what cannot be seen there is empty.

    `evidence`: what the witness said. `ours`: the runner's own namespaces, name to inode.
    """
    # The rest of each line by its first word.
    said = defaultdict[str, list[str]](list)
    for kind, rest in (_pair(line, " ") for line in text.splitlines()):
        said[kind].append(rest)

    def first(kind: str) -> str:
        return next(iter(said.get(kind, ())), "")

    def names(kind: str) -> str:
        return " ".join(sorted(said.get(kind, ()))) or ("none" if said else "")

    status = dict(_pair(line, ":") for line in said.get("status", ()))
    filesystem, _, options = evidence.get("root", "").partition(",")
    inside = namespaces(evidence)
    foreign = [name for name in NAMESPACES if inside.get(name, "") not in ("", ours.get(name))]
    facts = {
        "kernel": first("kernel"), "glibc": first("glibc"),
        "transparent huge pages": selected(first("huge-pages-enabled")),
        "huge page defragmentation": selected(first("huge-pages-defrag")),
        **{name: status.get(key, "") for key, name in _WORDS.status.items()},
        "/dev/shm": _shared_memory(first("shm")),
        "root file system": filesystem, "root options": options,
        "namespaces of its own": " ".join(foreign) or ("none" if inside else ""),
        "user": _identity(first("user"), said.get("user-map", ())),
        "group": _identity(first("group"), said.get("group-map", ())),
        "variables of the program": names("variable"),
        "variables of the runtime": names("handed-over"),
        **dict(_limit(line) for line in said.get("limit", ())[1:]),
        **_control_group(said.get("cgroup", ())),
    }  # fmt: skip
    return {name: _WORDS.spelt.get(name, {}).get(value, value) for name, value in facts.items()}


def _pair(line: str, separator: str) -> tuple[str, str]:
    key, _, value = line.partition(separator)
    return key.strip(), value.strip()


def _shared_memory(said: str) -> str:
    """`tmpfs, 64 MiB` from type, block size and blocks; no blocks are no limit."""
    words = said.split()
    if len(words) < 3 or not all(word.isdecimal() for word in words[-2:]):
        return ""
    size = int(words[-2]) * int(words[-1])
    return f"{' '.join(words[:-2])}, {f'{size / 2**20:.0f} MiB' if size else 'no limit'}"


def _identity(number: str, lines: Iterable[str]) -> str:
    """`0, outside 1000`: an id, and which it is in the user namespace around it.

    Lines of a map are first id inside, first id outside, how many (user_namespaces(7)).
    """
    if not number.isdecimal():
        return ""
    for line in lines:
        words = line.split()
        if len(words) == 3 and all(word.isdecimal() for word in words):
            inside, outside, count = map(int, words)
            if inside <= int(number) < inside + count:
                return f"{number}, outside {int(number) - inside + outside}"
    return f"{number}, outside nobody"


def _limit(line: str) -> tuple[str, str]:
    """Name and `soft/hard` of a line of /proc/self/limits, such as `Max open files 1024 …`.

    The kernel sets the columns at 26 and 47 (fs/proc/base.c, proc_pid_limits).
    """
    name, soft, hard = line[:25].strip(), line[26:46].strip(), line[47:67].strip()
    name = name.removeprefix("Max ")
    return f"limit of {name}", soft if soft == hard else f"{soft}/{hard}"


def _control_group(lines: Iterable[str]) -> dict[str, str]:
    """For each file its nearest value that limits anything, else its nearest value."""

    def is_open(file: str, value: str) -> bool:
        first = value.partition(" ")[0]
        has_limits = file in _WORDS.limits
        return has_limits and (first == "max" or (first.isdecimal() and int(first) >= 2**60))

    found: dict[str, str] = {}
    for file, value in (_pair(line, " ") for line in lines):
        if file not in found or (is_open(file, found[file]) and not is_open(file, value)):
            found[file] = value
    values = sorted(found.items())
    return {f"cgroup {file}": "no limit" if is_open(file, v) else v for file, v in values}


# Paths of programs by benchmark.
Programs = Mapping[str, Sequence[str]]


class Side(Document, frozen=True):
    """What an arm answered."""

    arm: str
    title: str
    link_set: str  # whose build its programs are (`runtimes.model.LINK_SETS`)
    benchmarks: tuple[str, ...]  # those that the study runs in this arm
    is_outside: bool = False  # whether its programs are the host's own, outside of any image
    reason: str = ""  # why it could not be asked; empty if it was
    version: str = ""  # of the runtime
    image_digest: str = ""
    programs: dict[str, ProgramFile] = msgspec.field(default_factory=dict)  # by path
    interface: dict[str, str] = msgspec.field(default_factory=dict)  # facts of it by name

    def program(self, path: str) -> ProgramFile:
        """The program at `path`; an empty one if it is not there."""
        absent = ProgramFile(path=path, sha256="", build_id="", closure=(), closure_sha256="")
        return self.programs.get(path, absent)


def benchmarks_of(plan: Plan, arm: str) -> tuple[str, ...]:
    """The benchmarks that a plan runs in an arm, sorted by name."""
    cases = {run.case for block in plan.blocks for run in block.runs if run.arm == arm}
    return tuple(sorted({case.benchmark for case in plan.cases if case.name in cases}))


def ask_all(plan: Plan, images: Mapping[str, ImageRecord]) -> list[Side]:
    """Ask every arm of a plan on this node, while nothing is measured on it.

    UserError: the working folder is not ours.
    """
    places.make_places(SCRATCH)
    with places.only_one(SCRATCH, "a measurement on this node"):
        WORK.mkdir(exist_ok=True)
        places.stage(plan.needs)
        lay_out(tools_for(images))
        cpus = node.node_facts().cpus
        ask = partial(_ask, plan=plan, images=images, cpu=cpus[0], ours=host_namespaces())
        # Nothing is timed, and most of it is hashing.
        with ThreadPoolExecutor(max_workers=len(cpus)) as pool:
            return list(pool.map(ask, plan.arms))


def _ask(
    name: str, plan: Plan, images: Mapping[str, ImageRecord], cpu: int, ours: Mapping[str, str]
) -> Side:
    arm = every_arm()[name]
    state, wanted, binaries = arm_state(arm, images), benchmarks_of(plan, name), binaries_of(plan)
    side = Side(
        arm=name, title=arm.title, link_set=arm.link_set, benchmarks=wanted,
        is_outside=arm.image_format is None, version=state.version,
        image_digest=state.image_digest,
    )  # fmt: skip
    try:
        if state.reason:
            raise AuditError(state.detail or state.reason)
        if not state.gate.passed:
            raise AuditError(f"not its image: {state.gate.detail}")
        paths = sorted({path for benchmark in wanted for path in binaries[benchmark]})
        words = question(paths, [cpu], tools_for(images))
        answer, said = run_in_arm(arm.unlimited, state.image, words)
        if not is_whole(answer.text):
            raise AuditError("its answer is cut off")
        witness = evidence(said)
        where = where_gate(arm.unlimited, witness, ours, state.recipe if arm.image_format else "")
        if where.detail:
            raise AuditError(where.detail)
    except AuditError as error:
        return replace(side, reason=str(error))
    by_path = {program.path: program for program in answer.programs}
    interface = parse_interface(answer.text, witness, ours)
    return replace(side, programs=by_path, interface=interface)
