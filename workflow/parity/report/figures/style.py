"""The one style of all figures: a runtime looks the same everywhere.

Colours are those of Okabe and Ito (2008), which stay apart for colour-blind
readers; each runtime has a marker as well, and every second variant of a runtime is
hollow, so that a grey print says the same; more variants are lighter, up to a point. Sizes
are those of the printed page.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from fontTools import subset
from matplotlib import font_manager
from matplotlib.figure import Figure

from parity.analysis import outcomes
from parity.plan.plan import Plan
from parity.runtimes import arms
from parity.runtimes.model import Look

# A runtime that brings no look of its own takes one of these by its name, always the same.
OTHER_LOOKS = (Look("#B8A500", "<"), Look("#44AA99", "h"), Look("#999933", "d"))
TWO_COLUMNS = 7.0  # inches
ROW = 0.175  # inches that one arm takes
BAND = "#dadada"
EDGE = "#8a8a8a"
PUBLISHED = "#f6dfc6"  # ground of a published range
GREY = "#555555"

SYMBOLS = {
    outcomes.EQUIVALENT: "=",
    outcomes.DIFFERENT: "≠",
    outcomes.INCONCLUSIVE: "?",
    outcomes.TOO_FEW_BLOCKS: "…",
    outcomes.REPORTED: "",
    outcomes.NOT_TESTED: "",
}
# Within the margin, and yet not concluded.
WITHIN = "≈"
CONFOUNDED = "†"

_SETTINGS = Path(__file__).with_name("house.mplstyle")


@dataclass(frozen=True)
class ArmStyle:
    """How an arm is drawn: colour, marker, and whether it is hollow."""

    colour: str
    marker: str
    hollow: bool

    @property
    def face(self) -> str:
        """Fill of the marker."""
        return "white" if self.hollow else self.colour

    @property
    def line(self) -> str:
        """Style of a line: broken where the marker is hollow."""
        return "--" if self.hollow else "-"

    def mark(self, times: float = 1.0, line: str = "none") -> dict[str, Any]:
        """What `Axes.plot` takes to draw its marker, so many times as large, and that line."""
        return {
            "marker": self.marker, "color": self.colour, "markerfacecolor": self.face,
            "markersize": times * self.size, "markeredgewidth": self.rim, "linestyle": line,
        }  # fmt: skip

    def behind(self) -> dict[str, Any]:
        """The same for a marker on which an interval is drawn, however short."""
        face = "white" if self.hollow else _lighter(self.colour, 4)
        return self.mark() | {"markerfacecolor": face, "markeredgewidth": 0.8}

    @property
    def size(self) -> float:
        """Diameter of the marker in points; a rim adds to it."""
        return 4.8 if self.hollow else 5.8

    @property
    def rim(self) -> float:
        """Width of the marker's rim in points."""
        return 1.0 if self.hollow else 0.0

    @property
    def tint(self) -> tuple[float, ...]:
        """Fill of a box: the colour, light enough for marks on it."""
        return (*matplotlib.colors.to_rgb(self.colour), 0.12 if self.hollow else 0.35)


def use() -> None:
    """Set the style, and keep to the fonts that come with the plotting library.

    The machine's own fonts could be another version, and then bytes would differ.
    """
    plt.rcdefaults()
    settings = matplotlib.rc_params_from_file(_SETTINGS, use_default_template=False)
    matplotlib.rcParams.update(settings)
    bundled = matplotlib.get_data_path()
    fonts = font_manager.fontManager
    fonts.ttflist = [font for font in fonts.ttflist if font.fname.startswith(bundled)]


def arm_styles(plan: Plan) -> dict[str, ArmStyle]:
    """The style of each arm of a plan, by its runtime and its place among that runtime's arms."""
    seen: dict[str, int] = {}
    styles = {}
    for arm in plan.arms:
        runtime = plan.arm_runtimes[arm]
        look = _look(arm, runtime)
        pairs, second = divmod(seen.get(runtime, 0), 2)
        styles[arm] = ArmStyle(
            _lighter(look.colour, min(pairs, 3)), look.marker, hollow=second == 1
        )
        seen[runtime] = seen.get(runtime, 0) + 1
    return styles


def _look(name: str, runtime: str) -> Look:
    """The look that an arm or its runtime brings, or one by the runtime's name."""
    own = [arms()[name]] if name in arms() else []
    of_runtime = (arm for arm in arms().values() if arm.runtime == runtime)
    brought = (arm.look for arm in (*own, *of_runtime) if arm.look)
    other = OTHER_LOOKS[zlib.crc32(runtime.encode()) % len(OTHER_LOOKS)]
    return next(brought, other)


def _lighter(colour: str, times: int) -> str:
    """A colour of the same hue, so many times a quarter nearer to white."""
    if not times:
        return colour
    left = 0.75**times
    red, green, blue = (1 - left * (1 - part) for part in matplotlib.colors.to_rgb(colour))
    return matplotlib.colors.to_hex((red, green, blue))


_OPTIONS = subset.Options


def _without_layout(**options: Any) -> Any:
    """How a font is embedded: without its tables for scripts and ligatures, which take longest.

    The text of a figure is set by then, and no viewer sets it once more.
    """
    made = _OPTIONS(**options)
    made.drop_tables += ["GDEF", "GPOS", "GSUB"]
    return made


def save(figure: Figure, folder: Path, name: str) -> None:
    """Write `<name>.pdf` and `<name>.png` without anything that differs between two runs."""
    folder.mkdir(parents=True, exist_ok=True)
    nothing = {"CreationDate": None, "Creator": None, "Producer": None}
    with patch.object(subset, "Options", _without_layout):
        figure.savefig(folder / f"{name}.pdf", metadata=nothing)
    figure.savefig(folder / f"{name}.png", metadata={"Software": None})
    plt.close(figure)
