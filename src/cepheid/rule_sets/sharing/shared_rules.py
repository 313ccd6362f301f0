"""The rules of a set that share sessions with others of their shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from cepheid.analysis.model import AnalysedQuery
from cepheid.engines.base.evaluation import IMPRECISE, REFERENCE
from cepheid.engines.base.options import DEFAULT_OPTIONS
from cepheid.engines.base.query_session import QuerySession
from cepheid.errors import CepheidError
from cepheid.events.arrays import grown
from cepheid.events.events import Events
from cepheid.matches.matches import Matches
from cepheid.matches.modes.rule import EVERY_MATCH, OutputRule
from cepheid.planning.choice import Choice
from cepheid.rule_sets.metrics import RuleMetrics
from cepheid.rule_sets.results import Found
from cepheid.rule_sets.rule_run import QueryRun, RuleRun, state_key
from cepheid.rule_sets.rule_set import CompiledRule
from cepheid.rule_sets.sharing.copies import copied
from cepheid.rule_sets.sharing.group import RuleGroup, Split
from cepheid.rule_sets.sharing.selection import Selection
from cepheid.rule_sets.sharing.shape import Shape, shape_of
from cepheid.sessions.plan import PlannedQuery
from cepheid.snapshot_checks import require
from cepheid.snapshots import Arrays, unpack

_MOST_SLOTS = 1 << 31


def _runs_plainly(planned: PlannedQuery) -> bool:
    """Whether a rule reports every match, found by an engine, and no limit is its budget."""
    is_engine = planned.evaluation.name not in (IMPRECISE, REFERENCE)
    return is_engine and planned.rule == EVERY_MATCH and planned.settings.options == DEFAULT_OPTIONS


class SharedRun(QueryRun):
    """A rule that shares the session of a group, in which ``slot`` is its number.

    Its matches, or why it fails, are in ``latest`` before they are asked for.
    """

    def __init__(
        self,
        each: CompiledRule,
        planned: PlannedQuery,
        shape: Shape,
        slot: int,
        group: RuleGroup,
        selection: Selection,
    ) -> None:
        self.shape, self.slot, self.group = shape, slot, group
        self.latest: Matches | CepheidError | None = None
        self._selection = selection
        self._before = selection.seen(shape)
        super().__init__(each, planned)

    def taken(self) -> Found:
        """What the group has found for the rule."""
        latest, self.latest = self.latest, None
        if isinstance(latest, CepheidError):
            raise latest
        return self.nothing if latest is None else self.counted(latest)

    def become(self, each: CompiledRule, planned: PlannedQuery) -> bool:
        """Continue with the state as a changed rule; whether it can."""
        if state_key(planned) != state_key(self.planned) or not _runs_plainly(planned):
            return False
        self._take(each, planned)
        return True

    @property
    def metrics(self) -> RuleMetrics:
        """What the rule has cost and found so far; time and memory are its share of the group's."""
        group, slot = self.group, self.slot
        share = (1 + int(group.copies[slot])) / (len(group.members) + int(group.copies.sum()))
        return replace(
            self._counts(group.seconds * share, group.session.time_axis),
            events=self._selection.seen(self.shape) - self._before,
            partial_matches=int(group.begun[slot]),
            memory=int(group.session.metrics.memory * share),
        )


class SharedRules:
    """Rules that share sessions: one for each shape, and one selection of events for all."""

    def __init__(self) -> None:
        self._groups: dict[str, RuleGroup] = {}
        self._runs: dict[int, SharedRun] = {}
        self._selection = Selection()
        self._last: tuple[AnalysedQuery, Shape | None] | None = None
        self._next_slot = 0
        self._extents = np.zeros(1, np.int64)  # the window of each slot

    def _shape(self, query: AnalysedQuery, window: int | None) -> Shape | None:
        """The shape of a query, which is asked for when it is planned and again when it joins."""
        if self._last is None or self._last[0] is not query:
            self._last = query, shape_of(query, window)
        return self._last[1]

    def known_choice(
        self, query: AnalysedQuery, window: int | None, rule: OutputRule
    ) -> Choice | None:
        """The evaluation of a rule that can join a group."""
        shape = None if rule != EVERY_MATCH else self._shape(query, window)
        group = None if shape is None else self._groups.get(shape.key)
        return None if group is None else Choice(query, group.evaluation)

    def join(self, each: CompiledRule, planned: PlannedQuery, columns: Events) -> SharedRun | None:
        """Let a rule take part from now on; None if it has to run alone."""
        shape = self._shape(planned.analysed, planned.window)
        if shape is None or not _runs_plainly(planned):
            return None
        if shape.key not in self._groups:
            self._groups[shape.key] = RuleGroup(shape, planned.settings, columns)
        return self._admitted(each, planned, shape, self._next_slot)

    def _admitted(
        self, each: CompiledRule, planned: PlannedQuery, shape: Shape, slot: int
    ) -> SharedRun:
        group = self._groups[shape.key]
        run = self._runs[slot] = SharedRun(each, planned, shape, slot, group, self._selection)
        self._next_slot = max(self._next_slot, slot + 1)
        if slot >= len(self._extents):
            self._extents = grown(self._extents, 2 * slot + 1)
        self._extents[slot] = shape.extent
        group.admit(slot, shape)
        self._selection.add(slot, shape)
        return run

    def leave(self, run: SharedRun) -> None:
        """Forget a rule, but not the state of the others."""
        del self._runs[run.slot]
        self._selection.remove(run.slot)
        run.group.members.discard(run.slot)
        if not run.group.members:
            del self._groups[run.shape.key]

    def alone(self, run: SharedRun, columns: Events, now: int | None) -> RuleRun:
        """A session of its own for a rule that leaves with its state."""
        every = replace(run.planned, rule=EVERY_MATCH)
        own = RuleRun(run.each, every, columns)
        own.catch_up(run.group.past(run.slot), now, at_end=False)
        own.count_from(run)
        self.leave(run)
        return own

    @property
    def sessions(self) -> list[QuerySession]:
        """The session of each group."""
        return [group.session for group in self._groups.values()]

    @property
    def ready(self) -> list[SharedRun]:
        """The rules that have found something, or failed, in the last step."""
        return [run for run in self._runs.values() if run.latest is not None]

    def feed(self, batch: Events, now: int | None) -> None:
        """Find the matches that a batch completes, at the end of which time is ``now``."""
        if not self._runs:
            return
        picked = self._selection.pick(batch)
        for slot, error in picked.failed.items():
            self._runs[slot].latest = error
        groups = list(self._groups.values())
        few = np.min_scalar_type(len(groups))  # Small numbers are sorted faster.
        group_of = np.zeros(len(self._extents), few)
        for number, group in enumerate(groups):
            group_of[list(group.members)] = number
        order = np.argsort(group_of[picked.slots], kind="stable")
        slots, masks = picked.slots[order], picked.masks[order]
        copies = copied(batch, picked.places[order], slots, self._extents[slots])
        ends = np.cumsum(np.bincount(group_of[slots], minlength=len(groups))).tolist()
        for group, low, high in zip(groups, [0, *ends], ends, strict=False):
            part = copies.slice(low, high), slots[low:high], masks[low:high]
            self._find(group, partial(group.feed, *part, now))

    def advance(self, ticks: int | None) -> None:
        """Find the matches that the passage of time completes."""
        for group in list(self._groups.values()):
            self._find(group, partial(group.advance, ticks))

    def _find(self, group: RuleGroup, step: Callable[[], Split]) -> None:
        """Keep what a step of a group finds for its rules; if it fails, so do they."""
        try:
            found = step()
        except CepheidError as error:
            for slot in group.members:
                self._runs[slot].latest = error
            return
        for slot, (events, parts) in found.items():
            run = self._runs.get(slot)
            if run is not None and run.latest is None:
                run.latest = Matches(run.tree, events, parts)

    def state(self) -> tuple[list[dict[str, Any]], Arrays]:
        """What a snapshot has of each group, and their sessions."""
        described, arrays = [], {}
        for number, group in enumerate(self._groups.values()):
            runs = [self._runs[slot] for slot in sorted(group.members)]
            rules = {run.each.rule.name: [run.slot, state_key(run.planned)] for run in runs}
            described.append({"shape": group.shape.key, "rules": rules})
            arrays[f"group{number}"] = np.frombuffer(group.session.snapshot(), dtype=np.uint8)
        return described, arrays

    def load(self, described: Any, arrays: Arrays) -> StoredGroups:
        """The groups of a snapshot; new rules get numbers that none of their rules has."""
        require(isinstance(described, list), "it has no list of groups")
        places = {
            name: (number, group["shape"], slot, key)
            for number, group in enumerate(described)
            for name, (slot, key) in group["rules"].items()
        }
        slots = [slot for _, _, slot, _ in places.values()]
        are_numbers = all(type(slot) is int and 0 <= slot < _MOST_SLOTS for slot in slots)
        require(are_numbers and len({*slots}) == len(slots), "rules have no numbers")
        self._next_slot = max(slots, default=-1) + 1
        return StoredGroups(places, arrays)

    def restored(
        self, each: CompiledRule, planned: PlannedQuery, columns: Events, stored: StoredGroups
    ) -> SharedRun | None:
        """A rule with its state in a snapshot; None if that has no group with its state."""
        number, key, slot, made = stored.places.get(each.rule.name, (0, "", 0, ""))
        if made != state_key(planned):
            return None
        shape = self._shape(planned.analysed, planned.window)
        require(shape is not None and shape.key == key, "a rule has another shape")
        assert shape is not None
        if key not in self._groups:
            state = unpack(stored.arrays[f"group{number}"].tobytes())
            self._groups[key] = RuleGroup(shape, planned.settings, columns, state)
        run = self._admitted(each, planned, shape, slot)
        slots, first = run.group.first_events()
        own = np.flatnonzero(slots == slot)
        self._selection.remember(slot, first.take(own))
        return run


@dataclass(frozen=True, slots=True)
class StoredGroups:
    """The groups of a snapshot.

    ``places`` has for each rule the number and the shape of its group, its slot in it, and what its
    state depends on.
    """

    places: Mapping[str, tuple[int, str, int, str]]
    arrays: Arrays
