"""The interface of every query session, whichever evaluation runs it."""

from __future__ import annotations

from typing import Any, Protocol

from cepheid.engines.base.evaluation import IMPRECISE
from cepheid.errors import SnapshotError
from cepheid.events.events import Events
from cepheid.events.read_options import UncertainTime
from cepheid.events.time_axis import TimeAxis
from cepheid.matches.bindings import Bindings
from cepheid.matches.matches import Matches
from cepheid.matches.metrics import Metrics
from cepheid.matches.modes.registry import refuse_output
from cepheid.sessions.plan import PlannedQuery
from cepheid.sessions.run_settings import RunSettings
from cepheid.snapshots import Arrays, Parts

Stored = tuple[dict[str, Any], Arrays]
"""The header and the arrays of a snapshot."""


class QuerySession(Protocol):
    """The state of a query between batches of events. Times are in ticks."""

    def feed(self, batch: Events) -> Matches:
        """The matches that a batch of events completes."""

    def advance(self, ticks: int | None = None, after: Events | None = None) -> Matches:
        """The matches that a batch completes, then the matches completed by the passage of time.

        The batch may be None. If the time is None, the stream has ended.
        """

    def run(self, events: Events) -> list[Bindings]:
        """All matches of a whole stream, in parts."""

    def snapshot_parts(self) -> Parts:
        """The state as the parts of a snapshot, valid until the next call."""

    @property
    def rows_read(self) -> int:
        """The number of events fed so far."""

    @property
    def latest(self) -> Events | None:
        """No events, with the columns, schema and time axis of the events fed so far."""

    @property
    def time_axis(self) -> TimeAxis:
        """How times become ticks."""

    @property
    def lead(self) -> int:
        """How long before the time in its column an event can begin."""

    @property
    def waiting_until(self) -> int | None:
        """The earliest end of the matches that were found but not reported yet."""

    @property
    def next_completion(self) -> int | None:
        """The earliest time that completes a match without another event; None if none does."""

    @property
    def evicted_from(self) -> int | None:
        """The time from which no event fed so far matters; None if there is no such time."""

    @property
    def metrics(self) -> Metrics:
        """Metrics of the evaluation so far."""


def open_session(
    planned: PlannedQuery, settings: RunSettings, stored: Stored | None = None
) -> QuerySession:
    """The session of a planned query: a new one, or the one stored in a snapshot.

    Raises:
        SnapshotError: the snapshot was made by another query or with other options.
    """
    query, evaluation, options = planned.analysed, planned.evaluation, settings.options
    was_uncertain = stored is not None and stored[0].get("evaluation") == IMPRECISE
    if stored is not None and was_uncertain != evaluation.has_confidence:
        raise SnapshotError(
            f"the snapshot was made for events with {'un' if was_uncertain else ''}certain times; "
            "restore it with the same keywords"
        )
    if evaluation.has_confidence:
        from cepheid.engines.imprecise.session import ImpreciseSession

        refuse_output(settings.output)
        uncertain = settings.read.uncertain or UncertainTime()
        if stored is not None:
            return ImpreciseSession.load(query, *stored, uncertain, options)
        return ImpreciseSession(query, planned.window, uncertain, options)
    from cepheid.sessions.session import Session

    if stored is not None:
        return Session.load(query, *stored, options)
    return Session(query, planned.window, settings.output, options, evaluation=evaluation.name)
