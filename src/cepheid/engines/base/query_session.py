"""What every evaluation offers to run a query: over a whole stream, and between batches.

The snapshots of all sessions begin with the same header.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cepheid.analysis.model import AnalysedQuery
from cepheid.budget import Budget
from cepheid.engines.base.evaluation import NFA_B
from cepheid.engines.base.options import DEFAULT_OPTIONS, Options
from cepheid.errors import EventError, SnapshotError
from cepheid.events.events import Events
from cepheid.events.read_options import UncertainTime
from cepheid.events.time_axis import TimeAxis
from cepheid.language import syntax as ast
from cepheid.language.printer import print_query
from cepheid.language.state_text import share_state
from cepheid.matches.bindings import Bindings, no_matches
from cepheid.matches.matches import Matches
from cepheid.matches.metrics import Metrics
from cepheid.matches.modes.rule import EVERY_MATCH, OutputRule
from cepheid.snapshot_checks import check_values, made_by_another
from cepheid.snapshots import Arrays, Parts, pack, part, prefixed, sealed

if TYPE_CHECKING:
    from cepheid.engines.base.retained import Retained  # it loads kernels

Stored = tuple[dict[str, Any], Arrays]
"""The header and the arrays of a snapshot."""

_CERTAIN = UncertainTime()


@dataclass(frozen=True, slots=True, eq=False)
class SessionTask:
    """A query, its window in ticks or events, and how it is run.

    ``budget`` counts the memory of the run; the queries of a script share one.
    """

    query: AnalysedQuery
    window: int | None = None
    rule: OutputRule = EVERY_MATCH
    options: Options = DEFAULT_OPTIONS
    uncertain: UncertainTime = _CERTAIN
    evaluation: str = NFA_B
    budget: Budget = field(default_factory=Budget)

    def check_made(self, header: Mapping[str, Any]) -> None:
        """Refuse the snapshot of another query, or one made with other options."""
        made_by = header.get("query")
        if made_by is None:
            raise SnapshotError("the snapshot is of a script, and not of a single query")
        own = self.query.query
        if made_by != print_query(own) and not share_state(str(made_by), [own]):
            raise made_by_another("query", made_by)
        check_values(header, {"options": "object", "time": "object?"})
        given = {**self.options.shaping(), **self.uncertain.describe()}
        made = {**header["options"], **(header.get("time") or {})}
        for name, value in made.items():
            if given.get(name) != value:
                raise SnapshotError(
                    f"the snapshot was made with {name}={value!r}; restore it with the same"
                )


class WholeRun(ABC):
    """A query over a whole stream. ``nothing`` is a result without matches.

    ``events_done`` is the number of events whose matches have been found so far.
    """

    def __init__(self, query: AnalysedQuery) -> None:
        self.events_done = 0
        self._query = query
        components = ast.components(query.query.pattern)
        self._variables = {c.variable: c for c, negated in components if not negated}
        self._components = list(self._variables.values())
        self.nothing = no_matches(self._components)

    @abstractmethod
    def run(self, events: Events) -> list[Bindings]:
        """All matches of a whole stream, in parts, in the order of their completion."""

    def stream(self, events: Events) -> Iterator[Matches]:
        """All matches of a whole stream, in parts that need not be in memory together."""
        yield Matches(self._query.query, events, self.run(events))

    @property
    @abstractmethod
    def metrics(self) -> Metrics:
        """Metrics of the evaluation so far."""


class QuerySession(WholeRun):
    """The state of a query between batches of events. Times are in ticks."""

    def __init__(self, query: AnalysedQuery, options: Options, retained: Retained) -> None:
        super().__init__(query)
        self._options = options
        self._retained = retained

    @abstractmethod
    def feed(self, batch: Events) -> Matches:
        """The matches that a batch completes; its events follow all events fed before."""

    @abstractmethod
    def advance(self, ticks: int | None = None, after: Events | None = None) -> Matches:
        """The matches that a batch completes, then the matches completed by the passage of time.

        The batch may be None. If the time is None, the stream has ended.
        """

    def return_as(self, query: AnalysedQuery) -> None:
        """Continue with a query that differs only in what it returns."""
        self._query = query

    def throttle(self, gap: int | None) -> Matches | None:  # noqa: ARG002 - for those that can
        """Report with another least gap between matches from now on; None if it cannot.

        The result has the matches that the old gap held back and the new one does not.
        """
        return None

    @property
    def workers(self) -> int:
        """The number of threads in which it runs."""
        return 1

    @property
    def rows_read(self) -> int:
        """The number of events fed so far."""
        return self._retained.next_number

    @property
    def latest(self) -> Events | None:
        """No events, with the columns, schema and time axis of the events fed so far."""
        return self._retained.latest

    @property
    def retained(self) -> Events:
        """The events that a later match can contain."""
        return self._retained.events

    @property
    def time_axis(self) -> TimeAxis:
        """How times become ticks."""
        return self._retained.time_axis

    @property
    def lead(self) -> int:
        """How long before the time in its column an event can begin."""
        return 0

    @property
    def waiting_until(self) -> int | None:
        """The earliest end of the matches that were found but not reported yet."""
        return None

    @property
    @abstractmethod
    def next_completion(self) -> int | None:
        """The earliest time that completes a match without another event; None if none does."""

    @property
    @abstractmethod
    def evicted_from(self) -> int | None:
        """The time from which no event fed so far matters; None if there is no such time."""

    def snapshot(self) -> bytes:
        """The state as bytes."""
        return sealed(self.snapshot_parts())

    @abstractmethod
    def snapshot_parts(self) -> Parts:
        """The state as the parts of a snapshot, without a checksum, valid until the next call."""

    def _packed(self, header: dict[str, Any], arrays: Arrays) -> Parts:
        """A snapshot with this state, the query, the options and the retained events."""
        assert self._query.schema is not None
        shared = {
            "query": print_query(self._query.query),
            "options": self._options.shaping(),
            "types": list(self._retained.type_names),
            # The schema that the query is compiled for; later batches may have more columns.
            "schema": self._query.schema.to_dict(),
            "time_axis": self._retained.time_axis.to_dict(),
        }
        return pack(shared | header, prefixed("retained", self._retained.state()) | arrays)

    def load(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        """Restore the state of a snapshot."""
        assert self._query.schema is not None
        check_values(header, {"types": "strings", "time_axis": "object"})
        axis = TimeAxis.from_dict(header["time_axis"])
        self._retained.load(part("retained", arrays), header["types"], axis, self._query.schema)


def refuse_earlier(batch: Events, now: int | None) -> None:
    """Refuse a batch that begins before the time that a session has reached."""
    if len(batch) and now is not None and int(batch.ticks[0]) < now:
        raise EventError(
            "a batch begins before the time that the session has reached; events are fed in order"
        )
