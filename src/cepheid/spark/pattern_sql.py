"""Spark SQL in which tables, views and subqueries are followed by ``MATCH_RECOGNIZE ( … )``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from cepheid.errors import DEFAULT_SOURCE
from cepheid.language.naming import ParameterValue
from cepheid.language.parser import NO_PARAMETERS
from cepheid.row_patterns.sql.statements import Statement, Step, run, split
from cepheid.row_patterns.sql.tokens import SPARK


def sql(
    spark: SparkSession,
    text: str,
    *,
    parameters: Mapping[str, ParameterValue] = NO_PARAMETERS,
    source: str = DEFAULT_SOURCE,
    **keywords: Any,
) -> DataFrame:
    """The result of a Spark SQL statement in which relations may have ``MATCH_RECOGNIZE ( … )``.

    A clause comes after a table, view or subquery in FROM, before its alias. Spark runs everything
    around it, and cepheid runs the clause over the rows of its input, as ``query.match`` does. A
    clause can be in a subquery, in a common table expression, and in the input of another clause.
    Inside the clause, ``"name"`` is a quoted name; outside, Spark's rules apply.

    Args:
        spark: the session.
        text: one statement; without a clause it is the same as ``spark.sql(text)``.
        parameters: values of the bare names in clauses.
        source: the name of the text in error messages.
        keywords: ``time_unit``, ``tie_break``, ``max_steps`` and ``evaluation`` of ``query.match``.

    Raises:
        QueryError: a clause has faults; places are those in the text.

    Example::

        cep.spark.sql(spark, '''
            SELECT m.symbol, m.low, c.country
            FROM ticks MATCH_RECOGNIZE (
                PARTITION BY symbol ORDER BY ts
                MEASURES LAST(DOWN.price) AS low
                PATTERN (S DOWN+) DEFINE DOWN AS price < PREV(price)
            ) AS m JOIN companies c ON c.symbol = m.symbol
        ''')
    """
    statement = split(text, SPARK, source=source, parameters=parameters)
    found: DataFrame = run(statement, _Session(spark), **keywords)
    return found


class _Session:
    """Runs SQL that names DataFrames."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._named: dict[str, Any] = {}

    def read(self, step: Step) -> DataFrame:
        return self._sql(step.input)

    def add(self, name: str, result: DataFrame) -> None:
        self._named[name] = result

    def finish(self, statement: Statement) -> DataFrame:
        view = statement.view
        if view is None:
            return self._sql(statement.sql)
        # Spark keeps the text of a view that SQL creates, and the plan of one that a DataFrame
        # does: the text names results that only this statement knows.
        frame = self._sql(view.query)
        frame = frame.toDF(*view.columns) if view.columns else frame
        scope = "GlobalTempView" if view.is_global else "TempView"
        getattr(frame, f"create{'OrReplace' if view.replaces else ''}{scope}")(view.name)
        return frame.limit(0).select()

    def _sql(self, text: str) -> DataFrame:
        """Spark makes views of the DataFrames in a text, and drops them when it has read it."""
        used = {name: frame for name, frame in self._named.items() if name in text}
        if not used:
            return self._spark.sql(text)
        text = text.replace("{", "{{").replace("}", "}}")
        for name in used:
            text = text.replace(name, f"{{{name}}}")
        return self._spark.sql(text, **used)
