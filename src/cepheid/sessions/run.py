"""A query or a script over events in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from cepheid.analysis.needs import warn_of_absent_types
from cepheid.analysis.rewriting.kept_apart import kept_apart
from cepheid.errors import OptionError, list_words
from cepheid.events.arrays import Int64s
from cepheid.events.events import Events
from cepheid.matches.bindings import joined_bindings
from cepheid.matches.match_stream import MatchStream, Running
from cepheid.matches.matches import Matches
from cepheid.matches.modes.mode import COMPRESSED
from cepheid.planning.choice import warn_of_ignored
from cepheid.planning.registry import EVALUATIONS
from cepheid.planning.silent_zeros import warn_of_silent_zeros
from cepheid.sessions.first_runs import whole_run
from cepheid.sessions.plan import PlannedQuery, naming, plan
from cepheid.sessions.run_settings import RunSettings
from cepheid.sessions.script import Script
from cepheid.sessions.scripts.composites import Composites, Unsettled

if TYPE_CHECKING:
    from cepheid.matches.compressed import CompressedMatches

Run = TypeVar("Run", bound=Running)


@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    """A query of a script with the stream that it read and its matches."""

    planned: PlannedQuery
    stream: Events
    matches: Matches


@dataclass(frozen=True, slots=True, eq=False)
class Started:
    """A run over a whole stream: the name of its query, what runs it, and its number of events."""

    query: str
    run: Running
    events: int


_FOLLOWED: ContextVar[list[Started] | None] = ContextVar("cepheid runs", default=None)


@contextmanager
def followed_runs() -> Iterator[list[Started]]:
    """A list to which each run that begins is added, for another thread to see how far it is.

    >>> import cepheid as cep
    >>> with followed_runs() as runs:
    ...     _ = cep.query("EVENT A").match({"ts": [1, 2], "type": ["A", "A"]})
    >>> [(started.query, started.events) for started in runs]
    [('query', 2)]
    """
    runs: list[Started] = []
    token = _FOLLOWED.set(runs)
    try:
        yield runs
    finally:
        _FOLLOWED.reset(token)


def _note(planned: PlannedQuery, run: Run, events: Events) -> Run:
    runs = _FOLLOWED.get()
    if runs is not None:
        runs.append(Started(planned.each.name, run, len(events)))
    return run


def prepare(
    script: Script, settings: RunSettings, events: Events, *, compressed: bool = False
) -> list[PlannedQuery]:
    """The evaluation of each query over the events, with warnings about likely mistakes."""
    planned = plan(script, settings, events, compressed=compressed)
    warn_of_silent_zeros(script.queries, script.text, events.type_names)
    if script.is_single:
        uncertain = settings.read.uncertain
        if uncertain is not None and isinstance(uncertain.uncertainty, Mapping):
            warn_of_absent_types({*uncertain.uncertainty}, events.type_names)
    warn_of_ignored(settings.options, [each.evaluation for each in planned])
    return planned


def run_script(
    script: Script,
    events: Events,
    planned: Sequence[PlannedQuery],
    upto: int | None = None,
) -> list[Answered]:
    """The matches of each query over its whole stream, one query after the other.

    With ``upto``, the last answer is for the query with this number: its stream, without its
    matches.
    """
    made: dict[int, Composites] = {}
    answers: list[Answered] = []
    for query, stream, hooks in _streams(events, planned, made):
        if query.number == upto:
            answers.append(Answered(query, stream, Matches(query.each.query, stream, [])))
            break
        answers.append(_answer(script, query, stream, hooks, made))
    return answers


def count_script(script: Script, events: Events, planned: Sequence[PlannedQuery]) -> dict[str, int]:
    """The number of matches of each query; those that no query reads are counted, not built."""
    made: dict[int, Composites] = {}
    counts: dict[str, int] = {}
    for query, stream, hooks in _streams(events, planned, made):
        if query.makes is not None:
            counts[query.each.name] = len(_answer(script, query, stream, hooks, made).matches)
        else:
            with naming(script, query.number):
                counts[query.each.name] = run_count(query, stream)
    return counts


def _streams(
    events: Events, planned: Sequence[PlannedQuery], made: Mapping[int, Composites]
) -> Iterator[tuple[PlannedQuery, Events, Int64s]]:
    """Each query with the events that it reads and their anchors; ``made`` grows meanwhile."""
    anchors = np.arange(len(events) if len(planned) > 1 else 0, dtype=np.int64)
    for query in planned:
        stream, hooks = events, anchors
        if query.stream is not None:
            stream, hooks = query.stream.merge(events, anchors, made, len(planned))
        yield query, query.positioned(stream), hooks


def _answer(
    script: Script,
    query: PlannedQuery,
    stream: Events,
    hooks: Int64s,
    made: dict[int, Composites],
) -> Answered:
    """The matches of one query; its composite events are added to ``made``."""
    tree = query.each.query
    with naming(script, query.number):
        session = _note(query, whole_run(query, stream), stream)
        parts = session.run(stream)
    if query.makes is not None:
        places = np.arange(len(stream), dtype=np.int64)
        whole, found = Unsettled.of(tree, stream, joined_bindings(parts), hooks, places)
        parts, made[query.number] = [whole], found.settled(None, 0)[0]
    matches = Matches(tree, stream, parts, session.metrics, budget=query.budget)
    return Answered(query, stream, query.named(matches, script.queries))


def run_stream(planned: PlannedQuery, events: Events) -> MatchStream:
    """All matches of a query, computed while they are read."""
    session = _note(planned, whole_run(planned, events), events)
    nothing = Matches(planned.each.query, events, [session.nothing])
    return MatchStream(nothing, session.stream(events), session)


def run_count(planned: PlannedQuery, events: Events) -> int:
    """The number of matches; matches are built only if they cannot be counted otherwise."""
    task = planned.task
    is_simple = len(task.query.alternatives) == 1 and not task.query.alternatives[0].negations
    if task.rule.chooses or not is_simple or _no_compressed(planned) is not None:
        return run_stream(planned, events).exhaust()
    from cepheid.sessions.division.divided_session import count_divided
    from cepheid.sessions.division.parts import check_count
    from cepheid.sessions.session import Session

    def count_part(part: Events) -> int | None:
        session = Session(
            task.query,
            task.window,
            options=task.options,
            evaluation=task.evaluation,
            counts=True,
            budget=task.budget,
        )
        return _note(planned, session, part).count(part)

    counts = count_divided(task, events, count_part)
    exact = [count for count in counts if count is not None]
    count = sum(exact) if len(exact) == len(counts) else run_compressed(planned, events).count()
    check_count(task, count)
    return count


def run_compressed(planned: PlannedQuery, events: Events) -> CompressedMatches:
    """All matches of the query in the buffer that its runs share."""
    from cepheid.sessions.session import Session

    refusal = _no_compressed(planned)
    if refusal is not None:
        raise OptionError(refusal)
    task = planned.task
    session = Session(
        kept_apart(task.query),
        task.window,
        options=task.options,
        evaluation=task.evaluation,
        keeps_all=True,
        budget=task.budget,
    )
    return _note(planned, session, events).run_compressed(events)


def _no_compressed(planned: PlannedQuery) -> str | None:
    """Why a query has no compressed output, or None."""
    evaluation = planned.evaluation
    refusal = COMPRESSED.refusal(planned.analysed)
    if planned.rule.least_gap is not None:
        refusal = "it lists no matches, and AT MOST ONCE PER leaves out some of them"
    if planned.rule.timed_out:
        refusal = "it lists no matches, and WITH TIMED OUT adds partial ones"
    elif evaluation.refuse_compressed is None:
        able = list_words([each.name for each in EVALUATIONS if each.has_compressed])
        refusal = f"only {able} has it, and {evaluation.name} runs this query"
    elif refusal is None:
        return evaluation.refuse_compressed(planned.settings.options)
    return f"there is no {COMPRESSED.name} output for this query: {refusal}"
