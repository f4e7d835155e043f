"""By which numbers the analysis of events knows runs of any benchmark.

One whose runs write events down (`Benchmark.events`) measures `LOOKED`, and under a CPU limit the
other two.
"""

from __future__ import annotations

from parity.benchmarks.metrics import Quantity

LOOKED = Quantity("looked", "time looked", "s")
CPU_QUOTA = Quantity("cpu_quota", "CPU time allowed", "1", shown="%", factor=100)
CPU_PERIOD = Quantity("cpu_period", "period of the CPU limit", "s", shown="ms", factor=1e3)
