"""Rules of one shape as one session, whose partitions are those of each rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.engines.base.options import Options
from cepheid.engines.base.query_session import SessionTask, Stored
from cepheid.events.arrays import Int64s, PositionArray, grown
from cepheid.events.columns.arrow_arrays import from_numpy
from cepheid.events.events import Events
from cepheid.matches.bindings import Bindings
from cepheid.matches.matches import Matches
from cepheid.rule_sets.sharing.copies import copied, originals, slots_of
from cepheid.rule_sets.sharing.shape import CONSTANT, Shape
from cepheid.schema import Kind
from cepheid.sessions.plan import open_session, plan
from cepheid.sessions.requested_output import NOTHING_REQUESTED
from cepheid.sessions.run_settings import RunSettings
from cepheid.sessions.script import Script
from cepheid.sessions.session import Session

Split = dict[int, tuple[Events, list[Bindings]]]
"""The matches of each rule, by its slot, and the events in which they have their positions."""

_MORE_RUNS = 16
"""The rules of a group may have this many times as many runs as one of them alone."""
_KINDS = {int: Kind.INTEGER, float: Kind.FLOAT}


class RuleGroup:
    """A session for all rules of a shape. A rule is known by its number, its *slot*.

    ``members`` are the slots of its rules. ``copies`` and ``begun`` are the numbers of copies made
    for each slot, and of those that can be the first event of a match. ``seconds`` is the time that
    the session took.
    """

    def __init__(
        self, shape: Shape, settings: RunSettings, columns: Events, stored: Stored | None = None
    ) -> None:
        assert settings.read.type is not None
        self.shape = shape
        self.members: set[int] = set()
        self._type = settings.read.type
        self._names = tuple(map(str, shape.masks))
        self._codes = np.zeros(max(shape.masks) + 1, dtype=np.int32)
        self._codes[list(shape.masks)] = np.arange(len(shape.masks))
        self._constants: list[npt.NDArray[Any]] = [np.zeros(1, type(c)) for c in shape.constants]
        self.copies, self.begun = np.zeros(1, np.int64), np.zeros(1, np.int64)
        self.seconds = 0.0
        none = np.empty(0, np.int64)
        nothing = self._typed(copied(columns, none, none, none), none, none)
        script = Script.of_query(shape.query, shape.key, "rules of one shape")
        self._allowed = settings.options.max_matches
        settings = replace(
            settings, requested=NOTHING_REQUESTED, options=_of_group(settings.options)
        )
        (planned,) = plan(script, settings, nothing, in_batches=True)
        self.evaluation = planned.evaluation
        self.session = _opened(replace(planned.task, window=shape.window), stored)
        self._waits = any(each.waits for each in planned.analysed.alternatives)
        if stored is None:
            self.session.feed(nothing)

    def admit(self, slot: int, shape: Shape) -> None:
        """Let a rule of this shape take part from now on."""
        self.members.add(slot)
        if slot >= len(self.copies):
            self._constants = [grown(each, 2 * slot + 1) for each in self._constants]
            self.copies, self.begun = (
                grown(self.copies, 2 * slot + 1),
                grown(self.begun, 2 * slot + 1),
            )
        for values, constant in zip(self._constants, shape.constants, strict=True):
            values[slot] = constant

    def _typed(self, copies: Events, slots: Int64s, masks: Int64s) -> Events:
        """Copies with the constants of their rules as columns, and their roles as types."""
        table, kinds = copies.table, {}
        for number, values in enumerate(self._constants):
            kind = type(self.shape.constants[number])
            name = f"{CONSTANT}.{number}.{kind.__name__}"
            table = table.append_column(name, from_numpy(values[slots]))
            kinds[name] = _KINDS[kind]
        schema = replace(copies.schema, attributes={**copies.schema.attributes, **kinds})
        codes = self._codes[masks]
        return replace(copies, table=table, schema=schema, type_codes=codes, type_names=self._names)

    def feed(self, copies: Events, slots: Int64s, masks: Int64s, now: int | None) -> Split:
        """The matches that copies of the events of a batch complete, at the end of which is now."""
        own = None
        if len(copies):
            own = self._typed(copies, slots, masks)
            size = len(self.copies)
            self.copies += np.bincount(slots, minlength=size)
            self.begun += np.bincount(slots[masks & 1 > 0], minlength=size)
        if self._waits and now is not None:
            ahead = self.session.next_completion if own is None else now
            if ahead is None or ahead > now:
                return {}
            return self.advance(now, own)
        if own is None:
            return {}
        return self._step(lambda session: session.feed(own))

    def advance(self, ticks: int | None, after: Events | None = None) -> Split:
        """The matches that the passage of time completes."""
        return self._step(lambda session: session.advance(ticks, after=after))

    def _step(self, step: Callable[[Session], Matches]) -> Split:
        """The matches that a step of the session finds."""
        if self._allowed is not None:
            self.session.allow_matches(self._allowed)
        started = perf_counter()
        found = step(self.session)
        self.seconds += perf_counter() - started
        return self._split(found)

    def _split(self, matches: Matches) -> Split:
        """The matches of each rule."""
        if not len(matches):
            return {}
        events, parts = matches.parts()
        slots = slots_of(events)
        picked: dict[int, list[Bindings]] = {}
        for part in filter(len, parts):
            own = slots[part.first_events()]
            order = np.argsort(own, kind="stable")
            found, begins = np.unique(own[order], return_index=True)
            for slot, chosen in zip(found.tolist(), np.split(order, begins[1:]), strict=True):
                picked.setdefault(slot, []).append(part.pick(chosen))
        # The events of the rules with matches, one rule after the other.
        places = np.flatnonzero(np.isin(slots, list(picked)))
        places = places[np.argsort(slots[places], kind="stable")]
        events = originals(events, places, self._type)
        ends = np.cumsum(np.unique(slots[places], return_counts=True)[1]).tolist()
        split: Split = {}
        for slot, low, high in zip(sorted(picked), [0, *ends], ends, strict=False):
            moved = [_moved(part, places[low:high]) for part in picked[slot]]
            split[slot] = events.slice(low, high), moved
        return split

    def past(self, slot: int, before: int | None = None) -> Events:
        """The events that later matches of a rule can contain or be violated by.

        With ``before``, only input rows before this one.
        """
        retained = self.session.retained
        is_own = slots_of(retained) == slot
        if before is not None:
            is_own &= retained.rows < before
        return originals(retained, np.flatnonzero(is_own), self._type)

    def first_events(self) -> tuple[Int64s, Events]:
        """The retained copies that can be the first of a match, and their slots."""
        retained = self.session.retained
        masks = np.array([int(name) for name in retained.type_names] or [0], dtype=np.int64)
        first = retained.take(np.flatnonzero(masks[retained.type_codes] & 1))
        return slots_of(first), first


def _of_group(options: Options) -> Options:
    """The options of a group, for the options of its rules.

    A group that exceeds the budget of a rule is no fault: its rules then get their own sessions,
    each with its budget. A few rules may have more runs together than one may have.
    """
    runs = None if options.max_runs is None else _MORE_RUNS * options.max_runs
    return replace(options, max_matches=None, max_runs=runs)


def _opened(task: SessionTask, stored: Stored | None) -> Session:
    session = open_session(task, stored)
    assert isinstance(session, Session)  # An engine runs it.
    return session


def _moved(part: Bindings, places: Int64s) -> Bindings:
    """Matches of the events at these places, with positions among them."""

    def among(positions: PositionArray) -> PositionArray:
        found: Int64s = np.searchsorted(places, positions)
        return found

    return part.moved(among)
