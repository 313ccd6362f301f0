"""Text to abstract syntax; the grammar is in ``grammar.lark``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from cepheid.errors import DEFAULT_SOURCE, Fault, QuerySemanticError
from cepheid.language.limits import DEFAULT_LIMITS, Limits
from cepheid.language.naming import ParameterValue, plain_parameters
from cepheid.language.parser import (
    MAX_FAULTS,
    NO_PARAMETERS,
    open_grammar,
    syntax_tree,
    warn_of_unused,
)
from cepheid.row_patterns.checks import check_clause
from cepheid.row_patterns.syntax import Clause

if TYPE_CHECKING:
    from lark import Lark

_BEGINS = re.compile(
    r"(?>\s|/\*[\s\S]*?\*/|--[^\n]*)*+((?a:select|with)\b[\s\S]*?\b)?(?a:match_recognize)\b",
    re.IGNORECASE,
)


def is_row_pattern(text: str) -> bool:
    """Whether a text is SQL with MATCH_RECOGNIZE rather than a SASE+ query.

    >>> is_row_pattern("-- V shapes\\nselect * from ticks match_recognize (…)")
    True
    >>> is_row_pattern("PATTERN SEQ(A a, B b)")
    False
    """
    return _BEGINS.match(text) is not None


def parse(
    text: str,
    source: str = DEFAULT_SOURCE,
    parameters: Mapping[str, ParameterValue] = NO_PARAMETERS,
    limits: Limits = DEFAULT_LIMITS,
) -> Clause:
    """Parse a clause; ``parameters`` are the values of bare names in it.

    Raises:
        LimitError: the text is too long, nested too deeply, or has too many variables.
        QuerySyntaxError: the text does not parse.
        QuerySemanticError: the clause has no meaning for any rows; all its faults are reported.

    >>> parse("MATCH_RECOGNIZE (PATTERN (a b+) DEFINE b AS b.x > T)", parameters={"T": 5}).pattern
    Concatenation(parts=(Variable(name='A'), Quantified(part=Variable(name='B'), least=1, \
most=None, is_greedy=True)))
    """
    from cepheid.row_patterns.assembly import assemble
    from cepheid.row_patterns.mistakes import explain

    tree = syntax_tree(text, source, limits, clause_grammar, explain)
    faults: list[Fault] = []
    clause = assemble(tree, plain_parameters(parameters), faults)
    count = len(clause.variables())
    limits.check("components", count, "the pattern has too many variables", "Split it.")
    parts = sum(1 for _ in clause.walk())
    limits.check("terms", parts, "the clause has too many parts", "Split it.")
    faults += check_clause(clause)
    if faults:
        faults.sort(key=lambda fault: fault.span.start if fault.span else 0)
        raise QuerySemanticError(faults[:MAX_FAULTS], text, source)
    warn_of_unused(parameters, tree)
    return clause


@cache
def clause_grammar() -> Lark:
    """The parser of clauses."""
    return open_grammar(__file__, "statement")
