"""What a control group lets its processes have of the CPUs, in the words of the kernel."""

import re
from dataclasses import dataclass
from pathlib import Path

CONTROL_GROUPS = Path("/sys/fs/cgroup")
# How kernel, runc, Docker, Podman and our own script say that they do not take a value.
_REFUSAL = re.compile(r".*(?:cfs[ _](?:quota|period|burst)|cpu\.(?:max|shares|weight|idle)).*")


@dataclass(frozen=True)
class CpuLimit:
    """A limit of CPU time; what is None or empty is left as it is."""

    quota_us: int | None = None  # CPU time in each period
    period_us: int = 100_000  # length of such a period
    burst_us: int = 0  # what may be had in addition of what was left in earlier periods
    shares: int | None = None  # of CPUs that others want, too, as version 1 has it (usually 1024)
    is_idle: bool = False  # whether it has CPUs only when nobody else wants them
    cpus: tuple[int, ...] = ()  # the set of CPUs
    group: str = ""  # the control group, without a slash before it, below which its own is made

    @property
    def weight(self) -> int:
        """The shares as version 2 has them; container engines convert by the same formula."""
        return 1 + (self.shares - 2) * 9999 // 262142 if self.shares else 0

    @property
    def cpu_list(self) -> str:
        return ",".join(map(str, self.cpus))

    @property
    def seen_inside(self) -> dict[str, int]:
        """What a program has to read in its control group, by the names of selfish's trace."""
        # Of shares and weight each version has one.
        values = {"shares": self.shares, "weight": self.weight} if self.shares else {}
        for name in ("quota_us", "period_us", "burst_us") if self.quota_us else ():
            values[name] = getattr(self, name)
        return values


NO_LIMIT = CpuLimit()


def control_group_version(root: Path = CONTROL_GROUPS) -> int:
    """Whose files rule CPU time here: those of version 1 or 2."""
    lists = (folder / "cgroup.controllers" for folder in (root, root / "unified"))
    return 2 if any(file.exists() and "cpu" in file.read_text().split() for file in lists) else 1


def control_group_words(limit: CpuLimit, version: int) -> list[str]:
    """`<file>=<value>` of a control group in the order to write them; a period before its quota."""
    first = version == 1
    files: dict[str, object] = {}
    if limit.quota_us and first:
        files |= {"cpu.cfs_period_us": limit.period_us, "cpu.cfs_quota_us": limit.quota_us}
    elif limit.quota_us:
        files["cpu.max"] = f"{limit.quota_us} {limit.period_us}"
    if limit.burst_us:
        files["cpu.cfs_burst_us" if first else "cpu.max.burst"] = limit.burst_us
    if limit.shares:
        files["cpu.shares" if first else "cpu.weight"] = limit.shares if first else limit.weight
    if limit.is_idle:
        files["cpu.idle"] = 1
    if limit.cpus:
        files["cpuset.cpus"] = limit.cpu_list
    return [f"{name}={value}" for name, value in files.items()]


def refusal(output: str) -> str:
    """The line of a standard error that tells that a limit was refused; empty if none does."""
    return line.group().strip() if (line := _REFUSAL.search(output)) else ""
