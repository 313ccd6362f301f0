"""How frequent events in memory are and how often conditions hold, to choose an evaluation."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np
import pyarrow.compute as pc

from cepheid.analysis.model import AnalysedQuery
from cepheid.engines.base.evaluation import Evaluation
from cepheid.events.arrays import Int64s
from cepheid.events.events import Events
from cepheid.language import syntax as ast
from cepheid.planning.condition_sample import sample_conditions
from cepheid.planning.estimates import Frequencies, cheapest_of

FEW_EVENTS = 10_000
"""With fewer events than this, no choice by cost is made."""
_MOST_ALTERNATIVES = 16
_SAMPLE = 4_096
_COUNTED = 1 << 15
"""The approximate number of events that are sampled to count types."""
_GUESSES = 0.01, 0.5
"""Plausible bounds on the selectivity of a condition between two events."""
_PARTS = 4
_DRIFT = 4.0
"""Frequencies drift if a type is this many times as frequent in one part as in another."""


def observe(query: AnalysedQuery, events: Events, window: int | None) -> Frequencies:
    """Events per window for each variable, and how often conditions hold; both are sampled."""
    return _with_sample(query, events, count_types(query, events, window))


def count_types(query: AnalysedQuery, events: Events, window: int | None) -> Frequencies:
    """Events per window of each variable's types, counted in every n-th event."""
    stride = max(len(events) // _COUNTED, 1)
    counted = events.type_codes[::stride]
    share = _share_of_window(query, events, window) * len(events) / max(len(counted), 1)
    codes = {name: code for code, name in enumerate(events.type_names)}
    by_part = np.array(
        [np.bincount(part, minlength=len(codes) or 1) for part in np.array_split(counted, _PARTS)]
    )
    counts = by_part.sum(axis=0)
    parts = list({part for each in query.alternatives for part in each.components})
    per_window = {
        part.variable: share * sum(float(counts[codes[n]]) for n in part.types if n in codes)
        for part in parts
    }
    named = {name for part in parts for name in part.types}
    wanted = [codes[name] for name in named if name in codes]
    drifts = len(events) >= _PARTS * _SAMPLE and _drifts(by_part[:, wanted])
    return Frequencies(per_window, _partitions(query, events), drifts)


def _with_sample(query: AnalysedQuery, events: Events, counted: Frequencies) -> Frequencies:
    passed, held = sample_conditions(query, events)
    passing = {name: rate * passed[name] for name, rate in counted.per_window.items()}
    return replace(counted, per_window={**passing, **held})


def choose_by_cost(
    query: AnalysedQuery,
    events: Events,
    window: int | None,
    accepted: Evaluation,
    evaluations: tuple[Evaluation, ...],
) -> Evaluation:
    """The evaluation that accepts the query and has the lowest estimated cost.

    ``accepted`` is the first one that accepts it. A sample is taken only if the choice depends on
    how often conditions hold.
    """
    is_free = query.query.strategy is ast.SelectionStrategy.SKIP_TILL_ANY_MATCH
    many = len(query.alternatives) > _MOST_ALTERNATIVES
    if len(events) < FEW_EVENTS or many or not is_free:
        return accepted
    cheapest = cheapest_of(query, accepted, evaluations)
    counted = count_types(query, events, window)
    named = {len(clause.variables) for each in query.alternatives for clause in each.clauses}
    if not named & {1, 2}:
        return cheapest(counted)
    if 1 not in named:
        low, high = (cheapest(replace(counted, unknown=part)) for part in _GUESSES)
        if low is high:
            return low
    return cheapest(_with_sample(query, events, counted))


def _share_of_window(query: AnalysedQuery, events: Events, window: int | None) -> float:
    """The fraction of all events in one window."""
    if window is None:
        return 1.0
    if query.query.measure is ast.WindowMeasure.TIME:
        span = int(events.ticks[-1]) - int(events.ticks[0]) + 1
        return min(window / span, 1.0)
    return min(window / len(events), 1.0)


def _partitions(query: AnalysedQuery, events: Events) -> float:
    """The number of distinct keys in a sample; 1 if the window counts events per partition."""
    measure = query.query.window.measure if query.query.window else None
    keys = query.alternatives[0].partition_keys
    if not keys or measure is ast.WindowMeasure.EVENTS_PER_PARTITION:
        return 1.0
    sample = events.table.slice(0, _SAMPLE)
    values = [pc.count_distinct(sample.column(key.attributes[0])).as_py() for key in keys]
    return float(min(max(prod(values), 1), _SAMPLE))


def _drifts(shares: Int64s) -> bool:
    """Whether a type (a column) is much more frequent in one part of the stream than in another."""
    return bool((shares.max(axis=0) > _DRIFT * (shares.min(axis=0) + 4)).any())
