"""Makes reports of a query over events, and of stored matches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from cepheid.api import CompiledQuery
from cepheid.engines.base.evaluation import AUTO
from cepheid.errors import EvaluationError, EventError
from cepheid.events.sources.spark_frames import are_spark_frames
from cepheid.events.sources.tables import read_source
from cepheid.explain.drawing import DRAWN
from cepheid.language import syntax as ast
from cepheid.matches.matches import Matches
from cepheid.report.page import Report
from cepheid.report.row_matches import DrawnMatches
from cepheid.report.timeline import draw_timeline
from cepheid.row_patterns.query import RowPatternQuery

_STREAM_KEYWORDS = (
    "time",
    "type",
    "tie_break",
    "time_unit",
    "time_format",
    "sep",
    "schema",
    "evaluation",
)


def report_query(
    query: CompiledQuery | RowPatternQuery, events: Any, *, title: str = "Matches", **keywords: Any
) -> Report:
    """A report of the matches of a query or clause; the keywords are those of ``query.match``.

    >>> import cepheid as cep
    >>> q = cep.query("PATTERN SEQ(A a, B b) WITHIN 10")
    >>> report = report_query(q, {"ts": [1, 4], "type": ["A", "B"]}, title="A, then B")
    >>> report.timeline.total, report.to_html()[:15]
    (1, '<!doctype html>')
    """
    if are_spark_frames(events):
        raise EventError(
            "a report reads events in memory, not a Spark DataFrame; give it a part of the "
            "DataFrame: df.limit(100_000).toArrow()"
        )
    if isinstance(query, RowPatternQuery):
        return _report_rows(query, events, title, keywords)
    matches = query.match(events, whole_events=True, **keywords)
    fields = {name: keywords[name] for name in ("time", "type") if name in keywords}
    known = {name: keywords[name] for name in _STREAM_KEYWORDS if name in keywords}
    schema, wanted = matches.schema, keywords.get("evaluation", AUTO)
    try:
        automata = query.automaton(
            "svg", schema=schema, evaluation=wanted if wanted in DRAWN else AUTO
        )
    except EvaluationError:
        automata = None
    return Report(
        title,
        draw_timeline(with_events(matches, query.tree), len(matches), **fields),
        query=str(query),
        plan=query.explain(schema, evaluation=wanted).partition("\n\n")[2],
        automata=automata,
        metrics=matches.metrics.to_dict(),
        diagnosis=query.diagnose(events, **known),
    )


def _report_rows(
    query: RowPatternQuery, events: Any, title: str, keywords: dict[str, Any]
) -> Report:
    drawn = DrawnMatches(query, events, keywords)
    try:
        automaton = query.automaton("svg")
    except EvaluationError:
        automaton = None
    return Report(
        title,
        draw_timeline(drawn.batches(), len(drawn), time=drawn.time, type=None),
        query=str(query),
        plan=query.explain().partition("\n\n")[2],
        automata=automaton,
        diagnosis=str(query.diagnose(events, **keywords)).partition("\n\n")[2],
    )


def report_file(path: str, *, time: str = "ts", type: str | None = "type") -> Report:
    """A report of matches in a file written by ``cepheid match``."""
    table = read_source(path)
    title = Path(path).name
    return Report(title, draw_timeline(table.to_batches(), table.num_rows, time=time, type=type))


def with_events(matches: Matches, tree: ast.Query) -> Iterator[pa.RecordBatch]:
    """The events of each match, and its RETURN items."""
    if tree.returns is None:
        yield from matches.to_batches()
        return
    for events, items in zip(matches.with_events().to_batches(), matches.to_batches(), strict=True):
        columns = dict(zip(events.schema.names, events.columns, strict=True))
        for name, values in zip(items.schema.names, items.columns, strict=True):
            taken = name in columns and columns[name] is not values
            if name not in ("start", "end"):
                columns[f"{name} (returned)" if taken else name] = values
        yield pa.record_batch(columns)
