"""A picture of the shared versioned buffer after some events, as SVG [Agrawal08 §5.1, Figure 4].

Each state of the automaton has a row, and each selected event a column. An entry is an event that
some runs have selected in a state. Its pointers lead to what these runs had selected before, and
are labelled with their versions.
"""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.analysis.model import Alternative
from cepheid.codegen.layout import TAG_SHIFT
from cepheid.engines.base.engine import StandingBuffer
from cepheid.events.events import Events
from cepheid.explain.canvas import LETTER, LINE, MARGIN, MARKER, Canvas, px
from cepheid.explain.formula import text_width
from cepheid.explain.stack_pictures import begun_picture, check_few, event_labels
from cepheid.language import syntax as ast
from cepheid.language.printer import print_pattern
from cepheid.sessions.plan import PlannedQuery, new_run
from cepheid.sessions.session import Session
from cepheid.visible import visible

BOX = 30
"""The height of an entry with one pointer; each further one adds a line."""
LANE = 6
"""The distance between two pointers that pass above the entries of a row."""
ABOVE = 34
MOST_RUNS = 12
"""The number of runs that are written out."""

_STYLE = """\
.buffer rect.entry { fill: #f8fafc; stroke: #1f2937; stroke-width: 1.4 }
.buffer .pointer { stroke: #6b7280 }
.buffer .version { font-size: 11px; fill: #1d4ed8 }
.buffer .end { text-anchor: end }"""

_MARKERS = MARKER.format("buffer-pointer", "#6b7280")


def draw_versioned_buffer(planned: PlannedQuery, events: Events) -> str:
    """The buffer after the last event, its runs, and how many matches have been found."""
    check_few(events, "a buffer")
    session = new_run(planned.task)
    assert isinstance(session, Session)
    found = sum(len(part) for part in session.run(events))
    labels = event_labels(events)
    query = planned.analysed
    canvas = Canvas("buffer", _STYLE, _MARKERS)
    title = begun_picture(canvas, query, labels)
    for number, (alternative, buffer) in enumerate(
        zip(query.alternatives, session.buffers(), strict=True), start=1
    ):
        if len(query.alternatives) > 1:
            canvas.rule()
            shown = visible(print_pattern(ast.Sequence(alternative.components)))
            canvas.paragraph(f"alternative {number}: {shown}", "heading")
        _Buffer(alternative, buffer, labels).draw(canvas)
    matches = "1 match" if found == 1 else f"{found} matches"
    canvas.paragraph(f"{matches} in all", "")
    return canvas.document(f"Versioned buffer of {title}")


class _Buffer:
    """The buffer of one alternative."""

    def __init__(
        self, alternative: Alternative, buffer: StandingBuffer, labels: Sequence[str]
    ) -> None:
        self._buffer = buffer
        self._labels = labels
        self._states: list[str] = []
        self._state_of: dict[tuple[int, bool], int] = {}
        for ix, part in enumerate(alternative.components):
            for is_later in (False, True)[: 1 + part.is_kleene]:
                self._state_of[ix, is_later] = len(self._states)
                suffix = ("[i]" if is_later else "[1]") if part.is_kleene else ""
                self._states.append(visible(part.variable + suffix))
        # The event that completes a match is not in the buffer, unless a list continues.
        self._shown = len(self._states) - (not alternative.components[-1].is_kleene)
        # The pointers of each entry: what they lead to, or -1, and their versions.
        self._pointers: list[list[tuple[int, str]]] = [[] for _ in buffer.entries]
        for pointer in buffer.pointers:
            said = int(pointer["previous"]), buffer.dewey(int(pointer["version"]))
            self._pointers[int(pointer["entry"])].append(said)
        tags = buffer.entries["tag"].tolist()
        self._events = [tag >> TAG_SHIFT for tag in tags]
        self._components = [tag & ((1 << TAG_SHIFT) - 1) for tag in tags]
        self._rows = [self._state(entry) for entry in range(len(tags))]

    def _state(self, entry: int) -> int:
        """The state in which the event was selected."""
        before = self._pointers[entry][0][0]
        is_later = before >= 0 and self._components[before] == self._components[entry]
        return self._state_of[self._components[entry], is_later]

    def draw(self, canvas: Canvas) -> None:
        columns = {event: ix for ix, event in enumerate(sorted({*self._events}))}
        versions = [version for each in self._pointers for _, version in each]
        # What a pointer has below its version, before it bends.
        self._label = max([text_width(version) for version in versions], default=0) * 7 + 10
        names = max(map(text_width, self._states)) * LETTER * 1.1 + 24
        longest = max([text_width(self._labels[event]) for event in columns], default=2)
        self._half = longest * LETTER / 2 + 10
        pitch = 2 * self._half + self._label + 40
        self._centres = [
            MARGIN + names + self._label + self._half + columns[event] * pitch
            for event in self._events
        ]
        self._tops = [0.0] * len(self._events)
        for row, name in enumerate(self._states[: self._shown]):
            here = [entry for entry, own in enumerate(self._rows) if own == row]
            canvas.y += ABOVE
            for entry in here:
                self._tops[entry] = canvas.y
            canvas.text(MARGIN, canvas.y + BOX / 2 + 5, name, "heading")
            canvas.y += max([self._height(entry) for entry in here], default=BOX)
        for entry in range(len(self._events)):
            for place, (before, version) in enumerate(self._pointers[entry]):
                self._pointer(canvas, entry, place, before, version)
        for entry, event in enumerate(self._events):
            left, top = self._centres[entry] - self._half, self._tops[entry]
            canvas.shape(
                f'<rect class="entry" x="{px(left)}" y="{px(top)}" width="{px(2 * self._half)}"'
                f' height="{px(self._height(entry))}" rx="4"/>'
            )
            middle = top + self._height(entry) / 2 + 5
            canvas.text(self._centres[entry], middle, self._labels[event], "middle")
            canvas.reach(left + 2 * self._half)
        canvas.y += 20
        self._write_runs(canvas)

    def _height(self, entry: int) -> float:
        return BOX + LINE * (len(self._pointers[entry]) - 1)

    def _pointer(self, canvas: Canvas, entry: int, place: int, before: int, version: str) -> None:
        left = self._centres[entry] - self._half
        y = self._tops[entry] + BOX / 2 + place * LINE
        canvas.text(left - 8, y - 3, version, "version end middle")
        if before < 0:
            canvas.path(f"M{px(left)},{px(y)} h{px(-self._label)}", "pointer")
            return
        centre, top = self._centres[before], self._tops[before]
        right, bottom = centre + self._half, top + self._height(before)
        is_near = not any(
            right < other < left and self._rows[each] == self._rows[entry]
            for each, other in enumerate(self._centres)
        )
        if self._rows[before] == self._rows[entry] and not is_near:
            # Above the entries in between.
            lane = self._tops[entry] - 8 - place * LANE
            x = left - self._label - place * LANE
            d = f"M{px(left)},{px(y)} H{px(x)} V{px(lane)} H{px(centre)} V{px(top - 1)}"
        elif self._rows[before] == self._rows[entry]:
            d = f"M{px(left)},{px(y)} L{px(right + 1)},{px(min(y, bottom - 6))}"
        else:
            d = f"M{px(left)},{px(y)} h{px(-self._label)} L{px(centre)},{px(bottom + 1)}"
        canvas.path(d, "pointer", "buffer-pointer")

    def _write_runs(self, canvas: Canvas) -> None:
        runs = sorted(
            (self._buffer.dewey(version), state, head) for version, state, head in self._buffer.runs
        )
        for version, state, head in runs[:MOST_RUNS]:
            component, is_inside = state >> 1, bool(state & 1)
            name = self._states[self._state_of[component, is_inside]]
            latest = "" if head < 0 else f", has selected {self._labels[self._events[head]]} last"
            canvas.paragraph(f"run {version}: in state {name}{latest}", "")
        if len(runs) > MOST_RUNS:
            canvas.paragraph(f"and {len(runs) - MOST_RUNS} more runs", "")
