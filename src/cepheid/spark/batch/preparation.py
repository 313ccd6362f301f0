"""A query over a DataFrame, understood: what leaves the JVM, and what workers are told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used
from pyspark.sql.types import StructType

from cepheid.analysis.model import AnalysedQuery
from cepheid.analysis.needed_columns import needed_columns
from cepheid.api import CompiledQuery
from cepheid.engines.base.evaluation import AUTO
from cepheid.engines.base.options import Options, read_options
from cepheid.engines.imprecise.intervals import read_intervals
from cepheid.errors import OptionError, list_words
from cepheid.events.events import Events, order_events
from cepheid.events.time_axis import TimeAxis
from cepheid.events.uncertain_time import UncertainTime, split_uncertain_time
from cepheid.language.printer import print_query
from cepheid.matches.modes.registry import added_mode, check_output, refuse_output
from cepheid.schema import Schema, schema_of
from cepheid.spark.batch.arrow_schemas import (
    MATCH_ID,
    arrow_schema,
    empty_events,
    never_null,
    plain_columns,
    result_schema,
    spark_schema,
)
from cepheid.spark.batch.key_columns import key_columns
from cepheid.spark.batch.named_columns import column, map_in_arrow
from cepheid.spark.batch.row_filter import relevant_rows
from cepheid.spark.worker.repeated_columns import repeated_columns
from cepheid.spark.worker.worker_settings import WorkerSettings, functions_in


@dataclass(frozen=True)
class Prepared:
    """A query over events of a certain schema, before anything is read.

    ``window`` is in ticks of ``axis``, or in events. ``columns`` are those that the query needs,
    ``plain`` those that Spark compares as the language does, and ``has_session`` tells whether
    events can be fed in batches. ``repeated`` are columns of the result and the one that each
    repeats. There need not be a Spark session for it, but what is made of
    columns needs one.
    """

    query: AnalysedQuery
    window: int | None
    axis: TimeAxis
    columns: tuple[str, ...]
    plain: tuple[str, ...]
    has_session: bool
    settings: WorkerSettings
    repeated: Mapping[str, str]

    @property
    def rows(self) -> Column | None:
        """The condition on rows that matter, or None for all."""
        settings = self.settings
        return relevant_rows(self.query, time=settings.time, type=settings.type, plain=self.plain)

    @property
    def key(self) -> list[Column]:
        """What events of one match have in common; nothing where there is no such thing."""
        return key_columns(self.query, self.settings.output, self.settings.type)

    @property
    def result(self) -> StructType:
        """The schema of the resulting DataFrame."""
        settings = self.settings
        return spark_schema(settings.result_schema, never_null(self.query, settings.time))

    @property
    def sending(self) -> WorkerSettings:
        """What workers are told that need not send columns that repeat others."""
        schema = self.settings.result_schema
        sent = pa.schema([field for field in schema if field.name not in self.repeated])
        return replace(self.settings, result=sent.serialize().to_pybytes())

    def found_by(
        self,
        run: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]],
        events: DataFrame,
    ) -> DataFrame:
        """The matches that workers find and send who know what :attr:`sending` says."""
        result = self.result
        sent = StructType([field for field in result.fields if field.name not in self.repeated])
        found = map_in_arrow(events, run, sent)
        if not self.repeated:
            return found
        names = ((name, self.repeated.get(name, name)) for name in result.names)
        return found.select(*(column(shown).alias(name) for name, shown in names))

    def relevant(self, events: DataFrame) -> DataFrame:
        """The events and columns that matter."""
        rows = self.rows
        kept = events if rows is None else events.filter(rows)
        return kept.select(*map(column, self.columns))

    def order(self) -> list[Column]:
        """By what events are sorted: time as it is compared, then what breaks ties.

        Rows of a DataFrame have no order of their own. Where nothing was said of ties, events
        of equal time are ordered by their other columns: events that are alike in all of them
        are exchangeable, and so the answer does not depend on how Spark spread the rows.
        """
        return [time_order(self.axis), *map(column, self.settings.ties)]


def prepare(
    query: CompiledQuery,
    schema: StructType,
    *,
    time: str | tuple[str, str] = "ts",
    type: str | None = "type",
    tie_break: str | Sequence[str] | None = None,
    evaluation: str = AUTO,
    output: str = "all",
    time_unit: str | None = None,
    declared: Any = None,
    match_id: bool = False,
    options: Mapping[str, Any] | None = None,
) -> Prepared:
    """The query over a DataFrame of this schema, or why it cannot be run."""
    check_output(output)
    moment, uncertain, others = split_uncertain_time(time, options or {})
    checked = read_options(others)
    if type is None:
        raise OptionError("say which column of the DataFrame holds the type of an event")
    _refuse_doubles(schema)
    whole = arrow_schema(schema)
    own = schema_of(declared)
    ties = (tie_break,) if isinstance(tie_break, str) else tuple(tie_break or ())
    # All columns once, so that a mistake is found in what the user gave.
    order_events(
        whole.empty_table(),
        time=moment,
        type=type,
        tie_break=ties,
        time_unit=time_unit,
        schema=own,
    )
    besides = [] if uncertain is None else [uncertain.upper, uncertain.probabilities]
    said = [name for name in besides if name is not None]
    columns = needed_columns(query.tree, whole.names, [moment, type, *ties, *said])
    own = None if own is None else restricted(own, columns)
    events = order_events(
        empty_events(whole, columns), time=moment, type=type, time_unit=time_unit, schema=own
    )
    analysed, chosen, window = query.for_events(events, evaluation, uncertain, checked)
    if chosen.has_confidence:
        _check_weighed(events, uncertain or UncertainTime(), output, checked)
    if match_id and MATCH_ID in result_schema(query.tree, events).names:
        raise OptionError(f"the query returns a column {MATCH_ID!r} of its own; call it otherwise")
    settings = WorkerSettings(
        print_query(query.tree),
        moment,
        type,
        ties,
        ties or tuple(orderable(schema, columns, besides=moment)),
        chosen.name,
        output,
        time_unit,
        None if own is None else own.to_dict(),
        asdict(checked),
        result_schema(query.tree, events, match_id=match_id, weighs=chosen.has_confidence)
        .serialize()
        .to_pybytes(),
        match_id,
        functions_in(query.tree),
        uncertain,
        added_mode(output),
    )
    return Prepared(
        analysed,
        window,
        events.time_axis,
        tuple(columns),
        tuple(plain_columns(schema)),
        chosen.has_session and not _begins_out_of_order(uncertain),
        settings,
        {} if chosen.has_confidence else repeated_columns(analysed, settings.result_schema, moment),
    )


def _check_weighed(events: Events, uncertain: UncertainTime, output: str, options: Options) -> None:
    """Refuse now what a worker would refuse about uncertain times."""
    refuse_output(output)
    if options.top_k is not None:
        raise OptionError(
            "top_k ranks all matches, and each worker knows only its own; take them from the "
            f"result: .orderBy(F.desc('confidence')).limit({options.top_k})"
        )
    read_intervals(events, uncertain)


def _begins_out_of_order(uncertain: UncertainTime | None) -> bool:
    """Whether events in the order of their times can begin in another order, by any length.

    They can where probabilities leave out the first instants of an interval that is in columns.
    """
    return uncertain is not None and bool(uncertain.upper and uncertain.probabilities)


def time_order(axis: TimeAxis) -> Column:
    """The time of an event as it is compared: floats count only to a millionth."""
    moment = column(axis.column)
    if axis.ticks_per_unit > 1:
        return F.rint(moment * F.lit(float(axis.ticks_per_unit)))
    return moment


def orderable(schema: StructType, columns: Sequence[str], besides: str) -> list[str]:
    """The columns by which Spark can sort."""
    return [
        name
        for name in columns
        if name != besides and "map" not in schema[name].dataType.simpleString()
    ]


def restricted(schema: Schema, columns: Sequence[str]) -> Schema:
    """What a schema says of these columns."""
    kept = frozenset(columns)
    types = schema.types and {name: has & kept for name, has in schema.types.items()}
    kinds = {name: kind for name, kind in schema.attributes.items() if name in kept}
    return Schema(kinds, types)


def _refuse_doubles(schema: StructType) -> None:
    names = schema.names
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise OptionError(
            f"the DataFrame has more than one column {list_words([repr(n) for n in doubled])}; "
            "rename or drop the others"
        )
