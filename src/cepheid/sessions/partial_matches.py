"""WITH TIMED OUT over engines: the furthest partial matches of a session.

Engines find partial matches as the matches of the queries that
:mod:`cepheid.analysis.rewriting.partial_matches` makes. Of those with the same first event the
furthest is kept, until its window has passed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cepheid.analysis.rewriting.partial_matches import partial_queries
from cepheid.codegen.compiler import compiled_once
from cepheid.engines.base.engine import Chunk, EngineTask
from cepheid.engines.base.retained import Retained
from cepheid.events.arrays import Int64s, int64s
from cepheid.events.time_axis import MAX_TICKS
from cepheid.language import syntax as ast
from cepheid.matches.bindings import (
    Bindings,
    MatchTimes,
    joined_bindings,
    no_matches,
    with_variables,
)
from cepheid.matches.layout import LAST_OF_RUN, NO_PRUNING
from cepheid.matches.modes.groups import best_of_groups, firsts, sizes
from cepheid.matches.stored import load_matches, store_matches
from cepheid.sessions.alternative_run import AlternativeRun
from cepheid.snapshot_checks import FAR, check_arrays, expected
from cepheid.snapshots import Arrays, part, prefixed

_partial_queries = compiled_once(partial_queries)


@dataclass(frozen=True, slots=True, eq=False)
class Progress:
    """How far a stream has come when matches are reported.

    ``waiting`` are the first events of matches that can outlast the window, and are not decided.
    """

    now: int
    at_end: bool
    waiting: Int64s


class PartialMatches:
    """The furthest partial match of each first event that begins no match.

    ``runs`` find the partial matches. The task is that of an engine of the query, whose matches
    have these components as variables.
    """

    def __init__(
        self, evaluation: str, task: EngineTask, components: Sequence[ast.Component]
    ) -> None:
        task = replace(task, options=replace(task.options, max_matches=None))
        self.runs = [
            AlternativeRun(evaluation, each)
            for query in _partial_queries(task.query)
            for each in _tasks(replace(task, query=query, shared={}))
        ]
        self._components = components
        self._window = task.window
        # The furthest so far: of events that can still begin others, and of those that cannot.
        self._open = no_matches(components)
        self._passed: list[Bindings] = []
        # First events that began a match, or whose partial match was reported.
        self._settled = int64s(0)

    def read(self, chunk: Chunk, retained: Retained) -> None:
        """Find the partial matches of a chunk, and keep the furthest of each first event."""
        found = []
        for run in self.runs:
            run.read(chunk, retained)
            found.append(with_variables(run.take_all(), self._components))
        matches = joined_bindings([self._open, *found])
        if len(matches):
            ranks = (-_last_components(matches), -sizes(matches))
            matches = matches.pick(best_of_groups(matches, [firsts(matches)], ranks))
            is_past = int(chunk.events.ticks[-1]) - matches.starts >= self._window
            self._passed.append(matches.pick(np.flatnonzero(is_past)))
            self._open = matches.pick(np.flatnonzero(~is_past))

    def timed_out(self, matches: Bindings, retained: Retained, progress: Progress) -> Bindings:
        """The partial matches to report when these matches are found and decided."""
        is_needed = np.isin(self._settled, retained.numbers)
        begun = np.unique(firsts(matches)) if len(matches) else int64s(0)
        self._settled = np.union1d(self._settled[is_needed], begun)
        kept = joined_bindings([*self._passed, self._open])
        kept = kept.pick(np.flatnonzero(~np.isin(firsts(kept), self._settled)))
        is_late = progress.now - kept.starts >= self._window
        is_late = (is_late | progress.at_end) & ~np.isin(firsts(kept), progress.waiting)
        self._passed, self._open = [], kept.pick(np.flatnonzero(~is_late))
        late = kept.pick(np.flatnonzero(is_late))
        self._settled = np.union1d(self._settled, firsts(late))
        ends = np.minimum(late.starts, MAX_TICKS - self._window) + self._window
        late = replace(late, known_times=MatchTimes.of(late.starts, ends))
        late = late.pick(np.lexsort((late.completion_positions, ends)))
        return replace(late, timed_out=np.ones(len(late), dtype=np.bool_))

    @property
    def first_held(self) -> Int64s:
        """The first events of the partial matches that are held."""
        return firsts(self._open)

    @property
    def next_end(self) -> list[int]:
        """The earliest time at which the window of a partial match has passed, if there is one."""
        starts = self._open.starts
        return [min(int(starts.min()) + self._window, MAX_TICKS)] if len(starts) else []

    def state(self) -> Arrays:
        """The held partial matches, for a snapshot; the runs have states of their own."""
        arrays = {"settled": self._settled, **prefixed("open", store_matches(self._open))}
        return prefixed("timed_out", arrays)

    def load(self, arrays: Arrays, events: range) -> None:
        """Restore the state of a snapshot; matches can have these events."""
        described = {"settled": expected(np.int64, "settled", each=(0, FAR))}
        check_arrays(arrays, described, ["open"])
        self._settled = arrays["settled"]
        self._open = load_matches(part("open", arrays), self._components, events)


def none_timed_out(matches: Bindings) -> Bindings:
    """The matches, with a column for those that timed out."""
    return replace(matches, timed_out=np.zeros(len(matches), dtype=np.bool_))


def _tasks(task: EngineTask) -> Iterator[EngineTask]:
    """The tasks of engines that find the matches of a query; of a list that grows, the longest."""
    for alternative in task.query.alternatives:
        prunes = LAST_OF_RUN if alternative.components[-1].is_kleene else NO_PRUNING
        yield replace(task, alternative=alternative, prunes=prunes)


def _last_components(matches: Bindings) -> Int64s:
    """The number of the last variable that each match binds."""
    found = int64s(len(matches))
    for ix, column in enumerate(matches.variables.values()):
        found[~column.absent] = ix
    return found
