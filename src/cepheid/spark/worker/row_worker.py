"""A ``MATCH_RECOGNIZE`` clause in a Python worker of Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from cepheid.api import query
from cepheid.language.limits import NO_LIMITS
from cepheid.row_patterns.compiled.row_order import key_of
from cepheid.row_patterns.query import RowPatternQuery
from cepheid.row_patterns.results import RowMatches
from cepheid.row_patterns.settings import Settings
from cepheid.row_patterns.streams.session import RowSession
from cepheid.spark.worker.worker_settings import Additions, begin_worker, memory_here

ROW = "cepheid row"
"""The column that workers send if the result has none: Spark counts rows by their columns."""


def sent_schema(result: pa.Schema) -> pa.Schema:
    """The columns that workers send for a result with these columns."""
    return result if len(result) else pa.schema([(ROW, pa.bool_())])


@dataclass(frozen=True)
class WorkerClause:
    """A clause and how it is run, as it travels to the workers: plain values and functions.

    ``result_schema`` is the schema of the rows that the workers send.
    """

    text: str
    keywords: Mapping[str, Any]
    result_schema: pa.Schema
    additions: Additions

    def compiled(self) -> RowPatternQuery:
        """The clause, compiled in this process."""
        begin_worker([self.additions])
        # The driver has checked the limits that the user gave.
        compiled = query(self.text, limits=NO_LIMITS)
        assert isinstance(compiled, RowPatternQuery)
        return compiled

    @property
    def keywords_here(self) -> dict[str, Any]:
        """The keywords, with the limit of memory of a worker."""
        return {**self.keywords, "max_memory": memory_here(self.keywords.get("max_memory"))}

    def sent(self, found: RowMatches) -> Iterator[pa.RecordBatch]:
        """The rows of a result in batches of exactly the schema that Spark was given."""
        table = found.to_arrow()
        if not table.num_columns:
            table = pa.table({ROW: pa.nulls(len(found), pa.bool_())})
        yield from table.cast(self.result_schema).combine_chunks().to_batches()

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The result for all rows of a worker, which arrive in order within each partition."""
        filled = [batch for batch in batches if batch.num_rows]
        if not filled:
            return
        compiled, keywords = self.compiled(), self.keywords_here
        rows = pa.Table.from_batches(filled)
        from cepheid.cache import first_time  # loads numba

        # Otherwise all workers would compile the same code at the same time.
        with first_time(f"{self.text} {self.keywords} {rows.schema}"):
            compiled.match(rows.slice(0, 0), **keywords)
        yield from self.sent(compiled.match(rows, **keywords))


@dataclass(frozen=True)
class RowWorkerSettings(WorkerClause):
    """A clause over a stream.

    Rows of equal time are ordered by the other columns of ORDER BY, each with whether its nulls are
    first, and then by ``other_ties``. ``columns`` are the columns that the clause needs.
    """

    time: str
    ordered_by: tuple[tuple[str, bool], ...]
    other_ties: tuple[str, ...]
    columns: tuple[str, ...]

    @property
    def ties(self) -> tuple[str, ...]:
        """The columns that order rows of equal time."""
        return (*(name for name, _ in self.ordered_by), *self.other_ties)

    def tie_values(self, events: pa.Table) -> list[pa.Array]:
        """What rows of equal time are ordered by: as in the session, then by others."""
        found = []
        for name, nulls_first in self.ordered_by:
            key = key_of(events.column(name))
            is_last = key.is_valid() if nulls_first else key.is_null()
            found += [is_last.cast(pa.int8()), key]
        return [*found, *(events.column(name) for name in self.other_ties)]

    def worker(self, snapshot: bytes | memoryview | None = None) -> RowWorker:
        """A session of a stream in this process: a new one, or that of a snapshot."""
        return RowWorker(self, snapshot)


class RowWorker:
    """A session that answers with batches of exactly the schema that Spark was given."""

    def __init__(
        self, settings: RowWorkerSettings, snapshot: bytes | memoryview | None = None
    ) -> None:
        tree = settings.compiled().tree
        self.session = RowSession(tree, Settings.of(settings.keywords_here), snapshot)
        self._settings = settings

    @property
    def runs(self) -> int:
        """The number of searches that wait for rows."""
        return self.session.open_searches

    def feed(self, events: pa.Table) -> Iterator[pa.RecordBatch]:
        """The rows that these rows decide."""
        yield from self._batches(self.session.feed(events))

    def advance(self, time: Any) -> Iterator[pa.RecordBatch]:
        """The rows that are decided because no row to come has an earlier time."""
        yield from self._batches(self.session.advance(time))

    def _batches(self, found: RowMatches) -> Iterator[pa.RecordBatch]:
        if len(found):
            yield from self._settings.sent(found)
