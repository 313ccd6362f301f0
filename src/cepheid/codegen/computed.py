"""Which parts of a condition are computed for each event before an engine sees it.

Generated code computes with numbers, times and codes of strings. An expression over one event that
needs more, such as a substring, becomes an attribute that is computed over whole batches.
"""

from __future__ import annotations

from cepheid.analysis.kinds import attribute_kind
from cepheid.codegen.expressions import Statements, Untranslatable, Value, storage_of
from cepheid.language import syntax as ast
from cepheid.language.computed import computed_leaf
from cepheid.schema import Kind, Schema


def computed_if_needed(schema: Schema, node: ast.Expression) -> ast.Expression:
    """The node, or a computed attribute if generated code cannot compute it.

    >>> schema = Schema({"s": Kind.STRING})
    >>> test = ast.Like(ast.Attribute("a", "s"), "x%")
    >>> isinstance(computed_if_needed(schema, test), ast.Attribute)
    True
    """
    leaf = None
    if not isinstance(node, ast.Attribute | ast.Element) and not _is_native(node, schema):
        leaf = computed_leaf(node)
    if leaf is None or attribute_kind(leaf.attribute, schema) in (Kind.LIST, Kind.OTHER):
        return node
    return leaf


def _is_native(node: ast.Expression, schema: Schema) -> bool:
    def resolve(leaf: ast.Node) -> Value:
        attribute = getattr(leaf, "attribute", None)
        if attribute is None:
            return Value("x", "y", Kind.INTEGER)
        kind = attribute_kind(attribute, schema)
        storage_of(kind, attribute)
        return Value("x", "y", kind)

    try:
        Statements([], []).value(node, resolve)
    except Untranslatable:
        return False
    return True
