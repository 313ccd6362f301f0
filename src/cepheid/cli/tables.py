"""Matches as a table for reading, cut to the width of the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cepheid.analysis.needs import attributes_named
from cepheid.language import syntax as ast
from cepheid.language.printer import item_names, print_pattern
from cepheid.visible import shortened, visible, visible_lines

if TYPE_CHECKING:
    from cepheid.matches.matches import Match

LEAST_STRING_WIDTH = 12
"""The least width of a column of strings."""
GAP = 2
"""The space between two columns."""
MOST_ROWS_NAMED = 6
MOST_ATTRIBUTES = 4
ABSENT = "–"


class PipedConsole(Console):
    """A console that raises an error when the pipe is closed."""

    def on_broken_pipe(self) -> None:
        """Raise instead of exiting with code 1, as Rich does."""
        raise BrokenPipeError


def visible_text(text: str, style: str = "") -> Text:
    """A string as Rich shows it, without control characters.

    >>> visible_text("\\x1b[31m").plain
    '\\\\x1b[31m'
    """
    return Text(visible_lines(text), style)


def matches_table(
    matches: Iterable[Match],
    query: ast.Query,
    *,
    limit: int,
    width: int,
    hidden: Sequence[str] = (),
) -> Table:
    """The first matches: the items of RETURN, or the times, rows and attributes of the events.

    Columns that do not fit are left out and listed in a caption. ``hidden`` are attributes that
    are not shown: the time, and the type if a component has only one.
    """
    shown = list(islice(matches, limit))
    columns = _columns(shown, query, hidden)
    texts = {name: _cells(values) for name, values in columns.items()}
    widths = _widths(columns, texts, width)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, GAP - 1, 0, 0), pad_edge=False, show_edge=False)
    fitting = [name for name in columns if name in widths]
    for name in fitting:
        kinds = {type(value) for value in columns[name] if value is not None}
        table.add_column(
            Text(visible(name), overflow="ellipsis"),
            justify="right" if kinds and kinds <= {int, float} else "left",
            no_wrap=True,
            width=widths[name],
        )
    for row in zip(*(texts[name] for name in fitting), strict=True):
        table.add_row(*(Text(text, overflow="ellipsis") for text in row))
    if len(fitting) < len(columns):
        rest = ", ".join(name for name in columns if name not in widths)
        table.caption = Text(visible(f"no room for {rest}"))
        table.caption_justify = "left"
    return table


def plain_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Rows with the same columns as a table."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, GAP - 1, 0, 0), pad_edge=False, show_edge=False)
    for name, value in rows[0].items() if rows else ():
        is_number = isinstance(value, int | float)
        table.add_column(Text(visible(name)), justify="right" if is_number else "left")
    for row in rows:
        table.add_row(*(Text(cell(value)) for value in row.values()))
    return table


def _columns(
    shown: Sequence[Match], query: ast.Query, hidden: Sequence[str]
) -> dict[str, list[Any]]:
    if query.returns is not None:
        return {name: [match[name] for match in shown] for name in item_names(query)}
    columns: dict[str, list[Any]] = {
        "start": [match.start for match in shown],
        "end": [match.end for match in shown],
    }
    if shown and shown[0].confidence is not None:
        columns["confidence"] = [round(match.confidence or 0.0, 4) for match in shown]
    if shown and shown[0].timed_out is not None:
        columns["timed_out"] = [match.timed_out for match in shown]
    used = sorted(attributes_named(query, whole_events=False) or ())
    for component in _positives(query):
        without = hidden if len(component.types) == 1 else hidden[:1]
        name = component.variable
        columns[print_pattern(component)] = [_events(match, name, without, used) for match in shown]
    return columns


def _positives(query: ast.Query) -> list[ast.Component]:
    """The components that are not negated, the first for each variable."""
    parts = [part for part, is_negated in ast.components(query.pattern) if not is_negated]
    return list({part.variable: part for part in reversed(parts)}.values())[::-1]


def _widths(
    columns: Mapping[str, list[Any]], texts: Mapping[str, list[str]], room: int
) -> dict[str, int]:
    """The width of each column that fits.

    Only strings are cut, all to about the same width. Start and end are the first to be left out.
    """
    wanted: dict[str, int] = {}
    widths: dict[str, int] = {}
    for name in sorted(columns, key=lambda name: name in ("start", "end")):
        wanted[name] = max(map(len, (visible(name), *texts[name])))
        is_string = any(isinstance(value, str | list | dict) for value in columns[name])
        least = min(wanted[name], LEAST_STRING_WIDTH) if is_string else wanted[name]
        gap = GAP if widths else 0
        if room >= least + gap or not widths:
            widths[name] = min(least, room)
            room -= least + gap
    while room > 0 and (cut := [name for name in widths if widths[name] < wanted[name]]):
        for name in sorted(cut, key=lambda name: widths[name])[:room]:
            widths[name] += 1
            room -= 1
    return widths


def _cells(values: Sequence[Any]) -> list[str]:
    """The values of a column; all times have the digits that the most exact one needs."""
    times = [value.microsecond for value in values if isinstance(value, datetime)]
    if not any(times):
        return [cell(value) for value in values]
    exact = "milliseconds" if all(each % 1_000 == 0 for each in times) else "microseconds"
    return [
        value.isoformat(" ", exact) if isinstance(value, datetime) else cell(value)
        for value in values
    ]


def cell(value: Any) -> str:
    """A value as short text.

    >>> cell(datetime(2024, 5, 1, 9, 30, 0, 250000)), cell([1, None]), cell(0.1 + 0.2)
    ('2024-05-01 09:30:00.25', '1, –', '0.3')
    """
    match value:
        case None:
            return ABSENT
        case bool():
            return str(value).lower()
        case float():
            return f"{value:.10g}"
        case datetime():
            text = value.isoformat(sep=" ")
            return text.rstrip("0") if value.microsecond and value.tzinfo is None else text
        case date() | timedelta():
            return str(value)
        case dict():
            return _attributes(value)
        case list():
            return shortened(", ".join(map(cell, value)))
    return visible(shortened(str(value)))


def _events(match: Match, variable: str, hidden: Sequence[str], used: Sequence[str]) -> str | None:
    """The rows of a variable's events, and their attributes: first those that the query uses."""
    rows = match.bindings.get(variable)
    if rows is None:
        return None
    event = match[variable]
    if not isinstance(rows, list):
        place = f"row {rows}" if isinstance(rows, int) else rows
        attributes = _attributes(event, hidden, used)
        return f"{place}: {attributes}" if attributes else place
    lists = [
        f"{visible(name)} {_listed([cell(each.get(name)) for each in event])}"
        for name in used
        if name not in hidden and any(each.get(name) is not None for each in event)
    ]
    counted = f" ({len(rows)} events)" if len(rows) > MOST_ROWS_NAMED else ""
    named = f"{'row' if len(rows) == 1 else 'rows'} {_listed(list(map(str, rows)))}{counted}"
    return ": ".join([named, "; ".join(lists)]) if lists else named


def _listed(texts: Sequence[str]) -> str:
    more = f" … {texts[-1]}" if len(texts) > MOST_ROWS_NAMED else ""
    return ", ".join(texts[:MOST_ROWS_NAMED]) + more


def _attributes(
    event: Mapping[str, Any], hidden: Sequence[str] = (), used: Sequence[str] = ()
) -> str:
    names = [name for name in event if name not in hidden and event[name] is not None]
    names.sort(key=lambda name: name not in used)
    most = max(MOST_ATTRIBUTES, sum(name in used for name in names))
    return ", ".join(f"{visible(name)} {cell(event[name])}" for name in names[:most])
