"""A script over events with known columns: the stream that each query reads, and its evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.analysis.model import AnalysedQuery
from cepheid.analysis.scripts import ScriptQuery
from cepheid.budget import Budget, SharedBudget
from cepheid.engines.base.evaluation import AUTO, Evaluation
from cepheid.engines.base.query_session import QuerySession, SessionTask, Stored
from cepheid.errors import EvaluationError, LimitError, OptionError, SnapshotError
from cepheid.events.events import Events
from cepheid.events.own_windows import extent_of, on_axis
from cepheid.events.partition_positions import with_partition_positions
from cepheid.events.read_options import UncertainTime
from cepheid.events.time_axis import MAX_TICKS
from cepheid.matches.matches import Matches
from cepheid.matches.modes.registry import all_outputs
from cepheid.matches.modes.rule import EVERY_MATCH, OutputRule
from cepheid.planning.choice import Choice, by_definition, warn_of_reference
from cepheid.planning.registry import EVALUATIONS, evaluation_named
from cepheid.schema import Kind
from cepheid.sessions.run_settings import RunSettings
from cepheid.sessions.script import Script
from cepheid.sessions.scripts.composites import Composites
from cepheid.sessions.scripts.merged_stream import (
    MergedStream,
    composite_columns,
    kinds_made,
    name_of_row,
    refuse_taken_types,
)
from cepheid.snapshot_checks import check_values, require


@dataclass(frozen=True, slots=True, eq=False)
class PlannedQuery:
    """A query of a script: its evaluation, its input and its composite events.

    ``sample`` has no events, but the columns of the events that the query reads. ``stream`` merges
    these with composite events; it is None if the query reads only the input. ``makes`` has the
    columns of the query's composite events; it is None if no query reads them. ``budget`` is
    shared by the queries of a script.
    """

    settings: RunSettings

    number: int
    each: ScriptQuery
    analysed: AnalysedQuery
    evaluation: Evaluation
    refusals: tuple[str, ...]
    window: int | None
    rule: OutputRule
    sample: Events
    stream: MergedStream | None
    makes: pa.Table | None
    budget: Budget

    @property
    def task(self) -> SessionTask:
        """What a session of the query runs."""
        settings = self.settings
        return SessionTask(
            self.analysed,
            self.window,
            self.rule,
            settings.options,
            settings.read.uncertain or UncertainTime(),
            self.evaluation.name,
            self.budget,
        )

    def positioned(self, events: Events) -> Events:
        """A whole stream, with the numbers of events in partitions if the query reads them."""
        return with_partition_positions(self.analysed, events)

    def no_composites(self) -> Composites:
        """An empty set of the query's composite events."""
        none = np.empty(0, dtype=np.int64)
        assert self.makes is not None
        return Composites(self.makes, none, none, 0)

    def named(self, matches: Matches, queries: Sequence[ScriptQuery]) -> Matches:
        """The matches, with composite events named after the query that made them."""
        if self.stream is None:
            return matches
        names = [each.name for each in queries]
        return matches.with_rows_named(lambda row: name_of_row(row, names))


KnownChoice = Callable[[AnalysedQuery, int | None, OutputRule], Choice | None]
"""What a query, its window and its output tell about its evaluation; None if nothing."""


def plan(
    script: Script,
    settings: RunSettings,
    events: Events,
    *,
    in_batches: bool = False,
    compressed: bool = False,
    known: KnownChoice | None = None,
) -> list[PlannedQuery]:
    """The evaluation of each query over events with these columns; there may be no events.

    Args:
        script: the queries.
        settings: how the queries are run.
        events: the input, or its first batch. ``auto`` chooses by its frequencies.
        in_batches: the events are the first batch of a stream.
        compressed: evaluations with a compressed output are preferred.
        known: gives the evaluation of queries for which it is known already.
    """
    read = settings.read
    script.check_reserved(read)
    refuse_taken_types(script.queries, events)
    planned: list[PlannedQuery] = []
    options = settings.options
    budget = (SharedBudget if options.workers > 1 else Budget)(options.max_memory)
    made: dict[int, pa.Table] = {}
    kinds: dict[int, dict[str, Kind]] = {}
    for number, each in enumerate(script.queries):
        stream, sample = None, events.slice(0, 0)
        if each.reads:
            schema = script.schema_read(number, events.schema, kinds)
            stream = MergedStream(number, script.queries, sample, made, schema, read)
            none = {ix: planned[ix].no_composites() for ix in each.reads}
            nowhere = np.empty(0, dtype=np.int64)
            sample, _ = stream.merge(sample, nowhere, none, len(script.queries))
        analysed = script.analysed(number, sample.schema)
        with naming(script, number):
            sample = with_partition_positions(analysed, sample)
            analysed = on_axis(analysed, events.time_axis)
            window = script.window_ticks(number, events.time_axis)
            rule = settings.requested.of(each.query).rule(events.time_axis)
            choice = None if known is None else known(analysed, window, rule)
            is_known = choice is not None
            if choice is None:
                choice = script.choose(
                    analysed, settings, in_batches=in_batches, compressed=compressed
                )
            if rule.needs_whole_partitions and choice.query.loose:
                choice = by_definition(settings.evaluation, choice)
            analysed = choice.query
        chosen = choice.evaluation
        is_known = is_known or chosen.is_definition
        if script.is_single and not (compressed or is_known):
            chosen = _cheapest(analysed, settings, events, window, choice)
        if settings.evaluation == AUTO and len(events) and not in_batches:
            warn_of_reference(chosen, choice.refusals, len(events))
        makes = None
        if each.is_read:
            makes = made[number] = composite_columns(each, sample)
            kinds[number] = kinds_made(makes, events, read)
        planned.append(
            PlannedQuery(
                settings,
                number,
                each,
                analysed,
                chosen,
                choice.refusals,
                window,
                rule,
                sample,
                stream,
                makes,
                budget,
            )
        )
    return planned


def new_run(task: SessionTask) -> QuerySession:
    """What runs a query: made by its evaluation, or a session over the evaluation's engines."""
    evaluation = evaluation_named(task.evaluation)
    if task.options.workers > 1:
        from cepheid.sessions.division.divided_session import divided_session

        return divided_session(task)
    if evaluation.make_run is not None:
        return evaluation.make_run(task)
    if evaluation.is_definition:
        from cepheid.sessions.reference_session import ReferenceSession

        return ReferenceSession(task)
    from cepheid.sessions.session import Session

    return Session(
        task.query,
        task.window,
        task.rule,
        task.options,
        evaluation=task.evaluation,
        budget=task.budget,
    )


def open_session(task: SessionTask, stored: Stored | None = None) -> QuerySession:
    """The session of a query: a new one, or the one stored in a snapshot.

    Raises:
        SnapshotError: the snapshot was made by another query or with other options.
    """
    if stored is not None:
        header, _ = stored
        kinds = {"output": "string?", "at_most_once_per": "count?", "window": "integer?"}
        kinds |= {"timed_out": "flag"} if "timed_out" in header else {}
        check_values(header, {"evaluation": "string", **kinds})
        is_known = any(each.name == header["evaluation"] for each in EVALUATIONS)
        require(is_known, f"its evaluation is {header['evaluation']!r}")
        made_by = evaluation_named(header["evaluation"])
        if made_by.has_confidence != evaluation_named(task.evaluation).has_confidence:
            raise SnapshotError(
                f"the snapshot was made for events with {'un' if made_by.has_confidence else ''}"
                "certain times; restore it with the same keywords"
            )
        task.check_made(header)
        windows = {task.window, extent_of(task.query, task.window)}
        windows |= {MAX_TICKS} if task.window is None else set()
        require(header["window"] in windows, "its window is another one")
        task = replace(task, window=header["window"], rule=_made_with(header, task.rule))
        task = replace(task, evaluation=made_by.name)
    session = new_run(task)
    if stored is not None:
        made = stored[0].get("workers", 1)
        if made != session.workers:
            raise SnapshotError(
                f"the snapshot was made with workers={made!r}; restore it with the same"
            )
        session.load(*stored)
    return session


def _made_with(header: Mapping[str, Any], rule: OutputRule) -> OutputRule:
    """The output with which a snapshot was made; another one is refused."""
    if "output" not in header:
        return rule
    require(header["output"] in all_outputs(), "its output is unknown")
    timed_out = header.get("timed_out", False)
    made = OutputRule(header["output"], header.get("at_most_once_per"), timed_out)
    if rule not in (made, EVERY_MATCH):
        raise SnapshotError(
            f"the snapshot was made with output={made.output!r}, "
            f"at_most_once_per={made.least_gap!r} and timed_out={timed_out}; restore it with the "
            "same"
        )
    return made


@contextmanager
def naming(script: Script, number: int) -> Iterator[None]:
    """Name the query of a script in errors that do not point to the text."""
    try:
        yield
    except (EvaluationError, LimitError, OptionError) as error:
        if script.is_single:
            raise
        name = script.queries[number].name
        raise type(error)(f"query {number + 1} ({name}): {error}") from error


def _cheapest(
    query: AnalysedQuery, settings: RunSettings, events: Events, window: int | None, choice: Choice
) -> Evaluation:
    """The evaluation with the lowest estimated cost, unless the user decided."""
    accepted = choice.evaluation
    has_said = settings.evaluation != AUTO or settings.options.statistics is not None
    if has_said or accepted.has_confidence:
        return accepted
    from cepheid.planning.frequencies import choose_by_cost

    return choose_by_cost(query, events, window, accepted, EVALUATIONS)
