"""A query or a script over a DataFrame: the rows that leave the JVM, and the worker settings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Unpack

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used
from pyspark.sql.types import StructType

from cepheid.analysis.model import AnalysedQuery
from cepheid.analysis.needs import needed_columns
from cepheid.compiled import Compiled
from cepheid.engines.base.evaluation import AUTO
from cepheid.engines.base.options import DEFAULT_OPTIONS
from cepheid.engines.imprecise.intervals import read_intervals
from cepheid.errors import OptionError, list_words
from cepheid.events.read_options import UncertainTime
from cepheid.events.time_axis import TimeAxis
from cepheid.language import syntax as ast
from cepheid.language.printer import item_name
from cepheid.matches.modes.rule import refuse_output
from cepheid.planning.choice import warn_of_reference
from cepheid.schema import Schema
from cepheid.sessions.division.keys import equivalence_keys
from cepheid.sessions.plan import PlannedQuery, plan
from cepheid.sessions.run_settings import MatchKeywords, RunSettings
from cepheid.spark.batch.arrow_schemas import (
    MATCH_ID,
    arrow_schema,
    never_null,
    plain_columns,
    repeated_columns,
    result_schema,
    spark_schema,
)
from cepheid.spark.batch.frames import column, map_in_arrow
from cepheid.spark.batch.key_columns import comparable, key_columns
from cepheid.spark.batch.row_filter import relevant_rows
from cepheid.spark.worker.worker_session import QUERY, column_of
from cepheid.spark.worker.worker_settings import Additions, WorkerSettings


@dataclass(frozen=True)
class Prepared:
    """A query or a script over events of a known schema, before any event is read.

    ``plain`` are the columns that Spark compares as the language does. ``repeated`` maps columns of
    the result to the column that each repeats. Creating it needs no Spark session, but its
    properties that are Spark columns do.
    """

    planned: tuple[PlannedQuery, ...]
    plain: tuple[str, ...]
    settings: WorkerSettings
    repeated: Mapping[str, str]

    @property
    def query(self) -> AnalysedQuery:
        """The query, or the first one of a script."""
        return self.planned[0].analysed

    @property
    def window(self) -> int | None:
        """The window of a single query, in ticks of the time axis or in events."""
        return self.planned[0].window

    @property
    def axis(self) -> TimeAxis:
        """How times become ticks."""
        return self.planned[0].sample.time_axis

    @property
    def names(self) -> list[str]:
        """The name of each query of a script."""
        return [each.each.name for each in self.planned]

    @property
    def rows(self) -> Column | None:
        """The condition on rows that matter to some query, or None for all rows."""
        settings = self.settings
        if any(each.rule.timed_out for each in self.planned):
            return None
        queries = [each.analysed for each in self.planned]
        return relevant_rows(queries, time=settings.time, type=settings.type, plain=self.plain)

    @property
    def key(self) -> list[Column]:
        """The columns that all events of a match have in common, in every query; may be none."""
        settings = self.settings
        if settings.is_script:
            return [comparable(self.query, name) for name in self.common_keys]
        return key_columns(self.query, self.planned[0].rule, settings.type)

    @cached_property
    def tests(self) -> dict[str, list[str]]:
        """The equivalence attributes by which each query of a script can be partitioned."""
        return {each.each.name: equivalence_keys(each.analysed) for each in self.planned}

    @property
    def common_keys(self) -> list[str]:
        """The equivalence attributes by which all queries of a script can be partitioned.

        A composite event is processed where its match is, so it must have the key of that match.
        """
        names = set.intersection(*map(set, self.tests.values()))
        trees = [each.each.query for each in self.planned]
        return sorted(name for name in names if not any(loses_key(tree, name) for tree in trees))

    @property
    def result(self) -> StructType:
        """The schema of the resulting DataFrame."""
        settings = self.settings
        timed_out = self.planned[0].rule.timed_out
        never = () if settings.is_script else never_null(self.query, settings.time, timed_out)
        return spark_schema(settings.result_schema, never)

    @property
    def sending(self) -> WorkerSettings:
        """The settings of workers that do not send repeated columns."""
        schema = self.settings.result_schema
        sent = pa.schema([field for field in schema if field.name not in self.repeated])
        return replace(self.settings, result_schema=sent)

    def found_by(
        self,
        run: Callable[[WorkerSettings, Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]],
        events: DataFrame,
    ) -> DataFrame:
        """The matches that workers find in events; they run with the settings :attr:`sending`."""
        result = self.result
        sent = StructType([field for field in result.fields if field.name not in self.repeated])
        found = map_in_arrow(events, partial(run, self.sending), sent)
        if not self.repeated:
            return found
        names = ((name, self.repeated.get(name, name)) for name in result.names)
        return found.select(*(column(shown).alias(name) for name, shown in names))

    def relevant(self, events: DataFrame) -> DataFrame:
        """The events and columns that matter."""
        rows = self.rows
        kept = events if rows is None else events.filter(rows)
        return kept.select(*map(column, self.settings.columns))

    def order(self) -> list[Column]:
        """The columns that events are sorted by: the time as it is compared, then tie-breaks.

        Rows of a DataFrame have no order. Without tie_break, events of equal time are ordered by
        their other columns: events that are equal in all of them can be exchanged, so the answer
        does not depend on how Spark partitioned the rows.
        """
        return [time_order(self.axis), *map(column, self.settings.ties)]


def prepare(
    compiled: Compiled[Any],
    frame: StructType,
    *,
    match_id: bool = False,
    without: Collection[str] = (),
    **keywords: Unpack[MatchKeywords],
) -> Prepared:
    """A query or a script over a DataFrame of this schema.

    ``without`` names keywords of ``match`` that cannot be used.

    Raises:
        OptionError: an option cannot be used.
        EvaluationError: no evaluation runs the query.
    """
    run = compiled.settings(
        keywords, without=["whole_events", "time_format", "sep", "workers", *without]
    )
    read, script = run.read, compiled.script
    if read.type is None:
        raise OptionError("say which column of the DataFrame holds the type of an event")
    refuse_doubles(frame)
    whole = arrow_schema(frame)
    read.order(whole.empty_table())  # Checks the keywords against all columns.
    needed = {
        name
        for each in script.queries
        for name in needed_columns(each.query, whole.names, read.columns)
    }
    columns = [name for name in whole.names if name in needed]
    if read.schema is not None:
        read = replace(read, schema=_restricted(read.schema, columns))
    run = replace(run, read=read)
    planned = plan(script, run, read.order(whole.empty_table().select(columns)))
    if run.evaluation == AUTO:
        for each in planned:
            warn_of_reference(each.evaluation, each.refusals)
    has_session = not any(each.evaluation.is_definition for each in planned)
    repeated: Mapping[str, str] = {}
    result = [
        result_schema(
            each.each.query, each.sample, each.evaluation.has_confidence, each.rule.timed_out
        )
        for each in planned
    ]
    may_be_first = False
    if script.is_single:
        ((first,), (fields,)) = planned, result
        has_said = run.evaluation != AUTO or run.options != DEFAULT_OPTIONS
        may_be_first = not has_said and not first.evaluation.has_confidence
        run = replace(run, evaluation=first.evaluation.name)
        if first.evaluation.has_confidence:
            _check_uncertain(first, run)
            has_session = not begins_out_of_order(read.uncertain)
        elif not first.rule.timed_out:
            repeated = repeated_columns(first.analysed, fields, read.time)
        if match_id and MATCH_ID in fields.names:
            raise OptionError(
                f"the query returns a column {MATCH_ID!r} of its own; give it another name"
            )
    else:
        structs = [pa.field(column_of(ix), pa.struct(list(each))) for ix, each in enumerate(result)]
        fields = pa.schema([pa.field(QUERY, pa.int32()), *structs])
    fields = fields.append(pa.field(MATCH_ID, pa.string())) if match_id else fields
    settings = WorkerSettings(
        str(compiled),
        run,
        read.tie_break or tuple(orderable(frame, [name for name in columns if name != read.time])),
        tuple(columns),
        fields,
        not script.is_single,
        match_id,
        has_session,
        Additions.used_by((each.query for each in script.queries), run.requested.output),
        may_be_first,
    )
    return Prepared(tuple(planned), tuple(plain_columns(frame)), settings, repeated)


def loses_key(tree: ast.Query, key: str) -> bool:
    """Whether a query makes composite events without copying this attribute to them."""
    if tree.returns is None or tree.returns.type_name is None:
        return False
    return not any(
        item_name(item, tree) == key and item.expression.attribute == key
        for item in tree.returns.items
        if isinstance(item.expression, ast.Attribute | ast.Element)
    )


def _check_uncertain(planned: PlannedQuery, run: RunSettings) -> None:
    """Refuse early the options for uncertain times that a worker would refuse."""
    refuse_output(planned.rule)
    if run.options.top_k is not None:
        raise OptionError(
            "top_k ranks all matches, and each worker knows only its own; take them from the "
            f"result: .orderBy(F.desc('confidence')).limit({run.options.top_k})"
        )
    read_intervals(planned.sample, run.read.uncertain or UncertainTime())


def begins_out_of_order(uncertain: UncertainTime | None) -> bool:
    """Whether events sorted by their time column can begin in another order, by any length of time.

    They can if probabilities exclude the first instants of an interval given in two columns.
    """
    return uncertain is not None and bool(uncertain.upper and uncertain.probabilities)


def time_order(axis: TimeAxis) -> Column:
    """The time of an event as it is compared: floats are rounded to six decimals."""
    moment = column(axis.column)
    if axis.ticks_per_unit > 1:
        return F.rint(moment * F.lit(float(axis.ticks_per_unit)))
    return moment


def orderable(schema: StructType, columns: Iterable[str]) -> list[str]:
    """The columns by which Spark can sort."""
    return [name for name in columns if "map" not in schema[name].dataType.simpleString()]


def _restricted(schema: Schema, columns: Sequence[str]) -> Schema:
    """The part of a schema that is about these columns."""
    kept = frozenset(columns)
    types = schema.types and {name: has & kept for name, has in schema.types.items()}
    kinds = {name: kind for name, kind in schema.attributes.items() if name in kept}
    return Schema(kinds, types, nested=schema.nested)


def refuse_doubles(schema: StructType) -> None:
    """Refuse a DataFrame in which two columns have the same name."""
    names = schema.names
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise OptionError(
            f"the DataFrame has more than one column {list_words([repr(n) for n in doubled])}; "
            "rename or drop the others"
        )
