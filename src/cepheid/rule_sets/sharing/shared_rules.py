"""The rules of a set that share sessions with others of their shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from cepheid.analysis.model import AnalysedQuery
from cepheid.engines.base.options import DEFAULT_OPTIONS
from cepheid.engines.base.query_session import QuerySession
from cepheid.errors import CepheidError
from cepheid.events.arrays import grown
from cepheid.events.events import Events
from cepheid.language import syntax as ast
from cepheid.matches.held import too_many_matches
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
from cepheid.sessions.session import Session
from cepheid.snapshot_checks import require
from cepheid.snapshots import Arrays, unpack

StoredGroups = Mapping[str, tuple[str, int, str, int]]
"""The rules of the groups of a snapshot: the shape of each, its slot in the group, what its state
depends on, and the number of its matches."""
_MOST_SLOTS = 1 << 31


def _runs_plainly(planned: PlannedQuery) -> bool:
    """Whether a rule reports every match, found by an engine."""
    options = planned.settings.options
    options = replace(options, max_runs=None, max_matches=None, max_memory=None)
    is_plain = planned.rule == EVERY_MATCH and options == DEFAULT_OPTIONS
    return planned.evaluation.is_engine and is_plain


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
        if latest is None:
            return self.nothing
        limit, tree = self.planned.settings.options.max_matches, self.tree
        if limit is not None and self.matches + len(latest) > limit:
            parts = [part for part, is_negated in ast.components(tree.pattern) if not is_negated]
            raise too_many_matches(limit, parts, tree.strategy)
        return self.counted(latest)

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
        self._stored: Arrays = {}  # the states of groups, by shape, while a snapshot is restored
        self._extents = np.zeros(1, np.int64)  # the window of each slot
        self.leaving: list[SharedRun] = []
        """The rules whose group has failed in the last step, which may be the fault of one."""

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
        self._begin_group(shape, planned, columns)
        return self._admitted(each, planned, shape, self._next_slot)

    def _begin_group(self, shape: Shape, planned: PlannedQuery, columns: Events) -> None:
        """Begin the group of a shape, or restore it, whichever of its rules comes first."""
        if shape.key not in self._groups:
            stored = self._stored.get(shape.key)
            state = None if stored is None else unpack(stored.tobytes())
            self._groups[shape.key] = RuleGroup(shape, planned.settings, columns, state)

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

    def alone(
        self, run: SharedRun, columns: Events, now: int | None, before: int | None = None
    ) -> RuleRun:
        """A session of its own for a rule that leaves with its state.

        With ``before``, the state of before this input row was read.

        Raises:
            CepheidError: the rule exceeds its budget.
        """
        every = replace(run.planned, rule=EVERY_MATCH)
        own = RuleRun(run.each, every, columns)
        own.catch_up(run.group.past(run.slot, before), now, at_end=False)
        own.count_from(run)
        limit = run.planned.settings.options.max_matches
        if limit is not None and isinstance(own.session, Session):
            own.session.allow_matches(limit - run.matches)
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
        """Keep what a step of a group finds for its rules; if it fails, they have to leave it."""
        try:
            found = step()
        except CepheidError:
            self.leaving += [self._runs[slot] for slot in sorted(group.members)]
            return
        for slot, (events, parts) in found.items():
            run = self._runs.get(slot)
            if run is not None and run.latest is None:
                run.latest = Matches(run.tree, events, parts)

    @property
    def next_slot(self) -> int:
        """The number of the next rule that joins a group."""
        return self._next_slot

    def state(self) -> tuple[list[dict[str, Any]], Arrays]:
        """What a snapshot has of each group, and their sessions."""
        described, arrays = [], {}
        for number, group in enumerate(self._groups.values()):
            runs = [self._runs[slot] for slot in sorted(group.members)]
            rules = {
                run.each.rule.name: [run.slot, state_key(run.planned), run.matches] for run in runs
            }
            described.append({"shape": group.shape.key, "rules": rules})
            arrays[f"group{number}"] = np.frombuffer(group.session.snapshot(), dtype=np.uint8)
        return described, arrays

    def load(self, described: Any, next_slot: int, arrays: Arrays) -> StoredGroups:
        """The groups of a snapshot; new rules get numbers that no earlier rule had."""
        require(isinstance(described, list), "it has no list of groups")
        places = {
            name: (group["shape"], slot, key, matches[0] if matches else 0)
            for group in described
            for name, (slot, key, *matches) in group["rules"].items()
        }
        slots = [slot for _, slot, _, _ in places.values()]
        numbers = [*slots, *(matches for *_, matches in places.values())]
        are_numbers = all(type(each) is int and each >= 0 for each in numbers)
        are_numbers = are_numbers and max(slots, default=0) < _MOST_SLOTS
        require(are_numbers and len({*slots}) == len(slots), "rules have no numbers")
        # The state of a group still has events of rules that are gone.
        self._next_slot = max(next_slot, max(slots, default=-1) + 1)
        self._stored = {
            group["shape"]: arrays[f"group{number}"] for number, group in enumerate(described)
        }
        return places

    def loaded(self) -> None:
        """Forget the snapshot: all rules are restored."""
        self._stored = {}

    def restored(
        self, each: CompiledRule, planned: PlannedQuery, columns: Events, stored: StoredGroups
    ) -> SharedRun | None:
        """A rule with its state in a snapshot; None if that has no group with its state."""
        key, slot, made, matches = stored.get(each.rule.name, ("", 0, "", 0))
        if made != state_key(planned):
            return None
        shape = self._shape(planned.analysed, planned.window)
        require(shape is not None and shape.key == key, "a rule has another shape")
        assert shape is not None
        self._begin_group(shape, planned, columns)
        run = self._admitted(each, planned, shape, slot)
        run.matches = matches
        slots, first = run.group.first_events()
        own = np.flatnonzero(slots == slot)
        self._selection.remember(slot, first.take(own))
        return run
