"""The words of the report that stand beside code as data, in `wording.yaml`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

_WORDING = msgspec.yaml.decode(Path(__file__).with_suffix(".yaml").read_bytes())
# What stands below a figure, by what it is said of.
CAPTIONS: Mapping[str, str] = _WORDING["captions"]
# The page's words for what the tables only name.
DASHBOARD: Mapping[str, Mapping[str, Any]] = _WORDING["dashboard"]
# Facts of the node that the section on the machine shows, with their labels.
MACHINE_FACTS: Mapping[str, str] = DASHBOARD["facts"]
# What is said of verdicts on claims and of their rules.
CLAIMS: Mapping[str, Mapping[str, Any]] = _WORDING["claims"]
# The paper's appendix for reviewers of the artifact, in LaTeX; `<name>` is filled from the data.
ARTIFACT: Sequence[str] = _WORDING["artifact"]
# What stands for characters that LaTeX would take for a command, or refuse.
LATEX: Mapping[str, str] = _WORDING["latex"]
