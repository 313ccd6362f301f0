"""The windows that negations have of their own, in ticks of a time axis."""

from __future__ import annotations

from dataclasses import replace

from cepheid.analysis.model import AnalysedQuery
from cepheid.events.time_axis import TimeAxis
from cepheid.language import syntax as ast


def own_windows(query: ast.Query, axis: TimeAxis) -> dict[ast.Window, int]:
    """The ticks of each window that a negation has of its own.

    >>> import pyarrow as pa
    >>> from cepheid.language.parser import parse
    >>> query = parse("PATTERN SEQ(A a, ~(B b) WITHIN 2 seconds)")
    >>> list(own_windows(query, TimeAxis.of("ts", pa.timestamp("ms"))).values())
    [2000000]
    """
    found = {}
    for window in ast.own_windows(query.pattern):
        assert not isinstance(window.extent, ast.Parameter)
        found[window] = axis.window_ticks(window.extent, window.unit)
    return found


def on_axis(query: AnalysedQuery, axis: TimeAxis) -> AnalysedQuery:
    """The query with the ticks of these windows; the same one if it has none."""
    found = own_windows(query.query, axis)
    return replace(query, own_windows=found) if found else query
