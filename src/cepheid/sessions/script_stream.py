"""A script over a stream that comes in pieces: the session as users hold it."""

from __future__ import annotations

from typing import Any

from cepheid.errors import EventError
from cepheid.matches.metrics import Metrics
from cepheid.matches.script_matches import ScriptMatches
from cepheid.sessions.script_plan import Script
from cepheid.sessions.script_session import ScriptRun
from cepheid.sessions.stream import StreamSettings, ticks_of
from cepheid.snapshots import Parts, sealed


class ScriptSession:
    """The state of a script between batches of events. Make one with ``script.session()``.

    The matches of every query are the same however the events are cut into batches, and
    whether or not the session was stored and restored in between.

    >>> import cepheid as cep
    >>> script = cep.script('''
    ...     PATTERN SEQ(A a, ~(B b)) WITHIN 5 RETURN Lonely(x = a.x);
    ...     PATTERN SEQ(Lonely l, C c) WITHIN 10
    ... ''')
    >>> session = script.session()
    >>> session.feed({"ts": [1, 4], "type": ["A", "C"], "x": [7, 8]})
    Lonely: 0 matches
    query_2: 0 matches
    >>> session = script.restore(session.snapshot())
    >>> session.feed({"ts": [6], "type": ["C"], "x": [9]})["query_2"].bindings()
    [{'l': 'Lonely[0]', 'c': 2}]
    """

    def __init__(
        self,
        script: Script,
        settings: StreamSettings,
        snapshot: bytes | memoryview | None = None,
    ) -> None:
        self._script = script
        self._settings = settings
        self._run = None if snapshot is None else ScriptRun.restore(script, snapshot)

    def feed(self, events: Any) -> ScriptMatches:
        """The matches of each query that a batch of events completes.

        A batch may be in any order itself, but must not begin before an earlier one ended.
        Rows are counted on from batch to batch.
        """
        batch = self._settings.ordered(events)
        if self._run is None:
            self._run = ScriptRun(self._script, batch)
        return ScriptMatches(self._run.feed(batch.counted_from(self._run.rows_read)))

    def advance(self, time: Any = None) -> ScriptMatches:
        """The matches that are complete because time has passed; None: the stream has ended."""
        run = self._running("advances")
        return ScriptMatches(run.advance(None if time is None else ticks_of(time, run.time_axis)))

    def snapshot(self) -> bytes:
        """The state as bytes, from which ``script.restore()`` goes on, here or elsewhere."""
        return sealed(self.snapshot_parts())

    def snapshot_parts(self) -> Parts:
        """The same in parts and without a checksum, valid until the session goes on."""
        return self._running("is stored").snapshot_parts()

    @property
    def next_completion(self) -> int | None:
        """The first time, in ticks, that completes a match if no event comes before."""
        return self._run.next_completion if self._run else None

    @property
    def forgotten_from(self) -> int | None:
        """The time, in ticks, from which on nothing that was fed matters any more."""
        return self._run.forgotten_from if self._run else None

    @property
    def metrics(self) -> dict[str, Metrics]:
        """What the evaluation of each query has done so far."""
        return self._run.metrics if self._run else {}

    def _running(self, what: str) -> ScriptRun:
        if self._run is None:
            raise EventError(f"a session must be fed, if only with no events, before it {what}")
        return self._run
