"""What threads are given of a run, and what is done with the matches of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cepheid.analysis.needs import attributes_named
from cepheid.engines.base.query_session import SessionTask
from cepheid.events.events import Events
from cepheid.matches.bindings import Bindings, joined_bindings
from cepheid.matches.held import too_many_matches
from cepheid.schema import PARTITION_INDEX


def alone(task: SessionTask) -> SessionTask:
    """The same for one worker."""
    return replace(task, options=replace(task.options, workers=1))


def check_count(task: SessionTask, count: int) -> None:
    """Fail if this number of matches, of all threads, is not allowed."""
    limit = task.options.max_matches
    if limit is not None and count > limit:
        components = task.query.alternatives[0].components
        raise too_many_matches(limit, components, task.query.query.strategy)


def tested_columns(task: SessionTask, events: Events) -> Events:
    """The events with only the columns that conditions read."""
    named = attributes_named(task.query.query, whole_events=False) or set()
    names = [name for name in events.table.column_names if name in named or name == PARTITION_INDEX]
    return replace(events, table=events.table.select(names))


def in_order(parts: Sequence[Bindings]) -> Bindings:
    """The matches in the order in which they complete, as one session finds them."""
    joined = joined_bindings(parts)
    completed = joined.last_events() if joined.completed_at is None else joined.completed_at
    order = np.argsort(completed, kind="stable")
    ends = joined.ends
    if (np.diff(ends[order]) < 0).any():
        order = np.lexsort((completed, ends))
    return joined if (np.diff(order) == 1).all() else joined.pick(order)
