"""Formulas of edges as text, in the notation of [Agrawal08 §3.2]."""

from __future__ import annotations

import textwrap
import unicodedata
from dataclasses import dataclass

_INDENT = "  "


@dataclass(frozen=True, slots=True)
class Formula:
    """A conjunction of disjunctions of strings.

    Without conjuncts it is true. With an empty conjunct it is false.

    >>> print(Formula((("a.x > 1",), ("a.y = 2", "a.z = 3"))))
    a.x > 1 ∧ (a.y = 2 ∨ a.z = 3)
    >>> print(Formula(), Formula(((),)))
    True False
    """

    conjuncts: tuple[tuple[str, ...], ...] = ()

    @property
    def is_false(self) -> bool:
        """Whether it has an empty conjunct."""
        return () in self.conjuncts

    def __str__(self) -> str:
        return " ∧ ".join(" ∨ ".join(disjuncts) for disjuncts in self._parts())

    def lines(self, width: int) -> list[str]:
        """The formula in lines of at most this width, each conjunct on one line if it fits.

        >>> for line in Formula((("a.x > 1",), ("a.y = 2", "a.z = 3"), ("a.w = 4",))).lines(24):
        ...     print(line)
        a.x > 1
        ∧ (a.y = 2 ∨ a.z = 3)
        ∧ a.w = 4
        """
        lines: list[str] = []
        is_open = False  # whether the next conjunct may be added to the last line
        for disjuncts in self._parts():
            first, *more = disjuncts
            pieces = [f"∧ {first}" if lines else first, *(f"∨ {each}" for each in more)]
            whole = " ".join(pieces)
            if is_open and text_width(f"{lines[-1]} {whole}") <= width:
                lines[-1] += f" {whole}"
            else:
                filled = _filled(pieces, width)
                lines += filled
                is_open = len(filled) == 1
        return lines

    def _parts(self) -> list[list[str]]:
        """The disjuncts of each conjunct, in parentheses if they need them."""
        parts = [list(disjuncts) or ["False"] for disjuncts in self.conjuncts] or [["True"]]
        for disjuncts in parts:
            if len(parts) > 1 and len(disjuncts) > 1:
                disjuncts[0] = f"({disjuncts[0]}"
                disjuncts[-1] += ")"
        return parts


FALSE = Formula(((),))


def text_width(text: str) -> int:
    """The number of columns that a text takes in a fixed-width font.

    >>> text_width("θ_a"), text_width("株")
    (3, 2)
    """
    return sum(1 + (unicodedata.east_asian_width(letter) in "WF") for letter in text)


def _filled(pieces: list[str], width: int) -> list[str]:
    """The pieces in lines, as many in each as fit; all lines but the first are indented."""
    lines = wrap(pieces[0], width)
    for piece in pieces[1:]:
        if text_width(f"{lines[-1]} {piece}") <= width:
            lines[-1] += f" {piece}"
        else:
            lines += [_INDENT + line for line in wrap(piece, width - len(_INDENT))]
    return lines


def wrap(text: str, width: int) -> list[str]:
    """A text in lines of at most this width; all lines but the first are indented."""
    wide = text_width(text)
    if wide <= width:
        return [text]
    letters = max(width * len(text) // wide, len(_INDENT) + 1)
    return textwrap.wrap(
        text, letters, subsequent_indent=_INDENT, break_on_hyphens=False, expand_tabs=False
    )
