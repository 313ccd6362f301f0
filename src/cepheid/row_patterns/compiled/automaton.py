"""The pattern of a clause as an automaton that takes a row with every edge.

A state is what is still to be matched after a row: a linked list of parts, as in the reference.
From it, all choices are followed in preference order up to the next row, so that what takes no row
(groups, choices, rounds of a loop, anchors) costs nothing later. States that have the same to
match are one: ``PERMUTE`` of n parts has 2**n states and not n! ways.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from cepheid.engines.row_pattern.layout import AT_END, AT_START
from cepheid.row_patterns import syntax as rows

MAX_EDGES = 100_000
"""The most edges of an automaton; counts and PERMUTE are written out."""


_MOST_MERGES = 16


class Edge(NamedTuple):
    """Takes a row for a variable and leads to a state; ``variable`` is None if it accepts."""

    variable: str | None
    target: int
    anchors: int
    is_excluded: bool


class TooLarge(Exception):
    """The automaton has too many edges; the message says so."""


class _Loop(NamedTuple):
    """A quantifier after some rounds; ``is_idle``: the last one has not taken a row yet."""

    number: int
    rounds: int
    is_idle: bool


class _Remaining(NamedTuple):
    """A concatenation from a part on."""

    number: int
    place: int


class _Unordered(NamedTuple):
    """What is left of a PERMUTE."""

    number: int
    places: tuple[int, ...]


_END_OF_EXCLUSION = "end of exclusion"
_Cell = tuple[Any, int]
_NOTHING = 0


@dataclass
class Automaton:
    """The edges of each state in preference order; the first state is 0."""

    pattern: rows.Pattern
    edges: list[list[Edge]] = field(default_factory=list)
    _nodes: list[Any] = field(default_factory=list)
    _parts: list[list[Any]] = field(default_factory=list)
    _cells: list[_Cell] = field(default_factory=lambda: [("", 0)])
    _cell_numbers: dict[_Cell, int] = field(default_factory=dict)
    _after_row: dict[int, int] = field(default_factory=lambda: {_NOTHING: _NOTHING})
    _states: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        pending, count = [self._cell(self._head(self.pattern), _NOTHING)], 0
        self._states[pending[0]] = 0
        while pending:
            todo = pending.pop(0)
            found = []
            for edge in self._choices(todo):
                if edge.variable is not None:
                    if edge.target not in self._states:
                        self._states[edge.target] = len(self._states)
                        pending.append(edge.target)
                    target = self._states[edge.target]
                    edge = Edge(edge.variable, target, edge.anchors, edge.is_excluded)
                found.append(edge)
                count += 1
                if count > MAX_EDGES:
                    raise TooLarge(
                        "its pattern has too many ways, with counts and PERMUTE written out"
                    )
            self.edges.append(found)
        self._merge_states()

    def _merge_states(self) -> None:
        """States with the same edges become one, such as those before and in the loop of ``A*``."""
        for _ in range(_MOST_MERGES):
            numbers: dict[tuple[Edge, ...], int] = {}
            into = [numbers.setdefault(tuple(edges), len(numbers)) for edges in self.edges]
            if len(numbers) == len(self.edges):
                return
            self.edges = [
                _distinct([Edge(edge[0], into[edge.target], *edge[2:]) for edge in edges])
                for edges in numbers
            ]

    def _head(self, node: rows.Pattern) -> Any:
        """A part of the pattern as it stands in a list; parts have numbers."""
        number = len(self._nodes)
        self._nodes.append(node)
        self._parts.append([])
        match node:
            case rows.Quantified(part) | rows.Exclusion(part):
                self._parts[number] = [self._head(part)]
            case rows.Concatenation(parts) | rows.Alternation(parts) | rows.Permutation(parts):
                self._parts[number] = [self._head(each) for each in parts]
        match node:
            case rows.Quantified():
                return _Loop(number, 0, False)
            case rows.Concatenation(parts) if parts:
                return _Remaining(number, 0)
            case rows.Permutation(parts) if parts:
                return _Unordered(number, tuple(range(len(parts))))
        return number

    def _cell(self, head: Any, rest: int) -> int:
        """The number of a list of parts."""
        cell = (head, rest)
        if cell not in self._cell_numbers:
            self._cell_numbers[cell] = len(self._cells)
            self._cells.append(cell)
        return self._cell_numbers[cell]

    def _with_row(self, todo: int) -> int:
        """The list after a row was taken: no round of a loop is idle."""
        chain = []
        while todo not in self._after_row:
            chain.append(todo)
            todo = self._cells[todo][1]
        rest = self._after_row[todo]
        for each in reversed(chain):
            head = self._cells[each][0]
            if isinstance(head, _Loop) and head.is_idle:
                head = _Loop(head.number, head.rounds, False)
            rest = self._after_row[each] = self._cell(head, rest)
        return rest

    def _is_excluded(self, todo: int) -> bool:
        while todo != _NOTHING:
            head, todo = self._cells[todo]
            if head == _END_OF_EXCLUSION:
                return True
        return False

    def _choices(self, todo: int) -> Iterator[Edge]:
        """The edges from a list, in preference order; an edge leads to a list here."""
        pending, seen, found = [(todo, 0)], set(), set[tuple[Any, ...]]()
        while pending:
            todo, anchors = pending.pop()
            if (todo, anchors) in seen or (todo, 0) in seen:
                continue  # All that follows was tried before.
            seen.add((todo, anchors))
            if todo == _NOTHING:
                yield Edge(None, 0, anchors, False)
                if not anchors:
                    return
                continue
            head, rest = self._cells[todo]
            node = self._nodes[head] if isinstance(head, int) else None
            if isinstance(node, rows.Variable):
                target = self._with_row(rest)
                if {(node.name, target, anchors), (node.name, target, 0)} & found:
                    continue
                found.add((node.name, target, anchors))
                yield Edge(node.name, target, anchors, self._is_excluded(rest))
            elif isinstance(node, rows.Anchored):
                needed = AT_START if node.anchor is rows.Anchor.START else AT_END
                pending.append((rest, anchors | needed))
            else:
                ways = self._ways(head, node, rest)
                pending += [(way, anchors) for way in reversed(ways)]

    def _ways(self, head: Any, node: Any, rest: int) -> list[int]:
        """The lists that a part which takes no row leads to, in preference order."""
        match head:
            case _Remaining(number, place):
                parts = self._parts[number]
                is_last = place + 1 == len(parts)
                after = rest if is_last else self._cell(_Remaining(number, place + 1), rest)
                return [self._cell(parts[place], after)]
            case _Unordered(number, places):
                parts = self._parts[number]
                left = [tuple(p for p in places if p != place) for place in places]
                after_each = [
                    self._cell(_Unordered(number, others), rest) if others else rest
                    for others in left
                ]
                return [
                    self._cell(parts[place], after)
                    for place, after in zip(places, after_each, strict=True)
                ]
            case _Loop(number, rounds, is_idle):
                quantified = self._nodes[number]
                most = quantified.most
                after_it = min(rounds + 1, quantified.least) if most is None else rounds + 1
                (part,) = self._parts[number]
                again = self._cell(part, self._cell(_Loop(number, after_it, True), rest))
                if rounds < quantified.least:
                    return [again]
                if rounds == most or is_idle:
                    return [rest]
                return [again, rest] if quantified.is_greedy else [rest, again]
        match node:
            case rows.Alternation():
                return [self._cell(part, rest) for part in self._parts[head]]
            case rows.Exclusion():
                (part,) = self._parts[head]
                return [self._cell(part, self._cell(_END_OF_EXCLUSION, rest))]
        return [rest]  # the empty pattern, or the end of an exclusion


def _distinct(edges: list[Edge]) -> list[Edge]:
    """The edges, without those that fail where an edge before them has failed."""
    found: dict[tuple[Any, ...], Edge] = {}
    for edge in edges:
        if (edge.variable, edge.target, 0) not in found:
            found.setdefault((edge.variable, edge.target, edge.anchors), edge)
    return list(found.values())
