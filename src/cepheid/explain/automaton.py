"""The automaton of an alternative, for a person: states, edges and formulas [Agrawal08 §3.1].

A component of one event is a state ``s``, a Kleene component a pair ``p[1]``, ``p[i]``, and
after the last one comes the final state ``F``. The formulas are text; what runs is compiled
from the same clauses, elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from cepheid.explain.formula import Formula
from cepheid.language import syntax as ast

FINAL = "F"


class EdgeKind(Enum):
    """What a run does with an event: select it (begin, take), skip it, or move on without it.

    A lazy automaton also stores what it may select later.
    """

    BEGIN = "begin"
    TAKE = "take"
    IGNORE = "ignore"
    PROCEED = "proceed"
    STORE = "store"


@dataclass(frozen=True, slots=True)
class State:
    """A state, and the component whose event it waits for; the final state has none."""

    name: str
    component: ast.Component | None

    @property
    def is_final(self) -> bool:
        """Whether a run that gets here is a match."""
        return self.component is None


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge from state to state, by their numbers, and when it can be taken."""

    kind: EdgeKind
    source: int
    target: int
    name: str
    formula: Formula


@dataclass(frozen=True, slots=True)
class Filter:
    """A negated component: no event that satisfies the formula may be at its place.

    ``gap`` is the number of the state that the place ends with, None where it has no end.
    """

    name: str
    place: str
    gap: int | None
    formula: Formula
    waits: bool

    def __str__(self) -> str:
        waits = ", known when the window ends" if self.waits else ""
        return f"{self.place}{waits}"


@dataclass(frozen=True, slots=True)
class Automaton:
    """An NFA^b or a lazy chain: states in a row, edges in their order, filters of its matches.

    ``pattern`` has its components in the order of the query, without the negated ones.
    """

    pattern: ast.Sequence | ast.Conjunction
    states: tuple[State, ...]
    edges: tuple[Edge, ...]
    filters: tuple[Filter, ...]

    def lines(self, width: int) -> Iterator[str]:
        """The states in their order, and the formula of each edge."""
        yield " → ".join(state.name for state in self.states)
        longest = max(len(edge.name) for edge in self.edges)
        for edge in self.edges:
            first, *rest = edge.formula.lines(max(width - longest - len(" = "), width // 2))
            yield f"{edge.name:<{longest}} = {first}"
            for line in rest:
                yield f"{'':<{longest}}   {line}"


def edge_name(state: State, kind: EdgeKind) -> str:
    """What the formula of an edge that leaves the state is called."""
    return f"θ_{state.name}_{kind.value}"
