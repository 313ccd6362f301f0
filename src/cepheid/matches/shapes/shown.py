"""Results as a table of characters, for ``show()``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from cepheid.errors import OptionError
from cepheid.visible import visible

ROWS = 20
WIDTH = 40


def shown_table(
    rows: Iterable[Mapping[str, Any]], columns: Sequence[str], truncate: int | None
) -> str:
    """Rows as aligned columns; numbers are at the right.

    >>> print(shown_table([{"x": 1, "name": "a"}, {"x": 20, "name": None}], ["x", "name"], 40))
     x  name
    --  ----
     1  a
    20  NULL
    """
    if truncate is not None and truncate < 1:
        raise OptionError(f"truncate is a number of characters above 0, not {truncate!r}")
    given = [[row[name] for name in columns] for row in rows]
    cells = [[_cut(value, truncate) for value in row] for row in given]
    lines = []
    names = list(map(visible, columns))
    widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
    right = [all(_is_number(row[ix]) for row in given) and bool(given) for ix in range(len(names))]
    for row in (names, ["-" * width for width in widths], *cells):
        padded = (
            cell.rjust(width) if at_right else cell.ljust(width)
            for cell, width, at_right in zip(row, widths, right, strict=True)
        )
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def shown_count(shown: int, total: int, noun: str = "matches") -> str:
    """The line below a table.

    >>> shown_count(2, 2), shown_count(20, 1200), shown_count(1, 1, "rows")
    ('2 matches', '20 of 1,200 matches', '1 row')
    """
    singular = {"matches": "match", "rows": "row"}[noun]
    word = singular if total == 1 else noun
    return f"{total:,} {word}" if shown == total else f"{shown:,} of {total:,} {word}"


def check_rows(n: int) -> int:
    """The number of rows, which is not negative."""
    if n < 0:
        raise OptionError(f"show(n) takes the number of rows, not {n!r}")
    return n


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _cut(value: Any, most: int | None) -> str:
    text = visible(_text(value))
    return text if most is None or len(text) <= most else text[: most - 1] + "…"


def _text(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case datetime() | timedelta():
            return re.sub(r"(\.\d+?)0+(?!\d)", r"\1", str(value))
        case dict():
            return ", ".join(
                f"{name}={_text(each)}" for name, each in value.items() if each is not None
            )
        case list():
            return f"[{', '.join(map(_item, value))}]"
    return str(value)


def _item(value: Any) -> str:
    return f"({_text(value)})" if isinstance(value, dict) else _text(value)
