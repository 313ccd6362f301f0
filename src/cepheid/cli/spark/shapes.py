"""``--spark`` with ``--count-by`` and ``--format rows``: other shapes of the matches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cepheid import CompiledQuery
from cepheid.cli.formats import Output
from cepheid.cli.inputs import Source
from cepheid.cli.spark import spark_run
from cepheid.cli.spark.row_frames import write_found
from cepheid.language import syntax as ast

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class SparkMatch:
    """A query over files, run by Spark: what ``match`` is given, and whether workers read them."""

    query: CompiledQuery
    source: Source
    keywords: Mapping[str, Any]
    in_place: bool = False

    def frame(self, spark: SparkSession, **more: Any) -> DataFrame:
        """The matches."""
        keywords = {**self.keywords, **more}
        found: Any = spark_run.matched(spark, self.query, self.source, keywords, self.in_place)
        return found  # type: ignore[no-any-return]


def count_on_spark(master: str, run: SparkMatch, columns: Sequence[str], output: Output) -> None:
    """Write the number of matches for each combination of values, the largest first."""
    write_found(master, lambda spark: counted(run.frame(spark), columns), output)


def rows_on_spark(master: str, run: SparkMatch, output: Output) -> None:
    """Write the matches in long form; ``match`` is the id of the match."""
    tree, script = run.query.tree, run.query.script
    whole = CompiledQuery(replace(tree, returns=None), script.text, script.source)

    def found(spark: SparkSession) -> DataFrame:
        matches = replace(run, query=whole).frame(spark, match_id=True)
        matches = matches if output.limit is None else matches.limit(output.limit)
        time = run.keywords["time"]
        return long_form(matches, tree, time if isinstance(time, str) else time[0])

    write_found(master, found, replace(output, limit=None))


def counted(matches: DataFrame, columns: Sequence[str]) -> DataFrame:
    """The columns, each combination of values once, and the number of matches with it."""
    from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used

    from cepheid.matches.shapes.groups import COUNT, group_path
    from cepheid.spark.batch.arrow_schemas import arrow_schema
    from cepheid.spark.batch.frames import column

    schema = arrow_schema(matches.schema)
    keys = []
    for name in columns:
        first, *rest = group_path(schema, name)
        value = column(first)
        keys.append((value.getField(rest[0]) if rest else value).alias(name))
    names = [column(name) for name in columns]
    order = [F.desc(COUNT), *(name.asc_nulls_last() for name in names)]
    return matches.select(*keys).groupBy(*names).count().orderBy(*order)


def long_form(matches: DataFrame, query: ast.Query, time: str) -> DataFrame:
    """One row for each event of a match, in the order of their times."""
    from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used
    from pyspark.sql.types import ArrayType, DataType, StructType

    from cepheid.matches.shapes.long_form import INDEX, MATCH, VARIABLE
    from cepheid.spark.batch.arrow_schemas import MATCH_ID
    from cepheid.spark.batch.frames import column

    variables = ast.positive_variables(query.pattern)
    kinds: dict[str, StructType] = {}
    for name in variables:
        kind = matches.schema[name].dataType
        kind = kind.elementType if isinstance(kind, ArrayType) else kind
        assert isinstance(kind, StructType)
        kinds[name] = kind
    fields: dict[str, DataType] = {
        field.name: field.dataType for kind in kinds.values() for field in kind
    }

    def row(variable: str, event: Column, index: Column) -> Column:
        """An event with the columns of all types; ``c0`` and so on, as names can be any."""
        values = [
            event.getField(name) if name in kinds[variable].names else F.lit(None).cast(kind)
            for name, kind in fields.items()
        ]
        named = [value.alias(f"c{number}") for number, value in enumerate(values)]
        return F.struct(F.lit(variable).alias("v"), index.cast("bigint").alias("i"), *named)

    def rows(variable: str) -> Column:
        bound = column(variable)
        if isinstance(matches.schema[variable].dataType, ArrayType):
            return F.transform(bound, lambda event, place: row(variable, event, place + 1))
        return F.when(bound.isNotNull(), F.array(row(variable, bound, F.lit(1))))

    moment = f"c{list(fields).index(time)}"

    def compared(one: Column, other: Column) -> Column:
        before, after = one.getField(moment), other.getField(moment)
        return F.when(before < after, -1).when(before > after, 1).otherwise(0)

    bound = F.filter(F.array(*map(rows, variables)), lambda each: each.isNotNull())
    together = F.array_sort(F.flatten(bound), compared)
    exploded = matches.select(column(MATCH_ID), F.explode(together).alias("e"))
    event = F.col("e")
    taken = (MATCH, VARIABLE, INDEX)
    shown = [
        event.getField(f"c{number}").alias(f"event_{name}" if name in taken else name)
        for number, name in enumerate(fields)
    ]
    first = column(MATCH_ID).alias(MATCH)
    return exploded.select(
        first, event.getField("v").alias(VARIABLE), event.getField("i").alias(INDEX), *shown
    )
