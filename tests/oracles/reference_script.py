"""What a script means: the definition, executed.

Queries are evaluated one after the other, each over the events and the composite events of
the earlier queries whose types it names. The order of a stream with composite events is that of
(ticks, anchor, query, report): the *anchor* of an event is its own position, that of a composite
event the position of the event that completes its match, and -1 where the match ends with its
window. So a composite event stands right behind the event that completes it; one that waited for
its window stands before all events of that time; and those with the same anchor come in the
order of their queries, and within a query in the order of their completion and of the pattern.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cepheid.language import syntax as ast
from cepheid.language.printer import item_name
from cepheid.reference import definition as reference
from cepheid.reference.interpreter import Event
from cepheid.reference.match import Match, sort_key
from cepheid.reference.output import MODES

Place = tuple[int, int, int, int]
"""The (ticks, anchor, query, report) of an event; an event of the input has -1 for the last two."""


@dataclass(frozen=True, slots=True)
class Placed:
    """An event and its place, which is the same in the streams of all queries."""

    event: Event
    place: Place


@dataclass(frozen=True, slots=True)
class Answer:
    """The matches of one query, and the stream in which their events have their positions."""

    matches: list[Match]
    stream: list[Placed]


def evaluate_script(
    queries: Sequence[ast.Query],
    events: Sequence[Event],
    windows: Sequence[int | None],
    output: str = "all",
    time: str = "ts",
    type: str = "type",
) -> list[Answer]:
    """The matches of each query of a script over the ordered events.

    Attributes that are times (``start``, ``end`` and the one called ``time``) are ticks.

    >>> from cepheid.language.parser import parse_script
    >>> text = "PATTERN SEQ(A a, B b) RETURN Pair(x = b.x); PATTERN SEQ(Pair p, B b) WHERE p.x < 2"
    >>> events = [Event(i, i, t, {"x": i}) for i, t in enumerate("ABB")]
    >>> answers = evaluate_script(parse_script(text), events, [None, None])
    >>> [placed.event.type for placed in answers[1].stream]
    ['A', 'B', 'Pair', 'B', 'Pair']
    >>> [match.binding["b"].position for match in answers[1].matches]
    [3]
    """
    given = [Placed(event, (event.ticks, event.position, -1, -1)) for event in events]
    made: list[tuple[str, list[Placed]]] = []
    answers = []
    for number, query in enumerate(queries):
        named = {name for part, _ in ast.components(query.pattern) for name in part.types}
        read = [placed for name, composites in made if name in named for placed in composites]
        ordered = sorted([*given, *read], key=lambda placed: placed.place)
        stream = [
            Placed(replace(placed.event, position=position), placed.place)
            for position, placed in enumerate(ordered)
        ]
        found = MODES[output](
            query,
            reference.evaluate(query, [placed.event for placed in stream], windows[number]),
        )
        found.sort(key=lambda match: (_end(match), sort_key(query, match)))
        answers.append(Answer(found, stream))
        if query.returns is not None and query.returns.type_name is not None:
            composites = [
                _composite(query, match, stream, (number, report), time, type)
                for report, match in enumerate(found)
            ]
            made.append((query.returns.type_name, composites))
    return answers


def _end(match: Match) -> tuple[int, int]:
    """The end of a match, and the position of the event that completes it, or -1."""
    return match.ended, -1 if match.waited else match.completed[1]


def _composite(
    query: ast.Query,
    match: Match,
    stream: Sequence[Placed],
    reported: tuple[int, int],
    time: str,
    type: str,
) -> Placed:
    assert query.returns is not None
    assert query.returns.type_name is not None
    ticks, position = _end(match)
    anchor = stream[position].place[1] if position >= 0 else -1
    names = [item_name(item, query) for item in query.returns.items]
    values = {
        "start": match.events()[0].ticks,
        "end": ticks,
        **dict(zip(names, reference.returned(query, match), strict=True)),
        time: ticks,
        type: query.returns.type_name,
    }
    return Placed(Event(-1, ticks, query.returns.type_name, values), (ticks, anchor, *reported))
