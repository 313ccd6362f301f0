"""Matches as a notebook shows them: their number, the first few, and a timeline."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from cepheid.errors import plural
from cepheid.visible import html_text

if TYPE_CHECKING:
    from cepheid.matches.compressed import CompressedMatches
    from cepheid.matches.matches import Match, Matches

ROWS = 10
BARS = 60
_WIDTH, _LANE = 640, 7
_CELL = 'style="text-align:left;padding:2px 12px 2px 0"'


def matches_html(matches: Matches) -> str:
    """The matches as HTML: a sentence, a timeline of the first ones, and a table.

    >>> import cepheid as cep
    >>> events = {"ts": [1, 2], "type": ["A", "B"], "x": [5, 7]}
    >>> html = matches_html(cep.query("PATTERN SEQ(A a, B b) RETURN b.x AS x").match(events))
    >>> "1 match" in html, "<svg" in html, "<td" in html
    (True, True, True)
    """
    first = list(islice(matches, BARS))
    count = plural(len(matches), "match", "matches")
    if not first:
        return f"<p>{count}</p>"
    names = ["start", "end", *(name for name in first[0].values if name not in ("start", "end"))]
    header = "".join(f"<th {_CELL}>{html_text(name)}</th>" for name in names)
    rows = "".join(f"<tr>{_cells(match, names)}</tr>" for match in first[:ROWS])
    hidden = len(matches) - min(len(first), ROWS)
    more = f"<p>… and {hidden:,} more</p>" if hidden else ""
    return f"<p>{count}</p>{_bars(first)}<table><tr>{header}</tr>{rows}</table>{more}"


def script_html(results: Mapping[str, Matches]) -> str:
    """The matches of each query of a script, under its name."""
    return "".join(
        f"<h4>{html_text(name)}</h4>{matches_html(matches)}" for name, matches in results.items()
    )


def compressed_html(matches: CompressedMatches) -> str:
    """The number of compressed matches, and the first one."""
    sentence = f"<p>{html_text(repr(matches))}</p>"
    return sentence + "".join(
        f"<p>The first one:</p>{match_html(each)}" for each in islice(matches, 1)
    )


def match_html(match: Match) -> str:
    """One match as HTML: its times, and each of its columns."""
    values = {"start": match.start, "end": match.end}
    values |= {} if match.confidence is None else {"confidence": match.confidence}
    values |= {} if match.timed_out is None else {"timed_out": match.timed_out}
    values |= {name: value for name, value in match.values.items() if name not in values}
    rows = "".join(
        f"<tr><th {_CELL}>{html_text(name)}</th><td {_CELL}>{html_text(_shown(value))}</td></tr>"
        for name, value in values.items()
    )
    return f"<table>{rows}</table>"


def _cells(match: Match, names: list[str]) -> str:
    values = {**match.values, "start": match.start, "end": match.end}
    return "".join(f"<td {_CELL}>{html_text(_shown(values[name]))}</td>" for name in names)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        value = ", ".join(f"{name}={each}" for name, each in value.items() if each is not None)
    text = str(value) if not isinstance(value, list) else f"{len(value)}: {value}"
    return text if len(text) <= 80 else text[:79] + "…"


def _bars(matches: list[Match]) -> str:
    """The matches as bars over time, one below the other."""
    low = min(match.start for match in matches)
    span = max(match.end for match in matches) - low
    height = len(matches) * _LANE + 4
    bars = []
    for lane, match in enumerate(matches):
        left = _share(match.start - low, span) * (_WIDTH - 4)
        right = _share(match.end - low, span) * (_WIDTH - 4)
        bars.append(
            f'<rect x="{left:.1f}" y="{lane * _LANE + 2}" width="{max(right - left, 2):.1f}" '
            f'height="{_LANE - 3}" rx="1.5" fill="#2563eb"/>'
        )
    return (
        f'<svg width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}" '
        f'role="img" aria-label="the first matches over time">{"".join(bars)}</svg>'
    )


def _share(part: Any, whole: Any) -> float:
    return float(part / whole) if whole else 0.0
