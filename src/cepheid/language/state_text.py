"""What the state of a query depends on, as a text: queries with the same text share states.

Two queries may differ in how they write a duration, and in what they return. The state of a running
query has events and positions of events, so it serves both. But a query that returns the numbers of
events has to count them, and reads also the events that it does not need otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from cepheid.errors import CepheidError
from cepheid.language import syntax as ast
from cepheid.language.computed import deep_nodes
from cepheid.language.parser import parse_script
from cepheid.language.printer import print_query
from cepheid.language.units import NANOSECONDS_PER
from cepheid.schema import Position

_LEAST = "nanoseconds"


def state_text(query: ast.Query, *, with_returns: bool = False) -> str:
    """The query with all durations in one unit, and without RETURN unless it is asked for.

    The queries of a script read what others return, so there RETURN is part of the state. So is
    whether RETURN reads INDEX or PARTITION_INDEX.

    >>> from cepheid.language.parser import parse
    >>> one = parse("PATTERN SEQ(A a, B b) WHERE b.ts - a.ts > 90 s WITHIN 60 minutes RETURN a.x")
    >>> other = parse("PATTERN SEQ(A a, B b) WHERE b.ts - a.ts > 1.5 min WITHIN 1 hour RETURN b.y")
    >>> state_text(one) == state_text(other)
    True
    >>> state_text(one, with_returns=True) == state_text(other, with_returns=True)
    False
    """
    kept = query if with_returns else replace(query, returns=None)
    lines = [print_query(ast.rewrite(kept, _in_least_unit))]
    if query.returns is not None:
        named = (getattr(node, "attribute", None) for node in deep_nodes(query.returns))
        lines += sorted({each.upper() for each in named if isinstance(each, Position)})
    return "\n".join(lines)


def share_state(made_by: str, queries: Sequence[ast.Query], *, with_returns: bool = False) -> bool:
    """Whether these queries continue the state of those with this text.

    >>> from cepheid.language.parser import parse
    >>> share_state("PATTERN A a WITHIN 60 minutes", [parse("EVENT A a WITHIN 1 hour RETURN a.x")])
    True
    >>> share_state("PATTERN A a WITHIN", [parse("EVENT A a")])
    False
    """
    try:
        then = parse_script(made_by)
    except CepheidError:  # the text is damaged, or too long
        return False
    texts = [
        [state_text(each, with_returns=with_returns) for each in trees] for trees in (then, queries)
    ]
    return texts[0] == texts[1]


def _in_least_unit(node: ast.Node) -> ast.Node:
    match node:
        case ast.Window(Fraction() as extent, _, str(unit)):
            return replace(node, extent=extent * NANOSECONDS_PER[unit], unit=_LEAST)
        case ast.Duration(amount, unit):
            return replace(node, amount=amount * NANOSECONDS_PER[unit], unit=_LEAST)
    return node
