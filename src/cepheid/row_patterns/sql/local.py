"""``cep.sql``: statements with ``MATCH_RECOGNIZE`` over tables in memory and files."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from cepheid.errors import DEFAULT_SOURCE, OptionError
from cepheid.language.naming import ParameterValue
from cepheid.language.parser import NO_PARAMETERS
from cepheid.row_patterns.settings import MAX_STEPS
from cepheid.row_patterns.sql.statements import run, split
from cepheid.row_patterns.sql.tokens import DUCKDB

if TYPE_CHECKING:
    import pyarrow as pa

_NO_TABLES: Mapping[str, Any] = MappingProxyType({})


def sql(
    text: str,
    tables: Mapping[str, Any] = _NO_TABLES,
    /,
    *,
    parameters: Mapping[str, ParameterValue] = NO_PARAMETERS,
    time_unit: str | None = None,
    max_steps: int = MAX_STEPS,
    source: str = DEFAULT_SOURCE,
    **named_tables: Any,
) -> pa.Table:
    """The result of a SQL statement in which relations may have ``MATCH_RECOGNIZE ( … )``.

    DuckDB runs the SQL around the clauses (``pip install 'cepheid[sql]'``), and cepheid the
    clauses. A clause comes after a table or subquery in FROM, before its alias. It can be in a
    subquery, in a common table expression, and in the input of another clause.

    Args:
        text: one statement. It can also read files, with functions and paths that DuckDB knows.
        tables: the tables by their names in the statement, as :meth:`RowPatternQuery.match` takes
            them: Arrow, pandas, Polars, columns, dicts or paths of files.
        parameters: values of the bare names in clauses.
        time_unit: what numbers count in the first column of ORDER BY, for WITHIN.
        max_steps: how many steps the search for a match from one row may take.
        source: the name of the text in error messages.
        named_tables: more tables, by name.

    Raises:
        EvaluationError: DuckDB cannot run the statement.
        OptionError: DuckDB is not installed.
        QueryError: a clause has faults; places are those in the text.

    >>> import cepheid as cep
    >>> ticks = {"ts": [1, 2, 3, 4], "symbol": ["X"] * 4, "price": [9, 7, 5, 6]}
    >>> names = [{"symbol": "X", "name": "Xylo"}]
    >>> found = cep.sql('''
    ...     SELECT name, falls FROM ticks MATCH_RECOGNIZE (
    ...         PARTITION BY symbol ORDER BY ts
    ...         MEASURES count(DOWN.*) AS falls
    ...         PATTERN (S DOWN+) DEFINE DOWN AS price < PREV(price)
    ...     ) AS m JOIN names USING (symbol)
    ... ''', ticks=ticks, names=names)
    >>> found.to_pylist()
    [{'name': 'Xylo', 'falls': 2}]
    """
    if not isinstance(text, str):
        raise OptionError(f"a statement is a string, not {type(text).__name__}")
    if not isinstance(tables, Mapping):
        raise OptionError(f"tables are a mapping from names, not {type(tables).__name__}")
    statement = split(text, DUCKDB, source=source, parameters=parameters)
    try:
        import duckdb
    except ImportError:
        raise OptionError("cep.sql needs DuckDB: pip install 'cepheid[sql]'") from None
    from cepheid.events.sources.tables import read_source
    from cepheid.row_patterns.sql.database import Database

    given = {name: read_source(table) for name, table in {**tables, **named_tables}.items()}
    with duckdb.connect() as connection:
        database = Database(connection, duckdb.Error)
        for name, table in given.items():
            database.register(name, table)
        found: pa.Table = run(statement, database, time_unit=time_unit, max_steps=max_steps)
    return found
