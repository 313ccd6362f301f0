"""The automaton that is shown is true: run as it is drawn, it finds what the reference finds.

The text of its formulas is turned into Python and evaluated, edge by edge. A run is a state
and the events selected so far; every edge whose formula holds is followed.
"""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from streams import Stream, matches, stream

from cepheid.analysis.analyse import analyse
from cepheid.explain.automaton import Automaton, Edge, EdgeKind, nfa_b_automata
from cepheid.language.parser import parse
from cepheid.reference.interpreter import Event

LAST = "LEN"


class Unit:
    """An event as formulas see it."""

    def __init__(self, event: Event) -> None:
        self.event, self.type = event, event.type
        self.time, self.position = event.ticks, event.position

    def __getattr__(self, name: str) -> Any:
        return self.event.values[name]


class Units:
    """The events of a Kleene variable, counted from 1."""

    def __init__(self, units: list[Unit]) -> None:
        self.units, self.LEN = units, len(units)

    def __getitem__(self, index: int | str) -> Unit:
        return self.units[-1 if index == LAST else int(index) - 1]


Buffer = dict[str, list[Unit]]
Run = tuple[int, Buffer]


def python(formula: str) -> str:
    for pattern, replacement in (
        (r"θ_\w+?(\[\w\])?_(begin|take|ignore)", lambda found: f"theta({found[0]!r})"),
        (r"(\w+(?:\[\w\])?) ∈ (\w+)", r"(\1.type == '\2')"),
        (r"(\w+)\((\w+)\[\.\.i-1\]\.(\w+)\)", r"\1([each.\3 for each in \2.units[: i - 1]])"),
        (r"(\w+)\((\w+)\[\]\.(\w+)\)", r"\1([each.\3 for each in \2.units])"),
        (r"\(∀(\w+)\[i\]: ([^()]*)\)", r"all(\2 for i in range(1, \1.LEN + 1))"),
        (r"\(∀(\w+)\[i>1\]: ([^()]*)\)", r"all(\2 for i in range(2, \1.LEN + 1))"),
        (r"(?<![<>!=])=(?!=)", "=="),
        ("∧", "and"),
        ("∨", "or"),
        ("¬", "not "),
    ):
        formula = re.sub(pattern, replacement, formula)
    return formula


@dataclass
class Runs:
    """All runs of an automaton over a stream."""

    automaton: Automaton
    found: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.edges = {edge.name: edge for edge in self.automaton.edges}
        self.code = {name: python(str(edge.formula)) for name, edge in self.edges.items()}

    def over(self, events: Stream) -> set[str]:
        self.labels = events.labels
        runs: list[Run] = []
        for event in events:
            unit = Unit(event)
            runs = [after for run in (*runs, (0, {})) for after in self.read(run, unit)]
        return self.found

    def leaving(self, state: int) -> list[Edge]:
        return [edge for edge in self.automaton.edges if edge.source == state]

    def read(self, run: Run, unit: Unit) -> Iterator[Run]:
        """The runs that there are after a run has read an event."""
        state, buffer = run
        for edge in self.leaving(state):
            if not self.holds(edge, buffer, unit):
                continue
            if edge.kind is EdgeKind.IGNORE:
                yield run
            elif edge.kind is EdgeKind.PROCEED:
                if not self.automaton.states[edge.target].is_final:
                    yield from self.read((edge.target, buffer), unit)
            else:
                name = self.variable(state)
                selected = {**buffer, name: [*buffer.get(name, []), unit]}
                yield from self.settled((edge.target, selected))

    def settled(self, run: Run) -> Iterator[Run]:
        """A run that has selected an event, and the match that it is, if it is one."""
        state, buffer = run
        to_final = [
            edge
            for edge in self.leaving(state)
            if edge.kind is EdgeKind.PROCEED and self.automaton.states[edge.target].is_final
        ]
        if self.automaton.states[state].is_final:
            self.report(buffer)
            return
        if any(self.holds(edge, buffer, None) for edge in to_final):
            self.report(buffer)
        yield run

    def holds(self, edge: Edge, buffer: Buffer, unit: Unit | None) -> bool:
        name = self.variable(edge.source)
        bound = dict(buffer)
        if edge.kind is not EdgeKind.PROCEED:
            assert unit is not None
            bound[name] = [*buffer.get(name, []), unit]
        kleene = {c.variable for c in self.automaton.pattern.parts if c.is_kleene}
        scope: dict[str, Any] = {
            variable: Units(units) if variable in kleene else units[-1]
            for variable, units in bound.items()
        }
        scope |= {
            "i": len(bound.get(name, [])),
            LAST: LAST,
            "avg": lambda values: sum(values) / len(values),
            "theta": lambda other: self.holds(self.edges[other], buffer, unit),
        }
        return bool(eval(self.code[edge.name], scope))

    def variable(self, state: int) -> str:
        component = self.automaton.states[state].component
        assert component is not None
        return component.variable

    def report(self, buffer: Buffer) -> None:
        words = []
        for component in self.automaton.pattern.parts:
            labels = [self.labels[unit.position] for unit in buffer[component.variable]]
            words.append(f"[{' '.join(labels)}]" if component.is_kleene else labels[0])
        self.found.add(" ".join(words))


def some_stream(seed: int, length: int) -> Stream:
    dice = random.Random(seed)
    ticks, words = 0, []
    for number in range(length):
        ticks += dice.choice((0, 1, 1, 2))
        values = f"x={dice.randint(1, 4)},y={dice.randint(1, 3)},k={dice.randint(1, 2)}"
        words.append(f"{dice.choice('abbc')}{number}({values})@{ticks}")
    return stream(" ".join(words))


@pytest.mark.parametrize(
    "strategy",
    ["strict_contiguity", "partition_contiguity", "skip_till_next_match", "skip_till_any_match"],
)
@pytest.mark.parametrize(
    ("pattern", "conditions"),
    [
        ("SEQ(A a, B b, C c)", "a.x < c.x WITHIN 5"),
        ("SEQ(A a, B+ b[])", "[k] AND b[i].x >= a.x WITHIN 4"),
        ("SEQ(B+ b[], C c)", "[k] AND b[i].x > avg(b[..i-1].x) AND c.y = b[LEN].y"),
        ("SEQ(A a, B{2,3} b[], C c)", "b[i].x >= b[i-1].x WITHIN 6 EVENTS"),
        ("SEQ(B{2} b[], B c)", "[k] AND b[2].y < c.y"),
        ("SEQ(B{1,2} b[], C c)", "b[1].x <= c.x"),
        ("SEQ(A a, B+ b[], B c)", "b.LEN < 3 AND b[i].x < c.x WITHIN 8"),
        ("SEQ(B+ b[], C+ c[])", "sum(b[].x) > c[i].x AND b[2].y = 1"),
        ("SEQ(B+ b[], C c)", "(b[i].x > b[i-1].x AND c.y = 3) OR c.x = 1"),
    ],
)
def test_the_automaton_finds_the_matches(pattern: str, conditions: str, strategy: str) -> None:
    condition, within, window = conditions.partition(" WITHIN ")
    query = f"PATTERN {pattern} WHERE {strategy} {{ {condition} }}{within}{window}"
    (automaton,) = nfa_b_automata(analyse(parse(query)))
    any_found = 0
    for seed in range(12):
        events = some_stream(seed, 9)
        expected = matches(query, events)
        assert Runs(automaton).over(events) == expected, events.labels
        any_found += len(expected)
    assert any_found or "contiguity" in strategy
