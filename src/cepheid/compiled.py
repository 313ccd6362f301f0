"""What a compiled query and a compiled script have in common."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from cepheid.analysis.needs import needed_columns
from cepheid.errors import OptionError
from cepheid.events.read_options import UNCERTAIN_KEYWORDS
from cepheid.sessions.run_settings import RunSettings
from cepheid.sessions.script import Script

if TYPE_CHECKING:
    from cepheid.events.events import Events
    from cepheid.sessions.plan import PlannedQuery
    from cepheid.sessions.run import Answered
    from cepheid.sessions.stream import StreamSession


class Compiled:
    """A query or a script that can be run.

    ``script`` has its queries; a query is a script of one.
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
        if self.script.is_single:
            return RunSettings.of(keywords, without=without, outputs=outputs)
        refused = {*without, "whole_events", *UNCERTAIN_KEYWORDS}
        settings = RunSettings.of(keywords, without=refused, outputs=outputs)
        if settings.read.uncertain is not None:
            raise OptionError(
                f"time={keywords['time']!r} gives uncertain times, and a script needs one time "
                "for each event; run the query on its own"
            )
        return settings

    def run(self, source: Any, settings: RunSettings) -> list[Answered]:
        """The matches of each query over all events of a source."""
        from cepheid.sessions.run import run_script

        return run_script(self.script, settings, *self._read(source, settings))

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

    def _session(
        self, keywords: Mapping[str, Any], snapshot: bytes | memoryview | None = None
    ) -> StreamSession[Any, Any]:
        """A new session, or the one of a snapshot."""
        from cepheid.sessions.stream import StreamSession

        settings = self.settings(keywords, without=["whole_events"])
        return StreamSession(self.script, settings, snapshot)

    def _restored(
        self, snapshot: bytes | memoryview, keywords: Mapping[str, Any]
    ) -> StreamSession[Any, Any]:
        from cepheid.snapshots import check_snapshot

        check_snapshot(snapshot)
        return self._session(keywords, snapshot)
