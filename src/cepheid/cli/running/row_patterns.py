"""``MATCH_RECOGNIZE`` on the command line."""

from __future__ import annotations

import sys
import time as clock
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO

import typer

from cepheid import RowPatternQuery
from cepheid.cli.formats import Format, Output, write_tables
from cepheid.cli.inputs import STDIN, Source
from cepheid.cli.named_options import OF_MATCH, Groups, named_values
from cepheid.cli.piped import STREAMED, fed, results
from cepheid.cli.reporting import busy, say, took
from cepheid.cli.request import Request
from cepheid.cli.results import MOST_TABLE_ROWS, counts_text, found, write_rows, write_text
from cepheid.errors import EvaluationError, list_words, plural
from cepheid.files.output import open_output
from cepheid.row_patterns.printer import print_pattern
from cepheid.row_patterns.streams.bounds import stream_faults

if TYPE_CHECKING:
    from cepheid.events.sources.text_stream import TextStream
    from cepheid.row_patterns.results import RowMatches

_UNUSED = {
    "time": "--time", "type": "--type", "tie_break": "--tie-break", "schema": "--schema",
}  # fmt: skip
_TAKEN = ("sep", "max_memory")
"""The named options of clauses."""

_AT_THE_END = "warning: the query is run at the end of the input, not while it arrives: {}"


def refuse_sase_options(
    request: Request, flags: Mapping[str, object], groups: Groups, *, on_spark: bool = False
) -> None:
    """Refuse options that say nothing about MATCH_RECOGNIZE, which names its columns itself."""
    usual = Request()
    if on_spark:
        usual = replace(usual, tie_break=request.tie_break)
    given = [flag for flag, value in flags.items() if value]
    given += [
        flag for name, flag in _UNUSED.items() if getattr(request, name) != getattr(usual, name)
    ]
    given += [
        f"--{name.replace('_', '-')}"
        for name in named_values(request.option or (), groups)
        if name not in (*_TAKEN, "spreadsheet") or (on_spark and name == "sep")
    ]
    if given:
        raise typer.BadParameter(f"{given[0]} is for SASE+ queries, not for MATCH_RECOGNIZE")


def row_keywords(request: Request, groups: Groups) -> dict[str, Any]:
    """The keywords of ``match`` for a clause that the command line gives."""
    said = named_values(request.option or (), groups)
    taken = {name: said[name] for name in _TAKEN if name in said}
    return {"time_unit": request.time_unit, "evaluation": request.evaluation, **taken}


def match_rows(
    query: RowPatternQuery, request: Request, source: Source | None, output: Output, count: bool
) -> None:
    """Write the rows that a clause gives, or the number of its matches.

    Rows on stdin are matched as they arrive, unless the clause or the format needs all of them.
    """
    from cepheid.events.sources.text_stream import TextStream  # it loads Arrow

    keywords = row_keywords(request, OF_MATCH)
    started = clock.perf_counter()
    if request.paths == [STDIN] and not count and output.encoding in STREAMED:
        refusals = [fault.message for fault in stream_faults(query.tree)]
        if not refusals:
            events = TextStream(sys.stdin.buffer, keywords.pop("sep", None))
            with open_output(output.file) as sink:
                written = _match_piped(query, keywords, events, output, sink)
            say(f"{written} in {took(clock.perf_counter() - started)}")
            return
        say(_AT_THE_END.format(list_words(refusals)))
    source = request.source() if source is None else source
    with busy("Matching"):
        if count:
            number = query.count(source, **keywords)
            write_text(counts_text(number), output.file)
            return
        result = query.match(source, **keywords)
    limit = output.limit
    if limit is None and output.format is Format.TABLE:
        limit = MOST_TABLE_ROWS
    table = result.to_arrow()
    with open_output(output.file) as sink:
        write_rows(table if limit is None else table.slice(0, limit), output, sink)
    shown = len(result) if limit is None else min(limit, len(result))
    written = found(result.count, result.count)
    if len(result) != result.count or shown < len(result):
        hidden = len(result) - shown
        written += f", {plural(len(result), 'row')}" + (
            f", {hidden:,} not shown," if hidden else ""
        )
    say(f"{written} in {took(clock.perf_counter() - started)}")


def _match_piped(
    query: RowPatternQuery,
    keywords: Mapping[str, Any],
    events: TextStream,
    output: Output,
    sink: BinaryIO,
) -> str:
    """Write the rows of each match when it is decided; what was written."""
    import pyarrow as pa

    session = query.session(**keywords)
    count, rows, has_header, limit = 0, 0, False, output.limit

    def parts() -> Iterator[RowMatches]:
        tables = events.tables()
        first = next(tables)
        try:
            yield fed(session, first)
        except EvaluationError as error:
            say(_AT_THE_END.format(error))
            yield query.match(pa.concat_tables([first, *tables]), **keywords)
            return
        yield from results(session, tables)

    for result in parts():
        table = result.to_arrow()
        table = table if limit is None else table.slice(0, limit - rows)
        count += result.count
        rows += len(result) if limit is None else min(len(result), limit - rows)
        if len(result) or not has_header:
            empty = table.schema.empty_table()
            write_tables(iter([empty, table]), output, sink, has_header=not has_header)
            has_header = True
        sink.flush()
        if limit is not None and rows >= limit:
            return f"stopped after {plural(rows, 'row')} (--limit)"
    return plural(count, "match", "matches") + (f", {plural(rows, 'row')}" if rows != count else "")


def rows_summary(query: RowPatternQuery) -> str:
    """A clause in one line.

    >>> import cepheid as cep
    >>> rows_summary(cep.query("match_recognize (measures a.x as x pattern (a b+))"))
    'MATCH_RECOGNIZE, pattern A B+, one row per match, 1 measure'
    """
    clause = query.tree
    rows = clause.rows.value.lower()
    measures = plural(len(clause.measures), "measure")
    return f"MATCH_RECOGNIZE, pattern {print_pattern(clause.pattern)}, {rows}, {measures}"
