"""The names in a query: their declarations and places in the text."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cepheid.errors import Fault, Span, closest, list_words
from cepheid.language import syntax as ast

Declared = dict[str, list[ast.Component]]
"""The components of each variable; branches of an OR may share a variable."""

_PLAIN = re.compile(r"[\w-]+")


def declarations(pattern: ast.Pattern) -> Declared:
    """The components that declare each variable, in the order of the text."""
    declared: Declared = {}
    for component, _ in ast.components(pattern):
        declared.setdefault(component.variable, []).append(component)
    return declared


def undeclared(name: str, span: Span | None, declared: Iterable[str]) -> Fault:
    """The fault of using a variable that the pattern does not declare."""
    return Fault(
        f"the pattern has no variable '{name}'",
        span,
        found=name,
        candidates=closest(name, declared),
        hint=f"It has {list_words(list(declared))}.",
    )


def first_word(node: ast.Node, name: str) -> Span | None:
    """The place of the name that a node begins with: the variable of ``a.x``, ``f`` of ``f(x)``.

    >>> first_word(ast.Attribute("ab", "x", span=Span(10, 14)), "ab")
    Span(start=10, end=12)
    """
    if node.span is None:
        return None
    return Span(node.span.start, min(node.span.start + _width(name), node.span.end))


def type_span(component: ast.Component, name: str) -> Span | None:
    """The place of a type of a component; the whole component if it has several types."""
    return first_word(component, name) if len(component.types) == 1 else component.span


def last_word(node: ast.Node, name: str) -> Span | None:
    """The place of the name that a node ends with: the attribute of ``a.x`` or ``a[i].x``.

    >>> last_word(ast.Attribute("ab", "x", span=Span(10, 14)), "x")
    Span(start=13, end=14)
    """
    if node.span is None:
        return None
    return Span(max(node.span.end - _width(name), node.span.start), node.span.end)


def _width(name: str) -> int:
    return len(name) if _PLAIN.fullmatch(name) else len(name) + len("``")
