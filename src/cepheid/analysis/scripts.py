"""Scripts: which queries read the events of earlier ones, and the attributes of these events.

A match of a query with ``RETURN Type(item, …)`` is a *composite event* of that type. Its time is
the end of the match. Its attributes are the items, ``start``, ``end``, and, as for every event, its
time and its type.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cepheid.analysis.analyse import analyse
from cepheid.analysis.kinds import return_kind
from cepheid.analysis.names import first_word, type_span
from cepheid.analysis.scopes import unknown_function
from cepheid.errors import DEFAULT_SOURCE, Fault, QuerySemanticError, Span, list_words
from cepheid.language import syntax as ast
from cepheid.language.parser import MAX_FAULTS
from cepheid.language.printer import item_name, item_names
from cepheid.schema import Kind, Schema

START_AND_END = ("start", "end")
"""The attributes of a composite event that are not items."""

Kinds = Mapping[str, Kind]


@dataclass(frozen=True, slots=True)
class ScriptQuery:
    """A query of a script, and the numbers of the earlier queries that it reads.

    ``name`` is the name of its results: its composite type, or else ``query_`` and its number. A
    name that is taken gets a number too.
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
    """The queries of a script with the queries that they read, in the order in which they run.

    Raises:
        QuerySemanticError: a query has a fault, or reads events that it or a later query makes.

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
        if len(faults) >= MAX_FAULTS:
            raise QuerySemanticError(faults, text, source)
    faults += faults_of_made_types(queries)
    made = [query.returns.type_name if query.returns else None for query in queries]
    reads: list[tuple[int, ...]] = []
    for number, query in enumerate(queries):
        named = {name for part, _ in ast.components(query.pattern) for name in part.types}
        reads.append(tuple(ix for ix in range(number) if made[ix] in named))
    for number, query in enumerate(queries):
        faults += _faults_of_order(number, query, made, reads)
    read = {ix for each in reads for ix in each}
    faults += _faults_of_shared_types(queries, made, read)
    if faults:
        raise QuerySemanticError(faults, text, source)
    names = _names(made)
    return tuple(
        ScriptQuery(names[ix], query, reads[ix], ix in read) for ix, query in enumerate(queries)
    )


def faults_of_made_types(queries: Sequence[ast.Query]) -> Iterator[Fault]:
    """The faults of ``RETURN name(…)`` where the name is neither a function nor a type.

    It is a type if it starts with a capital letter, or if another query reads it.
    """
    read = [
        {name for part, _ in ast.components(query.pattern) for name in part.types}
        for query in queries
    ]
    for number, query in enumerate(queries):
        name = query.returns.type_name if query.returns is not None else None
        others = read[:number] + read[number + 1 :]
        if name is None or name[0].isupper() or any(name in each for each in others):
            continue
        assert query.returns is not None
        example = name[0].upper() + name[1:]
        also = f"A type of composite events starts with a capital letter, such as {example}."
        yield unknown_function(name, first_word(query.returns, name), also)


def check_reserved(
    queries: Sequence[ScriptQuery], time: str, type: str | None, text: str | None, source: str
) -> None:
    """Refuse items of composite events with the name of the time or the type column."""
    faults = []
    for each in queries:
        for item in each.query.returns.items if each.is_read and each.query.returns else ():
            name = item_name(item, each.query)
            if name == time:
                message = f"'{name}' is the time column; the time of {each.type_name} is its end"
                faults.append(Fault(message, item.span, hint="Rename the item."))
            elif name == type:
                message = f"'{name}' is the type column, which is '{each.type_name}' here"
                faults.append(Fault(message, item.span, hint="Rename the item."))
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
    """The schema of the events that a query reads, including composite events of earlier queries.

    ``kinds`` has the kinds of the attributes of the composite events of each query.

    Raises:
        QuerySemanticError: an attribute has different kinds in the events and in a query.
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
                message = f"'{name}' is {kind.value} here, but {before.value} in {other}"
                hint = "An attribute has the same data type everywhere: rename the item."
                faults.append(Fault(message, span, hint=hint))
    if faults:
        raise QuerySemanticError(faults, text, source)
    return events.joined_by(made, joined)


def _faults_of_order(
    number: int,
    query: ast.Query,
    made: Sequence[str | None],
    reads: Sequence[tuple[int, ...]],
) -> Iterator[Fault]:
    """The faults of reading events that the query itself or a later one makes."""
    rule = "A query can read only the events of earlier queries."
    named = [(name, part) for part, _ in ast.components(query.pattern) for name in part.types]
    for name, component in named:
        if name not in made[number:]:
            continue
        maker = made.index(name, number)
        through = _way(maker, number, reads)
        message = f"'{name}' is made by query {maker + 1}, which comes after this one"
        if maker == number:
            message = f"this query makes '{name}' and cannot read it"
            advice = "Rename the type in its RETURN."
        elif through is None:
            advice = f"Move query {maker + 1} before query {number + 1}."
        else:
            circle = [(number, maker), *through]
            steps = [f"query {a + 1} reads '{made[b]}' of query {b + 1}" for a, b in circle]
            advice = f"There is a cycle: {list_words(steps)}."
        yield Fault(message, type_span(component, name), found=name, hint=f"{rule} {advice}")


def _way(start: int, goal: int, reads: Sequence[tuple[int, ...]]) -> list[tuple[int, int]] | None:
    """The path of reads from one query to another, or None if there is none."""
    ways: dict[int, list[tuple[int, int]]] = {start: []}
    pending = [start]
    while pending and goal not in ways:
        at = pending.pop()
        for ix in reads[at]:
            if ix not in ways:
                ways[ix] = [*ways[at], (at, ix)]
                pending.append(ix)
    return ways.get(goal)


def _faults_of_shared_types(
    queries: Sequence[ast.Query], made: Sequence[str | None], read: set[int]
) -> list[Fault]:
    """The faults of queries that make the same type with different attributes."""
    faults = []
    for number in sorted(read):
        first = made.index(made[number])
        returns = queries[number].returns
        assert returns is not None
        names, own = item_names(queries[first]), item_names(queries[number])
        if sorted(names) != sorted(own):
            faults.append(
                Fault(
                    f"'{made[number]}' has {list_words(own)} here, but {list_words(names)} "
                    f"in query {first + 1}",
                    returns.span,
                    hint="All events of a type must have the same attributes.",
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
    """The place of an item; None for an attribute that is not an item, such as ``start``."""
    assert each.query.returns is not None
    for item in each.query.returns.items:
        if item_name(item, each.query) == name:
            return item.span or Span(0, 0)
    return None
