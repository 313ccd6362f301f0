"""A query made ready for events: analysed for them, with what will run it.

Nothing is loaded here but when it is needed: ``import cepheid`` needs neither NumPy nor Arrow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from cepheid.analysis.absent_types import warn_of_absent_types
from cepheid.analysis.analyse import analyse
from cepheid.analysis.model import AnalysedQuery
from cepheid.analysis.needed_columns import needed_columns
from cepheid.engines.base.evaluation import AUTO, Evaluation
from cepheid.engines.base.options import Options, read_options
from cepheid.events.uncertain_time import UncertainTime, split_uncertain_time
from cepheid.language import syntax as ast
from cepheid.matches.modes.registry import check_output, output_mode
from cepheid.planning.evaluations import Choice, warn_of_ignored, warn_of_reference
from cepheid.schema import Schema, schema_of

if TYPE_CHECKING:
    from cepheid.events.events import Events
    from cepheid.sessions.run import PreparedRun
    from cepheid.sessions.stream import StreamSession


@dataclass(frozen=True, slots=True)
class Reading:
    """How events are read, as users say it: see ``match`` for what each word means."""

    time: str | tuple[str, str]
    type: str | None
    tie_break: str | Sequence[str] | None
    time_unit: str | None
    schema: Any
    whole_events: bool | None = None


@dataclass(frozen=True, slots=True)
class Preparation:
    """A query with its text, and what the text is called in messages."""

    tree: ast.Query
    text: str
    source: str

    def analysed(self, schema: Schema | None) -> AnalysedQuery:
        """The query as it is about events with this schema."""
        return analyse(self.tree, schema, self.text, self.source)

    def run(
        self,
        events: Any,
        reading: Reading,
        evaluation: str,
        output: str,
        options: Mapping[str, Any],
        *,
        counts: bool = False,
    ) -> PreparedRun:
        """The query analysed for the events, what will run it, and the events in order.

        Where ``counts``, what can count matches without making them comes first.
        """
        from cepheid.events.events import order_events, tie_columns
        from cepheid.sessions.run import PreparedRun

        column, uncertain, others = split_uncertain_time(reading.time, options)
        checked = read_options(others)
        type_column, ties = reading.type, tie_columns(reading.tie_break)
        always = [column, *([type_column] if type_column else []), *ties]
        needed = partial(
            needed_columns, self.tree, always=always, whole_events=reading.whole_events
        )
        ordered = order_events(
            events,
            time=column,
            type=type_column,
            tie_break=reading.tie_break,
            time_unit=reading.time_unit,
            schema=schema_of(reading.schema),
            needed=None if uncertain is not None else needed,
        )
        analysed = self.analysed(ordered.schema)
        compressed = counts or output_mode(output).needs_buffer
        choice = choose(analysed, evaluation, uncertain, checked, compressed=compressed)
        named = {name for part, _ in ast.components(self.tree.pattern) for name in part.types}
        warn_of_absent_types(named, ordered.type_names, stacklevel=4)
        if uncertain is not None and isinstance(uncertain.uncertainty, Mapping):
            warn_of_absent_types({*uncertain.uncertainty}, ordered.type_names, stacklevel=4)
        if evaluation == AUTO:
            warn_of_reference(choice, len(ordered))
        chosen = choice.evaluation
        if evaluation == AUTO and not compressed:
            chosen = self._cheapest(analysed, ordered, chosen, checked)
        warn_of_ignored(checked, chosen.name)
        window = self.window_ticks(ordered)
        return PreparedRun(chosen.name, analysed, ordered, window, output, checked, uncertain)

    def session(
        self,
        reading: Reading,
        evaluation: str,
        output: str,
        options: Mapping[str, Any],
        snapshot: bytes | memoryview | None,
    ) -> StreamSession:
        """A session, new or from a snapshot, that chooses what runs it by its first batch."""
        from cepheid.sessions.stream import StreamSession, StreamSettings

        check_output(output)
        column, uncertain, others = split_uncertain_time(reading.time, options)
        checked = read_options(others)
        settings = StreamSettings(
            column,
            reading.type,
            reading.tie_break,
            reading.time_unit,
            schema_of(reading.schema),
            output,
            checked,
            uncertain,
        )
        analysed = partial(self._for_session, evaluation, uncertain, checked)
        return StreamSession(settings, analysed, self.window_ticks, snapshot)

    def _for_session(
        self,
        evaluation: str,
        uncertain: UncertainTime | None,
        options: Options,
        schema: Schema,
        batch: Events | None = None,
    ) -> tuple[AnalysedQuery, str]:
        """The query for a session that begins with a batch, and what runs it."""
        analysed = self.analysed(schema)
        chosen = choose(analysed, evaluation, uncertain, options, in_batches=True).evaluation
        if batch is not None and evaluation == AUTO:
            chosen = self._cheapest(analysed, batch, chosen, options)
        return analysed, chosen.name

    def _cheapest(
        self, query: AnalysedQuery, events: Events, accepted: Evaluation, options: Options
    ) -> Evaluation:
        """What is estimated to cost least over events, where users have not said what does."""
        if options.statistics is not None or accepted.has_confidence:
            return accepted
        from cepheid.planning.frequencies import choose_by_cost
        from cepheid.planning.registry import EVALUATIONS

        return choose_by_cost(query, events, self.window_ticks(events), accepted, EVALUATIONS)

    def window_ticks(self, events: Events) -> int | None:
        """The extent of WITHIN over these events: in ticks of their time, or in events."""
        window = self.tree.window
        if window is None:
            return None
        assert not isinstance(window.extent, ast.Parameter)
        if window.measure is ast.WindowMeasure.TIME:
            return events.time_axis.window_ticks(window.extent, window.unit)
        return int(window.extent)


def choose(*arguments: Any, **keywords: Any) -> Choice:
    """The evaluation of a query, by :func:`cepheid.planning.choice.choose`."""
    from cepheid.planning import choice

    return choice.choose(*arguments, **keywords)
