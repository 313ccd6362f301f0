"""The result of a clause: rows with the columns that SQL gives it."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cepheid.matches.matches import count_text
from cepheid.matches.shapes.flat import dicts
from cepheid.matches.shapes.shown import ROWS, WIDTH, check_rows, shown_count, shown_table
from cepheid.row_patterns.streams.match_ids import MATCH_ID, refuse_own_id
from cepheid.visible import html_text, visible

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

_SHOWN = 10


class RowMatches:
    """The rows that ``MATCH_RECOGNIZE`` gives: one for each match, or all rows of the matches.

    ``count`` is the number of matches, empty ones included.

    >>> import cepheid as cep
    >>> rises = cep.query("MATCH_RECOGNIZE (ORDER BY t MEASURES UP.x AS x PATTERN (S UP) "
    ...                   "DEFINE UP AS UP.x > S.x)")
    >>> found = rises.match({"t": [1, 2, 3, 4], "x": [5, 8, 6, 7]})
    >>> len(found), found.count, found.columns
    (2, 2, ['x'])
    >>> found[0], found.to_arrow()["x"].to_pylist()
    ({'x': 8}, [8, 7])
    """

    def __init__(self, table: pa.Table, rows: int, count: int) -> None:
        self._table = table
        self._rows = rows
        self.count = count

    def with_ids(self, ids: pa.Array) -> RowMatches:
        """The same with a column ``match_id``, the last one."""
        refuse_own_id(self.columns)
        columns = dict(zip(self.columns, self._table.columns, strict=True))
        return RowMatches(pa.table({**columns, MATCH_ID: ids}), self._rows, self.count)

    def __len__(self) -> int:
        return self._rows

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.to_dicts())

    def __getitem__(self, place: int) -> dict[str, Any]:
        """One row, counted from 0, or from the end if negative."""
        place = operator.index(place)
        if not -len(self) <= place < len(self):
            raise IndexError(f"there is no row {place}: there are {len(self)}")
        first = place % len(self)
        return self._dicts(self._table.slice(first, 1), 1)[0]

    def __repr__(self) -> str:
        shown = [visible(repr(row)) for row in self._first()]
        more = len(self) - len(shown)
        count = count_text(self.count)
        if len(self) != self.count:
            count += f", {len(self)} row{'' if len(self) == 1 else 's'}"
        return "\n".join([count, *shown, *([f"… and {more} more"] if more else [])])

    def _repr_html_(self) -> str:
        """What a notebook shows: the number of rows, and the first ones."""
        rows = [self.columns, *([str(each) for each in row.values()] for row in self._first())]
        cells = [
            "".join(f"<{tag}>{html_text(cell)}</{tag}>" for cell in row)
            for tag, row in zip(["th", *["td"] * len(rows)], rows, strict=False)
        ]
        table = "".join(f"<tr>{row}</tr>" for row in cells)
        return f"<p>{html_text(repr(self).splitlines()[0])}</p><table>{table}</table>"

    @property
    def columns(self) -> list[str]:
        """The names of the columns of the result."""
        return list(self._table.column_names)

    @property
    def arrow_schema(self) -> pa.Schema:
        """The columns of the result, with their types."""
        return self._table.schema

    def show(self, n: int = ROWS, truncate: int | None = WIDTH) -> None:
        """Print the first ``n`` rows as a table; values have at most ``truncate`` characters.

        >>> import cepheid as cep
        >>> pairs = cep.query("MATCH_RECOGNIZE (ORDER BY t MEASURES B.t AS t PATTERN (A B))")
        >>> pairs.match({"t": [1, 2, 3]}).show()
        t
        -
        2
        1 row
        """
        first = self._dicts(self._table.slice(0, check_rows(n)), min(len(self), n))
        print(shown_table(first, self.columns, truncate))
        print(shown_count(len(first), len(self), "rows"))

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table."""
        return self._table

    def to_batches(self, size: int | None = None) -> Iterator[pa.RecordBatch]:
        """The rows as Arrow batches."""
        yield from self._table.combine_chunks().to_batches(size)

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a pandas DataFrame."""
        return self._table.to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """The rows as a Polars DataFrame."""
        import polars

        frame = polars.from_arrow(self._table)
        assert isinstance(frame, polars.DataFrame)
        return frame

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as dicts."""
        return self._dicts(self._table, len(self))

    def _first(self) -> list[dict[str, Any]]:
        return self._dicts(self._table.slice(0, _SHOWN), min(len(self), _SHOWN))

    @staticmethod
    def _dicts(table: pa.Table, count: int) -> list[dict[str, Any]]:
        return dicts(table) if table.num_columns else [{} for _ in range(count)]


class RowMatchStream:
    """The rows that ``MATCH_RECOGNIZE`` gives, computed while they are read; only once.

    ``found`` is the number of matches so far.
    """

    def __init__(self, parts: Iterator[RowMatches]) -> None:
        self.found = 0
        self._parts = self._counted(parts)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for part in self._parts:
            yield from part

    def to_batches(self, size: int | None = None) -> Iterator[pa.RecordBatch]:
        """The rows as Arrow batches."""
        for part in self._parts:
            yield from part.to_batches(size)

    def _counted(self, parts: Iterator[RowMatches]) -> Iterator[RowMatches]:
        for part in parts:
            self.found += part.count
            yield part
