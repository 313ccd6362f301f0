"""An SVG canvas. A drawing needs nothing but a viewer.

Elements are added from top to bottom. The canvas knows where the next one begins, and is as wide as
the widest one.
"""

from __future__ import annotations

import math
from xml.sax.saxutils import escape, quoteattr

from cepheid.explain.formula import text_width, wrap
from cepheid.visible import visible

WIDTH = 960
"""The greatest width of a drawing, unless a name is longer."""
LEAST_WIDTH = 400
MARGIN = 28
LINE = 19
LETTER = 8.0
"""The greatest width of a letter: 13 pixels of a fixed-width font."""

MARKER = """\
<marker id="{0}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8"\
 markerUnits="userSpaceOnUse" orient="auto"><path d="M0,0 L10,5 L0,10 z"\
 style="fill: {1}; stroke: none"/></marker>"""
"""An arrowhead, by its id and colour."""

_STYLE = """\
.KIND { background: #ffffff }
.KIND text { font: 13px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace;
  fill: #1f2937; white-space: pre }
.KIND .heading { font-weight: bold; font-size: 14px }
.KIND .note { font-family: system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif;
  font-size: 12px; fill: #4b5563 }
.KIND .middle { text-anchor: middle }
.KIND path { fill: none; stroke-width: 1.6 }
.KIND .rule { stroke: #e5e7eb; stroke-width: 1 }"""


class Canvas:
    """The elements of a drawing; the next one begins at ``y``.

    ``kind`` is the CSS class of the drawing. All its styles are limited to that class, so a page
    can have drawings of several kinds.
    """

    def __init__(self, kind: str, style: str, markers: str) -> None:
        self.y = float(MARGIN)
        self._kind = kind
        self._style = f"{_STYLE.replace('KIND', kind)}\n{style}"
        self._markers = markers
        self._width = float(LEAST_WIDTH)
        self._elements: list[str] = []
        self._rules: list[float] = []

    def paragraph(self, text: str, style: str) -> None:
        """Write a text at the left margin, in as many lines as it needs."""
        for line in wrap(text, int((WIDTH - 2 * MARGIN) / (LETTER * 1.1))):
            self.text(MARGIN, self.y + 14, line, style)
            self.y += LINE + 1

    def rule(self) -> None:
        """Draw a horizontal line between two parts of a drawing."""
        self.y += 14
        self._rules.append(self.y)
        self.y += 16

    def text(self, x: float, y: float, text: str, style: str = "") -> None:
        """Write a text that begins at ``x``, or is centred there if its style is ``middle``."""
        text = visible(text)
        styled = f" class={quoteattr(style)}" if style else ""
        self._elements.append(f'<text x="{px(x)}" y="{px(y)}"{styled}>{escape(text)}</text>')
        if "middle" not in style:
            self.reach(x + text_width(text) * LETTER * (1.1 if style == "heading" else 1))

    def path(self, d: str, style: str, marker: str | None = None) -> None:
        """Draw a line that may end with a marker."""
        end = f' marker-end="url(#{marker})"' if marker else ""
        self._elements.append(f'<path class="{style}" d="{d}"{end}/>')

    def shape(self, element: str) -> None:
        """Draw an SVG element."""
        self._elements.append(element)

    def reach(self, x: float) -> None:
        """Make the drawing wide enough for ``x`` and a margin."""
        self._width = max(self._width, x + MARGIN)

    def document(self, title: str) -> str:
        """The drawing as the text of an SVG file."""
        for y in self._rules:
            self.path(f"M{MARGIN},{px(y)} H{px(self._width - MARGIN)}", "rule")
        width, height = (px(math.ceil(size)) for size in (self._width, self.y + MARGIN))
        return "\n".join(
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" class="{self._kind}" width="{width}"'
                f' height="{height}" viewBox="0 0 {width} {height}" role="img"'
                ' xml:space="preserve">',
                f"<title>{escape(visible(title))}</title>",
                f"<style>\n{self._style}\n</style>",
                f"<defs>\n{self._markers}\n</defs>",
                f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
                *self._elements,
                "</svg>\n",
            )
        )


def px(value: float) -> str:
    """A coordinate, rounded to a tenth of a pixel.

    >>> px(3.0), px(2.26)
    ('3', '2.3')
    """
    return f"{value:.1f}".removesuffix(".0")
