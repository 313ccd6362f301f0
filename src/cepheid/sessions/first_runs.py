"""The first runs on a machine whose cache has no compiled code yet.

To compile an evaluation takes seconds. For few events, the definition runs immediately instead,
as long as a process has steps left for it. After that, and for more events, code is compiled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from cepheid.cache import has_run, is_loaded, note_run
from cepheid.engines.base.evaluation import AUTO, REFERENCE
from cepheid.engines.base.options import DEFAULT_OPTIONS
from cepheid.engines.base.query_session import SessionTask, WholeRun
from cepheid.events.events import Events
from cepheid.matches.bindings import Bindings
from cepheid.matches.matches import Matches
from cepheid.matches.metrics import Metrics
from cepheid.reference.definition import Evaluation
from cepheid.reference.interpreter import Binding, Event
from cepheid.sessions.plan import PlannedQuery, new_run
from cepheid.tuning import tuning

CONDITIONS = 16
"""To test the conditions of a query takes about as long as this number of looks at an event."""


class OutOfSteps(Exception):
    """The definition takes too long."""


class Steps:
    """The steps that are left to this process."""

    left: int | None = None

    @classmethod
    def take(cls, count: int) -> None:
        """Use this number of steps; an error if fewer are left."""
        left = tuning().first_run_steps if cls.left is None else cls.left
        cls.left = left - count
        if cls.left < 0:
            raise OutOfSteps


class _Bounded(Evaluation):
    """The definition, which stops when there are no steps left."""

    def _satisfied(self, binding: Binding, growing: str | None = None) -> bool:
        Steps.take(CONDITIONS)
        return super()._satisfied(binding, growing)

    def _within_reach(self, binding: Binding, after: int = -1) -> Sequence[Event]:
        found = super()._within_reach(binding, after)
        Steps.take(len(found))
        return found

    def _between(self, low: int, high: int) -> Sequence[Event]:
        found = super()._between(low, high)
        Steps.take(len(found))
        return found


class _FirstRun(WholeRun):
    """A query by the definition if that is soon done, and otherwise by its evaluation."""

    def __init__(self, task: SessionTask) -> None:
        super().__init__(task.query)
        self._task = task
        self._run: WholeRun | None = None

    @property
    def metrics(self) -> Metrics:
        """The metrics of what ran."""
        return Metrics() if self._run is None else self._run.metrics

    def run(self, events: Events) -> list[Bindings]:
        """All matches of a whole stream."""
        found = self._by_definition(events)
        if found is None:
            self._run = _noted_run(self._task, events)
            found = self._run.run(events)
        return found

    def stream(self, events: Events) -> Iterator[Matches]:
        """All matches of a whole stream, in parts."""
        found = self._by_definition(events)
        if found is not None:
            yield Matches(self._query.query, events, found)
            return
        self._run = _noted_run(self._task, events)
        for part in self._run.stream(events):
            self.events_done = self._run.events_done
            yield part

    def _by_definition(self, events: Events) -> list[Bindings] | None:
        from cepheid.sessions.reference_session import ReferenceSession

        session = ReferenceSession(replace(self._task, evaluation=REFERENCE), _Bounded)
        held = self._task.budget.used
        try:
            found = session.run(events)
        except OutOfSteps:
            self._task.budget.release(self._task.budget.used - held)
            return None
        self._run, self.events_done = session, len(events)
        return found


def is_first_run(evaluation: str, events: int) -> bool:
    """Whether an evaluation has no compiled code yet, and the events are few.

    If it only has to be loaded, which takes some tenths of a second, a process that runs one query
    may set a number of steps for the definition to be tried first.
    """
    if events > tuning().first_run_events:
        return False
    if not has_run(evaluation):
        return True
    if not tuning().loading_steps or Steps.left is not None or is_loaded(evaluation):
        return False
    Steps.left = tuning().loading_steps
    return True


def whole_run(planned: PlannedQuery, events: Events) -> WholeRun:
    """What runs a query over a whole stream."""
    settings, rule, name = planned.settings, planned.rule, planned.evaluation.name
    has_said = settings.evaluation != AUTO or settings.options != DEFAULT_OPTIONS
    is_defined = not rule.mode.chooses or rule.mode.definition is not None
    is_first = is_first_run(name, len(events))
    if has_said or not is_defined or not is_first or planned.evaluation.has_confidence:
        return _noted_run(planned.task, events)
    return _FirstRun(planned.task)


def _noted_run(task: SessionTask, events: Events) -> WholeRun:
    note_run(task.evaluation)
    if task.options.workers > 1:
        from cepheid.sessions.division.slices import SlicedRun, slices_of

        if slices_of(task, events, task.options.workers):
            return SlicedRun(task)
    return new_run(task)
