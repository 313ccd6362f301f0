"""Slices of time: how a stream without a key, or with a heavy one, is spread over workers.

A match lies within one window. So a slice gets its own events and those of one window after it,
and, where something before a match can violate it, of one window before. All matches that start
in the slice can be found there, by any selection strategy, since a run depends on no event
before its first. What starts outside of it is left out there, because it is found elsewhere.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow.types as arrow
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used

from cepheid.engines.base.evaluation import IMPRECISE
from cepheid.errors import CepheidWarning
from cepheid.events.time_axis import TimeAxis
from cepheid.language import syntax as ast
from cepheid.matches.modes.registry import output_mode
from cepheid.spark.batch.named_columns import column
from cepheid.spark.batch.preparation import Prepared
from cepheid.spark.worker.partition_run import SLICE

EVENTS_PER_SLICE = 250_000
"""How many events make a slice worth a worker's while, where nobody says how many slices."""

_QUANTILES = 256
_HEAVY = 1.5
"""So many times the events of an average partition are too many for one key."""
_MICROSECONDS_PER_DAY = 86_400_000_000
_MAX = 2**63 - 1


@dataclass(frozen=True)
class Slices:
    """``bounds`` are the ticks where a slice ends and the next begins; reaches are in ticks."""

    bounds: tuple[int, ...]
    ahead: int
    back: int

    def spread(self, events: DataFrame, ticks: Column) -> DataFrame:
        """The events, each in every slice that needs it, with the number of the slice."""
        last = _place(ticks + F.lit(self.back), self.bounds)
        first = _place(ticks - F.lit(self.ahead), self.bounds)
        numbers = F.explode(F.sequence(first, last))
        return events.select("*", numbers.alias(SLICE))


def why_not_sliced(prepared: Prepared) -> str | None:
    """Why the matches cannot be found slice by slice, or None."""
    window = prepared.query.query.window
    if window is None:
        return "the query has no window, so that a match can be as long as the stream"
    if window.measure is not ast.WindowMeasure.TIME:
        return f"its window counts events ({window.measure.value}), which only the whole shows"
    if prepared.settings.evaluation == IMPRECISE:
        return "an event of uncertain time can be in several slices, and match in each"
    if output_mode(prepared.settings.output).needs_whole_partitions:
        return f"{prepared.settings.output} depends on all matches before"
    return None


def with_reach(prepared: Prepared, bounds: Sequence[int]) -> Slices:
    """Slices with these bounds, which increase, that read as far as the query reaches."""
    assert prepared.window is not None
    looks_back = any(
        not negated.after
        for alternative in prepared.query.alternatives
        for negated in alternative.negations
    )
    window = min(prepared.window, _MAX // 4)
    # A window is less than its extent: an event just so much later is in another one.
    return Slices(tuple(bounds), window, window - 1 if looks_back else 0)


def plan_slices(prepared: Prepared, events: DataFrame, wanted: int | None) -> Slices:
    """Slices of about equally many events; ``wanted`` or as many as are worth it.

    The times of the events are read for it, in a Spark job of its own.
    """
    assert prepared.window is not None
    steps = [step / _QUANTILES for step in range(1, _QUANTILES)]
    ticks = ticks_of(prepared.axis)
    row = events.agg(
        F.count(ticks).alias("count"), F.percentile_approx(ticks, steps).alias("quantiles")
    ).first()
    assert row is not None
    found = [int(tick) for tick in row["quantiles"] or ()]
    number = wanted or max(1, row["count"] // EVENTS_PER_SLICE)
    bounds: list[int] = []
    for slice_ix in range(1, min(number, _QUANTILES) if found else 1):
        bound = found[slice_ix * _QUANTILES // number - 1]
        # A slice shorter than what it reads besides would make more work than it shares.
        if not bounds or bound - bounds[-1] > (0 if wanted else prepared.window):
            bounds.append(bound)
    if not bounds and row["count"] >= 2 * EVENTS_PER_SLICE and wanted is None:
        warn_of_one_partition("its window is as long as all the events")
    return with_reach(prepared, bounds)


def has_heavy_key(prepared: Prepared, events: DataFrame) -> bool:
    """Whether one key has so many events that its worker is busy long after the others.

    The keys of all events are counted for it, in a Spark job of its own.
    """
    key = [each.alias(f"key {number}") for number, each in enumerate(prepared.key)]
    counts = events.groupBy(*key).count()
    row = counts.agg(F.max("count").alias("most"), F.sum("count").alias("all")).first()
    assert row is not None
    partitions = int(str(events.sparkSession.conf.get("spark.sql.shuffle.partitions")))
    most = row["most"] or 0
    return most > EVENTS_PER_SLICE and most * partitions > _HEAVY * row["all"]


def warn_of_one_partition(reason: str) -> None:
    """Tell the user that one worker does everything, and why."""
    warnings.warn(
        "all events go to one worker, because the query has no key by which to spread them, such "
        f"as an equivalence test [id], and cannot be cut by time either: {reason}",
        CepheidWarning,
        stacklevel=5,
    )


def ticks_of(axis: TimeAxis) -> Column:
    """The time of an event on the axis, computed by Spark."""
    moment = column(axis.column)
    kind = axis.arrow_type
    if arrow.is_date(kind):
        return F.unix_date(moment).cast("long") * F.lit(_MICROSECONDS_PER_DAY)
    if arrow.is_timestamp(kind) and kind.tz is None:
        epoch = F.expr("TIMESTAMP_NTZ'1970-01-01 00:00:00'")
        return F.timestamp_diff("MICROSECOND", epoch, moment)
    if arrow.is_timestamp(kind):
        return F.unix_micros(moment)
    if axis.ticks_per_unit > 1:
        return F.rint(moment * F.lit(float(axis.ticks_per_unit))).cast("long")
    return moment.cast("long")


def _place(ticks: Column, bounds: tuple[int, ...], low: int = 0) -> Column:
    """In how manieth slice a time is: how many bounds are not after it, by halving.

    No time at all is in the last, where a worker will refuse it.
    """
    if not bounds:
        return F.lit(low)
    middle = len(bounds) // 2
    return F.when(ticks < F.lit(bounds[middle]), _place(ticks, bounds[:middle], low)).otherwise(
        _place(ticks, bounds[middle + 1 :], low + middle + 1)
    )
