"""A picture of the instance stacks of a query after some events."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, time

from cepheid.analysis.model import Alternative
from cepheid.engines.base.engine import StandingStacks
from cepheid.engines.stacks.layout import NONE
from cepheid.errors import OptionError
from cepheid.events.events import Events
from cepheid.explain.formula import visible
from cepheid.explain.stack_drawing import (
    Instance,
    PartitionStacks,
    SequenceStacks,
    draw_stacks,
)
from cepheid.language import syntax as ast
from cepheid.language.printer import print_expression, print_pattern, print_window
from cepheid.sessions.plan import PlannedQuery, new_run
from cepheid.sessions.session import Session

MOST_EVENTS = 60
_Positions = dict[str, int]


def draw_standing_stacks(planned: PlannedQuery, events: Events) -> str:
    """The stacks after the last event, and the matches that the last event completes."""
    query = planned.analysed
    if len(events) > MOST_EVENTS:
        raise OptionError(
            f"a picture of stacks shows at most {MOST_EVENTS} events, and there are "
            f"{len(events):,}; give fewer events, such as the first {MOST_EVENTS}"
        )
    session = new_run(planned.task)
    assert isinstance(session, Session)
    last = len(events) - 1
    found = [
        {name: position for name, position in match.items() if isinstance(position, int)}
        for part in session.run(events)
        for match in part
    ]
    completed = [match for match in found if max(match.values()) == last]
    labels = _labels(events)
    drawn = [
        _sequence(events, labels, alternative, standing, completed)
        for alternative, standing in zip(query.alternatives, session.stacks(), strict=True)
    ]
    said = []
    if query.query.condition is not None:
        said.append(f"WHERE {print_expression(query.query.condition, query.query)}")
    if query.query.window is not None:
        said.append(f"WITHIN {print_window(query.query.window)}")
    pattern = visible(print_pattern(query.query.pattern))
    return draw_stacks(pattern, visible(" ".join(said)), labels, drawn)


def _labels(events: Events) -> list[str]:
    """The type and time of each event; only the time of day if all events are of one day."""
    moments = [events.time_axis.decode_one(int(ticks)) for ticks in events.ticks]
    clocks = [moment for moment in moments if isinstance(moment, datetime)]
    times = [str(moment) for moment in moments]
    if clocks and len({moment.date() for moment in clocks}) == 1:
        are_minutes = all(moment.time() == _minute(moment) for moment in clocks)
        times = [
            moment.strftime("%H:%M") if are_minutes else str(moment.time()) for moment in clocks
        ]
    return [
        visible(f"{events.type_names[code]}@{moment}")
        for code, moment in zip(events.type_codes, times, strict=True)
    ]


def _minute(moment: datetime) -> time:
    return time(moment.hour, moment.minute)


def _sequence(
    events: Events,
    labels: Sequence[str],
    alternative: Alternative,
    standing: StandingStacks,
    completed: Sequence[_Positions],
) -> SequenceStacks:
    variables = [component.variable for component in alternative.components]
    matches = [match for match in completed if match.keys() == set(variables)]
    matched = {(ix, match[name]) for match in matches for ix, name in enumerate(variables)}
    partitions = [
        _partition(events, labels, rows, standing, matched)
        for rows in _by_partition(standing, len(variables), matched)
    ]
    return SequenceStacks(
        visible(print_pattern(ast.Sequence(alternative.components))),
        [visible(print_pattern(component)) for component in alternative.components],
        partitions or [PartitionStacks("", ())],
        [" ".join(labels[match[name]] for name in variables) for match in matches],
    )


def _by_partition(
    standing: StandingStacks, components: int, matched: set[tuple[int, int]]
) -> list[list[tuple[int, int, int]]]:
    """The instances of each partition, as (component, event, index of the RIP).

    An event that completes a match comes last: it starts a search and is not on a stack.
    """
    partitions: dict[int, list[tuple[int, int, int]]] = {}
    place_of: dict[int, int] = {}
    for row, instance in enumerate(standing.instances):
        stacked = partitions.setdefault(int(instance["stack"]) // components, [])
        place_of[row] = len(stacked)
        rip = int(instance["rip"])
        component = int(instance["stack"]) % components
        stacked.append((component, int(instance["event"]), place_of.get(rip, NONE)))
    ends = [event for component, event in matched if component == components - 1]
    for event in ends[:1]:
        if components == 1:
            return [[(0, event, NONE)]]
        for stacked in partitions.values():
            before = [
                place
                for place, (component, earlier, _) in enumerate(stacked)
                if component == components - 2 and earlier < event
            ]
            if any((component, earlier) in matched for component, earlier, _ in stacked):
                stacked.append((components - 1, event, before[-1]))
    return [stacked for _, stacked in sorted(partitions.items())]


def _partition(
    events: Events,
    labels: Sequence[str],
    rows: Sequence[tuple[int, int, int]],
    standing: StandingStacks,
    matched: set[tuple[int, int]],
) -> PartitionStacks:
    component, event, _ = rows[0]
    values = [
        f"{name} = {events.table.column(name)[event].as_py()}" for name in standing.keys[component]
    ]
    return PartitionStacks(
        visible(", ".join(values)),
        [
            Instance(labels[at], ix, None if rip == NONE else rip, (ix, at) in matched)
            for ix, at, rip in rows
        ],
    )
