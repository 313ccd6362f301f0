"""The values that predicates of a lazy automaton read: attributes of bound events, by slots.

In a lazy order any component may be bound before any other. The value of a single event is read
through the slot that holds the event's row. Registers are kept only for aggregates of lists.
"""

from __future__ import annotations

from cepheid.codegen import context_reads
from cepheid.codegen.expressions import Value
from cepheid.codegen.value_vector import ValueVector
from cepheid.engines.lazy import layout
from cepheid.language import syntax as ast
from cepheid.schema import Schema

PRIOR = "'"
"""Suffix of a variable, for registers of the elements before the current one."""


class SlotVector(ValueVector):
    """The columns, slots and registers that the predicates of an alternative read."""

    def __init__(self, schema: Schema, components: tuple[ast.Component, ...]) -> None:
        super().__init__(schema, components)
        self._places = {component.variable: ix for ix, component in enumerate(components)}

    def at_hand(
        self, node: ast.Node, own: str, begins: bool = False, at: int | None = None
    ) -> Value:
        """Code for a leaf where the current event is a candidate for ``own``.

        For a Kleene variable it is the first event where it ``begins``, and the ``at``-th event
        where that is given.
        """
        match node:
            case ast.Attribute(variable, attribute) if variable == own:
                return self._current(attribute)
            case ast.Element(variable, ast.Index.CURRENT, attribute) if variable == own:
                return self._current(attribute)
            case ast.Element(variable, ast.Index.PREVIOUS, attribute) if variable == own:
                return self._slot(variable, layout.SLOT_LAST, attribute)
            case ast.Element(variable, int(number), attribute) if variable == own:
                if number == (1 if begins else at):
                    return self._current(attribute)
            case ast.Aggregate(_, variable, _, None) if variable == own:
                return self._stored(variable, "length", None)
            case ast.Aggregate(function, variable, _, str(attribute)) if variable == own:
                if function in ("first", "last"):
                    slot = layout.SLOT_FIRST if function == "first" else layout.SLOT_LAST
                    return self._slot(variable, slot, attribute)
                return self._aggregate(function, variable, attribute)
        return self.of_instance(node)

    def of_instance(self, node: ast.Node) -> Value:
        """Code for a leaf where all variables are bound; slots hold the current element ``i``."""
        match node:
            case ast.Attribute(variable, attribute):
                return self._slot(variable, layout.SLOT_LAST, attribute)
            case ast.Element(variable, ast.Index.CURRENT, attribute):
                return self._slot(variable, layout.SLOT_CURRENT, attribute)
            case ast.Element(variable, ast.Index.PREVIOUS, attribute):
                return self._slot(variable, layout.SLOT_PREVIOUS, attribute)
            case ast.Element(variable, ast.Index.LAST, attribute):
                return self._slot(variable, layout.SLOT_LAST, attribute)
            case ast.Element(variable, 1, attribute):
                return self._slot(variable, layout.SLOT_FIRST, attribute)
            case ast.Element(variable, int(number), attribute):
                return self._stored(variable, f"at {number}", attribute)
            case ast.Length(variable):
                return self._stored(variable, "length", None)
            case ast.Aggregate("count", variable, scope, None):
                return self._stored(self._summed(variable, scope), "length", None)
            case ast.Aggregate("first", variable, _, str(attribute)):
                return self._slot(variable, layout.SLOT_FIRST, attribute)
            case ast.Aggregate("last", variable, scope, str(attribute)):
                prior = scope is ast.Scope.PRIOR
                slot = layout.SLOT_PREVIOUS if prior else layout.SLOT_LAST
                return self._slot(variable, slot, attribute)
            case ast.Aggregate(function, variable, scope, attribute):
                return self._aggregate(function, self._summed(variable, scope), attribute)
        raise AssertionError(f"{node!r} is not a leaf")

    def register_bits(self, variable: str) -> int:
        """The registers of a variable, as bits."""
        return sum(
            1 << ix for ix, register in enumerate(self.registers) if register.variable == variable
        )

    @staticmethod
    def _summed(variable: str, scope: ast.Scope) -> str:
        return variable + PRIOR if scope is ast.Scope.PRIOR else variable

    def _slot(self, variable: str, role: int, attribute: str) -> Value:
        """An attribute of the event that a slot of the instance names."""
        row = context_reads.slot(role * len(self._components) + self._places[variable])
        return self._value_in(row, attribute)
