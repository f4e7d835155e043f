"""The page itself: one file that asks nothing of any network."""

from __future__ import annotations

import base64
import gzip
import os
from pathlib import Path

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from parity.report.dashboard.content import Content

TEMPLATE = Path(__file__).parent / "template"
# In this order: each uses only what stands before it.
SCRIPTS = (
    "data.js", "format.js", "parts.js", "scale.js", "blocks.js", "compared.js", "search.js",
    "matrix.js", "claims.js", "start.js", "claim.js", "cell.js", "run.js", "app.js",
)  # fmt: skip


def render(content: Content) -> str:
    """The HTML of a page with this content."""
    loader = FileSystemLoader(TEMPLATE)
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return environment.get_template("page.html").render(
        outcomes={**content.wording["outcomes"], **content.wording["verdicts"]},
        data=packed(content),
        style=_inline((TEMPLATE / "style.css").read_text("utf-8"), "</style"),
        script=_inline("\n".join((TEMPLATE / name).read_text("utf-8") for name in SCRIPTS)),
    )


def packed(content: Content) -> str:
    """The content as gzipped JSON in base64: a fifth of its size, and no text can be markup."""
    whole = msgspec.json.encode(content)
    return base64.b64encode(gzip.compress(whole, mtime=0)).decode()


def write(content: Content, path: Path) -> None:
    """Write the page; readers see the old file or the whole new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(render(content), encoding="utf-8")
    temporary.replace(path)


def _inline(text: str, end: str = "</script") -> Markup:
    """Source of this project, put into the page as it stands."""
    if end in text.lower():
        raise ValueError(f"a source that is put into the page holds {end!r}")
    return Markup(text)
