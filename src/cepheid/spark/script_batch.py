"""A script over a DataFrame: all of its queries in one job, each with a DataFrame of its matches.

A worker runs the whole script over its partition, since the queries read what earlier ones make.
Events are spread by what all queries have as a key, if composite events take it over; otherwise
there is one partition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import FunctionType
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used

from cepheid.errors import EvaluationError, OptionError
from cepheid.language import syntax as ast
from cepheid.language.printer import item_name
from cepheid.planning.evaluations import AUTO
from cepheid.planning.options import read_options
from cepheid.runtime.events import order_events
from cepheid.runtime.matches import Matches
from cepheid.schema import Schema, schema_of
from cepheid.scripts import CompiledScript, script
from cepheid.spark.arrow_schemas import arrow_schema, schema_for_spark, spark_schema
from cepheid.spark.key_columns import equivalence_keys
from cepheid.spark.partition_run import gathered
from cepheid.spark.preparation import orderable, time_order
from cepheid.spark.row_filter import column
from cepheid.spark.slices import warn_of_one_partition
from cepheid.spark.worker_settings import functions_in, register_missing

QUERY = "query"


@dataclass(frozen=True)
class ScriptSettings:
    """A script and how it is run, as it travels to the workers: plain values."""

    text: str
    keywords: Mapping[str, Any]
    schema: Mapping[str, Any] | None
    result: bytes
    has_session: bool
    functions: Mapping[str, FunctionType]


def match_script(
    compiled: CompiledScript,
    events: DataFrame,
    *,
    time: str = "ts",
    type: str | None = "type",
    tie_break: str | Sequence[str] | None = None,
    evaluation: str = AUTO,
    output: str = "all",
    time_unit: str | None = None,
    schema: Any = None,
    **options: Any,
) -> dict[str, DataFrame]:
    """For each query of a script, by its name, the DataFrame of its matches.

    All are parts of one DataFrame that runs the script: ``cache()`` is worth it for whoever
    reads several of them. Keywords are those of ``query.match``.
    """
    if events.isStreaming:
        raise OptionError(
            "a script is not run over a streaming DataFrame: run its queries as streams of their "
            "own, where none reads what another makes"
        )
    if type is None:
        raise OptionError("say which column of the DataFrame holds the type of an event")
    ties = (tie_break,) if isinstance(tie_break, str) else tuple(tie_break or ())
    declared = schema_of(schema)
    keywords = {
        "time": time,
        "type": type,
        "tie_break": ties or None,
        "evaluation": evaluation,
        "output": output,
        "time_unit": time_unit,
        **asdict(read_options(options)),
    }
    nothing = arrow_schema(events.schema).empty_table()
    answers = compiled.match(nothing, **keywords, schema=declared)
    schemas = {name: schema_for_spark(found.to_arrow().schema) for name, found in answers.items()}
    numbered = list(enumerate(schemas.values()))
    result = pa.schema(
        [(QUERY, pa.int32()), *((f"q{ix}", pa.struct(list(each))) for ix, each in numbered)]
    )
    settings = ScriptSettings(
        str(compiled),
        keywords,
        None if declared is None else declared.to_dict(),
        result.serialize().to_pybytes(),
        _has_session(compiled, nothing, keywords, declared),
        {
            name: function
            for tree in compiled.queries.values()
            for name, function in functions_in(tree).items()
        },
    )
    ordered = order_events(
        nothing, time=time, type=type, tie_break=ties, time_unit=time_unit, schema=declared
    )
    keys = _common_keys(compiled, ordered.schema, time, type)
    if not keys:
        warn_of_one_partition("a script is not cut by time")
    spread = events.repartition(*map(column, keys)) if keys else events.repartition(1)
    names = ties or orderable(events.schema, events.columns, besides=time)
    in_order = spread.sortWithinPartitions(time_order(ordered.time_axis), *map(column, names))

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return run_script_partition(settings, batches)

    found = in_order.mapInArrow(run, spark_schema(result))
    return {
        name: found.where(F.col(QUERY) == number).select(f"q{number}.*")
        for number, name in enumerate(schemas)
    }


def run_script_partition(
    settings: ScriptSettings, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The matches of all queries among the events of a partition."""
    register_missing(settings.functions)
    compiled = script(settings.text)
    keywords = dict(settings.keywords)
    keywords["schema"] = None if settings.schema is None else Schema.from_dict(settings.schema)
    result = pa.ipc.read_schema(pa.py_buffer(settings.result))
    if not settings.has_session:
        whole = list(batches)
        if whole:
            found = compiled.match(pa.Table.from_batches(whole), **keywords)
            yield from _tagged(found, result)
        return
    session = compiled.session(**keywords)
    is_fed = False
    for events in gathered(batches):
        is_fed = True
        yield from _tagged(session.feed(events), result)
    if is_fed:
        yield from _tagged(session.advance(), result)


def _tagged(answers: Mapping[str, Matches], result: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The matches of each query in a column of their own, null in those of the others."""
    for number, matches in enumerate(answers.values()):
        for _, table in matches.pieces():
            if not table.num_rows:
                continue
            count = table.num_rows
            columns: list[pa.Array] = [pa.repeat(pa.scalar(number, pa.int32()), count)]
            for ix, field in enumerate(result):
                if ix == 0:
                    continue
                if ix - 1 == number:
                    own = table.cast(pa.schema(list(field.type))).combine_chunks()
                    columns.append(own.to_struct_array().combine_chunks())
                else:
                    columns.append(pa.nulls(count, field.type))
            yield pa.RecordBatch.from_arrays(columns, schema=result)


def _has_session(
    compiled: CompiledScript, nothing: pa.Table, keywords: Mapping[str, Any], schema: Schema | None
) -> bool:
    """Whether every query can be fed in batches."""
    try:
        compiled.session(**keywords, schema=schema).feed(nothing)
    except EvaluationError:
        return False
    return True


def _common_keys(compiled: CompiledScript, schema: Schema, time: str, type: str) -> list[str]:
    """The equivalence attributes by which all queries can be spread at once.

    A composite event is where its match is: it must have the key of the events it was made of.
    """
    analysed = compiled.analysed(schema, time, type)
    names = set.intersection(*(set(equivalence_keys(each)) for each in analysed))
    for tree in compiled.queries.values():
        if tree.returns is not None and tree.returns.type_name is not None:
            taken = {
                item_name(item, tree): getattr(item.expression, "attribute", None)
                for item in tree.returns.items
                if isinstance(item.expression, ast.Attribute | ast.Element)
            }
            names = {name for name in names if taken.get(name) == name}
    return sorted(names)
