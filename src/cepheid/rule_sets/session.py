"""A set of rules over a stream that arrives in batches.

A batch is read and ordered once. Rules of the same shape share a session (``sharing/``), and others
have their own sessions. A rule that cannot run, or exceeds a limit, is *suspended* with a
reason, and the others continue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar

from cepheid.engines.base.query_session import QuerySession, refuse_earlier
from cepheid.engines.base.retained import Retained
from cepheid.errors import (
    STREAM_HAS_ENDED,
    CepheidError,
    EventError,
    OptionError,
    RuleFault,
    SnapshotError,
    unfed,
)
from cepheid.events.conforming import late_kinds, like_earlier
from cepheid.events.events import Events
from cepheid.events.time_axis import TimeAxis, earliest, latest_of_all
from cepheid.language.builder import duration
from cepheid.row_patterns.query import RowPatternQuery
from cepheid.row_patterns.streams.session import RowSession
from cepheid.rule_sets.changes import Changes, changed_rules
from cepheid.rule_sets.metrics import RuleMetrics
from cepheid.rule_sets.results import AnyFound, RuleMatches, reported
from cepheid.rule_sets.row_run import RowRun
from cepheid.rule_sets.rule_run import RuleRun, Run, plan_rule, state_key
from cepheid.rule_sets.rule_set import CompiledRule, RuleSet
from cepheid.rule_sets.sharing.shared_rules import SharedRules, SharedRun, StoredGroups
from cepheid.rule_sets.splitting import SplitBatch
from cepheid.rule_sets.stored_session import StoredSession
from cepheid.sessions.held_session import HeldSession, one_at_a_time, ticks_of
from cepheid.sessions.plan import PlannedQuery
from cepheid.sessions.run_settings import RunSettings
from cepheid.snapshots import Arrays, Parts, unpack

_Run = TypeVar("_Run", bound=Run)
_Given = TypeVar("_Given")
_StoredRules = tuple[Mapping[str, tuple[str, bytes]], StoredGroups]
"""The state of rules with their own sessions, and of groups of rules."""
_NO_BACKFILL = (
    "backfill needs the events of the past, and this session does not keep any: begin it with "
    "retain, such as rules.session(retain='1 hour')"
)


class RuleSession(HeldSession):
    """The state of all rules of a set between batches of events.

    Make one with ``rules.session()``. The matches of a rule are those of a session of its query
    alone. ``suspended`` has the rules that do not run any more, and why.

    >>> import cepheid as cep
    >>> rules = cep.rules({"lonely": "PATTERN SEQ(A a, ~(B b)) WITHIN 5", "b": "PATTERN B b"})
    >>> session = rules.session()
    >>> session.feed({"ts": [1, 3], "type": ["A", "B"]})
    1 match
    b: 1 match
    >>> session.feed({"ts": [4], "type": ["A"]})
    0 matches
    >>> session.advance(20)["lonely"].bindings()
    [{'a': 2}]
    """

    def __init__(
        self,
        rules: RuleSet,
        keywords: Mapping[str, Any],
        retain: Any = None,
        snapshot: bytes | memoryview | None = None,
        backfill: bool = False,
    ) -> None:
        super().__init__()
        self._rules = rules
        self._keywords = keywords
        self._read = RunSettings.of(keywords, without=["whole_events", "workers"]).read
        self._retain = None if retain is None else duration(retain)
        self._kept = Retained(keeps_partitions=False)
        self._runs: dict[str, Run] = {}
        self._shared = SharedRules()
        self._latest: Events | None = None
        self._sample: Events | None = None  # the last batch, by which an evaluation is chosen
        self._rows = 0
        self._now: int | None = None
        self._has_ended = False
        self.suspended: dict[str, RuleFault] = {}
        self._last_metrics: dict[str, RuleMetrics] = {}  # of rules when they were suspended
        self.restored: RuleMatches | None = None
        """For a session from a snapshot: the matches of rules that were changed, and faults."""
        self._backfills = backfill
        self._continue(snapshot)

    @property
    def rules(self) -> RuleSet:
        """The rules as they are now."""
        return self._rules

    @property
    @one_at_a_time
    def metrics(self) -> dict[str, RuleMetrics]:
        """What each rule has cost and found since it began in this session.

        >>> import cepheid as cep
        >>> session = cep.rules({"b": "PATTERN B b", "c": "PATTERN C c"}).session()
        >>> session.feed({"ts": [1, 3], "type": ["A", "B"]})
        1 match
        b: 1 match
        >>> {name: (each.matches, each.last_match) for name, each in session.metrics.items()}
        {'b': (1, 3), 'c': (0, None)}
        """
        suspended = {
            name: self._last_metrics.get(name, RuleMetrics(name, suspended=fault.message))
            for name, fault in self.suspended.items()
        }
        return {name: run.metrics for name, run in self._runs.items()} | suspended

    @property
    def _sessions(self) -> list[QuerySession | RowSession]:
        own = [run.session for run in self._runs.values() if isinstance(run, RuleRun | RowRun)]
        return [*own, *self._shared.sessions]

    @property
    @one_at_a_time
    def next_completion(self) -> int | None:
        """The earliest time, in ticks, that completes a match of a rule without another event."""
        return earliest(session.next_completion for session in self._sessions)

    @property
    @one_at_a_time
    def evicted_from(self) -> int | None:
        """The time, in ticks, from which no event fed so far matters; None if there is none.

        The session knows more than events if a rule is suspended or events are retained.
        """
        if self.suspended or self._retain is not None:
            return None
        return latest_of_all(session.evicted_from for session in self._sessions)

    @one_at_a_time
    def feed(self, events: Any) -> RuleMatches:
        """The matches that a batch of events completes, for all rules.

        A batch is as for the session of a query: see
        :meth:`cepheid.sessions.stream.StreamSession.feed`.
        """
        latest = self._latest
        is_nothing = latest is not None and isinstance(events, list) and not events
        batch = latest if is_nothing else self._read.order(events)
        assert batch is not None
        late = None
        if latest is not None:
            late = late_kinds(batch, latest)
            batch = like_earlier(batch, latest)
        if self._has_ended:
            raise EventError(STREAM_HAS_ENDED)
        refuse_earlier(batch, self._now)
        if latest is None and self._retain is not None:
            self._retained_ticks(batch.time_axis)
        self._is_changing = True
        self._latest = batch.slice(0, 0)
        self._sample = batch if len(batch) or self._sample is None else self._sample
        faults: dict[str, RuleFault] = {}
        if latest is None:
            faults = self._begin(self._rules.enabled)
        elif late is not None:
            faults = self._each(list(self._runs.values()), lambda run: run.check_kinds(late))[1]
        batch = batch.counted_from(self._rows)
        first, earlier = self._rows, self._now
        self._rows += len(batch)
        self._now = int(batch.ticks[-1]) if len(batch) else self._now
        if self._retain is not None and self._now is not None:
            self._kept.append(batch)
            edge = self._now - self._retained_ticks(batch.time_axis)
            self._kept.drop_first(self._kept.until(edge))
        split, now = SplitBatch(batch), self._now
        self._shared.feed(batch, now)
        faults |= self._leave_groups(earlier, first)
        return self._result(lambda run: run.feed(split, now), faults)

    @one_at_a_time
    def advance(self, time: Any = None) -> RuleMatches:
        """The matches completed by the passage of time; None means the stream has ended."""
        if self._latest is None:
            raise unfed("advances")
        ticks = None if time is None else ticks_of(time, self._latest.time_axis)
        self._is_changing = True
        self._has_ended = self._has_ended or ticks is None
        earlier = self._now
        if ticks is not None:
            self._now = ticks if self._now is None else max(self._now, ticks)
        self._shared.advance(ticks)
        faults = self._leave_groups(earlier)
        return self._result(lambda run: run.advance(ticks), faults)

    def _leave_groups(self, now: int | None, before: int | None = None) -> dict[str, RuleFault]:
        """Give each rule of a group that has failed a session of its own, as of before the step.

        The result has the rules for which this fails.
        """
        leaving, self._shared.leaving = self._shared.leaving, []
        assert self._latest is not None
        columns = self._latest

        def leave(run: SharedRun) -> None:
            alone = self._shared.alone(run, columns, now, before)
            self._runs[run.each.rule.name] = alone

        return self._each(leaving, leave)[1]

    @one_at_a_time
    def apply(self, changes: Changes, *, backfill: bool = False) -> RuleMatches:
        """Change rules, from the next batch on.

        A rule that is not changed keeps its state. So does a rule of which only RETURN, the
        severity, the description, the tags or ``at_most_once_per`` change. A rule with another
        query, parameter or output mode begins anew, as a new rule does, and so does a suspended
        rule that is changed. A change that cannot be made is a fault of the result, and the
        rule stays as it is.

        Args:
            changes: a set of rules, which replaces the rules of the session; or a mapping of
                names to new rules, to new queries, to the fields that change, such as
                ``{"enabled": False}``, or to None, which removes the rule.
            backfill: rules that begin anew first read the events that the session retains, as
                ``retain`` said when it began. The result has the matches among them.

        >>> import cepheid as cep
        >>> session = cep.rules({"pair": "PATTERN SEQ(A a, B b) WITHIN 9"}).session(retain=10)
        >>> session.feed({"ts": [1], "type": ["A"]})
        0 matches
        >>> changes = {"pair": {"severity": "low"}, "single": "PATTERN A a RETURN a.ts"}
        >>> session.apply(changes, backfill=True)
        1 match
        single: 1 match
        >>> [(match.rule, match.severity) for match in session.feed({"ts": [2], "type": ["B"]})]
        [('pair', 'low')]
        """
        if backfill and self._retain is None:
            raise OptionError(_NO_BACKFILL)
        after, faults = changed_rules(self._rules, changes)
        named = [] if isinstance(changes, RuleSet) else list(changes)
        if self._latest is None:
            self._rules = self._rules.with_compiled(after)
            return reported({}, None, faults)
        self._is_changing = True
        found, more = self._become(after, named, backfill)
        return reported(found, self._latest.time_axis, [*faults, *more])

    def _become(
        self, after: dict[str, CompiledRule], named: Sequence[str], backfill: bool
    ) -> tuple[dict[str, AnyFound], list[RuleFault]]:
        """Run these rules from now on; ``named`` are those that were changed explicitly."""
        found: dict[str, AnyFound] = {}
        faults: list[RuleFault] = []
        before = self._rules.compiled
        for name in before:
            if name not in after or not after[name].rule.enabled:
                self._forget(name)
                self.suspended.pop(name, None)
        for name, each in after.items():
            old = before.get(name)
            is_same = old is not None and old.rule == each.rule
            if not each.rule.enabled or (is_same and name in self._runs):
                continue
            if is_same and name in self.suspended and name not in named:
                continue
            try:
                found |= self._changed(each, backfill)
                self.suspended.pop(name, None)
            except CepheidError as error:
                faults.append(RuleFault.of(name, error))
                if old is not None:
                    after = {**after, name: old}
                else:
                    self.suspended[name] = faults[-1]
        self._rules = self._rules.with_compiled(after)
        return found, faults

    def _changed(
        self, each: CompiledRule, backfill: bool, stored: _StoredRules | None = None
    ) -> dict[str, AnyFound]:
        """Run a rule that is new, changed or restored; the matches that this finds."""
        assert self._latest is not None
        name, columns = each.rule.name, self._latest
        if isinstance(each.query, RowPatternQuery):
            return self._changed_rows(each, backfill, stored)
        planned = self._planned(each)
        run = self._runs.get(name)
        if stored is not None:
            run = self._restored(each, planned, stored)
        if isinstance(run, SharedRun):
            if run.become(each, planned):
                self._runs[name] = run
                return {}
            if state_key(planned) == state_key(run.planned):
                run = self._shared.alone(run, columns, self._now)
        if isinstance(run, RuleRun) and (released := run.become(each, planned)) is not None:
            self._runs[name] = run
            return {name: run.found(released[0])} if released else {}
        past = self._kept.events if backfill and len(self._kept) else None
        new = self._new_run(each, planned, shares=past is None)
        self._forget(name)
        self._runs[name] = new
        if isinstance(new, SharedRun):
            return {name: new.nothing}
        assert isinstance(new, RuleRun)
        past = columns if past is None else past
        return {name: new.found(new.catch_up(past, self._now, self._has_ended))}

    def _changed_rows(
        self, each: CompiledRule, backfill: bool, stored: _StoredRules | None
    ) -> dict[str, AnyFound]:
        """The same for a ``MATCH_RECOGNIZE`` rule."""
        assert self._latest is not None
        name, columns = each.rule.name, self._latest
        run = self._runs.get(name)
        if stored is not None:
            key, state = stored[0].get(name, ("", b""))
            run = RowRun(each, self._read, columns, state) if key == str(each.query) else None
        if isinstance(run, RowRun) and run.become(each):
            self._runs[name] = run
            return {}
        new = RowRun(each, self._read, columns)
        self._forget(name)
        self._runs[name] = new
        past = self._kept.events if backfill and len(self._kept) else columns
        return {name: new.catch_up(past, self._now, self._has_ended)}

    def _planned(self, each: CompiledRule) -> PlannedQuery:
        assert self._latest is not None
        columns = self._sample or self._latest
        return plan_rule(each, self._keywords, columns, self._shared.known_choice)

    def _new_run(self, each: CompiledRule, planned: PlannedQuery, shares: bool = True) -> Run:
        assert self._latest is not None
        run = self._shared.join(each, planned, self._latest) if shares else None
        return RuleRun(each, planned, self._latest) if run is None else run

    def _forget(self, name: str) -> None:
        run = self._runs.pop(name, None)
        if isinstance(run, SharedRun):
            self._shared.leave(run)

    def _begin(self, rules: Sequence[CompiledRule]) -> dict[str, RuleFault]:
        """Begin to run rules; the result has those that cannot run."""
        assert self._latest is not None
        faults = {}
        for each in rules:
            name = each.rule.name
            try:
                if isinstance(each.query, RowPatternQuery):
                    self._runs[name] = RowRun(each, self._read, self._latest)
                else:
                    self._runs[name] = self._new_run(each, self._planned(each))
            except CepheidError as error:
                faults[name] = RuleFault.of(name, error)
        self.suspended |= faults
        return faults

    def _result(
        self, step: Callable[[RuleRun | RowRun], AnyFound], faults: dict[str, RuleFault]
    ) -> RuleMatches:
        """What the rules that share sessions have found, and what a step of each other one finds.

        A rule that fails is suspended.
        """
        assert self._latest is not None
        found = {name: run.nothing for name, run in self._runs.items()}
        own = [run for run in self._runs.values() if isinstance(run, RuleRun | RowRun)]
        shared, failed = self._each(self._shared.ready, SharedRun.taken)
        others, also_failed = self._each(own, step)
        found |= shared | others
        faults = {**faults, **failed, **also_failed}
        found = {name: each for name, each in found.items() if name in self._runs}
        return reported(found, self._latest.time_axis, list(faults.values()))

    def _each(
        self, runs: Sequence[_Run], step: Callable[[_Run], _Given]
    ) -> tuple[dict[str, _Given], dict[str, RuleFault]]:
        """What a step gives for each rule; a rule that fails is suspended without its state."""
        found, faults = {}, {}
        for run in runs:
            name = run.each.rule.name
            try:
                found[name] = step(run)
            except CepheidError as error:
                faults[name] = self.suspended[name] = RuleFault.of(name, error)
                self._last_metrics[name] = replace(run.metrics, suspended=str(error))
                self._forget(name)
        return found, faults

    def _retained_ticks(self, axis: TimeAxis) -> int:
        assert self._retain is not None
        assert isinstance(self._retain.extent, Fraction)
        return axis.window_ticks(self._retain.extent, self._retain.unit)

    @one_at_a_time
    def snapshot_parts(self) -> Parts:
        """The state of all rules in parts and without a checksum, valid until the next call."""
        if self._latest is None:
            raise unfed("is stored")
        self._is_changing = True  # Engines drop what they no longer need.
        own = {name: run for name, run in self._runs.items() if isinstance(run, RuleRun | RowRun)}
        groups, arrays = self._shared.state()
        stored = StoredSession(
            self._latest,
            self._now,
            self._rows,
            self._has_ended,
            {name: (run.state_key, run.session.snapshot()) for name, run in own.items()},
            groups,
            self._shared.next_slot,
            arrays,
            {
                name: (self._rules[name].to_dict(), fault.message)
                for name, fault in self.suspended.items()
                if name in self._rules
            },
        )
        return stored.parts(self._kept)

    def _restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        """Each rule whose state is stored and fits has it, and the others begin."""
        given = StoredSession.of(header, arrays, self._kept)
        if self._backfills and self._retain is None:
            raise OptionError(_NO_BACKFILL)
        self._latest = given.latest
        self._now, self._rows, self._has_ended = given.now, given.rows, given.has_ended
        groups = self._shared.load(given.groups, given.next_slot, given.arrays)
        stored = given.rules, groups
        found: dict[str, AnyFound] = {}
        faults: list[RuleFault] = []
        for each in self._rules.enabled:
            name = each.rule.name
            definition, message = given.suspended.get(name, (None, ""))
            if definition is not None and definition == each.rule.to_dict():
                self.suspended[name] = RuleFault(name, message)
                continue
            try:
                found |= self._changed(each, self._backfills, stored)
            except SnapshotError:
                raise
            except CepheidError as error:
                self.suspended[name] = RuleFault.of(name, error)
                faults.append(self.suspended[name])
        self._shared.loaded()
        self.restored = reported(found, given.latest.time_axis, faults)

    def _restored(
        self, each: CompiledRule, planned: PlannedQuery, stored: _StoredRules
    ) -> Run | None:
        """A rule with its state in a snapshot, if that has one with the same key."""
        assert self._latest is not None
        own, groups = stored
        key, state = own.get(each.rule.name, ("", b""))
        if key == state_key(planned):
            return RuleRun(each, planned, self._latest, unpack(state))
        return self._shared.restored(each, planned, self._latest, groups)
