"""A script over events in memory: each query once over its whole stream, one after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cepheid.events.events import Events
from cepheid.matches.bindings import joined_bindings
from cepheid.matches.matches import Matches
from cepheid.sessions.composites import Composites, Unsettled
from cepheid.sessions.run import PreparedRun, run
from cepheid.sessions.script_plan import PlannedQuery, Script, named_matches, naming, plan_script


@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    """A query of a script with the stream that it read and its matches."""

    planned: PlannedQuery
    stream: Events
    matches: Matches


def run_script(script: Script, events: Events, upto: int | None = None) -> list[Answered]:
    """The matches of each query, or of those before number ``upto``, with that one's stream."""
    planned = plan_script(script, events)
    anchors = np.arange(len(events), dtype=np.int64)
    made: dict[int, Composites] = {}
    answers: list[Answered] = []
    for number, query in enumerate(planned):
        stream, hooks = events, anchors
        if query.stream is not None:
            stream, hooks = query.stream.merge(events, anchors, made, len(planned))
        if number == upto:
            answers.append(Answered(query, stream, Matches(query.each.query, stream, [])))
            break
        with naming(number, query.each):
            prepared = PreparedRun(
                query.evaluation,
                query.analysed,
                stream,
                query.window,
                script.output,
                script.options,
            )
            parts, metrics = run(prepared)
        if query.each.is_read:
            places = np.arange(len(stream), dtype=np.int64)
            whole = joined_bindings(parts)
            whole, found = Unsettled.of(query.each.query, stream, whole, hooks, places)
            parts, made[number] = [whole], found.settled(None, 0)[0]
        matches = Matches(query.each.query, stream, parts, metrics)
        answers.append(Answered(query, stream, named_matches(matches, script.queries)))
    return answers
