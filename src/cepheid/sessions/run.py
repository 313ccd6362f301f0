"""A query or a script over events in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cepheid.analysis.absent_types import warn_of_absent_types
from cepheid.engines.base.evaluation import AUTO, NFA_B, REFERENCE
from cepheid.engines.base.limits import too_many_matches
from cepheid.engines.base.options import BACKTRACK, MERGING, UNIONS, VERSIONED
from cepheid.errors import OptionError
from cepheid.events.events import Events
from cepheid.language import syntax as ast
from cepheid.matches.bindings import Bindings, bindings_from_rows, joined_bindings
from cepheid.matches.match_stream import MatchStream
from cepheid.matches.matches import Matches
from cepheid.matches.metrics import Metrics
from cepheid.matches.modes.all import ALL
from cepheid.matches.modes.compressed import COMPRESSED
from cepheid.matches.modes.registry import output_mode, refuse_query
from cepheid.planning.choice import warn_of_ignored, warn_of_reference
from cepheid.sessions.composites import Composites, Unsettled
from cepheid.sessions.plan import PlannedQuery, naming, plan
from cepheid.sessions.protocol import open_session
from cepheid.sessions.run_settings import RunSettings
from cepheid.sessions.script import Script

if TYPE_CHECKING:
    from cepheid.matches.compressed import CompressedMatches
    from cepheid.sessions.session import Session


@dataclass(frozen=True, slots=True, eq=False)
class PreparedRun:
    """A planned query and the events that it reads."""

    planned: PlannedQuery
    events: Events
    settings: RunSettings

    def session(self) -> Session:
        """A session for the events, run by an evaluation for certain times."""
        from cepheid.sessions.session import Session

        session = open_session(self.planned, self.settings)
        assert isinstance(session, Session)
        return session


@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    """A query of a script with the stream that it read and its matches."""

    planned: PlannedQuery
    stream: Events
    matches: Matches


def prepare(
    script: Script, settings: RunSettings, events: Events, *, compressed: bool = False
) -> list[PlannedQuery]:
    """The evaluation of each query over the events, with warnings about likely mistakes."""
    planned = plan(script, settings, events, compressed=compressed)
    made: set[str] = set()
    for each in script.queries:
        named = {name for part, _ in ast.components(each.query.pattern) for name in part.types}
        warn_of_absent_types(named, events.type_names, made)
        made |= {each.type_name} if each.type_name and not script.is_single else set()
    if script.is_single:
        (only,) = planned
        uncertain = settings.read.uncertain
        if uncertain is not None and isinstance(uncertain.uncertainty, Mapping):
            warn_of_absent_types({*uncertain.uncertainty}, events.type_names)
        if settings.evaluation == AUTO:
            warn_of_reference(only.evaluation, only.refusals, len(events))
        warn_of_ignored(settings.options, only.evaluation)
    return planned


def run_script(
    script: Script,
    settings: RunSettings,
    events: Events,
    planned: Sequence[PlannedQuery],
    upto: int | None = None,
) -> list[Answered]:
    """The matches of each query over its whole stream, one query after the other.

    With ``upto``, the last answer is for the query with this number: its stream, without its
    matches.
    """
    anchors = np.arange(len(events) if len(planned) > 1 else 0, dtype=np.int64)
    made: dict[int, Composites] = {}
    answers: list[Answered] = []
    for query in planned:
        stream, hooks, tree = events, anchors, query.each.query
        if query.stream is not None:
            stream, hooks = query.stream.merge(events, anchors, made, len(planned))
        if query.number == upto:
            answers.append(Answered(query, stream, Matches(tree, stream, [])))
            break
        with naming(script, query.number):
            parts, metrics = run(PreparedRun(query, stream, settings))
        if query.makes is not None:
            places = np.arange(len(stream), dtype=np.int64)
            whole, found = Unsettled.of(tree, stream, joined_bindings(parts), hooks, places)
            parts, made[query.number] = [whole], found.settled(None, 0)[0]
        matches = Matches(tree, stream, parts, metrics)
        answers.append(Answered(query, stream, query.named(matches, script.queries)))
    return answers


def run(prepared: PreparedRun) -> tuple[list[Bindings], Metrics]:
    """All matches of a query, in parts, and the metrics of the evaluation."""
    planned, events, settings = prepared.planned, prepared.events, prepared.settings
    if planned.evaluation.name == REFERENCE:
        from cepheid.sessions.reference_run import run_reference

        refuse_query(output_mode(settings.output), planned.analysed)
        found = run_reference(
            planned.each.query,
            events,
            planned.window,
            settings.output,
            settings.options.max_matches,
        )
        return [found], Metrics(events=len(events), matches=len(found))
    session = open_session(planned, settings)
    parts = session.run(events)
    return parts, session.metrics


def run_stream(prepared: PreparedRun) -> MatchStream:
    """All matches of a query, computed while they are read."""
    planned, events = prepared.planned, prepared.events
    tree = planned.each.query
    if planned.evaluation.name == REFERENCE or planned.evaluation.has_confidence:
        parts, metrics = run(prepared)
        nothing = Matches(tree, events, [parts[0].slice(0, 0)])
        return MatchStream(nothing, iter([Matches(tree, events, parts)]), lambda: metrics)
    nothing = Matches(tree, events, [bindings_from_rows(tree.pattern, [], [], [])])
    session = prepared.session()
    return MatchStream(nothing, session.stream(events), lambda: session.metrics)


def run_count(prepared: PreparedRun) -> int:
    """The number of matches; matches are built only if they cannot be counted otherwise."""
    planned, settings = prepared.planned, prepared.settings
    query, options = planned.analysed, settings.options
    makes_unions = options.buffer == UNIONS and options.algorithm != BACKTRACK
    is_plain = not output_mode(settings.output).chooses and COMPRESSED.refusal(query) is None
    if planned.evaluation.name != NFA_B or not makes_unions or not is_plain:
        return run_stream(prepared).exhaust()
    from cepheid.sessions.session import Session

    session = Session(query, planned.window, settings.output, options, counts=True)
    count = session.count(prepared.events)
    if count is None:
        count = run_compressed(prepared).count()
    if options.max_matches is not None and count > options.max_matches:
        components, strategy = query.alternatives[0].components, query.query.strategy
        raise too_many_matches(options.max_matches, components, strategy)
    return count


def run_compressed(prepared: PreparedRun) -> CompressedMatches:
    """All matches of the query in the buffer that its runs share."""
    from cepheid.sessions.session import Session

    planned, options = prepared.planned, prepared.settings.options
    if planned.evaluation.name != NFA_B:
        raise OptionError(
            f"there is no {COMPRESSED.name} output for this query: only {NFA_B} has it, and "
            f"{planned.evaluation.name} runs this query"
        )
    refuse_query(COMPRESSED, planned.analysed)
    if options.buffer != UNIONS or options.algorithm == BACKTRACK:
        raise OptionError(
            f"compressed output is a buffer of {UNIONS}, which neither buffer {VERSIONED!r} nor "
            f"algorithm {BACKTRACK!r} makes; leave these options out, or use output 'all'"
        )
    merging = replace(options, algorithm=MERGING)
    session = Session(planned.analysed, planned.window, ALL.name, merging, keeps_all=True)
    return session.run_compressed(prepared.events)
