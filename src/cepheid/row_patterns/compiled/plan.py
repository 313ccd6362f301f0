"""A clause as a program for the engine: its automaton, masks, predicates and memo."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.engines.row_pattern import layout
from cepheid.engines.row_pattern.layout import NONE, Program
from cepheid.events.arrays import Int64s
from cepheid.language import syntax as ast
from cepheid.row_patterns import syntax as rows
from cepheid.row_patterns.compiled.automaton import Automaton, Edge, TooLarge
from cepheid.row_patterns.compiled.leaves import LeavesOf, Untold, conjuncts, leaf_nodes
from cepheid.row_patterns.compiled.predicates import Predicates, Slot, VariablePredicates
from cepheid.schema import Kind

_SKIPS = {
    rows.SkipMode.PAST_LAST_ROW: layout.PAST_LAST_ROW,
    rows.SkipMode.TO_NEXT_ROW: layout.TO_NEXT_ROW,
    rows.SkipMode.TO_FIRST: layout.TO_FIRST,
    rows.SkipMode.TO_LAST: layout.TO_LAST,
}
_START = Slot(layout.START, frozenset())
_NUMBER = Slot(layout.NUMBER, frozenset())
_WORDS = {layout.FOLD: 3}


@dataclass(frozen=True, slots=True)
class Condition:
    """The condition of a variable, in parts that all have to be true.

    ``masks`` look at the row and its neighbours, ``predicates`` at rows already matched. Where
    ``bound`` is false, it is false for all later rows.
    """

    masks: tuple[Any, ...] = ()
    predicates: tuple[Any, ...] = ()
    bound: Any = None


class Plan:
    """How the engine runs a clause.

    Args:
        clause: the clause, with the names of columns as in the table.
        kind_of: gives the kind of an expression; None if there is no table to tell, and then there
            is no program.

    Raises:
        Untold: the engine cannot run it; the message says why.
    """

    def __init__(self, clause: rows.Clause, kind_of: Callable[[Any], Kind] | None) -> None:
        self.clause = clause
        self.variables = clause.variables()
        if len(self.variables) > layout.MAX_VARIABLES:
            raise Untold(f"its pattern has more than {layout.MAX_VARIABLES} variables")
        try:
            self.automaton = Automaton(clause.pattern)
        except TooLarge as error:
            raise Untold(str(error)) from None
        self.conditions = conditions_of(clause)
        self.predicates = Predicates(clause, kind_of or (lambda _: Kind.UNKNOWN))
        for variable in self.variables if kind_of is not None else ():
            condition = self.conditions[variable]
            self.predicates.add(variable, condition.predicates, condition.bound)
        self._numbers = {name: number for number, name in enumerate(self.variables)}

    @cached_property
    def groups(self) -> list[frozenset[str]]:
        """The groups of variables whose rows predicates see."""
        found = [slot.group for each in self._by_variable.values() for slot in each.slots]
        return list(dict.fromkeys(found))

    @cached_property
    def folds(self) -> list[tuple[frozenset[str], int, int]]:
        """The group, the operation and the column of each fold, by group."""
        found = {
            (slot.group, *slot.fold): None
            for each in self._by_variable.values()
            for slot in each.slots
            if slot.fold is not None
        }
        return sorted(found, key=lambda fold: self.groups.index(fold[0]))

    @property
    def _by_variable(self) -> dict[str, VariablePredicates]:
        return self.predicates.by_variable

    @property
    def sees_labels(self) -> bool:
        """Whether a condition asks for the labels of rows already matched."""
        return any(each.sees_labels for each in self._by_variable.values())

    def program(self, max_steps: int) -> Program:
        """The arrays of the program, without the address of its predicates."""
        edges, bounds = self._edges()
        variables = np.zeros(len(self.variables), layout.VARIABLE)
        slots: list[tuple[int, ...]] = []
        members: list[int] = []
        for number, name in enumerate(self.variables):
            each = self._by_variable[name]
            of = [index for index, group in enumerate(self.groups) if name in group]
            low, first = len(slots), len(members)
            slots += map(self._slot_row, each.slots)
            members += of
            variables[number] = (
                each.predicate, each.bound, low, len(slots), first, len(members)
            )  # fmt: skip
        states, keys = self._states(bounds)
        group_folds = [
            sum(g in self.groups[:n] for g, _, _ in self.folds) for n in range(len(self.groups) + 1)
        ]
        initial = self.automaton.edges[0]
        starts = [NONE if e.variable is None else 1 << self._numbers[e.variable] for e in initial]
        skip = self.clause.skip
        skip_to = 0
        if skip.variable is not None:
            skip_to = sum(1 << self._numbers[v] for v in self.clause.members()[skip.variable])
        return Program(
            edges=edges,
            states=states,
            variables=variables,
            slots=np.array(slots, layout.SLOT),
            keys=np.array(keys, layout.SLOT),
            members=np.array(members, np.int64),
            group_folds=np.array(group_folds, np.int64),
            skip=_SKIPS[skip.mode],
            skip_to=skip_to,
            max_steps=max_steps,
            starts=reduce(or_, starts, 0),
            seconds=self._seconds(states),
            has_window=int(self.clause.within is not None),
        )

    def _seconds(self, states: npt.NDArray[np.void]) -> int:
        """The bits of rows that can be the second of a match; NONE if they tell nothing."""
        initial = self.automaton.edges[0]
        if any(edge.variable is None for edge in initial):
            return NONE
        bits = [int(states[edge.target]["first"]) for edge in initial]
        return NONE if NONE in bits else reduce(or_, bits, 0)

    def _slot_row(self, slot: Slot) -> tuple[int, ...]:
        argument = slot.offset
        if slot.fold is not None:
            argument = self.folds.index((slot.group, *slot.fold))
        group = self.groups.index(slot.group) if slot.group else 0
        return slot.kind, group, argument, int(slot.is_exact)

    def _edges(self) -> tuple[npt.NDArray[np.void], list[int]]:
        bounds, found = [0], []
        for edges in self.automaton.edges:
            for edge in edges:
                number = NONE if edge.variable is None else self._numbers[edge.variable]
                found.append((number, edge.target, edge.anchors, int(edge.is_excluded)))
            bounds.append(len(found))
        return np.array(found, layout.EDGE), bounds

    # --- States: their loops, and what their failures depend on

    def _states(self, bounds: list[int]) -> tuple[npt.NDArray[np.void], list[tuple[int, ...]]]:
        live, sees_labels = self._live(), self._sees_labels()
        states = np.zeros(len(self.automaton.edges), layout.STATE)
        keys: list[tuple[int, ...]] = []
        for number, edges in enumerate(self.automaton.edges):
            state, seen = states[number], sorted(live[number], key=repr)
            words = sum(_WORDS.get(slot.kind, 1) for slot in seen)
            state["low"], state["high"] = bounds[number], bounds[number + 1]
            state["memo"] = layout.KEYED if seen else layout.PLAIN
            if sees_labels[number] or words > layout.MAX_KEYS:
                state["memo"], seen = layout.NO_MEMO, []
            state["keys_low"] = len(keys)
            keys += map(self._slot_row, seen)
            state["keys_high"] = len(keys)
            variables = [edge.variable for edge in edges]
            state["first"] = NONE
            if None not in variables:
                state["first"] = sum({1 << self._numbers[name] for name in variables if name})
            state["loop"] = NONE
            place = self._loop_of(number, state["memo"] == layout.PLAIN)
            if place is None:
                continue
            state["loop"] = bounds[number] + place
            state["is_filler"] = int(self.is_always_true(edges[place].variable))
            before, after = edges[:place], edges[place + 1 :]
            state["before"], state["after"] = self._bits(before), self._bits(after)
            others = [*before, *after]
            state["is_bounded"] = int(
                bool(others)
                and all(
                    edge.variable is not None and self._by_variable[edge.variable].bound != NONE
                    for edge in others
                )
            )
        return states, keys

    @cached_property
    def loops(self) -> Int64s:
        """For each state in columns, which rows keep an open search in its loop.

        They have the bits of the first row and none of those of the second. The third row is 0 if
        no row is known to do so, as in the last column, which is of no state.
        """
        program = self.program(1)
        found = np.zeros((3, len(program.states) + 1), np.int64)
        for number, state in enumerate(program.states):
            is_first = state["loop"] == state["low"]
            if state["loop"] == NONE or state["is_bounded"]:
                continue
            if is_first or state["before"] != NONE:
                bit = 1 << int(program.edges[state["loop"]]["variable"])
                found[:, number] = bit, 0 if is_first else state["before"], 1
        return found

    @property
    def bounded_variables(self) -> set[str | None]:
        """The variables whose bounds end a loop that is skipped over."""
        states = self.program(1).states
        return {
            edge.variable
            for state, edges in zip(states, self.automaton.edges, strict=True)
            if state["is_filler"] and state["is_bounded"]
            for edge in edges
            if not self.is_always_true(edge.variable)
        }

    def is_always_true(self, variable: str | None) -> bool:
        """Whether every row can be one of the variable, and no predicate sees which ones are."""
        return (
            variable is not None
            and self.conditions[variable] == Condition()
            and not any(variable in group for group in self.groups)
            and not self.sees_labels
        )

    def _loop_of(self, number: int, is_plain: bool) -> int | None:
        """The edge of a state that leads back to it and can be run through."""
        for place, edge in enumerate(self.automaton.edges[number]):
            if edge.variable is None or edge.target != number or edge.anchors:
                continue
            if self.is_always_true(edge.variable):
                return place
            is_seen = self.sees_labels or any(edge.variable in group for group in self.groups)
            is_mask = not self.conditions[edge.variable].predicates
            if place == 0 and is_plain and is_mask and not is_seen:
                return place
        return None

    def _bits(self, edges: list[Edge]) -> int:
        if any(edge.variable is None or edge.anchors for edge in edges):
            return NONE
        return sum({1 << self._numbers[edge.variable] for edge in edges if edge.variable})

    def _live(self) -> list[set[Slot]]:
        """What the predicates that can come after each state see of rows taken before."""
        live: list[set[Slot]] = [set() for _ in self.automaton.edges]

        def seen(edge: Edge) -> Iterator[Slot]:
            assert edge.variable is not None
            own = self._by_variable[edge.variable]
            yield from ([_START] if own.sees_start else [])
            yield from ([_NUMBER] if own.sees_number else [])
            for slot in (*own.slots, *live[edge.target]):
                if edge.variable not in slot.group or slot.kind != layout.LAST_ROW:
                    yield slot
                elif slot.offset:
                    yield Slot(layout.LAST_ROW, slot.group, slot.offset - 1)

        return self._fixed_point(live, lambda edge: set(seen(edge)))

    def _sees_labels(self) -> list[bool]:
        """Whether a predicate that can come after each state sees labels."""
        found: list[set[bool]] = [set() for _ in self.automaton.edges]

        def seen(edge: Edge) -> set[bool]:
            assert edge.variable is not None
            own = {True} if self._by_variable[edge.variable].sees_labels else set()
            return own | found[edge.target]

        return [bool(each) for each in self._fixed_point(found, seen)]

    def _fixed_point(
        self, sets: list[set[Any]], seen: Callable[[Edge], set[Any]]
    ) -> list[set[Any]]:
        """Grow the set of each state by what its edges see, until nothing is added."""
        if not any(each.predicate != NONE for each in self._by_variable.values()):
            return sets
        has_grown = True
        while has_grown:
            has_grown = False
            for number in reversed(range(len(sets))):
                new = set[Any]()
                for edge in self.automaton.edges[number]:
                    new |= seen(edge) if edge.variable is not None else set()
                has_grown |= not new <= sets[number]
                sets[number] |= new
        return sets


def conditions_of(clause: rows.Clause) -> dict[str, Condition]:
    """The condition of each variable; a variable without one is true of every row."""
    found = dict.fromkeys(clause.variables(), Condition())
    for definition in clause.definitions:
        leaves = LeavesOf(clause, definition.variable)
        parts = conjuncts(definition.condition)
        local = [leaves.is_local(each) for each in parts]
        predicates = [each for each, is_local in zip(parts, local, strict=True) if not is_local]
        found[definition.variable] = Condition(
            tuple(each for each, is_local in zip(parts, local, strict=True) if is_local),
            tuple(predicates),
            next(filter(None, (_bound(clause, leaves, each) for each in predicates)), None),
        )
    return found


def _bound(clause: rows.Clause, leaves: LeavesOf, condition: Any) -> Any:
    """What remains false once it is false, as later rows have later times; None if not known."""
    match condition:
        case ast.Between(operand, _, high):
            return _bound(clause, leaves, ast.Comparison("<=", operand, high))
        case ast.Comparison("<" | "<=", left, right):
            is_bound = _grows(clause, leaves, left) and _is_fixed(leaves, right)
            return condition if is_bound else None
        case ast.Comparison(">" | ">=" as operator, left, right):
            flipped = "<" if operator == ">" else "<="
            return _bound(clause, leaves, ast.Comparison(flipped, right, left))
    return None


def _grows(clause: rows.Clause, leaves: LeavesOf, node: Any) -> bool:
    """Whether the value is not smaller in a later row, whatever rows were matched before."""
    match node:
        case rows.Column(_, name):
            row = leaves.leaf(node).row
            first = clause.order_by[0] if clause.order_by else None
            return (
                row is not None
                and row.is_local
                and first is not None
                and first.is_ascending
                and first.column.text == name.text
            )
        case ast.Arithmetic("-", left, right):
            return _grows(clause, leaves, left) and _is_fixed(leaves, right)
        case ast.Arithmetic("+", left, right):
            return (_grows(clause, leaves, left) and _is_fixed(leaves, right)) or (
                _grows(clause, leaves, right) and _is_fixed(leaves, left)
            )
    return False


def _is_fixed(leaves: LeavesOf, node: Any) -> bool:
    """Whether the value is the same whichever later row is tested."""
    return all(
        isinstance(each, rows.Column | rows.Logical) and leaves.is_fixed(each)
        for each in leaf_nodes(node)
    )
