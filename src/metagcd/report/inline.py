"""SVG text made fit to stand inside an HTML page."""

import re
from html import escape

from metagcd.report.strokes import GROUND, INK

_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
_SIZE = re.compile(r'(<svg\b[^>]*?) height="([\d.]+)pt"([^>]*?) width="([\d.]+)pt"')
_IDENTITY = re.compile(r'(\bid="|href="#|url\(#)')
_NAMESPACES = re.compile(r' (?:xmlns(?::\w+)?|version)="[^"]*"')


def inline_svg(text: str, *, prefix: str, label: str) -> str:
    """Return the `<svg>` element alone, in the colours of the page around it, its ids made unique by `prefix`.

    `text` is SVG that matplotlib wrote, in which all text is escaped.
    """
    body = _METADATA.sub("", text[text.index("<svg") :])
    body = _NAMESPACES.sub("", body).replace("xlink:href", "href")
    body = body.replace(INK, "currentColor").replace(GROUND, "var(--paper)")
    body = _IDENTITY.sub(rf"\g<1>{prefix}-", body)
    body = _SIZE.sub(r'\1 style="width: \4pt"\3', body, count=1)
    return body.replace("<svg", f'<svg role="img" aria-label="{escape(label)}"', 1)
