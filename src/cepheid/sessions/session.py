"""The state of a query between batches of events [Agrawal08 §5].

A session reads events in order, in batches of any size, and advances its clock when asked. The
matches do not depend on how the stream is divided into batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cepheid.analysis.kinds import attribute_kind
from cepheid.analysis.model import AnalysedQuery
from cepheid.analysis.needs import string_operations
from cepheid.budget import Budget
from cepheid.codegen.compiler import compiled_once
from cepheid.engines.base.engine import Chunk, EngineTask, Restored
from cepheid.engines.base.evaluation import NFA_B
from cepheid.engines.base.event_batch import EventBatch
from cepheid.engines.base.options import DEFAULT_OPTIONS, Options
from cepheid.engines.base.query_session import QuerySession, refuse_earlier
from cepheid.engines.base.retained import Retained
from cepheid.events.arrays import Int64s, padded
from cepheid.events.columns.computed_columns import column_of
from cepheid.events.columns.string_codes import StringCodes
from cepheid.events.events import Events
from cepheid.events.time_axis import earliest
from cepheid.matches.bindings import Bindings, joined_bindings, with_variables
from cepheid.matches.duplicates import ReportedMatches, without_duplicates
from cepheid.matches.held import charge_matches
from cepheid.matches.layout import NO_PRUNING
from cepheid.matches.matches import Matches
from cepheid.matches.metrics import Metrics, joined_metrics
from cepheid.matches.modes.rule import EVERY_MATCH, OutputRule
from cepheid.schema import Kind
from cepheid.sessions.alternative_run import AlternativeRun, Reached
from cepheid.sessions.partial_matches import PartialMatches, Progress, none_timed_out
from cepheid.sessions.reporting import REPORTING_PARTS, EngineMoment, Reporting
from cepheid.sessions.session_window import SessionWindow
from cepheid.snapshot_checks import FAR, check_arrays, check_values, expected, require
from cepheid.snapshots import Arrays, Parts, part, prefixed
from cepheid.tuning import tuning

if TYPE_CHECKING:
    from cepheid.engines.base.engine import Engine, StandingBuffer, StandingStacks
    from cepheid.matches.compressed import CompressedMatches

_EXACT = 2.0**53
"""Float counts are exact below this."""


_string_operations = compiled_once(string_operations)


class Session(QuerySession):
    """A query over a stream that arrives in batches, run by the engine of an evaluation."""

    def __init__(
        self,
        query: AnalysedQuery,
        window: int | None,
        rule: OutputRule = EVERY_MATCH,
        options: Options = DEFAULT_OPTIONS,
        *,
        evaluation: str = NFA_B,
        keeps_all: bool = False,
        counts: bool = False,
        budget: Budget | None = None,
    ) -> None:
        self._rule = rule
        rule.refuse_query(query)
        keeps_partitions = _keeps_partitions(query, rule)
        retained = Retained(query.query.measure, keeps_partitions=keeps_partitions)
        super().__init__(query, options, retained)
        self._evaluation = evaluation
        self._window = SessionWindow(query, window, self._retained)
        self._strings = StringCodes(_string_operations(query))
        self._strings_kept = 0
        self._budget = Budget(options.max_memory) if budget is None else budget
        self._charged = 0
        # Whether partial matches time out depends on all matches.
        is_simple = len(query.alternatives) == 1 and not query.alternatives[0].negations
        is_simple = is_simple and not rule.timed_out
        task = EngineTask(
            query,
            query.alternatives[0],
            self._window.extent,
            query.counts_partitions,
            options,
            keeps_all,
            counts,
            prunes=rule.mode.prunes if is_simple else NO_PRUNING,
            budget=self._budget,
        )
        self._alternatives = [
            AlternativeRun(evaluation, replace(task, alternative=alternative))
            for alternative in query.alternatives
        ]
        self._reporting = Reporting(rule, self._components) if rule.chooses else None
        self._partial: PartialMatches | None = None
        if rule.timed_out:
            self._partial = PartialMatches(evaluation, task, self._components)
            self.nothing = none_timed_out(self.nothing)
        self._runs = [*self._alternatives, *(self._partial.runs if self._partial else ())]
        self._reads_tests = keeps_partitions or any(each.reads_tests for each in self._runs)
        self._reported = ReportedMatches(self._components)
        # One automaton without negation, output all: its matches are the answer.
        self._is_simple = is_simple
        self._is_plain = is_simple and self._reporting is None

    def feed(self, batch: Events) -> Matches:
        """The matches that a batch completes."""
        return self._reported_now(self._feed(batch))

    def advance(self, ticks: int | None = None, after: Events | None = None) -> Matches:
        """The matches that a batch completes, then the matches completed by the passage of time."""
        parts = [] if after is None else self._feed(after)
        if ticks is not None:
            now = self._window.now
            self._window.now = ticks if now is None else max(now, ticks)
        at_end = ticks is None
        chosen = self._choose(self._release(at_end), at_end)
        return self._reported_now([*parts, self._places(chosen)])

    def throttle(self, gap: int | None) -> Matches | None:
        """Report with another least gap from now on; the matches that the old one held back."""
        if gap is not None and self._query.loose:
            return None
        self._rule = rule = replace(self._rule, least_gap=gap)
        if self._reporting is None:
            self._reporting = Reporting(rule, self._components)
        held = self._reporting.throttle(gap)
        held = self._places(held if self._partial is None else none_timed_out(held))
        had, keeps = self._retained.keeps_partitions, _keeps_partitions(self._query, rule)
        self._reads_tests = keeps or any(each.reads_tests for each in self._runs)
        if had != keeps:
            self._retained.keep_partitions(self._partition_of_retained() if keeps else None)
        if not rule.chooses:
            self._reporting = None
        self._is_plain = self._is_simple and self._reporting is None
        return Matches(self._query.query, self._retained.view, [held], budget=self._budget)

    def allow_matches(self, count: int) -> None:
        """Fail when more than this many matches are found from now on, whatever the options say."""
        for each in self._alternatives:
            each.allow_matches(count)

    def _partition_of_retained(self) -> Int64s:
        """The partition of each retained event, if partitions have not been kept."""
        retained = self._retained
        if not len(retained):
            return np.empty(0, dtype=np.int64)
        lists = retained.lists(self._strings)
        batch = EventBatch.of(retained.events, retained.first_number, self._strings, lists)
        keys = [batch.column(test.attribute) for test in self._query.equivalences]
        return self._window.measured(batch, keys)[0]

    def _reported_now(self, parts: list[Bindings]) -> Matches:
        self._budget.release(self._charged)
        self._charged = 0
        matches = Matches(self._query.query, self._retained.view, parts, budget=self._budget)
        self._evict()
        return matches

    @property
    def waiting_until(self) -> int | None:
        """The earliest end of the matches that were found but not reported yet, in ticks."""
        pending = self._first_completion()
        held = None if self._reporting is None else self._reporting.first_end
        return earliest([held, None if pending is None else pending[0], *self._timeouts])

    @property
    def _timeouts(self) -> list[int]:
        return [] if self._partial is None else self._partial.next_end

    @property
    def metrics(self) -> Metrics:
        """Metrics of the evaluation so far."""
        found = joined_metrics(self.rows_read, [each.metrics for each in self._alternatives])
        return (
            found if self._reporting is None else replace(found, left_out=self._reporting.left_out)
        )

    @property
    def next_completion(self) -> int | None:
        """The earliest time that completes a match without another event; None if none does."""
        # Other held matches are released with the pending match that they wait for.
        window = self._window
        pending = _earliest([each for each in self._alternatives if each.is_decided_by_time])
        times = [*self._timeouts, *([] if pending is None else [pending[0]])]
        if self._reporting is not None and window.is_time and not window.is_open:
            waiting = self._reporting.first_start
            times += [] if waiting is None else [waiting + window.extent]
        return min(times, default=None)

    def _first_completion(self) -> tuple[int, int] | None:
        """The (ticks, position) at which the first pending match is complete."""
        return _earliest(self._alternatives)

    @property
    def evicted_from(self) -> int | None:
        """The time from which no event fed so far matters; None if there is no such time."""
        window = self._window
        if not window.is_time or window.is_open:
            return None
        # An event before a match can violate one that begins up to a window later.
        negations = [each for part in self._query.alternatives for each in part.negations]
        windows = 2 if any(not negated.after for negated in negations) else 1
        latest = [*self._retained.ticks[-1:].tolist()]
        latest += [time for each in self._alternatives for time in each.latest_kept]
        longer = max(self._query.own_windows.values(), default=0)
        longer += 0 if self._reporting is None else self._reporting.gap
        return max(latest) + windows * window.extent + longer if latest else window.now

    def snapshot_parts(self) -> Parts:
        """The state in parts and without a checksum, valid until the next call."""
        if len(self._retained) and not self._window.is_open:
            self._evict_keys(to_store=True)
        header = {
            "window": self._window.extent,
            "output": self._rule.output,
            "at_most_once_per": self._rule.least_gap,
            "evaluation": self._evaluation,
            "now": self._window.now,
            "strings": self._strings.state(),
            **({"timed_out": True} if self._rule.timed_out else {}),
        }
        arrays = {
            **self._window.state(),
            **prefixed("reported", self._reported.state()),
        }
        if self._reporting is not None:
            arrays |= self._reporting.state()
        if self._partial is not None:
            arrays |= self._partial.state()
        for number, alternative in self._numbered:
            arrays |= prefixed(f"alternative{number}", alternative.state())
        return self._packed(header, arrays)

    @property
    def _numbered(self) -> Iterable[tuple[int, AlternativeRun]]:
        return enumerate(self._runs)

    def load(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        """Restore the state of a snapshot."""
        check_values(header, {"now": "integer?", "strings": "object"})
        alternatives = {f"alternative{number}": each for number, each in self._numbered}
        parts = ["retained", "partitions", "reported", *REPORTING_PARTS, *alternatives]
        parts += [] if self._partial is None else ["timed_out"]
        check_arrays(arrays, {"counts": expected(np.int64, "counts", each=(0, FAR))}, parts)
        super().load(header, arrays)
        self._window.now = now = header["now"]
        ticks = arrays["retained.ticks"]
        require((ticks[1:] >= ticks[:-1]).all(), "retained events are in no order")
        require(not len(ticks) or (now is not None and ticks[-1] <= now), "'now' is too early")
        self._window.load(arrays)
        self._strings = StringCodes.from_state(header["strings"], _string_operations(self._query))
        events = range(self._retained.first_number, self._retained.next_number)
        self._reported.load(part("reported", arrays), range(events.stop))
        if self._reporting is not None:
            self._reporting.load(arrays, events)
        if self._partial is not None:
            self._partial.load(part("timed_out", arrays), events)
        restored = Restored(events, self._window.edge, self._window.partitions.count)
        for name, alternative in alternatives.items():
            alternative.load(part(name, arrays), restored)

    def run_compressed(self, events: Events) -> CompressedMatches:
        """All matches of a whole stream, in the buffer that the runs share."""
        from cepheid.matches.compressed import ChainPart, CompressedMatches

        self._read_all(events)
        parts = []
        for run, alternative in zip(self._alternatives, self._query.alternatives, strict=True):
            part = ChainPart(run.engine.buffer, alternative.components, run.ends)
            kept = run.kept_together(part.representatives, self._retained, self._strings)
            parts.append(part if kept is None else part.pick(kept))
        return CompressedMatches(
            self._query.query, events, self._variables, parts, self.metrics, self._budget
        )

    def _read_all(self, events: Events) -> None:
        """Read a whole stream, without choosing among the matches."""
        if self._is_plain:
            self._feed(events)
        else:
            self._read(events)

    def run(self, events: Events) -> list[Bindings]:
        """All matches of a whole stream, in parts, in the order of their completion."""
        if self._is_plain:
            return self._feed(events)
        self._read(events)
        found = [*self._release(at_end=False), *self._release(at_end=True)]
        matches = self._choose(found, at_end=True)
        order = np.lexsort((matches.completion_positions, matches.ends))
        if (np.diff(order) < 0).any():
            matches = matches.pick(order)
        return [self._places(matches)]

    @property
    def engines(self) -> list[Engine]:
        """The engine of each alternative."""
        return [each.engine for each in self._alternatives]

    def stacks(self) -> list[StandingStacks]:
        """The instance stacks of each alternative after the last event read."""
        now = self._window.now if self._window.is_time else self._retained.next_number - 1
        return [engine.standing(0 if now is None else now) for engine in self.engines]

    def buffers(self) -> list[StandingBuffer]:
        """The versioned buffer of each alternative after the last event read."""
        return [engine.selected() for engine in self.engines]

    def count(self, events: Events) -> int | None:
        """The number of matches of a whole stream, without building them.

        None if a float cannot count them exactly. Only for a session that ``counts``.
        """
        assert self._is_plain
        for _ in self.found(events):
            pass
        counted = self.engines[0].counted
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
            yield self.nothing

    def _feed(self, batch: Events) -> list[Bindings]:
        if self._is_plain:
            return list(self._held_blocks(batch)) or [self.nothing]
        self._read(batch)
        return [self._places(self._choose(self._release(at_end=False), at_end=False))]

    def _held_blocks(self, batch: Events) -> Iterator[Bindings]:
        """The matches as they are found, charged to the budget until they are reported."""
        for block in self.found(batch):
            if len(block):
                self._charged += charge_matches(self._budget, block, self._query.query)
                yield block

    def _read(self, batch: Events) -> None:
        for chunk in self._chunks(batch):
            for alternative in self._alternatives:
                alternative.read(chunk, self._retained)
            if self._partial is not None:
                self._partial.read(chunk, self._retained)

    def _chunks(self, batch: Events) -> Iterator[Chunk]:
        """The batch in chunks that kernels read; its events are retained."""
        refuse_earlier(batch, self._window.now)
        first_event = self._retained.next_number
        self._retained.append(batch)
        lists = self._retained.lists(self._strings)
        attributes = [test.attribute for test in self._query.equivalences if self._reads_tests]
        for low in range(0, len(batch), tuning().chunk_events):
            high = min(low + tuning().chunk_events, len(batch))
            part = batch if high - low == len(batch) else batch.slice(low, high)
            events = EventBatch.of(part, first_event + low, self._strings, lists)
            keys = [events.column(attribute) for attribute in attributes]
            partition, axis = self._window.measured(events, keys)
            self._retained.measured(axis, partition)
            yield Chunk(events, partition, self._window.partitions.count, axis)
            self.events_done = first_event + high
        if len(batch):
            self._window.now = int(batch.ticks[-1])

    def _release(self, at_end: bool) -> list[Bindings]:
        now = self._window.now
        reached = Reached(self._window.following(), 0 if now is None else now)
        return [
            alternative.release(self._retained, reached, self._strings, at_end)
            for alternative in self._alternatives
        ]

    def _choose(self, found: Sequence[Bindings], at_end: bool) -> Bindings:
        """The matches to report, out of all that the alternatives found."""
        parts = [with_variables(part, self._components) for part in found if len(part)]
        matches = joined_bindings(parts or [self.nothing])
        if self._partial is None:
            return self._chosen(matches, at_end)
        progress = Progress(self._window.now or 0, at_end, self._outlasting())
        late = self._partial.timed_out(matches, self._retained, progress)
        chosen = self._chosen(matches, at_end)
        return joined_bindings([none_timed_out(chosen), late])

    def _chosen(self, matches: Bindings, at_end: bool) -> Bindings:
        """The matches that the output mode and AT MOST ONCE PER choose."""
        if len(self._alternatives) > 1 and len(matches):
            if any(alternative.waits for alternative in self._alternatives):
                # Another alternative may have found a match in an earlier batch.
                matches = self._reported.without_reported(matches, self._retained.first_number)
            else:
                matches = without_duplicates(matches)
        if self._reporting is None:
            return matches
        moment = EngineMoment(
            self._retained,
            self._first_completion(),
            at_end,
            self._window.following(),
            self._window.extent,
            self._outlasting(),
            None if at_end else self._live_starts(),
        )
        return self._reporting.report(matches, moment)

    def _outlasting(self) -> Int64s:
        """The first events of the pending matches that can outlast the window."""
        found = [each.outlasting for each in self._alternatives]
        return found[0] if len(found) == 1 else np.concatenate(found)

    def _live_starts(self) -> Int64s | None:
        """The first events of runs and of pending matches; None if an engine does not know them."""
        if not self._rule.mode.waits:
            return None
        found = [each.live_starts() for each in self._alternatives]
        known = [each for each in found if each is not None]
        return np.unique(np.concatenate(known)) if len(known) == len(found) else None

    def _places(self, found: Bindings) -> Bindings:
        """The matches as places in the retained events."""
        return found.moved(self._retained.places) if len(found) else self.nothing

    def _evict(self) -> None:
        """Evict the events that no later match can contain or be violated by."""
        if len(self._retained) and not self._window.is_open:
            held = self._outlasting()
            if self._reporting is not None:
                held = np.concatenate([held, *self._reporting.first_held])
            if self._partial is not None:
                held = np.concatenate([held, self._partial.first_held])
            self._window.evict(held if len(held) else None)
            self._evict_keys()
            self._evict_strings()

    def _evict_keys(self, to_store: bool = False) -> None:
        """Free the numbers of partitions without any state, if there are many."""
        window, now = self._window, self._window.place_now
        for alternative in self._runs:
            alternative.evict_keys(now, to_store)
        if not window.partitions.are_many(to_store):
            return
        used = window.used_partitions()
        for alternative in self._runs:
            used |= padded(alternative.used_partitions(now), len(used))
        if self._reporting is not None:
            used |= padded(self._reporting.used_partitions(window.now), len(used))
        numbers = window.keep_partitions(used)
        if self._reporting is not None:
            self._reporting.renumber_partitions(numbers)
        for alternative in self._runs:
            alternative.renumber_partitions(numbers)

    def _evict_strings(self) -> None:
        """Evict the strings that no retained event has, if there are many.

        Runs keep only strings of events that they have selected, and those are retained.
        Negations also keep strings of other events.
        """
        if len(self._strings) > 2 * self._strings_kept + tuning().few_strings:
            schema, computed = self._retained.schema, sorted(self._strings.computed)
            strings = [name for name in schema.attributes if schema.kind(name) is Kind.STRING]
            strings += [name for name in computed if attribute_kind(name, schema) is Kind.STRING]
            codes = [codes for each in self._runs for codes in each.kept_codes(strings)]
            table = self._retained.events.table
            columns = [*table.columns, *(column_of(table, name) for name in computed)]
            self._strings.keep_only(columns, codes)
            self._strings_kept = len(self._strings)


def _keeps_partitions(query: AnalysedQuery, rule: OutputRule) -> bool:
    """Whether the partition of an event matters after it was read.

    It does to an output mode that chooses, a negation, and a window that counts the events of
    partitions.
    """
    has_negations = any(alternative.negations for alternative in query.alternatives)
    return bool(query.equivalences) and (query.counts_partitions or rule.chooses or has_negations)


def _earliest(alternatives: Sequence[AlternativeRun]) -> tuple[int, int] | None:
    """The (ticks, position) at which the first pending match of some alternatives is complete."""
    found = (each.first_completion() for each in alternatives)
    return min((each for each in found if each is not None), default=None)
