"""A ``MATCH_RECOGNIZE`` clause over a stream in a Python worker of Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from cepheid.api import query
from cepheid.language.limits import NO_LIMITS
from cepheid.row_patterns.compiled.sorted_table import key_of
from cepheid.row_patterns.query import RowPatternQuery
from cepheid.row_patterns.results import RowMatches
from cepheid.row_patterns.settings import Settings
from cepheid.row_patterns.streams.session import RowSession
from cepheid.spark.worker.worker_settings import Additions, refuse_zip_file

ROW = "cepheid row"
"""The column that workers send if the result has none: Spark counts rows by their columns."""


@dataclass(frozen=True)
class RowWorkerSettings:
    """A clause and how it is run, as it travels to the workers: plain values and functions.

    Rows of equal time are ordered by the other columns of ORDER BY, each with whether its nulls are
    first, and then by ``other_ties``. ``columns`` are the columns that the clause needs.
    ``result_schema`` is the schema of the rows that the workers send.
    """

    text: str
    keywords: Mapping[str, Any]
    time: str
    ordered_by: tuple[tuple[str, bool], ...]
    other_ties: tuple[str, ...]
    columns: tuple[str, ...]
    result_schema: pa.Schema
    additions: Additions

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

    def compiled(self) -> RowPatternQuery:
        """The clause, compiled in this process."""
        refuse_zip_file()
        self.additions.register()
        # The driver has checked the limits that the user gave.
        compiled = query(self.text, limits=NO_LIMITS)
        assert isinstance(compiled, RowPatternQuery)
        return compiled


class RowWorker:
    """A session that answers with batches of exactly the schema that Spark was given."""

    def __init__(
        self, settings: RowWorkerSettings, snapshot: bytes | memoryview | None = None
    ) -> None:
        tree = settings.compiled().tree
        self.session = RowSession(tree, Settings.of(settings.keywords), snapshot)
        self._schema = settings.result_schema

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
        if not len(found):
            return
        table = found.to_arrow()
        if not table.num_columns:
            table = pa.table({ROW: pa.nulls(len(found), pa.bool_())})
        yield from table.cast(self._schema).combine_chunks().to_batches()
