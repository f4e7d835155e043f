"""The one style of all figures: a runtime looks the same everywhere.

Colours are Okabe and Ito's (2008), darkened to a contrast of 3 to 1 with paper; markers, and
hollow ones, tell arms apart in grey prints.
"""

import zlib
from collections import Counter
from collections.abc import Collection
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import matplotlib
import matplotlib.pyplot as plt
from fontTools import subset
from fontTools.ttLib import TTFont
from matplotlib import font_manager
from matplotlib.backends import _backend_pdf_ps
from matplotlib.backends._backend_pdf_ps import SubsetResults
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.figure import Figure
from matplotlib.ft2font import FT2Font

from parity.analysis import outcomes
from parity.plan.plan import Plan
from parity.runtimes import arms
from parity.runtimes.model import Look

# A runtime that brings no look of its own takes one of these by its name, always the same.
OTHER_LOOKS = (Look("#857700", "<"), Look("#2F8F80", "h"), Look("#80802B", "d"))
TWO_COLUMNS, ROW = 7.0, 0.175  # inches: a page, and what one arm takes
BAND, EDGE, GREY = "#ececec", "#808080", "#555555"
DARK = 0.9  # of 3: the sum of red, green and blue below which a colour is
PUBLISHED = "#f6dfc6"  # ground of a published range
SYMBOLS = {
    outcomes.COSTS: ">", outcomes.SAVES: "<", outcomes.AT_MOST: "≤", outcomes.CANNOT_TELL: "?",
    outcomes.TOO_FEW_BLOCKS: "…", outcomes.REPORTED: "", outcomes.NOT_TESTED: ""}  # fmt: skip
# The same within the margin, too.
SAME = {outcomes.AT_MOST: "=", outcomes.COSTS: "≧", outcomes.SAVES: "≦"}
CONFOUNDED = "†"
# With these nearly all figures do.
LETTERS = {*map(chr, range(32, 127)), *"…≤≥≧≦†·×±–—−µ°⁻⁰¹²³⁴⁵⁶⁷⁸⁹"}


@dataclass(frozen=True)
class ArmStyle:
    """How an arm is drawn: colour, marker, and whether it is hollow."""

    colour: str
    marker: str
    hollow: bool

    def mark(self, times: float = 1.0) -> dict[str, Any]:
        """What `Axes.plot` takes to draw its marker, so many times as large."""
        # A rim adds to the size of a hollow one.
        return {"marker": self.marker, "color": self.colour, "linestyle": "none",
                "markerfacecolor": "white" if self.hollow else self.colour,
                "markersize": times * (4.8 if self.hollow else 5.8),
                "markeredgewidth": 1.0 if self.hollow else 0.0}  # fmt: skip

    def curve(self, times: float = 0.7) -> dict[str, Any]:
        """The same with a line, which is broken where the marker is hollow."""
        return self.mark(times) | {"linestyle": "--" if self.hollow else "-"}

    def behind(self) -> dict[str, Any]:
        """The same for a marker on which an interval is drawn, however short."""
        face = "white" if self.hollow else nearer(self.colour, 1, 4)
        return self.mark() | {"markerfacecolor": face, "markeredgewidth": 0.8}


def use() -> None:
    """Set the style, with the fonts of the plotting library: the machine's own could be others."""
    matplotlib.use("Agg")
    plt.rcdefaults()
    settings = Path(__file__).with_name("house.mplstyle")
    matplotlib.rcParams.update(matplotlib.rc_params_from_file(settings, use_default_template=False))
    bundled, fonts = matplotlib.get_data_path(), font_manager.fontManager
    fonts.ttflist = [font for font in fonts.ttflist if font.fname.startswith(bundled)]


def arm_styles(plan: Plan) -> dict[str, ArmStyle]:
    """The style of each arm of a plan, by its runtime and its place among that runtime's arms."""
    listed, seen, styles = arms(), Counter[str](), {}
    for arm in plan.arms:
        runtime = plan.arm_runtimes[arm]
        looks = [listed[arm].look] if arm in listed else []
        looks += [known.look for known in listed.values() if known.runtime == runtime]
        other = OTHER_LOOKS[zlib.crc32(runtime.encode()) % len(OTHER_LOOKS)]
        look = next(filter(None, looks), other)
        pairs, second = divmod(seen[runtime], 2)
        seen[runtime] += 1
        # Towards white from what is dark already: darker still could not be told from it.
        is_dark = sum(matplotlib.colors.to_rgb(look.colour)) < DARK
        colour = nearer(look.colour, float(is_dark), min(pairs, 2 if is_dark else 3))
        styles[arm] = ArmStyle(colour, look.marker, second == 1)
    return styles


def nearer(colour: str, end: float, times: int) -> str:
    """A colour of the same hue, so many times a quarter nearer to black (0) or to white (1)."""
    left = 0.75**times
    red, green, blue = (end + left * (part - end) for part in matplotlib.colors.to_rgb(colour))
    return matplotlib.colors.to_hex((red, green, blue)) if times else colour


def _subset(font: Any, glyphs: Collection[Any]) -> SubsetResults:
    """A font of these glyphs alone, without what sets text and fits it into pixels."""
    options = subset.Options(hinting=False)
    options.drop_tables += ["FFTM", "GDEF", "GPOS", "GSUB"]
    whole, cut = subset.load_font(font, options), subset.Subsetter(options)
    cut.populate(gids=glyphs)
    cut.subset(whole)
    return SubsetResults(whole, cut.glyph_index_map)


@cache
def _letters(font: Any) -> tuple[set[Any], SubsetResults]:
    """The glyphs of `LETTERS` in a font, and the font of these, which is saved as it is."""
    numbers = FT2Font(font).get_charmap()
    glyphs = {numbers[ord(letter)] for letter in LETTERS if ord(letter) in numbers}
    made, small = _subset(font, glyphs), BytesIO()
    made.font.save(small, reorderTables=False)
    return glyphs, made._replace(font=TTFont(small, recalcBBoxes=False, recalcTimestamp=False))


def _embedded(font: Any, glyphs: Collection[Any]) -> Any:
    known, made = _letters(font)
    return nullcontext(made if known.issuperset(glyphs) else _subset(font, glyphs))


def save(figure: Figure, folder: Path, name: str) -> None:
    """Write `<name>.pdf` and `<name>.png` without anything that differs between two runs.

    Each is drawn once: `Figure.savefig` would lay a figure out once more.
    """
    folder.mkdir(parents=True, exist_ok=True)
    canvas: Any = figure.canvas  # which has measured its texts already
    quick = {"compress_level": 3}  # and no larger, since most of a figure is white
    canvas.print_png(folder / f"{name}.png", metadata={"Software": None}, pil_kwargs=quick)
    canvas, nothing = FigureCanvasPdf(figure), ("CreationDate", "Creator", "Producer")
    # To take the letters of a figure out of a font takes longer than to draw most figures.
    with patch.object(_backend_pdf_ps, "get_glyphs_subset", _embedded):
        canvas.print_pdf(str(folder / f"{name}.pdf"), metadata=dict.fromkeys(nothing))
    plt.close(figure)
