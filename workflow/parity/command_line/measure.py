"""`parity measure`: the study of one program that a command line names, in a folder of its own."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, Literal

import yaml

from parity.benchmarks import benchmarks
from parity.benchmarks.own_program import check_pattern, read_by
from parity.benchmarks.programs import packages_of
from parity.command_line.main import refuse_out_of_range, words_of
from parity.command_line.workflow import call_of
from parity.core.commands import answer_of, output_of
from parity.core.errors import UserError, refuse_unknown
from parity.core.files import refuse_name
from parity.core.package import PROJECT
from parity.core.settings import check, load_yaml, schema
from parity.core.wording import listed
from parity.measure.documents import BLOCK, read_sessions
from parity.measure.side_by_side import Begun, design_here
from parity.plan.plan import IN_TURN, PLAN, SIDE_BY_SIDE, read_plan
from parity.plan.system import load_system
from parity.preview.terminal import duration
from parity.runtimes import arms
from parity.runtimes.model import Arm
from parity.software.foreign_image import refuse_no_image, with_digest
from parity.software.images import IMAGES, read_images, write_images

SCALE, OFFERED = "measure", "apptainer,charliecloud,docker,podman"
# A block is one run in each arm; the first look comes as soon as both tests can decide. More blocks
# than are measured cost bounds at early looks: so many that programs of a second fill the minutes.
LOOKS, BLOCKS_A_MINUTE = [8, 13, 21, 34, 55, 90, 144, 233, 377, 610, 987], 9
BLOCKS_PER_JOB = 1000
_LIBRARY, _MISSING = re.compile(r"=> (/\S+) \(0x"), re.compile(r"(\S+) => not found")
_SYSTEM = ("/usr/", "/bin/", "/sbin/")  # where Debian's packages put programs
_PSEUDO = (Path("/dev"), Path("/proc"), Path("/sys"))  # no files of anybody's
SNAKEFILE = (
    "# The workflow, as a module: what is measured stands in config/.\n"
    "module parity:\n    snakefile: {snakefile!r}\n\nuse rule * from parity\n"
)
STUDY = re.compile(schema("study")["properties"]["study"]["pattern"].strip("^$"))
PROFILE = "profiles/default/profile.yaml"


def measure(
    *program: str, runtimes: str = OFFERED, minutes: float = 10, margin: float = 2,
    cpus: int | None = None, image: str | None = None, packages: str = "",
    pattern: str | None = None, better: Literal["lower", "higher"] = "lower", name: str = "",
    shorter: str | None = None,
    share: float = 0, design: Literal["auto", "in-turn", "side-by-side"] = "auto",
) -> None:  # fmt: skip
    """Measure what containers cost a program: -- ./solver in.dat.

    The same words with more minutes go on with what they have measured. Raises UserError: a number
    is out of range, there is no such program, image or runtime, the folder holds another study, or
    the workflow failed.

    Args:
        program: the program and its words, after --
        runtimes: runtimes or arms, with commas between; if not given, those of apptainer,
            charliecloud, docker and podman that can be used here
        minutes: how long to measure
        margin: what counts as no cost, in percent
        cpus: how many CPUs it is bound to; all if not given
        image: an image of your own: a SIF file, an archive, an OCI layout, or name:tag or
            name@sha256:… of Docker's or Podman's store; absolute paths of the command are its own
        packages: Debian packages that the image needs besides, with commas between
        pattern: reads the program's own time or rate from what it prints, in one group
        better: which way what the pattern reads is better
        name: of the study; the program's if not given
        shorter: the program's words with less work; without, what a start costs is measured by
            one that does nothing
        share: how much of the work these words do: 0.1 for a tenth
        design: side-by-side compares CPU time on one CPU, in-turn waits for an idle node; auto
            goes side by side where the node is busy at the start, and no pattern is read
    """
    here = Path.cwd()
    # What a study takes as well, said of the words of this command.
    most = os.cpu_count() or 1
    refuse_out_of_range(margin=(margin, 100), minutes=(minutes, 100_000), cpus=(cpus, most))
    # A variable of a shell that is not set, say: without them something else is measured.
    for option, text in {"image": image, "pattern": pattern, "shorter": shorter}.items():
        if text is not None and not text.strip():
            raise UserError(
                "an empty text", where=f"--{option}", action="give one, or leave it out"
            )
    if pattern:
        check_pattern(pattern, 1, "--pattern")
    elif better != "lower":
        action = "give --pattern, which reads that number, or leave it out"
        raise UserError(
            f"nothing is read of which {better} is better", where="--better", action=action
        )
    if image and packages:
        raise UserError("an image of your own has its own packages", where="--packages, --image")
    if image:
        named, image = image, with_digest(image)
        if image != named:
            print(f"{named} is {image}", file=sys.stderr)
        refuse_no_image(image, "--image")
        # A path of any folder, or a digest of a store.
        image = os.path.normpath(here / image) if Path(image).exists() else image
    own = own_program(program, bool(image), here)
    name = name or own.name
    refuse_name(name, "--name", STUDY)
    folder = here / f"parity-{name}"
    in_arms = chosen_arms(runtimes.split(","), arms().values())
    own = replace(own, packages=tuple(sorted({*own.packages, *filter(None, packages.split(","))})))
    if bool(shorter) != bool(share) or not 0 <= share < 1:
        allowed = "both of --shorter and --share, a share between 0 and 1, or none of them"
        raise UserError("no share of the work for a shorter run", where="--share", allowed=allowed)
    of_study = f"config/studies/{name}.yaml"
    known = load_yaml(folder / of_study) if (folder / of_study).exists() else None
    settings = load_yaml(PROJECT / "config/config.yaml")
    how: str = design
    if design == "auto":
        begun = Begun(known["scales"].get(SCALE, {}).get("design", IN_TURN) if known else IN_TURN)
        if not known and not pattern and cpus in (None, 1):
            begun = design_here(load_system(PROJECT / settings["system"]).max_busy_fraction)
        how = begun.design
        if begun.said:
            print(begun.said, file=sys.stderr)
    if how == SIDE_BY_SIDE:
        refuse_out_of_range(cpus=(cpus, 1))
        cpus = 1
    study = study_of(
        own, name, in_arms, margin=margin, minutes=minutes, cpus=cpus, image=image or "",
        design=how, metrics=[read_by(pattern, better)] if pattern else [], share=share,
        shorter=own_program(words_of(shorter, "--shorter"), bool(image), here) if shorter else None,
    )  # fmt: skip
    check(study, schema("study"), "the words of this command")
    texts = {of_study: yaml.safe_dump(study, sort_keys=False, allow_unicode=True)}
    of_arms = [arms()[arm] for arm in study["arms"]]
    # A folder is there whole or not at all.
    made = folder if folder.exists() else folder.with_name(f".{folder.name}.part")
    if made == folder:
        _refuse_another_study(study, known or {"scales": {}}, folder / of_study)
        print(_intended(study, of_arms), file=sys.stderr)
    else:
        print(_intended(study, of_arms), _of_image(of_arms), sep="\n", file=sys.stderr)
        settings |= {"study": of_study, "scale": SCALE, "data": "live"}
        # A folder in which `snakemake` measures the study and nothing else.
        texts |= {
            "Snakefile": SNAKEFILE.format(snakefile=str(PROJECT / "Snakefile")),
            "config/config.yaml": yaml.safe_dump(settings, sort_keys=False, allow_unicode=True),
            PROFILE: (PROJECT / PROFILE).read_text(encoding="utf-8"),
        }
        shutil.rmtree(made, ignore_errors=True)
    for path, text in texts.items():
        (made / path).parent.mkdir(parents=True, exist_ok=True)
        part = (made / path).with_name(f".{Path(path).name}.part")
        part.write_text(text, encoding="utf-8")
        part.replace(made / path)
    if made != folder:
        made.rename(folder)
    if not own.is_here:
        chroot = "no native build is here: the reference is a chroot of the same image"
        print(chroot, file=sys.stderr)
    live = folder / f"results/live/{name}-{SCALE}"
    summary = live / "summary.txt"
    try:
        _snakemake(folder, [str(summary.relative_to(folder)), "dashboard"])
    except KeyboardInterrupt:
        print(_so_far(folder, live))
        print("the same command goes on with it")
        raise
    inside = f"{live.relative_to(folder)}/"
    print(summary.read_text(encoding="utf-8").replace(inside, f"{folder.name}/{inside}"))
    print(f"{folder.name}/results/claims/dashboard.html: down to every run")
    print("the same command with more --minutes goes on with it;", end=" ")
    print(f"cd {folder.name}; parity snakemake -- all: sets its paper, too")
    from parity.report import answer

    if lost := answer.not_tested([answer.read(live)]):
        lines = [f"{listed([*titles])}: {why}" for why, titles in lost.items()]
        problem = "\n".join(["nothing is known of", *lines])
        raise UserError(problem, where=folder.name, action="mend that, and start it again")


def _intended(study: Mapping[str, Any], of_arms: Sequence[Arm]) -> str:
    """What is measured, and for how long."""
    (scale,), titles = study["scales"].values(), [arm.title for arm in of_arms]
    looks = ", ".join(map(str, scale["looks"]))
    runs = "an arm and native, side by side" if "design" in scale else f"{len(titles)} runs"
    return (
        f"{study['title']}: {listed(titles)}, for {scale['minutes']:g} min\n"
        f"  a block is {runs}; bounds are told after {looks} blocks, if time is left"
    )


def _of_image(of_arms: Sequence[Arm]) -> str:
    """What is made before, and how long that took where the archives were measured."""
    took: dict[str, list[float]] = {"base": [], "oci": []}
    took |= {arm.image_format: [] for arm in of_arms if arm.image_format}
    for path in PROJECT.glob(f"results/archive/*/{IMAGES}"):
        for name, record in read_images(path).items():
            if name in took and record.seconds:
                took[name].append(record.seconds)
    seconds = sum(median(each) for each in took.values() if each)
    about = f": about {duration(seconds)} on other machines" if seconds else ""
    return f"  before that its image is made, where it is not there yet{about}"


def _refuse_another_study(study: Mapping[str, Any], known: Mapping[str, Any], file: Path) -> None:
    """Refuse (UserError) to go on where `file` has another study; minutes may differ."""
    keys = [key for key in {**known, **study} if key != "scales"]
    other = [key for key in keys if known.get(key) != study.get(key)]
    designs = {each["scales"].get(SCALE, {}).get("design") for each in (study, known)}
    other += ["design"] * (len(designs) > 1)
    if other:
        folder = file.parents[2].name
        problem = f"{folder} is there already, with another {listed(other)}"
        action = f"give another --name; or go on: cd {folder}; parity snakemake -- all"
        raise UserError(problem, where=str(file), action=action)


def _so_far(folder: Path, live: Path) -> str:
    """What the blocks say that were measured before somebody stopped."""
    from parity.analysis.analysis import analysed
    from parity.records.dataset import collect
    from parity.report import answer

    there = folder.glob(f"results/blocks/*/{BLOCK.file}")
    made = read_plan(live / PLAN).blocks if (live / PLAN).exists() else ()
    names = {block.name for block in made}
    planned = sorted(file.parent for file in there if file.parent.name in names)
    # One that is made anew is not done before its last session has ended.
    blocks = [b for b in planned if len(BLOCK.read_in(b).sessions) == len(read_sessions(b))]
    if not blocks:
        return "no block was measured yet: nothing is known"
    system = read_sessions(blocks[0])[0].start.system
    with tempfile.TemporaryDirectory() as temporary:
        dataset, images = Path(temporary) / live.name, Path(temporary) / IMAGES
        # What is concluded does not rest on the records of images, which may be anywhere.
        write_images(images, {})
        collect(live / PLAN, blocks, images, system, dataset)
        found = analysed(dataset).analysis.comparisons
    so_far = read_plan(live / PLAN), found
    return "\n".join([answer.said([so_far]), *answer.in_short(so_far)])


def _snakemake(folder: Path, targets: Sequence[str]) -> None:
    """Measure and draw, progress to our standard error; KeyboardInterrupt: it was stopped."""
    command, env = call_of(targets)
    # In a group of its own, so that all of it is told once, whether Ctrl-C or a signal to us alone
    # stops us; a batch system's is none of Ctrl-C.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    workflow = subprocess.Popen(command, cwd=folder, env=env, stdout=sys.stderr, process_group=0)
    try:
        status = workflow.wait()
    except KeyboardInterrupt:
        with suppress(ProcessLookupError):
            os.killpg(workflow.pid, signal.SIGINT)
        # It ends its programs first.
        workflow.wait()
        raise
    if status:
        was_run = any(folder.glob("results/blocks/*"))
        kept = "what was measured is kept" if was_run else "no run was made"
        problem = f"the workflow ended with status {status}; {kept}"
        action = f"read what it said above, then: cd {folder.name}; parity snakemake -- all"
        raise UserError(problem, where=str(folder), action=action)


def chosen_arms(names: Iterable[str], known: Iterable[Arm]) -> list[str]:
    """The arms of these names; of a runtime's name, the first of its arms that can be used here.

    Others are said on standard error. UserError: a name is unknown, or none can be used here.
    """
    there = [arm for arm in known if arm.image_format and not arm.stands_in]
    allowed = sorted({name for arm in there for name in (arm.name, arm.runtime)})
    names = list(dict.fromkeys(names))
    refuse_unknown(names, allowed, "--runtimes", "runtime")
    usable, absent = dict[str, None](), list[str]()
    for name in names:
        of_name = [a for a in there if a.name == name] or [a for a in there if a.runtime == name]
        presences = {arm.name: arm.probe() for arm in of_name}
        available = [arm for arm, presence in presences.items() if presence.available]
        usable |= dict.fromkeys(available[:1])
        first = next(iter(presences.values()))
        absent += [] if available else [f"{name}: {first.reason}; {first.remedy}"]
    if not usable:
        raise UserError("none of these runtimes can be used here\n" + "\n".join(absent))
    for line in absent:
        print(f"parity: left out: {line}", file=sys.stderr)
    return list(usable)


@dataclass(frozen=True)
class OwnProgram:
    """A program as it is called."""

    words: tuple[str, ...]  # its absolute path and its words, those that name files here absolute
    needs: tuple[str, ...]  # files and folders that it needs in containers, by absolute path
    # Debian packages that bring it and its libraries; none with an image of its own.
    packages: tuple[str, ...]
    is_here: bool  # whether its native build is on this machine

    @property
    def name(self) -> str:
        """The name of its study: letters and digits of the program's."""
        plain = re.sub(r"[^a-z0-9]", "", Path(self.words[0]).name.lower()).lstrip("0123456789")
        return plain[:24] or "program"


def own_program(words: Sequence[str], has_image: bool, folder: Path) -> OwnProgram:
    """The program that `words` call in `folder`; UserError: there is none, or it cannot be run.

    Without an image of its own all is this machine's: what Debian brought comes with its package
    into the image, all else is needed. With one, relative paths are this machine's, others its own.
    """
    program = _program(words[0], has_image, folder)
    others, needs = [], set()
    for word in words[1:]:
        # What it names is all of it, or what is behind its last `=`.
        begin, sign, value = word.rpartition("=")
        path = Path(os.path.normpath(folder / value))
        is_of_image = has_image and value.startswith("/")
        is_file = value and not is_of_image and not any(map(path.is_relative_to, _PSEUDO))
        if is_file and _is_input(path, folder):
            needs.add(str(path))
            word = f"{begin}{sign}{path}"
        others.append(word)
    # With an image there are no packages, and what is named by an absolute path lies in it.
    brought = {} if has_image else _brought(program)
    if program not in brought and not (has_image and words[0].startswith("/")):
        needs.add(str(program))
    packages = tuple(sorted(set().union(*brought.values())))
    is_here = program.is_file() and os.access(program, os.X_OK)
    return OwnProgram((str(program), *others), tuple(sorted(needs)), packages, is_here)


def _is_input(path: Path, folder: Path) -> bool:
    """Whether it is there, and does not hold the folder that we stand in."""
    try:
        return path.is_file() or (path.is_dir() and not folder.is_relative_to(path))
    except OSError:  # too long for a name, as a script after `-c` is
        return False


def _program(word: str, has_image: bool, folder: Path) -> Path:
    if "/" not in word and has_image:
        action = "give its absolute path in the image, or a path of this folder"
        raise UserError(f"where the image has {word} is not known", action=action)
    if "/" not in word:
        word = shutil.which(word) or word
        # A link of a virtual environment, say, is in no image.
        if not word.startswith(_SYSTEM) and (real := Path(word).resolve()).is_relative_to("/usr"):
            word = str(real)
    path = Path(os.path.normpath(folder / word))
    if has_image and word.startswith("/"):
        return path
    if not path.is_file():
        raise UserError(f"there is no program {word}", where=str(folder))
    if not os.access(path, os.X_OK):
        raise UserError(f"{word} cannot be run", where=str(path), action=f"chmod +x {path}")
    return path


def _brought(program: Path) -> dict[Path, set[str]]:
    """The packages that brought a program and its libraries, by path; UserError: one has none."""
    linked = output_of(["ldd", program]) if answer_of(["ldd", program])[0] else ""
    if missing := _MISSING.search(linked):
        raise UserError(f"{program} does not find its library {missing[1]}")
    libraries = {Path(path) for path in _LIBRARY.findall(linked)}
    # dpkg knows many a library by the path that it had before /lib was a link.
    names: dict[Path, set[Path]] = {}
    for path in {program, *libraries}:
        real = path.resolve()
        before = Path("/", real.relative_to("/usr")) if real.is_relative_to("/usr") else real
        names[path] = {path, real, before}
    known = packages_of(set().union(*names.values()))
    packages = {
        path: {package.partition(":")[0] for name in these for package in known.get(str(name), ())}
        for path, these in names.items()
    }
    without = [path for path in libraries if not packages[path]]
    if known and without:
        problem = f"no Debian package brought {min(without)}, so the image would not have it"
        raise UserError(problem, where=str(program), action="give an image that has it: --image")
    return {path: of_path for path, of_path in packages.items() if of_path}


def study_of(
    program: OwnProgram, name: str, in_arms: Sequence[str], *, margin: float, minutes: float,
    cpus: int | None = None, image: str = "", metrics: Sequence[Mapping[str, str]] = (),
    shorter: OwnProgram | None = None, share: float = 0, design: str = IN_TURN,
) -> dict[str, Any]:  # fmt: skip
    """The content of the study's file. The reference is native wherever there is a native build.

    `metrics`: what is read from its output; else its wall clock. `shorter`, `share`: the program
    with less work, and how much; else the shorter run does nothing: it tells what a start costs.
    """
    known = arms().values()
    pair = [arm.name for arm in known if (arm.is_native if program.is_here else arm.stands_in)][:2]
    line = shlex.join(program.words)
    command = {
        "title": Path(program.words[0]).name[:60], "program": _words(program),
        "shorter": _words(shorter) if shorter else [], "binaries": [program.words[0]],
        "packages": list(program.packages),
        "needs": sorted({*program.needs, *(shorter.needs if shorter else ())}),
        "cpus": cpus, "metrics": [*metrics],
    }  # fmt: skip
    own = {key: value for key, value in command.items() if value}
    benchmark = f"own-{name}" if name in benchmarks() else name
    enough = next((n for n in LOOKS[5:] if n >= BLOCKS_A_MINUTE * minutes), LOOKS[-1])
    looks = [look for look in LOOKS if look <= enough]
    scale: dict[str, Any] = {"blocks": enough, "looks": looks, "minutes": minutes}
    # Side by side no start is in what counts.
    if shorter or design == IN_TURN:
        scale["short"] = {benchmark: share}
    if design != IN_TURN:
        scale["design"] = design
    return {
        "study": name, "title": f"What containers cost {line}", "reproduces": "none",
        "seed": zlib.crc32(line.encode()), **({"image": {"from": image}} if image else {}),
        "reference": pair[0], "aa_pair": pair, "arms": [*pair, *in_arms],
        "benchmarks": {benchmark: {"margin_percent": margin, "command": own}},
        "scales": {SCALE: {"blocks_per_job": BLOCKS_PER_JOB, **scale}},
    }  # fmt: skip


def _words(program: OwnProgram) -> list[str]:
    # A brace would be a place that a factor or parameter fills.
    return [word.replace("{", "{{").replace("}", "}}") for word in program.words]
