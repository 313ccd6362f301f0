"""The operators of a sequence plan, and the tests that are pushed into each [Wu06 §3.1, §4].

A plan is sequence scan and construction, selection, window, negation and transformation, each
fed by the one before. A test that an earlier operator can make is pushed down into it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cepheid.analysis.model import Alternative, AnalysedQuery, Clause, PartitionKey, Place
from cepheid.codegen.compiler import is_on_event
from cepheid.codegen.steps import Phase
from cepheid.engines.base.evaluation import NFA_B
from cepheid.engines.base.options import Options
from cepheid.errors import list_words
from cepheid.language import syntax as ast
from cepheid.language.printer import print_expression, print_pattern, print_window
from cepheid.schema import Kind, Schema


def usable_keys(query: AnalysedQuery, alternative: Alternative) -> tuple[PartitionKey, ...]:
    """The equivalence keys of an alternative by which stacks can be split or searched.

    If the window counts the events of a partition, only the tests that define partitions are
    usable. The same holds for a match of one event, which always agrees with itself.
    """
    if query.counts_partitions or len(alternative.components) == 1:
        return tuple(key for key in alternative.partition_keys if key.is_test)
    return alternative.partition_keys


@dataclass(frozen=True, slots=True)
class BoundConditions:
    """A component, the conditions on its event alone, and those tested when it is bound."""

    component: ast.Component
    on_event: tuple[Clause, ...]
    across: tuple[Clause, ...]


def bound_conditions(query: AnalysedQuery, alternative: Alternative) -> tuple[BoundConditions, ...]:
    """The conditions of each component: compiled into tables, and shown in a plan.

    Construction binds components from the last one back. A condition is tested at the first of
    its components in pattern order, unless the equivalence keys imply it.
    """
    keys = usable_keys(query, alternative)
    places = {part.variable: ix for ix, part in enumerate(alternative.components)}
    alone: list[list[Clause]] = [[] for _ in places]
    across: list[list[Clause]] = [[] for _ in places]
    for clause in alternative.clauses:
        first = min((places[name] for name in clause.variables if name in places), default=0)
        if is_on_event(clause.literals, alternative.components[first], Phase.BEGIN):
            alone[first].append(clause)
        elif not _is_implied(clause, places, query.schema, keys):
            across[first].append(clause)
    return tuple(
        BoundConditions(component, tuple(alone[ix]), tuple(across[ix]))
        for ix, component in enumerate(alternative.components)
    )


def _is_implied(
    clause: Clause,
    places: Mapping[str, int],
    schema: Schema | None,
    keys: Sequence[PartitionKey],
) -> bool:
    """Whether the clause is an equality that holds wherever the keys agree.

    An equality of floats is not implied: keys compare their bits, and NaN is not equal to itself.
    """
    for sides in clause.equal_attributes[:1]:
        terms = [(places[side.variable], side.attribute) for side in sides]
        return any(
            all(key.attributes[ix] == attribute for ix, attribute in terms) for key in keys
        ) and (schema is None or schema.kind(sides[0].attribute) is not Kind.FLOAT)
    return False


def better_than_stacks(query: AnalysedQuery) -> tuple[str, str] | None:
    """The evaluation that is faster than stacks for the query, and why, or None.

    Construction starts with the last event of a sequence. If no key and no condition relates it
    to the other events, but conditions relate those to each other, every last event searches all
    of them again. A run of an automaton finds the events that go together only once.
    """
    for alternative in query.alternatives:
        across = [clause for clause in alternative.clauses if len(clause.variables) > 1]
        last = alternative.components[-1].variable
        if (
            across
            and not usable_keys(query, alternative)
            and not any(last in clause.variables for clause in across)
        ):
            return NFA_B, f"no condition compares {last}, with which construction starts"
    return None


def pushed_key(
    keys: Sequence[tuple[str, ...]], domains: Mapping[str, int], counted: Sequence[int]
) -> int:
    """The index of the key with most values, by the given sizes or else the counted ones.

    >>> pushed_key([("ward", "ward"), ("patient", "patient")], {}, [20, 900])
    1
    """
    sizes = [
        max([domains[name] for name in key if name in domains], default=count)
        for key, count in zip(keys, counted, strict=True)
    ]
    return sizes.index(max(sizes))


def key_text(components: Sequence[ast.Component], attributes: Sequence[str]) -> str:
    """The attributes of a key, as equalities: ``a.id = b[i].id``."""
    return " = ".join(
        f"{component.variable}{'[i]' if component.is_kleene else ''}.{attribute}"
        for component, attribute in zip(components, attributes, strict=True)
    )


@dataclass(frozen=True, slots=True)
class SequencePlan:
    """The operators of one alternative, as lines of text."""

    query: AnalysedQuery
    alternative: Alternative
    options: Options

    def lines(self) -> Iterator[str]:
        """The operators, the last one first; below each the one that feeds it."""
        operators = [
            self._transformation(),
            *self._negations(),
            *self._window(),
            *self._selection(),
        ]
        for depth, (name, text) in enumerate(operators):
            yield f"{'  ' * depth}{name}: {text}"
        indent = "  " * len(operators)
        yield f"{indent}sequence scan and construction: {self._construction()}"
        for line in (*self._scan(), *self._search()):
            yield f"{indent}  {line}"

    @property
    def _keys(self) -> tuple[PartitionKey, ...]:
        return usable_keys(self.query, self.alternative)

    @property
    def _pushed(self) -> PartitionKey | None:
        """The key that is pushed into the scan, as far as this is known before the first event."""
        if not self._keys or (
            self.options.equivalence == "selection" and not self.query.counts_partitions
        ):
            return None
        known = [0] * len(self._keys)
        attributes = [key.attributes for key in self._keys]
        return self._keys[pushed_key(attributes, self.options.domains, known)]

    @property
    def _others(self) -> list[PartitionKey]:
        return [key for key in self._keys if key is not self._pushed]

    def _transformation(self) -> tuple[str, str]:
        items = "the items of RETURN" if self.query.query.returns else "the variables of each match"
        return "transformation", items

    def _negations(self) -> Iterator[tuple[str, str]]:
        for negation in self.alternative.negations:
            own = negation.own_window
            within = f", within {print_window(own)}" if own else ""
            where = {
                Place.START: f"before{within}",
                Place.MIDDLE: f"between{within}",
                Place.END: f"after{within}, postponed until the window has passed",
                Place.ANYWHERE: "anywhere in the window",
            }[negation.place]
            yield "negation", f"{print_pattern(negation.component)} {where}, indexed by time"

    def _window(self) -> Iterator[tuple[str, str]]:
        if self.query.query.window is not None and self.options.window == "selection":
            yield "window", "tested on every sequence, not pushed down"

    def _selection(self) -> Iterator[tuple[str, str]]:
        if self.query.counts_partitions or self.options.equivalence == "dynamic":
            return
        for key in self._others:
            why = (
                ", since the stacks of different keys can agree by chance"
                if self.options.equivalence == "multi_pais"
                else ", not pushed down"
            )
            yield "selection", f"{self._equal(key)}{why}"

    def _construction(self) -> str:
        if self.options.construction == "basic":
            return "basic, a search through all events of the runtime stack"
        return "active instance stacks"

    def _scan(self) -> Iterator[str]:
        values = [
            print_expression(test, self.query.query)
            for test in self.query.equivalences
            if test.value is not None
        ]
        for bound in bound_conditions(self.query, self.alternative):
            tests = [*map(self._printed, bound.on_event), *values]
            where = f" where {' AND '.join(tests)}" if tests else ""
            yield f"scan: {print_pattern(bound.component)}{where}"
        if self.query.counts_partitions:
            for key in self._keys:
                yield f"scan: stacks partitioned by {self._equal(key)}, as the window counts"
        elif self._pushed is not None:
            many = self.options.equivalence == "multi_pais" and self._others
            partitioned = "PAIS" if not many else "Multi-PAIS, one of several"
            by = f"{self._equal(self._pushed)} ({partitioned}{self._why()})"
            yield f"scan: stacks partitioned by {by}"
            for key in self._others if many else ():
                yield f"scan: stacks partitioned by {self._equal(key)} (Multi-PAIS)"
        if self.query.query.window is not None and self.options.window == "scan":
            yield "scan: the window, which drops events without a partner and prunes stacks"

    def _why(self) -> str:
        if len(self._keys) == 1:
            return ", the only key"
        given = {
            name: size
            for key in self._keys
            for name in key.attributes
            if (size := self.options.domains.get(name)) is not None
        }
        if given:
            sizes = [f"{name} has {size} values" for name, size in given.items()]
            return f", the most selective key: {list_words(sizes)}"
        return "; or by the key with most values in the first events"

    def _search(self) -> Iterator[str]:
        if self.query.query.window is not None and self.options.window != "selection":
            yield "construction: the window"
        if not self.query.counts_partitions and self.options.equivalence == "dynamic":
            for key in self._others:
                yield f"construction: {self._equal(key)} (dynamic filtering)"
        for bound in reversed(bound_conditions(self.query, self.alternative)):
            for clause in bound.across:
                name = bound.component.variable
                yield f"construction: {self._printed(clause)}, when {name} is bound"

    def _printed(self, clause: Clause) -> str:
        return print_expression(clause.expression, self.query.query)

    def _equal(self, key: PartitionKey) -> str:
        return key_text(self.alternative.components, key.attributes)
