"""Draws the automaton of a clause: as a Mermaid flowchart, or as an SVG picture.

The edges of a state have numbers: the search tries them in this order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from cepheid.errors import EvaluationError
from cepheid.explain.canvas import LETTER, LINE, MARGIN, MARKER, Canvas, px
from cepheid.explain.drawing import HEAD, format_named, quoted
from cepheid.row_patterns import syntax as rows
from cepheid.row_patterns.compiled.automaton import Edge
from cepheid.row_patterns.compiled.explanation import anchors_text
from cepheid.row_patterns.compiled.leaves import Untold
from cepheid.row_patterns.compiled.plan import Plan
from cepheid.row_patterns.printer import print_expression, print_pattern, print_variable

_MOST_STATES = 60
_RADIUS, _GAP, _RISE = 20, 120, 26
_ARROW = "rows-edge"
_STYLE = """\
.rows circle { fill: #f8fafc; stroke: #1f2937; stroke-width: 1.6 }
.rows .final { fill: none }
.rows .edge { stroke: #1f2937 }
.rows .excluded { stroke: #6b7280; stroke-dasharray: 5 4 }"""


class _Arrow(NamedTuple):
    """An edge of the drawing; the last state is the match."""

    source: int
    target: int
    label: str
    is_excluded: bool


class _Picture(NamedTuple):
    """What is drawn: the pattern, the states with the match as the last one, and conditions."""

    pattern: str
    states: int
    arrows: list[_Arrow]
    conditions: list[str]


def draw(clause: rows.Clause, format: str) -> str:
    """The automaton of a clause in this format.

    Raises:
        EvaluationError: there is no automaton, or it is too large to draw.
        OptionError: there is no such format.

    >>> from cepheid.row_patterns.parser import parse
    >>> print(draw(parse("MATCH_RECOGNIZE (PATTERN (A B*) DEFINE B AS x > 1)"), "mermaid"))
    %%{init: {"flowchart": {"wrappingWidth": 900}}}%%
    flowchart TB
        subgraph states["A B*"]
            direction LR
            s0(("0"))
            s1(("1"))
            s2((("match")))
            s0 --->|"1 A"| s1
            s1 --->|"1 B"| s1
            s1 --->|"2"| s2
        end
        conditions["A: any row<br/>B: x #62; 1"]
        style conditions text-align:left
        states ~~~ conditions
    <BLANKLINE>
    """
    write = format_named(format, _FORMATS)
    try:
        plan = Plan(clause, None)
    except Untold as reason:
        raise EvaluationError(f"the clause has no automaton: {reason}") from None
    count = len(plan.automaton.edges)
    if count > _MOST_STATES:
        raise EvaluationError(
            f"the automaton has {count} states, and a drawing at most {_MOST_STATES}"
        )
    arrows = [
        _Arrow(
            source,
            count if edge.variable is None else edge.target,
            _label(number, edge),
            edge.is_excluded,
        )
        for source, edges in enumerate(plan.automaton.edges)
        for number, edge in enumerate(edges, 1)
    ]
    defined = {each.variable: print_expression(each.condition) for each in clause.definitions}
    conditions = [
        f"{print_variable(name)}: {defined.get(name, 'any row')}" for name in plan.variables
    ]
    return write(_Picture(print_pattern(clause.pattern), count + 1, arrows, conditions))


def _label(number: int, edge: Edge) -> str:
    name = "" if edge.variable is None else print_variable(edge.variable)
    return f"{number} {anchors_text(edge)}{name}".rstrip()


def _mermaid(picture: _Picture) -> str:
    final = picture.states - 1
    states = [f"s{ix}(({quoted([str(ix)])}))" for ix in range(final)]
    lines = [
        f"    subgraph states[{quoted([picture.pattern])}]",
        "        direction LR",
        *(f"        {each}" for each in [*states, f's{final}((("match")))']),
        *(
            f"        s{each.source} {'-.->' if each.is_excluded else '--->'}"
            f"|{quoted([each.label])}| s{each.target}"
            for each in picture.arrows
        ),
        "    end",
        f"    conditions[{quoted(picture.conditions)}]",
        "    style conditions text-align:left",
        "    states ~~~ conditions",
        "",
    ]
    return HEAD + "\n".join(lines)


def _svg(picture: _Picture) -> str:
    canvas = Canvas("rows", _STYLE, MARKER.format(_ARROW, "#1f2937"))
    canvas.paragraph(picture.pattern, "heading")
    canvas.paragraph("each state tries its edges in the order of their numbers", "note")
    widest = max((len(each.label) for each in picture.arrows), default=0)
    step = max(_GAP, int(widest * LETTER) + 2 * _RADIUS + 20)
    spans = [abs(each.target - each.source) for each in picture.arrows]
    room = _RADIUS + _RISE * (max(spans, default=0) + 2)
    y = canvas.y + room
    places = [MARGIN + _RADIUS + ix * step for ix in range(picture.states)]
    drawn: dict[tuple[int, int], int] = {}
    for arrow in picture.arrows:
        between = (arrow.source, arrow.target)
        drawn[between] = before = drawn.get(between, 0) + 1
        _arrow(canvas, arrow, places, y, before - 1)
    for ix, x in enumerate(places):
        circle = f'<circle cx="{px(x)}" cy="{px(y)}" r="{_RADIUS}"/>'
        canvas.shape(circle)
        is_final = ix == picture.states - 1
        if is_final:
            canvas.shape(f'<circle class="final" cx="{px(x)}" cy="{px(y)}" r="{_RADIUS + 4}"/>')
        canvas.text(x, y + 4, "✓" if is_final else str(ix), "middle")
        canvas.reach(x + 2 * _RADIUS)
    canvas.y = y + room
    for line in picture.conditions:
        canvas.paragraph(line, "")
    canvas.y += LINE
    return canvas.document(f"Automaton of {picture.pattern}")


def _arrow(canvas: Canvas, arrow: _Arrow, places: list[int], y: float, before: int) -> None:
    """An arc: forwards above the states, backwards below them, and a loop above its state."""
    left, right = places[arrow.source], places[arrow.target]
    style = "excluded" if arrow.is_excluded else "edge"
    distance = arrow.target - arrow.source
    if distance == 0:
        top = y - _RADIUS - _RISE - before * LINE
        path = f"M{left - 8},{px(y - 18)} C{left - 26},{px(top)} {left + 26},{px(top)} "
        canvas.path(f"{path}{left + 8},{px(y - 19)}", style, _ARROW)
        canvas.text(left, top + 4, arrow.label, "middle")
        return
    side = -1 if distance > 0 else 1
    if distance == 1 and not before:
        canvas.path(f"M{left + _RADIUS},{px(y)} H{right - _RADIUS - 4}", style, _ARROW)
        canvas.text((left + right) / 2, y - 6, arrow.label, "middle")
        return
    rise = y + side * (_RADIUS + _RISE * (abs(distance) + before))
    edge = y + side * (_RADIUS - 4)
    path = f"M{left + 10},{px(edge)} Q{px((left + right) / 2)},{px(2 * rise - edge)} "
    canvas.path(f"{path}{right - 10},{px(edge)}", style, _ARROW)
    canvas.text((left + right) / 2, rise - 4, arrow.label, "middle")


_FORMATS: dict[str, Callable[[_Picture], str]] = {"mermaid": _mermaid, "svg": _svg}
