"""A picture in SVG that grows shape by shape, in the colours of the page around it."""

from __future__ import annotations

import re
from html import escape
from math import sqrt

LEFT, RIGHT = "var(--draw-left, #0072B2)", "var(--draw-right, #C04F00)"
GOOD, PALE = "var(--draw-good, #007A5A)", "var(--draw-pale, #e9edf1)"
INK, ON = "currentColor", "var(--draw-on, #fff)"  # ON: words on a disc of colour
WIDTH = 720
SLANTED = 'font-style="italic" font-family="STIX Two Text, serif"'  # as formulas in the text
#: The ground and the ink of a drawing that stands outside the pages.
PAPER, BLACK = "#ffffff", "#222222"


class Drawing:
    """A picture that grows: shapes are added, ``svg()`` is the text."""

    def __init__(self, height: float, alt: str, name: str = ""):
        self.height, self.alt, self.name = height, alt, name
        self.parts: list[str] = []

    def add(self, tag: str, text: str = "", **attributes) -> None:
        """One element; ``stroke_width`` is written stroke-width."""
        pairs = (f'{k.replace("_", "-")}="{_short(v)}"' for k, v in attributes.items())
        self.parts.append(f"<{tag} {' '.join(pairs)}>{text}</{tag}>")

    def line(self, *points: tuple[float, float], colour: str = INK, width: float = 1.5, **more):
        """A line through points."""
        path = " ".join(f"{_short(x)},{_short(y)}" for x, y in points)
        self.add("polyline", points=path, fill="none", stroke=colour, stroke_width=width, **more)

    def arrow(self, *points: tuple[float, float], colour: str = INK, **more) -> None:
        """A line through points with a head at its end."""
        (x0, y0), (x, y) = points[-2:]
        size = sqrt((x - x0) ** 2 + (y - y0) ** 2)
        long = 7 + 1.5 * more.get("width", 1.5)  # so that a thick line has a head, too
        u, v = long * (x - x0) / size, long * (y - y0) / size
        wings = [(x - u - s * 0.45 * v, y - v + s * 0.45 * u) for s in (1, -1)]
        self.line(*points[:-1], (x - u, y - v), colour=colour, **more)
        path = " ".join(f"{_short(a)},{_short(b)}" for a, b in ((x, y), *wings))
        self.add("polygon", points=path, fill=colour)

    def box(self, x, y, width, height, colour=INK, fill="none", radius=6, **more) -> None:
        """A rectangle with round corners."""
        size = {"x": x, "y": y, "width": width, "height": height, "rx": radius}
        self.add("rect", **size, fill=fill, stroke=colour, stroke_width=1.5, **more)

    def dot(self, x, y, radius=5, colour=INK, **more) -> None:
        """A filled circle."""
        self.add("circle", cx=x, cy=y, r=radius, fill=colour, **more)

    def words(self, x, y, text: str, anchor="middle", size=15, colour=INK, **more) -> None:
        """A line of text; ``x_t`` has an index, ``*word*`` is slanted."""
        style = {"text_anchor": anchor, "font_size": size, "fill": colour}
        self.add("text", _marked(text, max(10, round(0.65 * size))), x=x, y=y, **style, **more)

    def svg(self) -> str:
        """The drawing, with its alternative text."""
        start = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" '
            f'role="img" aria-label="{escape(self.alt)}">'
        )
        return start + "".join(self.parts) + "</svg>"

    def file(self) -> str:
        """The drawing by itself, for slides: its size, a white ground, and colours without CSS.

        >>> d = Drawing(90, "A dot.")
        >>> d.dot(45, 45, colour=GOOD)
        >>> print(d.file(), end="")
        <svg width="720" height="90" font-family="sans-serif" xmlns="http://www.w3.org/2000/svg" ...
        <rect width="720" height="90" fill="#ffffff"/>
        <circle cx="45" cy="45" r="5" fill="#007A5A"></circle>
        </svg>
        """
        start, end = f'width="{WIDTH}" height="{self.height}"', "</svg>"
        head, body = self.svg().removesuffix(end).split(">", 1)
        head = head.replace("<svg ", f'<svg {start} font-family="sans-serif" ', 1)
        ground = f'<rect {start} fill="{PAPER}"/>'
        return _resolved("\n".join([f"{head}>", ground, body, end, ""]))


def _resolved(text: str) -> str:
    """The text with each variable's fallback in its place, and ink for the colour of the page."""
    return re.sub(r"var\([^,()]*, *([^()]*)\)", r"\1", text).replace(INK, BLACK)


def _short(value: object) -> object:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else value


def _marked(text: str, size: int) -> str:
    """Words with slanted letters and indices, ``*x_t*``; letters of an index are slanted, too."""
    marked = []
    for i, part in enumerate(text.split("*")):
        if i % 2 and "_" in part:
            letter, index = map(escape, part.split("_"))
            slant = f" {SLANTED}" if index.isalpha() else ""
            low = f'<tspan dx="1" dy="4" font-size="{size}"{slant}>{index}</tspan>'
            end = '<tspan dy="-4">&#8203;</tspan>'
            marked.append(f"<tspan {SLANTED}>{letter}</tspan>{low}{end}")
        else:
            slant = f" {SLANTED}" if i % 2 else ""
            marked.append(f"<tspan{slant}>{escape(part)}</tspan>")
    return "".join(marked)
