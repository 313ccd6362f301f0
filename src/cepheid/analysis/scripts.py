"""Queries that read the events of earlier ones: who reads whom, and what such events have.

The match of a query that says ``RETURN Type(item, …)`` is a *composite event* of that type.
Its time is that at which the match ends. Its attributes are the items, ``start`` and ``end``,
and, like those of every event, its time and its type.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cepheid.analysis.analyse import analyse
from cepheid.analysis.kinds import return_kind
from cepheid.analysis.names import first_word
from cepheid.errors import DEFAULT_SOURCE, Fault, QuerySemanticError, Span, list_words
from cepheid.language import syntax as ast
from cepheid.language.printer import item_name
from cepheid.schema import Kind, Schema

START_AND_END = ("start", "end")
"""The attributes that a composite event has beside its items."""

Kinds = Mapping[str, Kind]


@dataclass(frozen=True, slots=True)
class ScriptQuery:
    """A query of a script, and the numbers of the earlier ones whose events it reads.

    ``name`` is what its results are called: its composite type, or else its number; a name
    that is taken gets a number too.
    """

    name: str
    query: ast.Query
    reads: tuple[int, ...]
    is_read: bool

    @property
    def type_name(self) -> str | None:
        """The type of its composite events."""
        return self.query.returns.type_name if self.query.returns is not None else None


def link_queries(
    queries: Sequence[ast.Query], text: str | None = None, source: str = DEFAULT_SOURCE
) -> tuple[ScriptQuery, ...]:
    """The queries of a script with what they read, in the order in which they are run.

    Raises:
        QuerySemanticError: a query has a fault, or reads what it or a later one makes.

    >>> from cepheid.language.parser import parse_script
    >>> text = "PATTERN SEQ(A a, B b) RETURN Pair(x = a.x); PATTERN SEQ(Pair p, C c)"
    >>> [(each.name, each.reads) for each in link_queries(parse_script(text))]
    [('Pair', ()), ('query_2', (0,))]
    """
    faults: list[Fault] = []
    for query in queries:
        try:
            analyse(query)
        except QuerySemanticError as error:
            faults += error.faults
    made = [query.returns.type_name if query.returns else None for query in queries]
    reads: list[tuple[int, ...]] = []
    for number, query in enumerate(queries):
        named = _types_named(query)
        reads.append(tuple(ix for ix in range(number) if made[ix] in named))
    for number in range(len(queries)):
        faults += _faults_of_order(number, queries, made, reads)
    read = {ix for each in reads for ix in each}
    faults += _faults_of_shared_types(queries, made, read)
    if faults:
        in_order = sorted(dict.fromkeys(faults), key=lambda f: f.span.start if f.span else 0)
        raise QuerySemanticError(in_order, text, source)
    names = _names(made)
    return tuple(
        ScriptQuery(names[ix], query, reads[ix], ix in read) for ix, query in enumerate(queries)
    )


def check_reserved(
    queries: Sequence[ScriptQuery], time: str, type: str | None, text: str | None, source: str
) -> None:
    """Refuse items of composite events that are called like the time or the type of an event."""
    faults = []
    for each in queries:
        for item in each.query.returns.items if each.is_read and each.query.returns else ():
            name = item_name(item, each.query)
            if name == time:
                said = f"'{name}' is the time of an event, and that of {each.type_name} is its end"
                faults.append(Fault(said, item.span, hint="Call the item something else."))
            elif name == type:
                said = f"'{name}' is the type of an event, which is '{each.type_name}' here"
                faults.append(Fault(said, item.span, hint="Call the item something else."))
    if faults:
        raise QuerySemanticError(faults, text, source)


def kinds_of_items(
    each: ScriptQuery, schema: Schema, time: str, type: str | None
) -> dict[str, Kind]:
    """The kind of each attribute of the composite events of a query over events of this schema."""
    assert each.query.returns is not None
    is_date = schema.kind(time) is Kind.DATE
    moment: Kind = Kind.TIMESTAMP if is_date else schema.kind(time)
    kinds: dict[str, Kind] = dict.fromkeys((*START_AND_END, time), moment)
    if type is not None and schema.kind(type) in (Kind.STRING, Kind.UNKNOWN):
        kinds[type] = Kind.STRING
    for item in each.query.returns.items:
        kinds[item_name(item, each.query)] = return_kind(item.expression, each.query, schema)
    return kinds


def schema_read(
    number: int,
    queries: Sequence[ScriptQuery],
    events: Schema,
    kinds: Mapping[int, Kinds],
    text: str | None = None,
    source: str = DEFAULT_SOURCE,
) -> Schema:
    """The schema of what a query reads: the events, and composite events of earlier queries.

    ``kinds`` are those of the attributes of the composite events of each query.

    Raises:
        QuerySemanticError: an attribute has one kind in the events and another in a query.
    """
    each = queries[number]
    if not each.reads:
        return events
    faults: list[Fault] = []
    joined: dict[str, Kind] = {}
    made: dict[str, dict[str, None]] = {}
    for ix in each.reads:
        upstream = queries[ix]
        assert upstream.type_name is not None
        own = made.setdefault(upstream.type_name, {})
        for name, kind in kinds[ix].items():
            before = joined.get(name, events.kind(name))
            common = _common_kind(before, kind)
            if common is not None:
                joined[name] = common
                own[name] = None
            elif (span := _span_of_item(upstream, name)) is not None:
                other = "the events" if name in events.attributes else "an earlier query"
                said = f"'{name}' is {kind.value} here, and {before.value} in {other}"
                hint = "One name has one kind: call the item something else."
                faults.append(Fault(said, span, hint=hint))
    if faults:
        raise QuerySemanticError(faults, text, source)
    return events.joined_by(made, joined)


def attributes_named(query: ast.Query) -> set[str] | None:
    """The attributes that a query names, None where it returns whole events."""
    if query.returns is None:
        return None
    nodes = [*query.returns.walk(), *(query.condition.walk() if query.condition else ())]
    if any(isinstance(node, ast.EventReference) for node in nodes):
        return None
    named = {getattr(node, "attribute", None) for node in nodes}
    return {name for name in named if name is not None}


def _types_named(query: ast.Query) -> set[str]:
    return {name for part, _ in ast.components(query.pattern) for name in part.types}


def _faults_of_order(
    number: int,
    queries: Sequence[ast.Query],
    made: Sequence[str | None],
    reads: Sequence[tuple[int, ...]],
) -> list[Fault]:
    """What a query reads that it or a later one makes."""
    faults = []
    for component, _ in ast.components(queries[number].pattern):
        for name in component.types:
            if name not in made[number:]:
                continue
            maker = made.index(name, number)
            span = first_word(component, name) if len(component.types) == 1 else component.span
            faults.append(_fault_of_order(number, maker, name, span, made, reads))
    return faults


def _fault_of_order(
    number: int,
    maker: int,
    name: str,
    span: Span | None,
    made: Sequence[str | None],
    reads: Sequence[tuple[int, ...]],
) -> Fault:
    rule = "A query reads the events of queries before it."
    if maker == number:
        return Fault(
            f"this query makes '{name}', and cannot read what it makes",
            span,
            found=name,
            hint=f"{rule} Call the type in its RETURN something else.",
        )
    said = f"'{name}' is made by query {maker + 1}, which comes after this one"
    through = _way(maker, number, reads)
    if through is None:
        hint = f"{rule} Move query {maker + 1} before query {number + 1}."
    else:
        circle = [(number, maker), *through]
        steps = [f"query {a + 1} reads '{made[b]}' of query {b + 1}" for a, b in circle]
        hint = f"{rule} These read each other: {list_words(steps)}. One of them has to do without."
    return Fault(said, span, found=name, hint=hint)


def _way(start: int, goal: int, reads: Sequence[tuple[int, ...]]) -> list[tuple[int, int]] | None:
    """Who reads whom on the way from one query to another, or None where there is no way."""
    for ix in reads[start]:
        if ix == goal:
            return [(start, ix)]
        rest = _way(ix, goal, reads)
        if rest is not None:
            return [(start, ix), *rest]
    return None


def _faults_of_shared_types(
    queries: Sequence[ast.Query], made: Sequence[str | None], read: set[int]
) -> list[Fault]:
    """Queries that make the same type give it the same attributes, where it is read."""
    faults = []
    for number in sorted(read):
        first = made.index(made[number])
        one, other = queries[first].returns, queries[number].returns
        assert one is not None
        assert other is not None
        names = [item_name(item, queries[first]) for item in one.items]
        own = [item_name(item, queries[number]) for item in other.items]
        if sorted(names) != sorted(own):
            faults.append(
                Fault(
                    f"'{made[number]}' has {list_words(own)} here, and {list_words(names)} "
                    f"in query {first + 1}",
                    other.span,
                    hint="Events of one type have the same attributes.",
                )
            )
    return faults


def _names(made: Sequence[str | None]) -> list[str]:
    names: list[str] = []
    counts: Counter[str] = Counter()
    for number, type_name in enumerate(made, start=1):
        wanted = type_name or f"query_{number}"
        counts[wanted] += 1
        name = wanted
        while name in names:
            counts[wanted] += name != wanted
            name = f"{wanted}_{counts[wanted]}"
        names.append(name)
    return names


def _common_kind(one: Kind, other: Kind) -> Kind | None:
    if one is other or other is Kind.UNKNOWN:
        return one
    if one is Kind.UNKNOWN:
        return other
    if {one, other} == {Kind.DATE, Kind.TIMESTAMP}:
        return Kind.TIMESTAMP
    return Kind.FLOAT if one.is_number and other.is_number else None


def _span_of_item(each: ScriptQuery, name: str) -> Span | None:
    """Where an item stands; None for an attribute that is none, such as ``start``."""
    assert each.query.returns is not None
    for item in each.query.returns.items:
        if item_name(item, each.query) == name:
            return item.span or Span(0, 0)
    return None
