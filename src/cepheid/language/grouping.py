"""Lists whose events agree in an attribute because the user says so, beside the text of a query.

A group-by attribute x of b[] means ``b[i].x = b[i-1].x`` [Kolchinsky17 §4.5]. It becomes that
condition, so that it means the same whatever evaluates the query, and is seen where the query is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cepheid.errors import OptionError, closest, list_words
from cepheid.language import syntax as ast
from cepheid.language.expressions import checked_name

GroupBy = Mapping[str, str | Sequence[str]]
"""For variables of Kleene components an attribute, or several."""
NO_GROUPS: GroupBy = {}


def with_groups(query: ast.Query, group_by: GroupBy) -> ast.Query:
    """The query with the condition that each list agrees in its attributes.

    >>> from cepheid.language.parser import parse
    >>> from cepheid.language.printer import print_query
    >>> print(print_query(with_groups(parse("PATTERN SEQ(A a, B+ b[])"), {"b": "x"})))
    PATTERN SEQ(A a, B+ b[])
    WHERE b[i].x = b[i-1].x
    """
    conditions = list(_conditions(query.pattern, group_by))
    if query.condition is not None:
        said = query.condition
        conditions = [*(said.operands if isinstance(said, ast.And) else (said,)), *conditions]
    if not conditions:
        return query
    condition = conditions[0] if len(conditions) == 1 else ast.And(tuple(conditions))
    return replace(query, condition=condition)


def _conditions(pattern: ast.Pattern, group_by: Any) -> Iterable[ast.Expression]:
    if not isinstance(group_by, Mapping):
        raise OptionError(
            "group_by is a mapping of variables to an attribute or a list of them, such as "
            f"{{'b': 'x'}}, not {group_by!r}"
        )
    components = {part.variable: part for part, _ in ast.components(pattern)}
    for variable, given in group_by.items():
        _check_variable(variable, components)
        attributes = [given] if isinstance(given, str) else given
        if not isinstance(attributes, Sequence) or not attributes:
            raise OptionError(
                f"what {variable}[] is grouped by is the name of an attribute, or a list of "
                f"them, not {given!r}"
            )
        for name in dict.fromkeys(map(checked_name, attributes)):
            current = ast.Element(variable, ast.Index.CURRENT, name)
            yield ast.Comparison("=", current, replace(current, index=ast.Index.PREVIOUS))


def _check_variable(variable: Any, components: Mapping[str, ast.Component]) -> None:
    if variable not in components:
        near = closest(str(variable), components)
        raise OptionError(
            f"group_by names {variable!r}, which is no variable of the pattern; there "
            f"{'is' if len(components) == 1 else 'are'} {list_words(list(components))}"
            + (f". Did you mean {near[0]!r}?" if near else "")
        )
    if not components[variable].is_kleene:
        raise OptionError(
            f"group_by names {variable!r}, which is one event; only the events of a list, such as "
            f"{components[variable].types[0]}+ {variable}[], can be grouped"
        )
