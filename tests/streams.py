"""Streams and their matches, written the way one writes them on a whiteboard.

>>> events = stream("a1 b1(x=3) b2(x=null)@9 a2")
>>> [(event.type, event.ticks, dict(event.values)) for event in events]
[('A', 1, {}), ('B', 2, {'x': 3}), ('B', 9, {'x': None}), ('A', 10, {})]
>>> sorted(matches("PATTERN SEQ(A a, B+ b[])", events))
['a1 [b1 b2]', 'a1 [b1]', 'a1 [b2]']
"""

from __future__ import annotations

import ast as python
import re
from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from typing import Any

from cepheid.language import syntax
from cepheid.language.parser import parse
from cepheid.reference.definition import evaluate, returned
from cepheid.reference.interpreter import Event
from cepheid.reference.match import Match
from cepheid.reference.output import MODES, at_most_once, in_order

_TOKEN = re.compile(
    r"(?P<name>(?P<type>[A-Za-z][A-Za-z-]*)\d*)(?:\((?P<values>[^()]*)\))?(?:@(?P<ticks>-?\d+))?"
)
_CONSTANTS = {"null": None, "true": True, "false": False}


class Stream(list[Event]):
    """Events in order, each with the label that the text gives it."""

    def __init__(self, events: Sequence[Event], labels: Sequence[str]) -> None:
        super().__init__(events)
        self.labels = labels


def stream(text: str) -> Stream:
    """The events of a text like ``a1 b(x=3, y=null)@7 SHELF-READING(id='1')``.

    The type is the word without its number, with a capital. An attribute that is not written is
    one that the type does not have. Times count up from 1, or from the last one written; events
    are in the order of the text. A word that is used twice is told apart by the time: ``a@3``.
    """
    found = list(_TOKEN.finditer(text))
    rest = _TOKEN.sub("", text).strip()
    if rest:
        raise ValueError(f"not a stream: {rest!r}")
    events: list[Event] = []
    ticks = 0
    for position, token in enumerate(found):
        ticks = int(token["ticks"]) if token["ticks"] else ticks + 1
        kind = token["type"][0].upper() + token["type"][1:]
        events.append(Event(position, ticks, kind, _values(token["values"] or "")))
    if [event.ticks for event in events] != sorted(event.ticks for event in events):
        raise ValueError("events are written in the order of their times")
    names = [token["name"] for token in found]
    labels = [
        f"{name}@{event.ticks}" if names.count(name) > 1 else name
        for name, event in zip(names, events, strict=True)
    ]
    if len(set(labels)) < len(labels):
        raise ValueError(f"two events have the same label: {' '.join(labels)}")
    return Stream(events, labels)


def matches(query: str, events: Stream | str, window: int | None = None) -> set[str]:
    """The matches as texts: labels in pattern order, ``[b1 b2]`` for a Kleene variable.

    Variables without an event are left out. ``window`` is the extent in ticks; it is needed only
    where the query gives its window in units of time.
    """
    shown = [match for match, _ in completions(query, events, window)]
    assert len(set(shown)) == len(shown), "a match is reported once"
    return set(shown)


def answers(text: str) -> set[str]:
    """The matches of a text like ``a1 b1 | a1 [b1 b2]``; an empty text is none."""
    return {" ".join(match.split()) for match in text.split("|") if match.strip()}


def completions(
    query: str, events: Stream | str, window: int | None = None
) -> list[tuple[str, tuple[int, int]]]:
    """The matches in the order of the report, with the (ticks, position) of each completion.

    What OUTPUT says is applied; the durations of the query are in ticks.
    """
    parsed, events = parse(query), _as_stream(events)
    found = evaluate(parsed, events, _extent(parsed.window, window))
    clause = parsed.output or syntax.Output()
    found = MODES[clause.mode or "all"](parsed, found)
    gap = _extent(clause.at_most_once_per, None)
    found = in_order(parsed, found if gap is None else at_most_once(parsed, found, gap))
    return [(_shown(parsed, events, match), match.completed) for match in found]


def bindings(
    query: str, events: Stream | str, window: int | None = None
) -> list[dict[str, str | list[str]]]:
    """The matches as the label, or list of labels, of every variable that has an event."""
    parsed, events = parse(query), _as_stream(events)
    return [
        {
            name: [events.labels[event.position] for event in bound]
            if isinstance(bound, list)
            else events.labels[bound.position]
            for name, bound in match.binding.items()
        }
        for match in evaluate(parsed, events, _extent(parsed.window, window))
    ]


def rows(query: str, events: Stream | str, window: int | None = None) -> list[list[Any]]:
    """What RETURN gives for each match, in the order of the report."""
    parsed, events = parse(query), _as_stream(events)
    found = evaluate(parsed, events, _extent(parsed.window, window))
    return [returned(parsed, match) for match in found]


def _as_stream(events: Stream | str) -> Stream:
    return stream(events) if isinstance(events, str) else events


def _extent(said: syntax.Window | None, window: int | None) -> int | None:
    if window is not None or said is None:
        return window
    assert said.unit is None, "how many ticks the window has must be said"
    extent = said.extent
    assert isinstance(extent, Fraction)
    return ceil(extent)


def _shown(query: syntax.Query, events: Stream, match: Match) -> str:
    words = []
    for name in dict.fromkeys(c.variable for c, _ in syntax.components(query.pattern)):
        bound = match.binding.get(name)
        if isinstance(bound, list):
            words.append(f"[{' '.join(events.labels[event.position] for event in bound)}]")
        elif bound is not None:
            words.append(events.labels[bound.position])
    return " ".join(words)


def _values(text: str) -> dict[str, Any]:
    pairs = (pair.split("=", 1) for pair in text.split(",") if pair.strip())
    return {name.strip(): _value(value.strip()) for name, value in pairs}


def _value(text: str) -> Any:
    return _CONSTANTS[text] if text in _CONSTANTS else python.literal_eval(text)
