"""``group_by``: the events of a list agree on an attribute.

A group-by attribute x of b[] means ``b[i].x = b[i-1].x`` [Kolchinsky17 §4.5]. It is added to the
query as that condition, so that every evaluation supports it and the printed query shows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cepheid.errors import OptionError, did_you_mean, list_words
from cepheid.language import syntax as ast
from cepheid.language.expressions import checked_name

GroupBy = Mapping[str, str | Sequence[str]]
"""An attribute, or several, for variables of Kleene components."""
NO_GROUPS: GroupBy = {}


def with_groups(query: ast.Query, group_by: GroupBy) -> ast.Query:
    """The query with a condition for each group-by attribute.

    >>> from cepheid.language.parser import parse
    >>> from cepheid.language.printer import print_query
    >>> print(print_query(with_groups(parse("PATTERN SEQ(A a, B+ b[])"), {"b": "x"})))
    PATTERN SEQ(A a, B+ b[])
    WHERE b[i].x = b[i-1].x
    """
    groups = list(_conditions(query.pattern, group_by))
    if not groups:
        return query
    own = [] if query.condition is None else [query.condition]
    return replace(query, condition=ast.joined(ast.And, [*own, *groups]))


def _conditions(pattern: ast.Pattern, group_by: Any) -> Iterable[ast.Expression]:
    if not isinstance(group_by, Mapping):
        raise OptionError(
            "group_by must be a mapping of variables to an attribute or a list of them, such as "
            f"{{'b': 'x'}}, not {group_by!r}"
        )
    components = {part.variable: part for part, _ in ast.components(pattern)}
    for variable, given in group_by.items():
        _check_variable(variable, components)
        attributes = [given] if isinstance(given, str) else given
        if not isinstance(attributes, Sequence) or not attributes:
            raise OptionError(
                f"group_by needs an attribute for {variable}[], or a list of them, not {given!r}"
            )
        for name in dict.fromkeys(map(checked_name, attributes)):
            current = ast.Element(variable, ast.Index.CURRENT, name)
            yield ast.Comparison("=", current, replace(current, index=ast.Index.PREVIOUS))


def _check_variable(variable: Any, components: Mapping[str, ast.Component]) -> None:
    if variable not in components:
        raise OptionError(
            f"group_by names {variable!r}, which is not a variable of the pattern; it has "
            f"{list_words(list(components))}" + did_you_mean(str(variable), components)
        )
    if not components[variable].is_kleene:
        raise OptionError(
            f"group_by names {variable!r}, which is a single event; it needs a list, such as "
            f"{components[variable].types[0]}+ {variable}[]"
        )
