"""What a compiled query and a compiled script have in common."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Unpack, cast, overload

from cepheid.analysis.needs import needed_columns
from cepheid.engines.base.evaluation import AUTO
from cepheid.engines.base.options import DEFAULT_OPTIONS, UNCERTAIN_ONLY
from cepheid.errors import OptionError
from cepheid.events.read_options import UNCERTAIN_KEYWORDS
from cepheid.sessions.run_settings import MatchKeywords, RunSettings
from cepheid.sessions.script import Script

if TYPE_CHECKING:
    from cepheid.events.events import Events
    from cepheid.planning.silent_zeros import StreamCheck
    from cepheid.sessions.corrections.session import CorrectingSession
    from cepheid.sessions.plan import PlannedQuery
    from cepheid.sessions.run import Answered
    from cepheid.sessions.stream import QueryStream

Stream = TypeVar("Stream")


class Compiled(Generic[Stream]):
    """A query or a script that can be run.

    ``script`` has its queries; a query is a script of one. ``Stream`` is the type of its sessions.
    """

    def __init__(self, script: Script) -> None:
        self.script = script

    def __str__(self) -> str:
        return str(self.script)

    def settings(
        self,
        keywords: Mapping[str, Any],
        *,
        without: Collection[str] = (),
        outputs: Collection[str] | None = None,
    ) -> RunSettings:
        """The settings that keywords of ``match`` give; ``without`` names those it refuses."""
        single = self.script.is_single
        refused = without if single else {*without, "whole_events", *UNCERTAIN_KEYWORDS}
        settings = RunSettings.of(keywords, without=refused, outputs=outputs)
        if settings.read.uncertain is not None and not single:
            raise OptionError(
                f"time={keywords['time']!r} gives uncertain times, and a script needs one time "
                "for each event; run the query on its own"
            )
        if not single:
            _refuse_in_script(settings)
        return settings

    def run(self, source: Any, settings: RunSettings) -> list[Answered]:
        """The matches of each query over all events of a source."""
        from cepheid.sessions.run import run_script

        return run_script(self.script, *self._read(source, settings))

    def _read(
        self, source: Any, settings: RunSettings, *, compressed: bool = False
    ) -> tuple[Events, list[PlannedQuery]]:
        """The events in order, and what runs each query over them."""
        from cepheid.sessions.run import prepare

        read, needed = settings.read, None
        if self.script.is_single:
            tree = self.script.queries[0].query
            needed = partial(
                needed_columns, tree, always=read.columns, whole_events=read.whole_events
            )
        events = read.order(source, needed)
        return events, prepare(self.script, settings, events, compressed=compressed)

    def session(self, **keywords: Unpack[MatchKeywords]) -> Stream:
        """A session over a stream of events that comes in batches; keywords as for ``match``.

        >>> import cepheid as cep
        >>> session = cep.query("PATTERN SEQ(A a, B b) WITHIN 10").session()
        >>> len(session.feed({"ts": [1], "type": ["A"]}))
        0
        >>> session.feed({"ts": [4, 20], "type": ["B", "B"]}).bindings()
        [{'a': 0, 'b': 1}]

        >>> session = cep.script("EVENT A RETURN X(v = A.v); PATTERN SEQ(X x, X y)").session()
        >>> session.feed({"ts": [1], "type": ["A"], "v": [5]})
        X: 1 match
        query_2: 0 matches
        >>> session.feed({"ts": [4], "type": ["A"], "v": [6]})["query_2"].bindings()
        [{'x': 'X[0]', 'y': 'X[1]'}]
        """
        return self._session(keywords)

    def restore(self, snapshot: bytes | memoryview, **keywords: Unpack[MatchKeywords]) -> Stream:
        """The session of a snapshot of the same query or script, with the same keywords.

        Raises:
            SnapshotError: the snapshot is damaged, of another version or of another query.
        """
        from cepheid.snapshots import check_snapshot

        check_snapshot(snapshot)
        return self._session(keywords, snapshot)

    def _session(
        self, keywords: Mapping[str, Any], snapshot: bytes | memoryview | None = None
    ) -> Stream:
        from cepheid.sessions.stream import StreamSession

        settings = self._stream_settings(keywords)
        check = self._check() if snapshot is None else None
        return cast("Stream", StreamSession(self.script, settings, snapshot, check))

    def _check(self) -> StreamCheck:
        from cepheid.planning.silent_zeros import StreamCheck

        return StreamCheck(self.script.queries, self.script.text)

    def _stream_settings(
        self, keywords: Mapping[str, Any], without: Collection[str] = ()
    ) -> RunSettings:
        """The settings of a session; an output that a stream cannot have is refused."""
        from cepheid.sessions.plan import naming

        settings = self.settings(keywords, without=["whole_events", *without])
        for number, each in enumerate(self.script.queries):
            with naming(self.script, number):
                settings.requested.of(each.query).rule().refuse_stream(each.query)
        return settings


class CompiledSingle(Compiled["QueryStream"]):
    """A query: its sessions can also correct what they report."""

    @overload
    def session(
        self, *, corrections: None = None, **keywords: Unpack[MatchKeywords]
    ) -> QueryStream: ...

    @overload
    def session(
        self, *, corrections: float | str | timedelta, **keywords: Unpack[MatchKeywords]
    ) -> CorrectingSession: ...

    def session(
        self,
        *,
        corrections: float | str | timedelta | None = None,
        **keywords: Unpack[MatchKeywords],
    ) -> QueryStream | CorrectingSession:
        """A session over a stream of events that comes in batches; keywords as for ``match``.

        With ``corrections``, a duration, events may come that much late: such a session reports
        which matches are added, and which of those reported before are retracted.

        >>> import cepheid as cep
        >>> session = cep.query("PATTERN SEQ(A a, B b) WITHIN 10").session()
        >>> len(session.feed({"ts": [1], "type": ["A"]}))
        0
        >>> session.feed({"ts": [4, 20], "type": ["B", "B"]}).bindings()
        [{'a': 0, 'b': 1}]

        >>> session = cep.query("PATTERN SEQ(A a, B b) WITHIN 10").session(corrections=5)
        >>> session.feed({"ts": [4], "type": ["B"]})
        0 matches added, 0 retracted
        >>> session.feed({"ts": [1], "type": ["A"]}).added.bindings()
        [{'a': 1, 'b': 0}]
        """
        if corrections is None:
            return super().session(**keywords)
        return self._correcting(keywords, corrections)

    @overload
    def restore(
        self,
        snapshot: bytes | memoryview,
        *,
        corrections: None = None,
        **keywords: Unpack[MatchKeywords],
    ) -> QueryStream: ...

    @overload
    def restore(
        self,
        snapshot: bytes | memoryview,
        *,
        corrections: float | str | timedelta,
        **keywords: Unpack[MatchKeywords],
    ) -> CorrectingSession: ...

    def restore(
        self,
        snapshot: bytes | memoryview,
        *,
        corrections: float | str | timedelta | None = None,
        **keywords: Unpack[MatchKeywords],
    ) -> QueryStream | CorrectingSession:
        """The session of a snapshot of the same query, with the same keywords.

        Raises:
            SnapshotError: the snapshot is damaged, of another version or of another query.
        """
        if corrections is None:
            return super().restore(snapshot, **keywords)
        from cepheid.snapshots import check_snapshot

        check_snapshot(snapshot)
        return self._correcting(keywords, corrections, snapshot)

    def _correcting(
        self,
        keywords: Mapping[str, Any],
        bound: float | str | timedelta,
        snapshot: bytes | memoryview | None = None,
    ) -> CorrectingSession:
        from cepheid.sessions.corrections.session import CorrectingSession

        settings = self._stream_settings(keywords, without=["workers"])
        check = self._check() if snapshot is None else None
        return CorrectingSession(self.script, settings, bound, snapshot, check)


def _refuse_in_script(settings: RunSettings) -> None:
    """Refuse options that no query of a script would read."""
    options = settings.options
    for name in UNCERTAIN_ONLY:
        if getattr(options, name) != getattr(DEFAULT_OPTIONS, name):
            raise OptionError(
                f"{name} is for events with uncertain times, and a script has none; run the query "
                "on its own"
            )
    if options.statistics is not None and settings.evaluation == AUTO:
        raise OptionError(
            "statistics choose the evaluation of a single query; for a script, name a lazy "
            "evaluation, which orders events by them: evaluation='lazy_chain'"
        )
