"""The page itself: one file that asks nothing of any network."""

from __future__ import annotations

import json
import os
from collections import Counter
from functools import partial
from importlib import metadata
from pathlib import Path

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from parity.report.dashboard.content import Content

TEMPLATE = Path(__file__).parent / "template"
# In this order: each uses only what stands before it.
SCRIPTS = (
    "data.js", "format.js", "parts.js", "plots.js", "forest.js", "blocks.js", "list.js", "claim.js",
    "cell.js", "run.js", "app.js",
)  # fmt: skip
_dumps = partial(json.dumps, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def render(content: Content) -> str:
    """The HTML of a page with this content."""
    loader = FileSystemLoader(TEMPLATE)
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    verdicts = content.wording["verdicts"]
    counts = Counter(row["verdict"] for row in content.verdicts)
    return environment.get_template("page.html").render(
        dataset=content.dataset,
        claims=len(content.verdicts),
        counts=[(name, *verdicts[name], counts[name]) for name in verdicts],
        # Every <, > and & becomes an escape, so no text can end the script that holds it.
        data=htmlsafe_json_dumps(msgspec.to_builtins(content), dumps=_dumps),
        style=_inline((TEMPLATE / "style.css").read_text("utf-8"), "</style"),
        script=_inline("\n".join((TEMPLATE / name).read_text("utf-8") for name in SCRIPTS)),
        plotting=_inline(get_plotlyjs()),
        licence=plotting_licence(),
    )


def write(content: Content, path: Path) -> None:
    """Write the page; readers see the old file or the whole new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(render(content), encoding="utf-8")
    temporary.replace(path)


def plotting_licence() -> str:
    """The licence of the plotting library, which has to accompany its script."""
    files = metadata.distribution("plotly").files or ()
    return next(f for f in files if f.name.startswith("LICENSE")).read_text("utf-8").strip()


def _inline(text: str, end: str = "</script") -> Markup:
    """Source of this project or of the plotting library, put into the page as it stands."""
    if end in text.lower():
        raise ValueError(f"a source that is put into the page holds {end!r}")
    return Markup(text)
