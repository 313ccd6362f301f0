"""A picture of the instance stacks of a query after some events, as SVG [Wu06 §4.1, Figure 5].

A stack is a column that grows upwards. The stacks of a partition are side by side, in the order of
their components. An arrow leads from an instance to its RIP: the most recent instance of the
previous stack when the event arrived.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, time

from cepheid.analysis.model import Alternative, AnalysedQuery
from cepheid.engines.base.engine import StandingStacks
from cepheid.engines.stacks.layout import NONE
from cepheid.errors import OptionError
from cepheid.events.events import Events
from cepheid.explain.canvas import LETTER, LINE, MARGIN, MARKER, WIDTH, Canvas, px
from cepheid.explain.formula import text_width
from cepheid.language import syntax as ast
from cepheid.language.printer import print_expression, print_pattern, print_window
from cepheid.sessions.plan import PlannedQuery, new_run
from cepheid.sessions.session import Session
from cepheid.visible import visible

MOST_EVENTS = 60
CELL = 30
GAP = 50
BETWEEN = 90
"""The space between the stacks of two partitions."""
MOST_MATCHES = 12
"""The number of matches that are written out."""

_STYLE = """\
.stacks rect.instance { fill: #f8fafc; stroke: #1f2937; stroke-width: 1.4 }
.stacks rect.matched { fill: #dbeafe; stroke: #1d4ed8; stroke-width: 1.8 }
.stacks rect.last { stroke-dasharray: 5 3 }
.stacks .wall { stroke: #9ca3af; stroke-width: 2 }
.stacks .rip { stroke: #6b7280 }
.stacks .matched-rip { stroke: #1d4ed8 }"""

_MARKERS = "\n".join(
    MARKER.format(name, colour)
    for name, colour in (("stacks-rip", "#6b7280"), ("stacks-matched-rip", "#1d4ed8"))
)


@dataclass(frozen=True, slots=True)
class _Instance:
    """An event on the stack of a component; ``rip`` is the index of another in the same list."""

    label: str
    component: int
    rip: int | None
    is_matched: bool


@dataclass(frozen=True, slots=True)
class _Partition:
    """The instances on the stacks of one partition, from bottom to top."""

    key: str
    instances: Sequence[_Instance]


def draw_standing_stacks(planned: PlannedQuery, events: Events) -> str:
    """The stacks after the last event, and the matches that the last event completes."""
    query = planned.analysed
    check_few(events, "stacks")
    session = new_run(planned.task)
    assert isinstance(session, Session)
    last = len(events) - 1
    found = [
        {name: position for name, position in match.items() if isinstance(position, int)}
        for part in session.run(events)
        for match in part
    ]
    completed = [match for match in found if max(match.values()) == last]
    labels = event_labels(events)
    canvas = Canvas("stacks", _STYLE, _MARKERS)
    pattern = begun_picture(canvas, query, labels)
    alternatives = zip(query.alternatives, session.stacks(), strict=True)
    for number, (alternative, standing) in enumerate(alternatives, start=1):
        if len(query.alternatives) > 1:
            canvas.rule()
            shown = visible(print_pattern(ast.Sequence(alternative.components)))
            canvas.paragraph(f"alternative {number}: {shown}", "heading")
        _Stacks(events, labels, alternative, standing, completed).draw(canvas)
    return canvas.document(f"Instance stacks of {pattern}")


def check_few(events: Events, what: str) -> None:
    """Refuse more events than a picture can show."""
    if len(events) > MOST_EVENTS:
        raise OptionError(
            f"a picture of {what} shows at most {MOST_EVENTS} events, and there are "
            f"{len(events):,}; give fewer events, such as the first {MOST_EVENTS}"
        )


def begun_picture(canvas: Canvas, query: AnalysedQuery, labels: Sequence[str]) -> str:
    """Write the query and the events that were read; the pattern, as text."""
    said = []
    if query.query.condition is not None:
        said.append(f"WHERE {print_expression(query.query.condition, query.query)}")
    if query.query.window is not None:
        said.append(f"WITHIN {print_window(query.query.window)}")
    pattern = visible(print_pattern(query.query.pattern))
    canvas.paragraph(pattern, "heading")
    if said:
        canvas.paragraph(visible(" ".join(said)), "note")
    canvas.paragraph(f"read: {' '.join(labels)}", "")
    return pattern


def event_labels(events: Events) -> list[str]:
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


class _Stacks:
    """The stacks of one alternative, and the matches that the last event completes."""

    def __init__(
        self,
        events: Events,
        labels: Sequence[str],
        alternative: Alternative,
        standing: StandingStacks,
        completed: Sequence[dict[str, int]],
    ) -> None:
        variables = [component.variable for component in alternative.components]
        matches = [match for match in completed if match.keys() == set(variables)]
        matched = {(ix, match[name]) for match in matches for ix, name in enumerate(variables)}
        self._last = labels[-1] if labels else ""
        self._matches = [" ".join(labels[match[name]] for name in variables) for match in matches]
        self._components = [visible(print_pattern(each)) for each in alternative.components]
        self._partitions = [
            _partition(events, labels, rows, standing, matched)
            for rows in _by_partition(standing, len(variables), matched)
        ] or [_Partition("", ())]
        shown = [each.label for part in self._partitions for each in part.instances]
        self._cell = max(map(text_width, (*shown, *self._components))) * LETTER + 20
        self._width = len(variables) * (self._cell + GAP) - GAP

    def draw(self, canvas: Canvas) -> None:
        across = max(int((WIDTH - 2 * MARGIN + BETWEEN) // (self._width + BETWEEN)), 1)
        for low in range(0, len(self._partitions), across):
            row = self._partitions[low : low + across]
            depth = max(1, *map(self._depth, row))
            for place, partition in enumerate(row):
                self._draw_partition(
                    canvas, partition, MARGIN + place * (self._width + BETWEEN), depth
                )
            canvas.y += self._above(row) + depth * CELL + LINE + 24
        matches = self._matches
        if matches:
            counted = "a match" if len(matches) == 1 else f"{len(matches)} matches"
            shown = ", ".join(matches[:MOST_MATCHES]) + ", …" * (len(matches) > MOST_MATCHES)
            canvas.paragraph(f"{self._last} completes {counted}: {shown}", "")

    def _depth(self, partition: _Partition) -> int:
        """The height of the highest stack."""
        counts = [0] * len(self._components)
        for instance in partition.instances:
            counts[instance.component] += 1
        return max(counts)

    def _above(self, partitions: Sequence[_Partition]) -> int:
        return 12 + (LINE + 4 if any(each.key for each in partitions) else 0)

    def _draw_partition(self, canvas: Canvas, partition: _Partition, x: float, depth: int) -> None:
        top = canvas.y + self._above([partition])
        if partition.key:
            canvas.text(x, top - 14, partition.key, "note")
        foot = top + depth * CELL + 6
        lefts = [x + ix * (self._cell + GAP) for ix in range(len(self._components))]
        for left, component in zip(lefts, self._components, strict=True):
            wall = f"M{px(left - 4)},{px(top)} V{px(foot)} h{px(self._cell + 8)} V{px(top)}"
            canvas.path(wall, "wall")
            canvas.text(left + self._cell / 2, foot + LINE, component, "heading middle")
        canvas.reach(lefts[-1] + self._cell + 4)
        heights = [0] * len(lefts)
        middles: list[float] = []
        for instance in partition.instances:
            heights[instance.component] += 1
            y = foot - 3 - heights[instance.component] * CELL
            middles.append(y + CELL / 2)
            self._instance(canvas, instance, lefts[instance.component], y)
        for instance, y in zip(partition.instances, middles, strict=True):
            if instance.rip is None:
                continue
            start, end = lefts[instance.component] - 1, lefts[instance.component - 1] + self._cell
            is_path = instance.is_matched and partition.instances[instance.rip].is_matched
            style = "matched-rip" if is_path else "rip"
            canvas.path(
                f"M{px(start)},{px(y)} L{px(end + 3)},{px(middles[instance.rip])}",
                style,
                f"stacks-{style}",
            )

    def _instance(self, canvas: Canvas, instance: _Instance, left: float, y: float) -> None:
        is_last = instance.component == len(self._components) - 1
        style = "instance" + " matched" * instance.is_matched + " last" * is_last
        canvas.shape(
            f'<rect class="{style}" x="{px(left)}" y="{px(y + 2)}" width="{px(self._cell)}"'
            f' height="{CELL - 4}" rx="4"/>'
        )
        canvas.text(left + self._cell / 2, y + CELL / 2 + 5, instance.label, "middle")


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
) -> _Partition:
    component, event, _ = rows[0]
    values = [
        f"{name} = {events.table.column(name)[event].as_py()}" for name in standing.keys[component]
    ]
    return _Partition(
        visible(", ".join(values)),
        [
            _Instance(labels[at], ix, None if rip == NONE else rip, (ix, at) in matched)
            for ix, at, rip in rows
        ],
    )
