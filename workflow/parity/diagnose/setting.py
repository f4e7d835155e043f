"""What is on at a step of a diagnosis, as the command line that turns it on."""

import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from parity.diagnose.look import FILES, FILTER, ROOT, SQUASHED
from parity.runtimes.ladder import CONTROL_GROUP, MECHANISMS
from parity.runtimes.model import name_in
from parity.runtimes.namespaces import mounted

TRUE = "/bin/true"
# <linux/prctl.h>: what a process says of huge pages its children and their programs keep.
_PR_SET_THP_DISABLE = 41
_HUGE_PAGES = f"""import ctypes, os, sys
ctypes.CDLL(None).prctl({_PR_SET_THP_DISABLE}, int(sys.argv[1]), 0, 0, 0)
os.execvp(sys.argv[2], sys.argv[2:])"""
_OPTIONS = {kind: MECHANISMS[kind].words for kind in ("pid", "ipc", "net", "user")}
_OPTIONS["uts"] = ("--unshare-uts",)
# How the loader of a C library is called.
LOADER = re.compile(r"ld(-[\w.-]+|64)?\.so(\.\d+)*")


@dataclass(frozen=True)
class Setting:
    """All that is on at a step, as what its command line is made from."""

    folder: Path
    cpus: str = ""
    nice: int = 0  # added to this machine's own
    huge_pages: str = ""  # `1` with transparent ones, `0` without; empty for as it is
    group: tuple[str, ...] = ()  # what is written into files of its group, as `<file>=<value>`
    limits: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str | None] = field(default_factory=dict)  # by ours; None: without
    namespaces: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()  # those that are dropped
    shared_memory: int = 0
    filters: tuple[int, ...] = ()  # numbers of the container's that are loaded, from `folder`
    libraries: str = ""  # folder whose files come before this machine's libraries; empty for none
    program: str = ""  # file that is run in the place of the program's; empty for its own
    root: str = ""  # how the copy of the image is mounted as the root; empty for this machine's own
    binds: Mapping[str, str] = field(default_factory=dict)  # folders here, by where they are there
    inside: str = "/"  # the folder in which the program runs there

    def words(self, program: Sequence[str], own: Sequence[str]) -> list[str]:
        """The command line that runs a program, in the words of its user, in this setting.

        `own`: the words as the process has them, its executable first; the loader takes these.
        """
        group = ("/bin/sh", "-euc", CONTROL_GROUP, "control-group", name_in(self.folder))
        limits = (f"--{kind}={value}" for kind, value in self.limits.items())
        words = [*group, *self.group] if self.group else []
        words += ["taskset", "-c", self.cpus] if self.cpus else []
        words += ["nice", "-n", str(self.nice)] if self.nice else []
        if self.huge_pages:
            words += [sys.executable, "-c", _HUGE_PAGES, str(int(self.huge_pages == "0"))]
        words += ["prlimit", *limits] if self.limits else []
        if self.root:
            image = self.folder / (SQUASHED if "squash" in self.root else FILES)
            words += ["unshare", "--mount", *mounted(self.root, str(image), self.folder / ROOT)]
        return [*words, *self._environment(), *self._bubblewrap(), *self.run(program, own)]

    def run(self, program: Sequence[str], own: Sequence[str]) -> list[str]:
        """The words with which the program's own process ends."""
        if not self.libraries or self.root:
            return [self.program or program[0], *program[1:]]
        loader = min(it for it in Path(self.libraries).iterdir() if LOADER.fullmatch(it.name))
        found_by = [str(loader), "--library-path", self.libraries]
        return [*found_by, self.program or own[0], *own[1:]]

    def start(self) -> list[str]:
        """The same with a program that ends at once."""
        return replace(self, program="").words([TRUE], [TRUE])

    def _environment(self) -> list[str]:
        if not self.variables:
            return []
        added = {variable: own for variable, own in self.variables.items() if own}
        gone = [variable for variable, own in self.variables.items() if not own]
        words = [word for variable in (*gone, *added.values()) for word in ("-u", variable)]
        if added:
            # Within double quotes of `env -S`.
            names = {re.sub(r'(["$\\])', r"\\\1", name): own for name, own in added.items()}
            words += ["-S", " ".join(f'"{name}=${{{own}}}"' for name, own in names.items())]
        return ["env", *words]

    def _bubblewrap(self) -> list[str]:
        parts = (self.namespaces, self.capabilities, self.shared_memory, self.filters, self.root)
        if not any(parts):
            return []
        # By its path, because the container's PATH may be on.
        words = [shutil.which("bwrap") or "bwrap", "--dev-bind", "/", "/"]
        if self.root:
            words = [*words[:1], "--bind", str(self.folder / ROOT), "/"]
            words += ["--dev-bind", "/dev", "/dev", "--bind", "/proc", "/proc"]
            words += ["--ro-bind", "/sys", "/sys", "--chdir", self.inside]
            words += [word for at, here in self.binds.items() for word in ("--bind", here, at)]
        if size := self.shared_memory:
            words += ["--perms", "1777", "--size", str(size), "--tmpfs", "/dev/shm"]
        words += [word for kind in self.namespaces for word in _OPTIONS.get(kind, ())]
        words += [word for name in self.capabilities for word in ("--cap-drop", f"CAP_{name}")]
        if self.filters:
            files = {9 - at: FILTER.format(number) for at, number in enumerate(self.filters)}
            words += [word for at in files for word in ("--add-seccomp-fd", str(at))]
            opened = " ".join(f'{at}< "$filters/{file}"' for at, file in files.items())
            script = f'filters=$1; shift; exec "$@" {opened}'
            words = ["/bin/sh", "-euc", script, "filtered", str(self.folder), *words]
        return words
