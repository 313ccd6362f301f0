"""Rare events first: only events near events of a rare component go to the workers.

Every match has an event of each component. So if one component is rare, only events with the key
of one of its events matter and, if the query has a window, only events near it in time. Spark finds
them with a semi-join before the shuffle. It is the order by frequency of [Kolchinsky17] applied to
what is shuffled.

Both sides of the join have one number per row: a hash of the key and of the time bucket. Two values
with the same hash only keep more events than needed. All events of the key between the first and
the last event of a match are kept, so a run under skip_till_next_match takes the same events.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce as fold
from operator import or_
from typing import Literal

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used

from cepheid.analysis.needs import relevant_types
from cepheid.errors import OptionError
from cepheid.language import syntax as ast
from cepheid.spark.batch.frames import column
from cepheid.spark.batch.preparation import Prepared
from cepheid.spark.batch.row_filter import rows_of_components
from cepheid.spark.batch.slices import ticks_of
from cepheid.spark.reduction.estimate import Estimate, read_sample
from cepheid.spark.reduction.input_plans import input_bytes, is_cheap, why_not_repeatable
from cepheid.tuning import tuning

Reduce = bool | Literal["auto"]
"""Whether events are reduced: chosen by a sample, always or never."""

_HASH = "cepheid hash"
_MOST = 2**61
_CONDITIONS = 64
"""Queries with more components than this in all alternatives are not reduced."""


@dataclass(frozen=True)
class Reduction:
    """How the events of a query are reduced.

    ``rare`` is true for events of the rare components, which ``names`` shows. Events are kept if
    they have the ``key`` of such an event and, with a ``reach`` in ticks, are near it in time.
    """

    prepared: Prepared
    rare: Column
    names: tuple[str, ...]
    key: tuple[Column, ...]
    reach: int | None
    estimate: Estimate

    @property
    def is_shuffled(self) -> bool:
        """Whether the join needs an exchange of its own, by which events are partitioned then.

        Too many rare events to send all of them to every worker need it. A join by time bucket
        would have to exchange the events again, so it is by key only.
        """
        return bool(self.key) and self.estimate.rare_rows > tuning().reduce_broadcast

    def events(self, relevant: DataFrame) -> DataFrame:
        """The events that are kept; partitioned by key if the join :attr:`is_shuffled`."""
        reach = None if self.is_shuffled else self.reach
        ticks = ticks_of(self.prepared.axis)
        is_bad = column(self.prepared.settings.type).isNull() | ticks.isNull()
        # Events without a type or a time all have the same hash: they are kept for their error.
        if reach is None:
            here, near = F.xxhash64(*self.key), [F.xxhash64(*self.key)]
        else:
            # Buckets are as long as the reach, so that an event within it is in the next bucket
            # at most. The one around 0 is twice as long.
            bucket = F.call_function("div", ticks, F.lit(reach))
            here = F.xxhash64(*self.key, bucket)
            near = [F.xxhash64(*self.key, bucket + F.lit(step)) for step in (-1, 0, 1)]
        none = F.lit(0).cast("long")
        hashes = F.when(is_bad, F.array(none)).otherwise(F.array(*near))
        rare = relevant.filter(self.rare | is_bad).select(F.explode(hashes).alias(_HASH)).distinct()
        named = relevant.withColumn(_HASH, F.when(is_bad, none).otherwise(here))
        if self.is_shuffled:
            # The partitions are asked for, so Spark does not split a large one before the join.
            kept = named.repartition(_HASH).join(rare.hint("shuffle_hash"), _HASH, "left_semi")
        else:
            kept = named.join(F.broadcast(rare), _HASH, "left_semi")
        return kept.select(*map(column, self.prepared.settings.columns))

    def __str__(self) -> str:
        of = "key" if self.reach is None or self.is_shuffled else "key and time"
        near = of if self.key else "time"
        how = "after the exchange" if self.is_shuffled else "before the exchange"
        return f"events near {' or '.join(self.names)} by {near}, {how}; {self.estimate}"


def why_not_reduced(prepared: Prepared) -> str | None:
    """Why the events of a query are never reduced, or None."""
    rule = prepared.planned[0].rule
    if prepared.settings.is_script:
        return "it is a script"
    if prepared.planned[0].evaluation.has_confidence:
        return "its events have uncertain times"
    if relevant_types(prepared.query) is None:
        return "it counts events or asks for adjacent ones, so all events matter"
    if rule.timed_out:
        return "WITH TIMED OUT reports matches without their last events"
    if sum(len(each.components) for each in prepared.query.alternatives) > _CONDITIONS:
        return f"it has more than {_CONDITIONS} components in all its alternatives"
    if not prepared.key and prepared.window is None:
        return "it has neither a key nor a window"
    return None


def choose_reduction(prepared: Prepared, events: DataFrame, wanted: Reduce) -> Reduction | str:
    """How the events of a DataFrame are reduced, or why they are not.

    If it is possible, a separate Spark job reads a sample of the events.

    Raises:
        OptionError: it is ``wanted``, and impossible.
    """
    if wanted is False:
        return "reduce=False"
    refusal = why_not_reduced(prepared) or why_not_repeatable(events)
    if wanted is True:
        if refusal is not None:
            raise OptionError(f"the events of this query cannot be reduced: {refusal}")
        return _reduction(prepared, events)
    if refusal is not None:
        return refusal
    if not is_cheap(events):
        return "its input is more than stored rows with filters, and would be computed twice"
    if input_bytes(events) < tuning().reduce_bytes:
        return f"its input has less than {tuning().reduce_bytes >> 20} MiB"
    found = _reduction(prepared, events)
    return found.estimate.refusal or found


def _reduction(prepared: Prepared, events: DataFrame) -> Reduction:
    """The reduction by the rarest component of each alternative."""
    settings = prepared.settings
    alternatives = rows_of_components(prepared.query, type=settings.type, plain=prepared.plain)
    conditions = [rows for parts in alternatives for _, rows in parts]
    key = prepared.key
    sample = read_sample(prepared, events, conditions)
    rarest: list[int] = []
    low = 0
    for parts in alternatives:
        rarest.append(min(range(low, low + len(parts)), key=sample.counts.__getitem__))
        low += len(parts)
    components = [component for parts in alternatives for component, _ in parts]
    reach = _reach(prepared)
    # An event is kept if its bucket, the one before or the one after has a rare event.
    extent = None if reach is None else 3 * reach
    estimate = sample.estimate(rarest, extent, bool(key))
    names = dict.fromkeys(_name(components[ix]) for ix in rarest)
    rare = fold(or_, [conditions[ix] for ix in rarest])
    return Reduction(prepared, rare, tuple(names), tuple(key), reach, estimate)


def _name(component: ast.Component) -> str:
    return f"{'|'.join(component.types)} {component.variable}"


def _reach(prepared: Prepared) -> int | None:
    """How far from a rare event an event can matter, in ticks; None without a window.

    A match and what violates it are within one window. A negation with its own window
    looks as far beyond the match.
    """
    if prepared.window is None:
        return None
    own = max(prepared.query.own_windows.values(), default=0)
    # Buckets of a few ticks would have numbers too large to add to.
    return max(4, min(prepared.window, _MOST) + min(own, _MOST))
