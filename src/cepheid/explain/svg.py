"""Automata as SVG drawings [Agrawal08, Figure 2].

The states are circles in a row, which wraps if it gets too wide. The rejecting state is below each
state that leads to it. The states of a tree are in columns. The loop of an ignore or store
edge is above its state, the loop of a take edge below it, so labels do not overlap. The formulas
are below the states, each after a sample of its edge.

Text is not measured: all letters of a formula have the same width, with some room for wide fonts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cepheid.analysis.model import AnalysedQuery
from cepheid.explain.automaton import REJECTING, Automaton, Edge, EdgeKind, Filter, State
from cepheid.explain.canvas import LETTER, LINE, MARGIN, MARKER, WIDTH, Canvas, px
from cepheid.explain.formula import text_width
from cepheid.language.printer import print_pattern, print_window
from cepheid.visible import visible

RADIUS = 24
GAP = 86
LOOP = 36
ROW_GAP = 30
LABEL = 18
TREE_GAP = 14
SAMPLE = 34
LONGEST_NAME = 28
"""An edge with a longer name takes a separate line for it."""

_STYLE = """\
.nfa .edge-label { font-family: system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif;
  font-size: 12px; fill: #4b5563 }
.nfa circle, .nfa rect.state { fill: #f8fafc; stroke: #1f2937; stroke-width: 1.6 }
.nfa .begin, .nfa .take { stroke: #1f2937 }
.nfa .ignore, .nfa .store { stroke: #6b7280; stroke-dasharray: 5 4 }
.nfa .proceed { stroke: #1d4ed8; stroke-dasharray: 9 3 2 3 }
.nfa .search_failed, .nfa .timeout { stroke: #b45309; stroke-dasharray: 2 3 }
.nfa text.proceed { fill: #1d4ed8; stroke: none }
.nfa .filter { fill: #b91c1c }"""

_MARKERS = f"""\
{MARKER.format("nfa-selects", "#1f2937")}
{MARKER.format("nfa-ignores", "#6b7280")}
{MARKER.format("nfa-passes", "#b45309")}
<marker id="nfa-proceeds" viewBox="0 0 12 12" refX="11" refY="6" markerWidth="12"\
 markerHeight="12" markerUnits="userSpaceOnUse" orient="auto"><path d="M1,1 L11,6 L1,11 z"\
 style="fill: #ffffff; stroke: #1d4ed8; stroke-width: 1.4"/></marker>"""

_MARKER_OF = {
    EdgeKind.BEGIN: "nfa-selects",
    EdgeKind.TAKE: "nfa-selects",
    EdgeKind.IGNORE: "nfa-ignores",
    EdgeKind.PROCEED: "nfa-proceeds",
    EdgeKind.STORE: "nfa-ignores",
    EdgeKind.SEARCH_FAILED: "nfa-passes",
    EdgeKind.TIMEOUT: "nfa-passes",
}


def draw_automata(query: AnalysedQuery, automata: Sequence[Automaton]) -> str:
    """The automata of the alternatives of a query, one below the other."""
    canvas = Canvas("nfa", _STYLE, _MARKERS)
    pattern = visible(print_pattern(query.query.pattern))
    canvas.paragraph(pattern, "heading")
    said = query.query.strategy.value
    if query.query.window is not None:
        said += f", WITHIN {print_window(query.query.window)}"
    canvas.paragraph(said, "note")
    for number, automaton in enumerate(automata, start=1):
        if len(query.alternatives) > 1:
            canvas.rule()
            canvas.paragraph(visible(automaton.heading(number)), "heading")
        _Drawing(automaton, canvas).draw()
    return canvas.document(f"Automaton of {pattern}")


@dataclass(frozen=True, slots=True)
class _Node:
    """The place of a state: its centre, half its width, and whether it begins a new row."""

    x: float
    y: float
    half: float
    is_below: bool

    @property
    def left(self) -> float:
        return self.x - self.half

    @property
    def right(self) -> float:
        return self.x + self.half


class _Drawing:
    """One automaton on a canvas."""

    def __init__(self, automaton: Automaton, canvas: Canvas) -> None:
        self._automaton = automaton
        self._canvas = canvas
        self._edges = [edge for edge in automaton.edges if not edge.formula.is_false]
        loops = {edge.kind for edge in self._edges if edge.source == edge.target}
        stacks = [len(self._filters_at(ix)) for ix in (*range(len(automaton.states)), None)]
        self._above = RADIUS + (LOOP + LABEL if loops - {EdgeKind.TAKE} else 8)
        rejects = any(edge.target is None for edge in self._edges)
        below = RADIUS + (LOOP + LABEL if EdgeKind.TAKE in loops or rejects else 8)
        self._below = max(below, LABEL * (max(stacks) + 1))
        place = self._in_tree if automaton.is_tree else self._placed
        self._nodes = place(canvas.y + 10 + self._above)

    def draw(self) -> None:
        for ix, (state, node) in enumerate(zip(self._automaton.states, self._nodes, strict=True)):
            self._state(state, node)
            self._filter_labels(ix, node)
        self._arrow_to(0, EdgeKind.BEGIN)
        for edge in self._edges:
            if edge.source == edge.target:
                self._loop(edge)
            elif edge.target is None:
                self._rejection(edge)
            elif self._automaton.is_tree:
                self._branch(self._nodes[edge.source], self._nodes[edge.target], edge.kind)
            else:
                self._arrow_to(edge.target, edge.kind)
                node = self._nodes[edge.target]
                middle = node.left - self._gap(edge.target) / 2
                self._label(middle, node.y - 8, edge.kind)
        last = self._nodes[-1]
        for row, negated in enumerate(self._filters_at(None)):
            self._canvas.text(
                last.right + 14, last.y + 4 + row * LABEL, f"no {negated.name}", "edge-label filter"
            )
        self._canvas.y = max(node.y for node in self._nodes) + self._below + 22
        self._legend()

    # --- places

    def _placed(self, y: float) -> list[_Node]:
        """The states in as few rows as possible, with about the same width."""
        limit = WIDTH - MARGIN
        nodes = self._in_rows(limit, y)
        while limit > WIDTH / 2:
            limit -= 20
            narrower = self._in_rows(limit, y)
            if narrower[-1].y > nodes[-1].y:
                break
            nodes = narrower if nodes[-1].y > y else nodes
        return nodes

    def _in_rows(self, limit: float, y: float) -> list[_Node]:
        nodes: list[_Node] = []
        x = float(MARGIN)
        for ix, state in enumerate(self._automaton.states):
            half = max(RADIUS, text_width(state.name) * LETTER * 1.1 / 2 + 6)
            gap = self._gap(ix)
            is_below = ix > 0 and x + gap + 2 * half > limit
            if is_below:
                x = float(MARGIN)
                y += self._above + self._below + ROW_GAP
            nodes.append(_Node(x + gap + half, y, half, is_below))
            x += gap + 2 * half
        return nodes

    def _in_tree(self, y: float) -> list[_Node]:
        """The states in columns by the number of bound components, each beside its next states.

        The edges are in the order of a search from the root, and each edge to a final state has a
        separate row.
        """
        states = self._automaton.states
        column = {0: 0}
        rows: dict[int, float] = {}
        lanes: dict[tuple[int, int], float] = {}
        forward = [(edge.source, edge.target) for edge in self._edges if edge.target is not None]
        for source, target in forward:
            column[target] = column[source] + 1
            if states[target].is_final:
                lanes[source, target] = y + len(lanes) * (2 * RADIUS + TREE_GAP)
        for ix in reversed(range(len(states))):
            beside = [
                lanes.get((source, target), rows.get(target, y))
                for source, target in forward
                if ix == (target if states[ix].is_final else source)
            ]
            rows[ix] = sum(beside) / len(beside)
        names = [state.name for state in self._automaton.states]
        half = max(RADIUS, *(text_width(name) * LETTER * 1.1 / 2 + 6 for name in names))
        return [
            _Node(MARGIN + GAP / 2 + half + column[ix] * (2 * half + GAP), rows[ix], half, False)
            for ix in range(len(states))
        ]

    def _gap(self, ix: int) -> float:
        """The space before a state, for the edge to it and the negated components."""
        widths = [text_width(f"no {negated.name}") * LETTER for negated in self._filters_at(ix)]
        passes = [edge for edge in self._edges if edge.kind is EdgeKind.SEARCH_FAILED]
        widths += [text_width(each.kind.value) * LETTER for each in passes if each.target == ix]
        return max(GAP if ix > 0 else GAP / 2, *(width + 32 for width in widths), 0)

    def _filters_at(self, ix: int | None) -> list[Filter]:
        return [negated for negated in self._automaton.filters if negated.gap == ix]

    # --- shapes

    def _state(self, state: State, node: _Node) -> None:
        for radius in (RADIUS, RADIUS - 5) if state.is_final else (RADIUS,):
            if node.half == RADIUS:
                self._canvas.shape(f'<circle cx="{px(node.x)}" cy="{px(node.y)}" r="{radius}"/>')
            else:
                self._canvas.shape(
                    f'<rect class="state" x="{px(node.left)}" y="{px(node.y - RADIUS)}"'
                    f' width="{px(2 * node.half)}" height="{2 * RADIUS}" rx="{RADIUS}"/>'
                )
        self._canvas.text(node.x, node.y + 5, state.name, "heading middle")
        self._canvas.reach(node.right)

    def _arrow_to(self, target: int, kind: EdgeKind) -> None:
        node = self._nodes[target]
        start = MARGIN if target == 0 else self._nodes[target - 1].right
        d = f"M{px(start)},{px(node.y)} H{px(node.left - 1)}"
        if node.is_below:
            above = self._nodes[target - 1]
            between = node.y - self._above - ROW_GAP / 2
            d = (
                f"M{px(above.right)},{px(above.y)} h6 q8,0 8,8 V{px(between - 8)} q0,8 -8,8"
                f" H{MARGIN + 8} q-8,0 -8,8 V{px(node.y - 8)} q0,8 8,8 H{px(node.left - 1)}"
            )
            self._canvas.reach(above.right + 14)
        self._canvas.path(d, kind.value, _MARKER_OF[kind])

    def _branch(self, source: _Node, target: _Node, kind: EdgeKind) -> None:
        middle = px((source.right + target.left) / 2)
        d = (
            f"M{px(source.right)},{px(source.y)} C{middle},{px(source.y)}"
            f" {middle},{px(target.y)} {px(target.left - 1)},{px(target.y)}"
        )
        self._canvas.path(d, kind.value, _MARKER_OF[kind])

    def _loop(self, edge: Edge) -> None:
        node = self._nodes[edge.source]
        up = 1 if edge.kind is EdgeKind.TAKE else -1
        foot = 11
        is_round = node.half == RADIUS
        height = math.sqrt(RADIUS**2 - foot**2) if is_round else RADIUS
        edge_y, far_y = node.y + up * (height + 1), node.y + up * (RADIUS + LOOP * 4 / 3 - 2)
        self._canvas.path(
            f"M{px(node.x - foot)},{px(edge_y)} C{px(node.x - 30)},{px(far_y)}"
            f" {px(node.x + 30)},{px(far_y)} {px(node.x + foot)},{px(edge_y)}",
            edge.kind.value,
            _MARKER_OF[edge.kind],
        )
        label_y = node.y + up * (RADIUS + LOOP)
        self._label(node.x, label_y - 4 if up < 0 else label_y + 13, edge.kind)

    def _rejection(self, edge: Edge) -> None:
        """An edge to the rejecting state, which is drawn below the state that it leaves."""
        node = self._nodes[edge.source]
        top, bottom = node.y + RADIUS, node.y + RADIUS + LOOP
        path = f"M{px(node.x)},{px(top)} V{px(bottom)}"
        self._canvas.path(path, edge.kind.value, _MARKER_OF[edge.kind])
        self._canvas.text(node.x, bottom + LABEL - 4, REJECTING, "heading middle")
        self._label(node.x + 22, top + LOOP / 2 + 4, edge.kind)

    def _label(self, x: float, y: float, kind: EdgeKind) -> None:
        style = " proceed" if kind is EdgeKind.PROCEED else ""
        self._canvas.text(x, y, kind.value, f"edge-label middle{style}")

    def _filter_labels(self, ix: int, node: _Node) -> None:
        for row, negated in enumerate(self._filters_at(ix), start=1):
            middle = node.left - self._gap(ix) / 2
            self._canvas.text(
                middle, node.y + row * LABEL, f"no {negated.name}", "edge-label middle filter"
            )

    # --- formulas

    def _legend(self) -> None:
        edges, filters = self._automaton.edges, self._automaton.filters
        names = [edge.name for edge in edges] + [f"no {negated.name}" for negated in filters]
        fitting = [text_width(name) for name in names if text_width(name) <= LONGEST_NAME]
        column = MARGIN + SAMPLE + 12 + LETTER * (max(fitting, default=0) + 3)
        width = int((WIDTH - MARGIN - column) / LETTER)
        for edge in edges:
            if not edge.formula.is_false:
                sample = f"M{MARGIN},{px(self._canvas.y + 10)} h{SAMPLE}"
                self._canvas.path(sample, edge.kind.value, _MARKER_OF[edge.kind])
            self._row(edge.name, "=", edge.formula.lines(width), column)
        for negated in filters:
            lines = _prefixed(f"{negated}:", negated.formula.lines(width), width)
            self._row(f"no {negated.name}", "", lines, column, "filter")

    def _row(
        self, name: str, sign: str, lines: Sequence[str], column: float, style: str = ""
    ) -> None:
        self._canvas.text(MARGIN + SAMPLE + 12, self._canvas.y + 14, name, style)
        if text_width(name) > LONGEST_NAME:
            self._canvas.y += LINE
        if sign:
            self._canvas.text(column - 2 * LETTER, self._canvas.y + 14, sign)
        for line in lines:
            self._canvas.text(column, self._canvas.y + 14, line)
            self._canvas.y += LINE
        self._canvas.y += 3


def _prefixed(prefix: str, lines: list[str], width: int) -> list[str]:
    """The lines with a prefix, on a separate line if the first line is too long."""
    if text_width(f"{prefix} {lines[0]}") <= width:
        return [f"{prefix} {lines[0]}", *lines[1:]]
    return [prefix, *lines]
