"""Expressions over one event, as attributes that are computed from its others."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.language import syntax as ast
from cepheid.schema import Computed, Position, sources_of

EVENT = ""
"""The variable of the event in the expression of a computed attribute."""

_LEAVES = (ast.Attribute, ast.Element)


def computed(expression: ast.Node) -> Computed:
    """The attribute that has the value of an expression over one event.

    >>> computed(ast.Negative(ast.Attribute("a", "x"))).sources
    frozenset({'x'})
    """

    def localised(node: ast.Node) -> ast.Node:
        attribute = getattr(node, "attribute", None)
        return node if attribute is None else ast.Attribute(EVENT, attribute, span=node.span)

    local = ast.rewrite(expression, localised)
    attributes = [node.attribute for node in local.walk() if isinstance(node, ast.Attribute)]
    sources = frozenset().union(*map(sources_of, attributes))
    return Computed(f"`{local!r}", local, sources)


def deep_nodes(tree: ast.Node) -> Iterator[ast.Node]:
    """The nodes of a tree, also those of the computed attributes that it names."""
    for node in tree.walk():
        yield node
        attribute = getattr(node, "attribute", None)
        if isinstance(attribute, Computed):
            yield from deep_nodes(attribute.expression)


def of_variable(attribute: Computed, variable: str) -> ast.Expression:
    """The expression of a computed attribute, over the events of a Kleene variable.

    >>> of_variable(computed(ast.Negative(ast.Attribute("a", "x"))), "b").operand.variable
    'b'
    """

    def placed(node: ast.Node) -> ast.Node:
        if not isinstance(node, ast.Attribute):
            return node
        return ast.Element(variable, ast.Index.CURRENT, node.attribute, span=node.span)

    expression: ast.Expression = ast.rewrite(attribute.expression, placed)
    return expression


def reads_positions(tree: ast.Node) -> bool:
    """Whether a tree names the number of an event in the stream or in its partition."""
    return any(isinstance(getattr(node, "attribute", None), Position) for node in deep_nodes(tree))


def reads_stream_positions(tree: ast.Node) -> bool:
    """Whether a tree names the number of an event in the stream."""
    named = (getattr(node, "attribute", None) for node in deep_nodes(tree))
    return any(isinstance(each, Position) and not each.is_of_partition for each in named)


def reads_partition_positions(tree: ast.Node) -> bool:
    """Whether a tree names the number of an event in its partition."""
    return any(is_partition_position(node) for node in deep_nodes(tree))


def is_partition_position(node: ast.Node) -> bool:
    """Whether a node is the number of an event in its partition."""
    attribute = getattr(node, "attribute", None)
    return isinstance(attribute, Position) and attribute.is_of_partition


def computed_leaf(expression: ast.Expression) -> ast.Attribute | ast.Element | None:
    """The expression as a computed attribute of the event that it is over; None if of several.

    >>> computed_leaf(ast.Negative(ast.Attribute("a", "x"))).variable
    'a'
    """
    leaves = [node for node in expression.walk() if hasattr(node, "variable")]
    if not leaves or not all(isinstance(leaf, _LEAVES) for leaf in leaves):
        return None
    if len({(leaf.variable, getattr(leaf, "index", None)) for leaf in leaves}) > 1:
        return None
    match leaves[0]:
        case ast.Attribute(variable, _):
            return ast.Attribute(variable, computed(expression), span=expression.span)
        case ast.Element(variable, index, _):
            return ast.Element(variable, index, computed(expression), span=expression.span)
    return None
