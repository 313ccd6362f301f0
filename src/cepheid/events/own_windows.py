"""The own windows of negations, in ticks of a time axis."""

from __future__ import annotations

from dataclasses import replace

from cepheid.analysis.model import AnalysedQuery
from cepheid.events.time_axis import MAX_TICKS, TimeAxis
from cepheid.language import syntax as ast


def own_windows(query: ast.Query, axis: TimeAxis) -> dict[ast.Window, int]:
    """The ticks of the own window of each negation.

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


def extent_of(query: AnalysedQuery, window: int | None) -> int:
    """The window of a query; without one, as long as the time axis."""
    if window is not None:
        return window
    # A match of one event fits into any window, so that nothing has to be kept for it.
    return 1 if query.own_windows and _are_of_one_event(query) else MAX_TICKS


def _are_of_one_event(query: AnalysedQuery) -> bool:
    """Whether all matches have one event, and only negations with their own windows."""
    return all(
        len(each.components) == 1
        and not each.components[0].is_kleene
        and all(negated.own_window for negated in each.negations)
        for each in query.alternatives
    )
