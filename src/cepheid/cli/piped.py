"""Events from stdin, matched as they arrive: ``tail -f log | cepheid match rule.sase -``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from cepheid import CompiledQuery, CompiledScript
from cepheid.analysis.needs import attributes_named
from cepheid.cli.formats import Format, Output, write_matches, write_tables
from cepheid.errors import EventError, list_words, plural, warn
from cepheid.events.read_options import ReadOptions
from cepheid.language import syntax as ast
from cepheid.schema import Kind
from cepheid.sessions.requested_output import RequestedOutput

if TYPE_CHECKING:
    import pyarrow as pa

    from cepheid.events.sources.text_stream import TextStream
    from cepheid.matches.matches import Matches

STREAMED = (Format.JSONL, Format.CSV, Format.ROWS)
"""The formats that are written while events arrive."""


def can_stream(
    query: CompiledQuery | CompiledScript, output: Output, keywords: Mapping[str, Any]
) -> bool:
    """Whether matches are written as soon as their events have arrived.

    Ties are broken among all events of a time, and the best matches are chosen among all of them.
    """
    chooses_among_all = keywords["tie_break"] or keywords.get("top_k") is not None
    if chooses_among_all:
        return False
    said = RequestedOutput.by_keywords(keywords)
    trees = [each.query for each in query.script.queries]
    if any(said.of(tree).rule().waits_for_end(tree) for tree in trees):
        return False
    if isinstance(query, CompiledScript):
        return output.format is Format.JSONL and output.limit is None
    return output.format in STREAMED and output.encoding is not Format.PARQUET


def piped_events(
    query: CompiledQuery | CompiledScript, output: Output, keywords: Mapping[str, Any]
) -> TextStream:
    """The events on stdin, with the columns that are needed."""
    import pyarrow as pa

    from cepheid.events.sources.text_stream import TextStream

    read = ReadOptions.of(keywords)
    types: dict[str, pa.DataType] = {}
    if read.schema is not None:
        wanted = {Kind.STRING: pa.string(), Kind.FLOAT: pa.float64()}
        kinds = read.schema.attributes.items()
        types = {name: wanted[kind] for name, kind in kinds if kind in wanted}
    types |= dict.fromkeys(read.text_format().strings, pa.string())
    trees = [each.query for each in query.script.queries if not each.reads]
    named: set[str] = set()
    for tree in trees:
        named |= attributes_named(tree, whole_events=False) or set()
    needed = None
    if isinstance(query, CompiledQuery):
        only_rows = output.format is Format.JSONL and query.tree.returns is None
        whole = True if output.format is Format.ROWS else False if only_rows else None
        attributes = attributes_named(query.tree, whole_events=whole)
        needed = None if attributes is None else {*attributes, *read.columns}
    pseudo = {"LEN", "INDEX", "PARTITION_INDEX"}
    return TextStream(sys.stdin.buffer, read.sep, types, needed, named - pseudo)


def match_piped(
    query: CompiledQuery | CompiledScript,
    events: TextStream,
    keywords: Mapping[str, Any],
    output: Output,
    sink: BinaryIO,
) -> tuple[str, Any]:
    """Write each match when its last event has arrived; returns their number and the session."""
    keywords = {name: value for name, value in keywords.items() if name != "sep"}
    session: Any = query.session(**keywords)
    count = 0

    writer = _Writer(query, output, sink)
    for found in results(session, events.tables()):
        count += writer.write(found)
        sink.flush()
        if output.limit is not None and count >= output.limit:
            return f"stopped after {plural(output.limit, 'match', 'matches')} (--limit)", session
    if events.never_seen:
        noun = "attribute" if len(events.never_seen) == 1 else "attributes"
        warn(f"no event had the {noun} {list_words(sorted(map(repr, events.never_seen)))}")
    return plural(count, "match", "matches"), session


def results(session: Any, tables: Iterable[pa.Table]) -> Iterator[Any]:
    """What a session finds in each table, and at the end of the stream."""
    for table in tables:
        yield fed(session, table)
    yield session.advance()


def fed(session: Any, table: pa.Table) -> Any:
    """What a session finds; rows that come too late are explained."""
    try:
        return session.feed(table)
    except EventError as error:
        if "a batch begins before" not in str(error):
            raise
        raise EventError(
            "an event on stdin has an earlier time than events before it; stdin is matched as it "
            "arrives, in time order: sort it, or save it to a file, which is sorted when it is read"
        ) from None


class _Writer:
    """Writes matches as they are found, up to the limit."""

    def __init__(
        self, query: CompiledQuery | CompiledScript, output: Output, sink: BinaryIO
    ) -> None:
        self._query = query
        self._output = output
        self._sink = sink
        self._count = 0
        self._has_header = False

    def write(self, found: Any) -> int:
        """Write matches, and return how many."""
        before = self._count
        if isinstance(self._query, CompiledScript):
            for name, tree in self._query.queries.items():
                self._write(found[name], tree, name)
        else:
            self._write(found, self._query.tree, None)
        return self._count - before

    def _write(self, matches: Matches, tree: ast.Query, name: str | None) -> None:
        limit = self._output.limit
        left = None if limit is None else limit - self._count
        chosen = matches if left is None else matches[:left]
        if self._output.format is Format.JSONL:
            write_matches(chosen, tree, self._output, self._sink, name)
        elif len(chosen) or not self._has_header:
            self._write_tables(chosen)
        self._count += len(chosen)

    def _write_tables(self, matches: Matches) -> None:
        tables = iter([matches.arrow_schema.empty_table(), matches.to_arrow()])
        if self._output.format is Format.ROWS:
            tables = matches.row_tables(self._count)
        write_tables(tables, self._output, self._sink, has_header=not self._has_header)
        self._has_header = True
