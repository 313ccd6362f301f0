"""DuckDB as what runs the SQL around clauses; it is not imported here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.errors import EvaluationError
from cepheid.events.columns.arrow_arrays import one_array
from cepheid.events.sources.reading import interruptible
from cepheid.row_patterns.columns import named_columns
from cepheid.row_patterns.printer import quoted
from cepheid.row_patterns.results import RowMatches
from cepheid.row_patterns.sql.statements import Statement, Step
from cepheid.schema import Schema

_SETTINGS = ("SET TimeZone = 'UTC'", "SET python_enable_replacements = false")
"""The same result on every machine, and no tables but those that are named."""
_INPUT_ALONE = (
    "\nThe input of MATCH_RECOGNIZE is run on its own, and sees no other table of the statement"
)
_NO_COLUMN = "cepheid.no_column"
"""The column of the result of a clause that has none; it is not in the result of a statement."""
_INTERVAL = np.dtype([("months", "<i4"), ("days", "<i4"), ("nanoseconds", "<i8")])
_MICROSECONDS_PER_DAY = 86_400_000_000


class Database:
    """Runs SQL that names tables, in a connection to DuckDB."""

    def __init__(self, connection: Any, error: type[Exception]) -> None:
        self._connection = connection
        self._error = error
        for setting in _SETTINGS:
            connection.execute(setting)

    def register(self, name: str, table: pa.Table) -> None:
        """Give a table its name."""
        with self._reporting():
            self._connection.register(name, table)

    def read(self, step: Step) -> pa.Table:
        """The columns of an input that its clause needs."""
        with self._reporting(is_input=True):
            relation = self._asked(lambda: self._connection.sql(step.input))
            empty = _with_durations(relation.limit(0).to_arrow_table())
        step.query.check(Schema.from_arrow(empty.schema))
        names = empty.column_names
        needed = named_columns(step.query.tree, names) or names[:1]
        with self._reporting():
            read = relation.project(", ".join(map(quoted, needed)))
            return _with_durations(self._asked(read.to_arrow_table))

    def add(self, name: str, result: RowMatches) -> None:
        """Give the result of a clause its name."""
        table = result.to_arrow()
        if not result.columns:  # DuckDB has no tables without columns.
            table = pa.table({_NO_COLUMN: pa.nulls(len(result), pa.int8())})
        self.register(name, table)

    def finish(self, statement: Statement) -> pa.Table:
        """The result of the statement."""
        with self._reporting():
            relation = self._asked(lambda: self._connection.sql(statement.sql))
            if relation is None:  # Not every statement has a result.
                return pa.table({})
            found = _with_durations(self._asked(relation.to_arrow_table))
        return found.select(
            [ix for ix, name in enumerate(found.column_names) if name != _NO_COLUMN]
        )

    def _asked(self, ask: Callable[[], Any]) -> Any:
        """What DuckDB answers; Ctrl-C stops it."""
        return interruptible(ask, self._connection.interrupt)

    @contextmanager
    def _reporting(self, *, is_input: bool = False) -> Iterator[None]:
        try:
            yield
        except self._error as error:
            hint = _INPUT_ALONE if is_input and type(error).__name__ == "BinderException" else ""
            raise EvaluationError(f"DuckDB cannot run the statement: {error}{hint}") from None


def _with_durations(table: pa.Table) -> pa.Table:
    """The table with its intervals as durations, unless they have months: DuckDB has one type."""
    for index, field in enumerate(table.schema):
        if field.type != pa.month_day_nano_interval():
            continue
        array = one_array(table.column(index))
        parts = np.frombuffer(array.buffers()[1] or b"", _INTERVAL)
        parts = parts[array.offset : array.offset + len(array)]
        present = array.is_valid().to_numpy(zero_copy_only=False)
        if not parts["months"][present].any():
            days = parts["days"].astype(np.int64)
            microseconds = days * _MICROSECONDS_PER_DAY + parts["nanoseconds"] // 1000
            durations = pa.array(microseconds, pa.int64(), mask=~present).cast(pa.duration("us"))
            table = table.set_column(index, field.name, durations)
    return table
