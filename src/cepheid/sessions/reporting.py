"""From the matches that a session finds to the matches that it reports.

An output mode and AT MOST ONCE PER choose among the matches, in this order. Each of them holds
the matches that it cannot decide yet.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cepheid.engines.base.retained import Retained
from cepheid.events.arrays import Int64s, int64s
from cepheid.language import syntax as ast
from cepheid.matches.bindings import Bindings, joined_bindings, no_matches
from cepheid.matches.modes.at_most_once import AtMostOnce
from cepheid.matches.modes.groups import firsts
from cepheid.matches.modes.mode import Chooser, CompletedMatches, LiveStarts
from cepheid.matches.modes.rule import OutputRule
from cepheid.matches.positions import Bools
from cepheid.matches.stored import load_matches, store_matches
from cepheid.snapshots import Arrays, part, prefixed

_MODE, _IN_ORDER = "ends", "held"
"""Parts of a snapshot that have had these names since version 0.1.0: the state of the output mode,
and the matches that wait for one that completes before them."""
REPORTING_PARTS = (_MODE, _IN_ORDER, "undecided", "throttle", "throttled")
"""The parts of a snapshot that belong to reporting."""


@dataclass(frozen=True, slots=True, eq=False)
class Moment(ABC):
    """What a session knows when it reports matches.

    ``pending`` is the (ticks, position) at which the first match with an open negation completes.
    """

    retained: Retained
    pending: tuple[int, int] | None
    at_end: bool

    @property
    @abstractmethod
    def partitions(self) -> int:
        """The number of partitions so far."""

    @abstractmethod
    def partition_of(self, matches: Bindings) -> Int64s:
        """The partition of each match by the equivalence tests."""

    @abstractmethod
    def is_closed(self, matches: Bindings) -> Bools:
        """Whether no later match begins with the first event of each match."""

    def live_starts(self) -> LiveStarts | None:
        """The first events of later matches, by partition; None if they are not known."""
        return None

    def is_needed(self, positions: Int64s) -> Bools:
        """Whether later matches can contain each of these events."""
        retained = self.retained
        if retained.are_consecutive:
            return np.asarray(positions >= retained.first_number)
        return np.isin(positions, retained.numbers)

    def completes_before_pending(self, matches: Bindings) -> Bools:
        """Whether each match completes before all pending matches."""
        if self.pending is None:
            return np.ones(len(matches), dtype=np.bool_)
        ticks, position = self.pending
        at = matches.completion_positions
        early: Bools = (matches.ends < ticks) | ((matches.ends == ticks) & (at < position))
        return early


@dataclass(frozen=True, slots=True, eq=False)
class EngineMoment(Moment):
    """What a session over engines knows.

    ``following`` has for each partition the least place that a later event can have on the axis
    of the window, whose extent is ``extent``. ``outlasting`` are the first events of pending
    matches that can outlast the window. ``live`` has the first events of runs and of pending
    matches, or is None if engines do not know them.
    """

    following: Int64s
    extent: int
    outlasting: Int64s
    live: Int64s | None

    @property
    def partitions(self) -> int:
        """The number of partitions so far."""
        return max(len(self.following), 1)

    def partition_of(self, matches: Bindings) -> Int64s:
        """The partition of each match, which is that of its first event."""
        return self._measured(firsts(matches))[1]

    def is_closed(self, matches: Bindings) -> Bools:
        """Whether no later match begins with the first event of each match."""
        return self._are_closed(firsts(matches))

    def _measured(self, positions: Int64s) -> tuple[Int64s, Int64s]:
        """The place of each event on the axis of the window, and its partition."""
        axis, partition = self.retained.measured_at(self.retained.places(positions))
        return axis, np.maximum(partition, 0)

    def _are_closed(self, positions: Int64s) -> Bools:
        if self.at_end:
            return np.ones(len(positions), dtype=np.bool_)
        axis, partition = self._measured(positions)
        closed: Bools = self.following[partition] - axis >= self.extent
        if len(self.outlasting):
            closed &= ~np.isin(positions, self.outlasting)
        return closed if self.live is None else closed | ~np.isin(positions, self.live)

    def live_starts(self) -> LiveStarts | None:
        """The first events of later matches, by partition."""
        if self.live is None or self.at_end:
            return None
        # A run whose window has passed may be there until it reads an event.
        live = self.live[self.is_needed(self.live)]
        live = live[~self._are_closed(live)]
        partition = self._measured(live)[1]
        order = np.lexsort((live, partition))
        return LiveStarts(live[order], partition[order])


class Reporting:
    """Chooses the matches that are reported, and holds those that are not decided."""

    def __init__(self, rule: OutputRule, components: Sequence[ast.Component]) -> None:
        make = rule.mode.make_chooser
        self._mode = None if make is None else make()
        self._waits = rule.mode.waits
        self._throttle = None if rule.least_gap is None else AtMostOnce(rule.least_gap)
        self.gap = rule.least_gap or 0
        self._components = components
        self._nothing = no_matches(components)
        # Matches in front of a mode that needs them in order, of the mode, and of the throttle.
        self._early = self._undecided = self._throttled = self._nothing

    def report(self, matches: Bindings, moment: Moment) -> Bindings:
        """The matches to report, out of those that are found now and those that are held."""
        mode = self._mode
        if mode is not None:
            if not self._waits:
                matches = self._in_order(matches, moment)
            matches = _joined(self._undecided, matches)
            if len(matches):
                matches, self._undecided = self._chosen(mode, matches, moment)
        if self._throttle is not None:
            matches = _joined(self._throttled, matches)
            if len(matches):
                closed = moment.completes_before_pending(matches) & self._is_settled(
                    matches, moment
                )
                chosen = self._chosen(self._throttle, matches, moment, closed)
                matches, self._throttled = chosen
        return matches

    def throttle(self, gap: int | None) -> Bindings:
        """Use another least gap from now on; if there is none, the matches held back for it."""
        held = self._nothing
        if gap is None:
            held, self._throttled, self._throttle = self._throttled, held, None
        elif self._throttle is None:
            self._throttle = AtMostOnce(gap)
        else:
            self._throttle.gap = gap
        self.gap = gap or 0
        return held

    def _in_order(self, matches: Bindings, moment: Moment) -> Bindings:
        """Hold back the matches that are complete later than a pending match."""
        matches = _joined(self._early, matches)
        early = moment.completes_before_pending(matches)
        self._early = matches.pick(np.flatnonzero(~early))
        return matches if early.all() else matches.pick(np.flatnonzero(early))

    def _chosen(
        self, chooser: Chooser, matches: Bindings, moment: Moment, closed: Bools | None = None
    ) -> tuple[Bindings, Bindings]:
        """The matches to report, and the undecided ones."""
        last = moment.retained.places(matches.last_events())
        completed = CompletedMatches(
            matches,
            moment.partition_of(matches),
            moment.partitions,
            matches.ends > moment.retained.ticks[last],
            self._are_closed(matches, moment) if closed is None else closed,
            moment.live_starts() if self._waits else None,
            moment.is_needed,
        )
        choice = chooser.choose(completed)
        undecided = self._nothing
        if choice.undecided is not None and len(choice.undecided):
            undecided = matches.pick(choice.undecided)
        return matches.pick(choice.reported), undecided

    def _are_closed(self, matches: Bindings, moment: Moment) -> Bools:
        """Whether no match begins with the first event of each match and is chosen from later."""
        closed = moment.is_closed(matches)
        if len(self._early):
            closed = closed & ~np.isin(firsts(matches), firsts(self._early))
        return closed

    def _is_settled(self, matches: Bindings, moment: Moment) -> Bools:
        """Whether every match of the partition that completes before each match is decided."""
        held = [each for each in (self._early, self._undecided) if len(each)]
        if not held:
            return np.ones(len(matches), dtype=np.bool_)
        blocking = joined_bindings(held)
        partition = moment.partition_of(blocking)
        order = np.lexsort((blocking.completion_positions, blocking.ends, partition))
        partition, begins = np.unique(partition[order], return_index=True)
        earliest = order[begins]
        own = moment.partition_of(matches)
        at = np.minimum(np.searchsorted(partition, own), len(partition) - 1)
        blocker = earliest[at]
        ends, positions = blocking.ends[blocker], blocking.completion_positions[blocker]
        earlier = (matches.ends < ends) | (
            (matches.ends == ends) & (matches.completion_positions < positions)
        )
        settled: Bools = earlier | (partition[at] != own)
        return settled

    def _holds(self) -> Iterator[Bindings]:
        """The matches that are not reported yet."""
        return (each for each in (self._early, self._undecided, self._throttled) if len(each))

    @property
    def first_held(self) -> list[Int64s]:
        """The first events of the matches that are held."""
        return [firsts(each) for each in self._holds()]

    @property
    def first_end(self) -> int | None:
        """The earliest end of the matches that are held."""
        return min((int(each.ends.min()) for each in self._holds()), default=None)

    @property
    def first_start(self) -> int | None:
        """The earliest start of the matches that wait until their window has passed."""
        return int(self._undecided.starts.min()) if len(self._undecided) else None

    @property
    def left_out(self) -> int:
        """The number of matches that AT MOST ONCE PER left out."""
        return 0 if self._throttle is None else self._throttle.left_out

    def used_partitions(self, now: int | None) -> Int64s:
        """For each partition, 1 if it has state that is needed at this time."""
        if self._throttle is None or now is None:
            return int64s(0)
        return self._throttle.used_partitions(now)

    def renumber_partitions(self, numbers: Int64s) -> None:
        """Move the state of partition p to partition ``numbers[p]``; unused partitions have -1."""
        for chooser in (self._mode, self._throttle):
            if chooser is not None:
                chooser.renumber_partitions(numbers)

    def state(self) -> Arrays:
        """The held matches and the state of the choosers, for a snapshot."""
        arrays = prefixed(_IN_ORDER, store_matches(self._early))
        if self._mode is not None:
            arrays |= prefixed(_MODE, self._mode.state())
        if self._waits:
            arrays |= prefixed("undecided", store_matches(self._undecided))
        if self._throttle is not None:
            arrays |= prefixed("throttle", self._throttle.state())
            arrays |= prefixed("throttled", store_matches(self._throttled))
        return arrays

    def load(self, arrays: Arrays, events: range) -> None:
        """Restore the state of a snapshot; matches can have these events."""

        def held(name: str) -> Bindings:
            return load_matches(part(name, arrays), self._components, events)

        self._early = held(_IN_ORDER)
        if self._mode is not None:
            self._mode.load(part(_MODE, arrays))
        if self._waits:
            self._undecided = held("undecided")
        if self._throttle is not None:
            self._throttle.load(part("throttle", arrays))
            self._throttled = held("throttled")


def _joined(held: Bindings, matches: Bindings) -> Bindings:
    """The held matches and the others."""
    if not len(held):
        return matches
    return joined_bindings([held, matches]) if len(matches) else held
