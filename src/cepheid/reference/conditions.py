"""The conditions of a query, and what they say about bound events."""

from __future__ import annotations

from itertools import product

from cepheid.language import syntax as ast
from cepheid.language.naming import variables_in
from cepheid.reference.interpreter import Binding, Event, Interpreter, compare, list_of


def conditions_of(query: ast.Query) -> list[ast.Expression]:
    """The conjuncts of WHERE without equivalence tests, with NOT pushed below AND and OR."""
    return [part for part in _conjuncts(query.condition) if not isinstance(part, ast.Equivalence)]


def equivalences_of(query: ast.Query) -> list[ast.Equivalence]:
    """The equivalence tests of WHERE."""
    return [part for part in _conjuncts(query.condition) if isinstance(part, ast.Equivalence)]


def _conjuncts(node: ast.Expression | None, positive: bool = True) -> list[ast.Expression]:
    if node is None:
        return []
    if isinstance(node, ast.Not):
        return _conjuncts(node.operand, not positive)
    if isinstance(node, ast.And if positive else ast.Or):
        return [part for operand in node.operands for part in _conjuncts(operand, positive)]
    return [node if positive else ast.Not(node)]


def is_bound(condition: ast.Expression, binding: Binding, growing: str | None) -> bool:
    """Whether all events that the condition refers to are bound."""
    if not variables_in(condition) <= binding.keys():
        return False
    for node in condition.walk():
        match node:
            case ast.Length(variable) | ast.Aggregate(_, variable, ast.Scope.WHOLE, _):
                if variable == growing:
                    return False
            case ast.Element(variable, index, _) if variable == growing:
                bound = binding[variable]
                assert isinstance(bound, list)
                if index is ast.Index.LAST or (isinstance(index, int) and index > len(bound)):
                    return False
    return True


def holds(condition: ast.Expression, binding: Binding) -> bool:
    """Whether the condition is true for every i that it ranges over."""
    least: dict[str, int] = {}
    for node in condition.walk():
        match node:
            case ast.Element(variable, ast.Index.CURRENT, _):
                least.setdefault(variable, 1)
            case ast.Element(variable, ast.Index.PREVIOUS, _) | ast.Aggregate(
                _, variable, ast.Scope.PRIOR, _
            ):
                least[variable] = 2
            case ast.Element(variable, int(index), _) if index > len(list_of(binding, variable)):
                return False
    ranges = [range(least[name], len(list_of(binding, name)) + 1) for name in least]
    return all(
        Interpreter(binding, dict(zip(least, indices, strict=True))).truth(condition) is True
        for indices in product(*ranges)
    )


def agree(test: ast.Equivalence, events: list[Event]) -> bool:
    """Whether all events with the attribute have the same value, which is not null."""
    values = [event.values[test.attribute] for event in events if test.attribute in event.values]
    if test.value is not None:
        values.append(test.value.value)
    return all(value is not None and compare("=", value, values[0]) for value in values)
