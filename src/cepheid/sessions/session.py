"""The state of a query between batches of events [Agrawal08 §5].

A session reads events in order, in batches of any size, and advances its clock when asked. The
matches do not depend on how the stream is cut into batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cepheid.analysis.model import AnalysedQuery
from cepheid.analysis.string_operations import string_operations
from cepheid.codegen.compiled_once import compiled_once
from cepheid.engines.base.engine import Chunk, EngineTask
from cepheid.engines.base.evaluation import NFA_B
from cepheid.engines.base.event_batch import EventBatch
from cepheid.engines.base.options import DEFAULT_OPTIONS, Options
from cepheid.engines.base.retained import Retained
from cepheid.engines.base.stored import check_header, header_of
from cepheid.errors import EventError
from cepheid.events.arrays import Int64s, int64s, lent_numbers, padded
from cepheid.events.columns.encoding import EncodedColumn, StringCodes
from cepheid.events.events import Events
from cepheid.events.partition_numbers import PartitionNumbers
from cepheid.events.time_axis import MAX_TICKS, TimeAxis
from cepheid.language import syntax as ast
from cepheid.matches.bindings import Bindings, joined_bindings, no_matches, with_variables
from cepheid.matches.duplicates import ReportedMatches, without_duplicates
from cepheid.matches.matches import Matches
from cepheid.matches.metrics import Metrics, joined_metrics
from cepheid.matches.modes.mode import CompletedMatches
from cepheid.matches.modes.registry import output_mode, refuse_query
from cepheid.matches.stored import load_matches, store_matches
from cepheid.schema import Kind
from cepheid.sessions.alternative_run import AlternativeRun
from cepheid.snapshots import Arrays, Parts, pack, part, prefixed, sealed, unpack
from cepheid.tuning import tuning

if TYPE_CHECKING:
    from cepheid.engines.base.engine import StandingStacks
    from cepheid.matches.compressed import CompressedMatches

_GAPS = 4
"""The number of events kept per needed event, so that they stay consecutive."""


_EXACT = 2.0**53
"""Float counts are exact below this."""


_CHOOSER = "ends"
"""The part of a snapshot that has the state of the output mode; its name is from version 0.1.0."""


_COUNTING = np.arange(tuning().chunk_events, dtype=np.int64)

_string_operations = compiled_once(string_operations)


class Session:
    """A query over a stream that arrives in batches, run by the engine of an evaluation."""

    lead = 0
    """How long before the time in its column an event can begin, in ticks."""

    def __init__(
        self,
        query: AnalysedQuery,
        window: int | None,
        output: str = "all",
        options: Options = DEFAULT_OPTIONS,
        *,
        evaluation: str = NFA_B,
        keeps_all: bool = False,
        counts: bool = False,
    ) -> None:
        self._evaluation = evaluation
        self._query = query
        self._options = options
        self._mode = output_mode(output)
        refuse_query(self._mode, query)
        self._window = MAX_TICKS if window is None else window
        self._measure = query.query.window.measure if query.query.window else ast.WindowMeasure.TIME
        self._strings = StringCodes(_string_operations(query))
        self._partitions = PartitionNumbers()
        self._counts = int64s(0)
        self._now: int | None = None
        components = ast.components(query.query.pattern)
        self._variables = {c.variable: c for c, negated in components if not negated}
        self._nothing = no_matches(list(self._variables.values()))
        by_partition = self._measure is ast.WindowMeasure.EVENTS_PER_PARTITION
        is_simple = len(query.alternatives) == 1 and not query.alternatives[0].negations
        shared: dict[tuple[int, ...], Any] = {}
        self._alternatives = [
            AlternativeRun(
                evaluation,
                EngineTask(
                    query,
                    alternative,
                    self._window,
                    by_partition,
                    options,
                    keeps_all,
                    counts,
                    prunes=self._mode.can_prune and is_simple,
                    shared=shared,
                ),
                self._measure,
            )
            for alternative in query.alternatives
        ]
        make_chooser = self._mode.make_chooser
        self._chooser = None if make_chooser is None else make_chooser()
        # Once an event is read, its partition matters only to an output mode that chooses, a
        # negation, or a window that counts the events of partitions.
        keeps_partitions = bool(query.equivalences) and (
            by_partition
            or self._mode.chooses
            or any(alternative.negations for alternative in query.alternatives)
        )
        self._reads_tests = keeps_partitions or any(each.reads_tests for each in self._alternatives)
        self._retained = Retained(self._measure, keeps_partitions)
        self._types = None if by_partition else _types_that_matter(query.query)
        self._after_sweep = self._strings_kept = 0
        self._reported = ReportedMatches(list(self._variables.values()))
        self._held = self._nothing
        # One automaton without negation, output all: its matches are the answer.
        self._is_plain = is_simple and not self._mode.chooses

    def feed(self, batch: Events) -> Matches:
        """The matches that a batch completes; its events follow all events fed before."""
        parts = self._feed(batch)
        matches = self._matches(parts)
        self._evict()
        return matches

    def advance(self, ticks: int | None = None, after: Events | None = None) -> Matches:
        """The matches completed by the passage of time; None means the stream has ended.

        With ``after``, the matches that this batch completes come first.
        """
        parts = [] if after is None else self._feed(after)
        if ticks is not None:
            self._now = ticks if self._now is None else max(self._now, ticks)
        chosen = self._choose(self._release(at_end=ticks is None))
        matches = self._matches([*parts, self._bindings(chosen)])
        self._evict()
        return matches

    @property
    def waiting_until(self) -> int | None:
        """The earliest end of the matches that were found but not reported yet, in ticks."""
        waiting = [each.first_completion()[0] for each in self._alternatives if each.has_pending]
        if len(self._held):
            waiting.append(int(self._held.ends.min()))
        return min(waiting, default=None)

    @property
    def rows_read(self) -> int:
        """The number of events fed so far."""
        return self._retained.next_number

    @property
    def latest(self) -> Events | None:
        """No events, with the columns, schema and time axis of the events fed so far."""
        return self._retained.latest

    @property
    def time_axis(self) -> TimeAxis:
        """How times become ticks."""
        return self._retained.time_axis

    @property
    def metrics(self) -> Metrics:
        """Metrics of the evaluation so far."""
        return joined_metrics(
            self._retained.next_number, [each.metrics for each in self._alternatives]
        )

    @property
    def next_completion(self) -> int | None:
        """The earliest time that completes a match without another event; None if none does."""
        if self._measure is not ast.WindowMeasure.TIME:
            return None
        # Held matches are released with the pending match that they wait for.
        waiting = [each.first_completion()[0] for each in self._alternatives if each.has_pending]
        return min(waiting, default=None)

    @property
    def evicted_from(self) -> int | None:
        """The time from which no event fed so far matters; None if there is no such time."""
        if self._measure is not ast.WindowMeasure.TIME or self._window == MAX_TICKS:
            return None
        # An event before a match can violate one that begins up to a window later.
        negations = [each for part in self._query.alternatives for each in part.negations]
        windows = 2 if any(not negated.after for negated in negations) else 1
        last = self._retained.ticks[-1:]
        return int(last[0]) + windows * self._window if len(last) else self._now

    def snapshot(self) -> bytes:
        """The state as bytes, from which :meth:`restore` continues."""
        return sealed(self.snapshot_parts())

    def snapshot_parts(self) -> Parts:
        """The state in parts and without a checksum, valid until the next call."""
        if len(self._retained) and self._window != MAX_TICKS:
            self._evict_keys(to_store=True)
        header = {
            **header_of(self._query, self._options, self._retained),
            "window": self._window,
            "output": self._mode.name,
            "evaluation": self._evaluation,
            "now": self._now,
            "strings": self._strings.state(),
        }
        arrays = {
            "counts": self._counts,
            **prefixed("retained", self._retained.state()),
            **prefixed("partitions", self._partitions.state()),
            **prefixed("reported", self._reported.state()),
            **prefixed("held", store_matches(self._held)),
        }
        if self._chooser is not None:
            arrays |= prefixed(_CHOOSER, self._chooser.state())
        for number, alternative in enumerate(self._alternatives):
            arrays |= prefixed(f"alternative{number}", alternative.state())
        return pack(header, arrays)

    @classmethod
    def restore(
        cls, query: AnalysedQuery, snapshot: bytes | memoryview, options: Options = DEFAULT_OPTIONS
    ) -> Session:
        """The session of a snapshot, which must have the same query and algorithm."""
        return cls.load(query, *unpack(snapshot), options)

    @classmethod
    def load(
        cls, query: AnalysedQuery, header: dict[str, Any], arrays: Arrays, options: Options
    ) -> Session:
        """The session of an unpacked snapshot."""
        check_header(header, query, options)
        assert query.schema is not None
        evaluation = header["evaluation"]
        session = cls(query, header["window"], header["output"], options, evaluation=evaluation)
        session._now = header["now"]
        session._strings = StringCodes.from_state(header["strings"], _string_operations(query))
        session._counts = arrays["counts"]
        axis = TimeAxis.from_dict(header["time_axis"])
        session._retained.load(part("retained", arrays), header["types"], axis, query.schema)
        session._partitions.load(part("partitions", arrays))
        session._reported.load(part("reported", arrays))
        session._held = load_matches(part("held", arrays), list(session._variables.values()))
        if session._chooser is not None:
            session._chooser.load(part(_CHOOSER, arrays))
        for number, alternative in enumerate(session._alternatives):
            alternative.load(part(f"alternative{number}", arrays))
        return session

    def run_compressed(self, events: Events) -> CompressedMatches:
        """All matches of a whole stream, in the buffer that the runs share."""
        from cepheid.matches.compressed import CompressedMatches

        self._feed(events)
        chains = self._alternatives[0].buffer
        return CompressedMatches(self._query.query, events, self._variables, chains, self.metrics)

    def run(self, events: Events) -> list[Bindings]:
        """All matches of a whole stream, in parts, in the order of their completion."""
        if self._is_plain:
            return self._feed(events)
        self._read(events)
        matches = self._choose([*self._release(at_end=False), *self._release(at_end=True)])
        order = matches.completion_order()
        if (np.diff(order) < 0).any():
            matches = matches.pick(order)
        return [self._bindings(matches)]

    def stacks(self) -> list[StandingStacks]:
        """The instance stacks of each alternative after the last event read."""
        is_time = self._measure is ast.WindowMeasure.TIME
        now = self._now if is_time else self._retained.next_number - 1
        return [each.stacks(0 if now is None else now) for each in self._alternatives]

    def count(self, events: Events) -> int | None:
        """The number of matches of a whole stream, without building them.

        None if a float cannot count them exactly. Only for a session that ``counts``.
        """
        assert self._is_plain
        for chunk in self._chunks(events):
            for _ in self._alternatives[0].found(chunk, self._retained):
                pass
        counted = self._alternatives[0].counted
        return int(counted) if counted < _EXACT else None

    def stream(self, events: Events) -> Iterator[Matches]:
        """All matches of a whole stream, in parts that need not be in memory together."""
        if self._is_plain:
            for block in self.found(events):
                yield Matches(self._query.query, events, [block])
            return
        for low in range(0, len(events), tuning().chunk_events):
            yield self.feed(events.slice(low, min(low + tuning().chunk_events, len(events))))
        if len(events):
            yield self.advance()

    def found(self, events: Events) -> Iterator[Bindings]:
        """The matches as they are found, for a query of one alternative without negations.

        Every ``CHUNK`` events yield a block, even if it is empty, so that a reader can stop
        early.
        """
        assert self._is_plain
        for chunk in self._chunks(events):
            yield from self._alternatives[0].found(chunk, self._retained)
            yield self._nothing

    def _feed(self, batch: Events) -> list[Bindings]:
        if self._is_plain:
            blocks = (
                block
                for chunk in self._chunks(batch)
                for block in self._alternatives[0].found(chunk, self._retained)
            )
            return list(blocks) or [self._nothing]
        self._read(batch)
        return [self._bindings(self._choose(self._release(at_end=False)))]

    def _read(self, batch: Events) -> None:
        for chunk in self._chunks(batch):
            for alternative in self._alternatives:
                alternative.read(chunk, self._retained)

    def _chunks(self, batch: Events) -> Iterator[Chunk]:
        """The batch in chunks that kernels read; its events are retained."""
        if len(batch) and self._now is not None and int(batch.ticks[0]) < self._now:
            raise EventError(
                "a batch begins before the time that the session has reached; events are fed "
                "in order"
            )
        first_event = self._retained.next_number
        self._retained.append(batch)
        lists = self._retained.lists(self._strings)
        attributes = [test.attribute for test in self._query.equivalences if self._reads_tests]
        for low in range(0, len(batch), tuning().chunk_events):
            high = min(low + tuning().chunk_events, len(batch))
            part = batch if high - low == len(batch) else batch.slice(low, high)
            events = EventBatch.of(part, first_event + low, self._strings, lists)
            keys = [events.column(attribute) for attribute in attributes]
            partition, axis = self._measured(events, keys)
            self._retained.measured(axis, partition)
            yield Chunk(events, partition, self._partitions.count, axis)
        if len(batch):
            self._now = int(batch.ticks[-1])

    def _measured(self, batch: EventBatch, keys: Sequence[EncodedColumn]) -> tuple[Int64s, Int64s]:
        """The partition of each event of a batch, and its place on the axis of the window."""
        if self._measure is ast.WindowMeasure.EVENTS_PER_PARTITION:
            partition, axis, self._counts = self._partitions.number_and_count(
                keys, len(batch), self._counts
            )
            return partition, axis
        places = None if self._types is None else batch.places_of(self._types)
        partition = self._partitions.number(keys, len(batch), places)
        if self._measure is ast.WindowMeasure.TIME:
            return partition, batch.ticks
        numbers = lent_numbers(len(batch))
        np.add(_COUNTING[: len(batch)], batch.first_event, out=numbers)
        return partition, numbers

    def _next_on_axis(self) -> Int64s:
        """For each partition, the least place on the window axis that a later event can have."""
        if self._measure is ast.WindowMeasure.EVENTS_PER_PARTITION:
            return self._counts
        now = self._now if self._measure is ast.WindowMeasure.TIME else self._retained.next_number
        return np.full(max(self._partitions.count, 1), 0 if now is None else now, dtype=np.int64)

    def _release(self, at_end: bool) -> list[Bindings]:
        following = self._next_on_axis()
        return [
            alternative.release(self._retained, following, self._strings, at_end)
            for alternative in self._alternatives
        ]

    def _choose(self, found: Sequence[Bindings]) -> Bindings:
        """The matches to report, out of all that the alternatives found."""
        components = list(self._variables.values())
        parts = [with_variables(part, components) for part in found if len(part)]
        matches = joined_bindings(parts or [self._nothing])
        if len(self._alternatives) > 1 and len(matches):
            if any(alternative.waits for alternative in self._alternatives):
                # Another alternative may have found a match in an earlier batch.
                matches = self._reported.without_reported(matches, self._retained.first_number)
            else:
                matches = without_duplicates(matches)
        if self._chooser is None:
            return matches
        matches = self._in_order_of_completion(matches)
        if not len(matches):
            return matches
        first = self._retained.places(matches.first_events())
        partition = self._retained.partition[first]
        completed = CompletedMatches(matches, partition, max(self._partitions.count, 1))
        return self._chooser.choose(completed)

    def _in_order_of_completion(self, matches: Bindings) -> Bindings:
        """Hold back the matches that are complete later than a pending match."""
        matches = joined_bindings([self._held, matches]) if len(self._held) else matches
        waiting = [each.first_completion() for each in self._alternatives if each.has_pending]
        if not waiting:
            self._held = self._nothing
            return matches
        ticks, position = min(waiting)
        early = (matches.ends < ticks) | (
            (matches.ends == ticks) & (matches.completion_positions < position)
        )
        self._held = matches.pick(np.flatnonzero(~early))
        return matches.pick(np.flatnonzero(early))

    def _bindings(self, found: Bindings) -> Bindings:
        """The matches as places in the retained events."""
        return found.moved(self._retained.places) if len(found) else self._nothing

    def _matches(self, parts: list[Bindings]) -> Matches:
        return Matches(self._query.query, self._retained.view, parts)

    def _evict(self) -> None:
        """Evict the events that no later match can contain or be violated by."""
        extent = self._window
        if not len(self._retained) or extent == MAX_TICKS:
            return
        first = self._first_wanted(extent)
        if len(self._held):
            first = min(first, int(self._retained.places(self._held.first_events()).min()))
        self._retained.drop_first(first)
        if self._measure is ast.WindowMeasure.EVENTS_PER_PARTITION:
            self._drop_gaps(extent)
        self._evict_keys()
        self._evict_strings()

    def _first_wanted(self, extent: int) -> int:
        """The place of the first event that is less than an extent before any later event."""
        retained = self._retained
        if self._measure is ast.WindowMeasure.TIME:
            assert self._now is not None
            since = max(self._now - extent, -MAX_TICKS)
            return retained.until(since)
        if self._measure is ast.WindowMeasure.EVENTS:
            return min(max(len(retained) - extent + 1, 0), len(retained))
        return retained.first_within(self._counts, extent)

    def _drop_gaps(self, extent: int) -> None:
        """Drop unneeded events between the events of a quiet partition.

        Lookup is fastest if events are consecutive, so gaps are made only if most events can
        go. The check runs only when the number of events has doubled since the last one.
        """
        retained = self._retained
        if len(retained) <= 2 * self._after_sweep + tuning().few_events:
            return
        age = self._counts[np.maximum(retained.partition, 0)] - retained.axis
        wanted = (age < extent) & (retained.partition >= 0)
        if len(self._held):
            wanted |= retained.numbers >= self._held.first_events().min()
        if _GAPS * np.count_nonzero(wanted) < len(wanted):
            retained.keep(wanted)
        self._after_sweep = len(retained)

    def _evict_keys(self, to_store: bool = False) -> None:
        """Free the numbers of partitions without any state, if there are many."""
        is_time = self._measure is ast.WindowMeasure.TIME
        now = self._now if is_time and self._now is not None else self._retained.next_number
        for alternative in self._alternatives:
            alternative.evict_keys(now, to_store)
        if not self._partitions.are_many(to_store):
            return
        used = int64s(self._partitions.count)
        partition = self._retained.partition
        used[partition[partition >= 0]] = 1
        for alternative in self._alternatives:
            with_runs = alternative.used_partitions(now)
            if with_runs is None:
                return
            used |= padded(with_runs, len(used))
        numbers = self._partitions.keep(used)
        self._retained.renumber_partitions(numbers)
        gone = numbers[: len(self._counts)] < 0
        self._partitions.count_from(int(self._counts[gone].max(initial=0)) + self._window)
        self._counts = self._counts[~gone]
        if self._chooser is not None:
            self._chooser.renumber_partitions(numbers)
        for alternative in self._alternatives:
            alternative.renumber_partitions(numbers)

    def _evict_strings(self) -> None:
        """Evict the strings that no retained event has, if there are many.

        Runs keep only strings of events that they have selected, and those are retained.
        Negations also keep strings of other events.
        """
        if len(self._strings) > 2 * self._strings_kept + tuning().few_strings:
            schema = self._retained.schema
            strings = [name for name in schema.attributes if schema.kind(name) is Kind.STRING]
            codes = [codes for each in self._alternatives for codes in each.kept_codes(strings)]
            self._strings.keep_only(self._retained.events.table.columns, codes)
            self._strings_kept = len(self._strings)


def _types_that_matter(query: ast.Query) -> frozenset[str] | None:
    """The types of events that can be in a match or violate one; None if all events can."""
    if not query.strategy.skips:
        return None
    return frozenset(
        name for component, _ in ast.components(query.pattern) for name in component.types
    )
