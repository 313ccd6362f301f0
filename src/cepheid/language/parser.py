"""Text to abstract syntax.

The grammar is in ``grammar.lark``. Rules that it cannot express (a Kleene variable is written with
brackets, ``a[i-2]`` does not exist, only one strategy) are checked while the tree is assembled, and
reported in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from cepheid.errors import (
    DEFAULT_SOURCE,
    Fault,
    QuerySyntaxError,
    Span,
    did_you_mean,
    warn,
)
from cepheid.language.limits import DEFAULT_LIMITS, Limits
from cepheid.language.naming import ParameterValue, plain_parameters
from cepheid.language.syntax import Query, SelectionStrategy
from cepheid.visible import LONE_SURROGATE

if TYPE_CHECKING:
    from lark import Lark, Token, Tree
    from lark.exceptions import UnexpectedInput

KEYWORDS = (
    "PATTERN", "EVENT", "FROM", "WHERE", "WITHIN", "RETURN", "OUTPUT", "SEQ", "AND", "OR", "NOT",
    "ANY", "IN", "BETWEEN", "LIKE", "IS", "NULL", "TRUE", "FALSE", "AS", "EVENTS", "PER",
    "PARTITION", "WITHOUT",
)  # fmt: skip
OUTPUT_MODES = ("ALL", "FIRST", "LONGEST", "LEFTMOST", "NON_OVERLAPPING")
STRATEGIES = tuple(strategy.value for strategy in SelectionStrategy)

NO_PARAMETERS: Mapping[str, ParameterValue] = MappingProxyType({})

_NESTED = "Write it with fewer brackets and shorter sums, or split the condition."

MAX_FAULTS = 20
"""The number of faults in one error message."""


def parse(
    text: str,
    source: str = DEFAULT_SOURCE,
    parameters: Mapping[str, ParameterValue] = NO_PARAMETERS,
    limits: Limits = DEFAULT_LIMITS,
) -> Query:
    """Parse a query; ``parameters`` are the values of bare names in it.

    >>> parse("PATTERN SEQ(A a, B b) WITHIN 10").window.extent
    Fraction(10, 1)
    >>> parse("PATTERN SEQ(A a, B b) WHERE a.x > T", parameters={"T": 5}).condition.right
    Literal(value=5)
    """
    queries = parse_script(text, source, parameters, limits)
    if len(queries) > 1:
        span = queries[1].span
        fault = Fault(
            "this is a script of several queries",
            span,
            hint="A single query is expected here; script() runs several.",
        )
        raise QuerySyntaxError([fault], text, source)
    return queries[0]


def parse_script(
    text: str,
    source: str = DEFAULT_SOURCE,
    parameters: Mapping[str, ParameterValue] = NO_PARAMETERS,
    limits: Limits = DEFAULT_LIMITS,
) -> tuple[Query, ...]:
    """Parse queries that are separated by semicolons.

    Raises:
        LimitError: the text is too long, or nested too deeply.

    >>> len(parse_script("EVENT A; EVENT B;"))
    2
    """
    from cepheid.language.assembly import assemble
    from cepheid.language.mistakes import explain

    tree = syntax_tree(text, source, limits, query_grammar, explain)
    faults: list[Fault] = []
    queries = assemble(tree, plain_parameters(parameters), faults)
    if faults:
        faults.sort(key=lambda fault: fault.span.start if fault.span else 0)
        raise QuerySyntaxError(faults[:MAX_FAULTS], text, source)
    warn_of_unused(parameters, tree)
    return queries


def warn_of_unused(parameters: Mapping[str, ParameterValue], tree: Tree[Token]) -> None:
    """Warn of parameters whose name is not in the query."""
    names = {str(token) for token in tree.scan_values(lambda _: True)} if parameters else set()
    for name in parameters:
        if name not in names:
            warn(f"the query does not use the parameter {name!r}" + did_you_mean(name, names))


def check_characters(text: str, source: str = DEFAULT_SOURCE) -> None:
    """Reject lone surrogates, which no name and no string of events can hold."""
    found = LONE_SURROGATE.search(text)
    if found:
        fault = Fault(
            "a lone surrogate is not a character",
            Span(found.start(), found.end()),
            hint="It usually comes from bytes that are not UTF-8.",
        )
        raise QuerySyntaxError([fault], text, source)


@cache
def query_grammar() -> Lark:
    """The parser of queries and scripts."""
    return open_grammar(__file__, "script")


def open_grammar(module: str, start: str) -> Lark:
    """The parser of the grammar in the folder of a module.

    Its tables take longer to make than everything else that is done for a query: they are stored.
    A wheel for one platform brings them along.
    """
    import lark

    from cepheid.cache import FOLDER, SHIPPED, store

    grammar = Path(module).with_name("grammar.lark").read_text(encoding="utf-8")
    digest = sha256(f"{lark.__version__} {start} {grammar}".encode()).hexdigest()
    path = FOLDER / f"grammar_{digest[:24]}"
    for known in (SHIPPED / path.name, path):
        with suppress(Exception), known.open("rb") as file:  # It is damaged, or not there.
            return lark.Lark.load(file)
    parser = lark.Lark(
        grammar, parser="lalr", start=start, propagate_positions=True, maybe_placeholders=True
    )
    tables = BytesIO()
    parser.save(tables)
    with suppress(OSError):
        store(path, tables.getvalue())
    return parser


def syntax_tree(
    text: str,
    source: str,
    limits: Limits,
    grammar: Callable[[], Lark],
    explain: Callable[[UnexpectedInput, str], Fault],
) -> Tree[Token]:
    """The tree of a text; ``explain`` makes a fault of what the grammar does not expect."""
    from lark.exceptions import UnexpectedInput

    limits.check("characters", len(text), "the query text is too long", "Split it.")
    check_characters(text, source)
    try:
        tree = grammar().parse(text)
    except UnexpectedInput as error:
        raise QuerySyntaxError([explain(error, text)], text, source) from None
    _check_depth(tree, limits)
    return tree


_STEPS = ("field_step", "item_step")
"""The rules for a field of a struct and an element of a list."""


def _check_depth(tree: Tree[Token], limits: Limits) -> None:
    """Refuse a tree with too many levels; later passes recurse, so they must not meet too many."""
    from lark import Tree

    level, depth, deepest = [tree], -1, 0
    while level:
        depth += 1
        below = []
        for node in level:
            children = [child for child in node.children if isinstance(child, Tree)]
            # Steps are written side by side, but each is a level: a.x.y is the y of the x of a.
            steps = sum(child.data in _STEPS for child in children)
            deepest = max(deepest, depth + steps)
            below += children
        level = below
    limits.check("depth", deepest, "the query is nested too deeply", _NESTED)
