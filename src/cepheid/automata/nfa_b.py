"""A sequence compiled to an NFA^b: states, edges, formulas, registers [Agrawal08 §3.2].

Step 1, the structure, is one step per component. Step 2 places every clause on the edge of
its last identifier. Step 3, the selection strategy, is one number that the kernel reads.
Steps 4 and 5, the window, hold on every edge. Step 6: a run leaves a Kleene component only
on an event that can begin the next one.

Clauses that speak of one event alone become conditions for the mask of that event; the rest
become predicates over the event and the registers of a run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from functools import partial

from cepheid.analysis.model import Alternative, AnalysedQuery, Clause, Edge, NegatedComponent
from cepheid.automata.predicates import (
    PredicateWriter,
    Storage,
    Test,
    Untranslatable,
    Value,
    storage_of,
)
from cepheid.kernels import nfa_b_layout as layout
from cepheid.language import syntax as ast
from cepheid.schema import Kind, Schema

_STRATEGIES = {
    ast.SelectionStrategy.STRICT_CONTIGUITY: layout.STRICT,
    ast.SelectionStrategy.PARTITION_CONTIGUITY: layout.PARTITION_CONTIGUITY,
    ast.SelectionStrategy.SKIP_TILL_NEXT_MATCH: layout.NEXT,
    ast.SelectionStrategy.SKIP_TILL_ANY_MATCH: layout.ANY,
}


class Phase(Enum):
    """When a predicate is tested: at the first event of a component, a later one, or its end."""

    BEGIN = "begin"
    TAKE = "take"
    FINAL = "final"


@dataclass(frozen=True, slots=True)
class EventTest:
    """Which events can be the first, or a later, event of a component.

    ``predicate`` is the number of a predicate on the event alone, or NONE; ``clauses`` are
    disjunctions that generated code cannot test, such as LIKE; ``present`` are attributes that
    must not be null.
    """

    types: tuple[str, ...]
    predicate: int = layout.NONE
    clauses: tuple[tuple[ast.Expression, ...], ...] = ()
    present: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Update:
    """What happens to a register when an event is selected."""

    operation: int
    attribute: str | None
    register: int
    argument: int = 0
    length_register: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """One component: its bounds, the tests of its events, its predicates and updates.

    ``begin``, ``take`` and ``final`` are numbers of predicates, or NONE.
    """

    component: ast.Component
    least: int
    most: int
    begin_test: EventTest
    take_test: EventTest
    begin: int
    take: int
    final: int
    begin_updates: tuple[Update, ...]
    take_updates: tuple[Update, ...]


@dataclass(frozen=True, slots=True)
class NfaB:
    """An automaton as plain data: everything the kernel needs but the events.

    ``read_until`` has, for each register, the last state in which it is read: the masks by
    which runs that have become equivalent are found [Agrawal08 §5.2.2].
    """

    steps: tuple[Step, ...]
    strategy: int
    partition_attributes: tuple[str, ...]
    lists_by_partition: bool
    columns: tuple[tuple[str, Storage], ...]
    registers: tuple[Storage, ...]
    read_until: tuple[int, ...]
    constants: tuple[int | float | str, ...]
    source: str
    predicate_count: int
    edges: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class NegationTest:
    """A negated component as plain data: which events can violate it, and where.

    ``after`` and ``before`` are sets of components, as bits. Where ``is_across``, predicate 0
    of the source is over the event and the registers of a match.
    """

    component: ast.Component
    test: EventTest
    after: int
    before: int
    waits: bool
    steps: tuple[Step, ...]
    columns: tuple[tuple[str, Storage], ...]
    registers: tuple[Storage, ...]
    constants: tuple[int | float | str, ...]
    source: str
    is_across: bool


def refuse_nfa_b(query: AnalysedQuery) -> str | None:
    """Why an NFA^b cannot run the query, or None."""
    if query.schema is None:
        missing = [a for a in query.alternatives if not a.is_sequence]
        return "AND is not a sequence" if missing else None
    try:
        for alternative in query.alternatives:
            compile_nfa_b(query, alternative)
            for negated in alternative.negations:
                compile_negation(query, alternative, negated)
    except Untranslatable as reason:
        return str(reason)
    return None


def compile_nfa_b(query: AnalysedQuery, alternative: Alternative) -> NfaB:
    """The automaton of one alternative of a query, whose schema is known."""
    return _Compiler(query, alternative).compile()


def compile_negation(
    query: AnalysedQuery, alternative: Alternative, negated: NegatedComponent
) -> NegationTest:
    """The test of one negated component of an alternative."""
    return _Compiler(query, alternative).compile_negation(negated)


@dataclass(frozen=True, slots=True)
class _Register:
    """What a register holds of a variable; ``role`` is value, last, length, at 2, min and so on."""

    variable: str
    role: str
    attribute: str | None


class _Compiler:
    def __init__(self, query: AnalysedQuery, alternative: Alternative) -> None:
        assert query.schema is not None
        self._query = query
        self._schema: Schema = query.schema
        self._alternative = alternative
        self._components = alternative.components
        self._columns: dict[str, Storage] = {}
        self._registers: dict[_Register, Storage] = {}
        self._writer = PredicateWriter()
        self._edges: list[tuple[int, str]] = []
        self._read_until: dict[_Register, int] = {}
        self._state = 0  # the last state in which what is compiled now is tested
        self._check()

    def _check(self) -> None:
        if not self._alternative.is_sequence:
            raise Untranslatable("it has AND, and an NFA^b reads a sequence")
        if len(self._components) > layout.MAX_COMPONENTS:
            raise Untranslatable(f"it has more than {layout.MAX_COMPONENTS} components")
        counts_partitions = (
            self._query.query.window is not None
            and self._query.query.window.measure is ast.WindowMeasure.EVENTS_PER_PARTITION
        )
        strategy = self._query.query.strategy
        for test in self._query.equivalences:
            lacking = [
                name
                for component in self._components
                for name in component.types
                if not self._schema.has_attribute(name, test.attribute)
            ]
            if strategy is ast.SelectionStrategy.PARTITION_CONTIGUITY or counts_partitions:
                lacking += [
                    name
                    for name in self._schema.types or ()
                    if not self._schema.has_attribute(name, test.attribute)
                ]
            if lacking:
                raise Untranslatable(
                    f"{lacking[0]} has no attribute '{test.attribute}', so that its events belong "
                    "to every partition"
                )

    def compile(self) -> NfaB:
        last = len(self._components) - 1
        steps = []
        for ix, component in enumerate(self._components):
            begin_test, begin = self._place(ix, Phase.BEGIN)
            if component.is_kleene:
                take_test, take = self._place(ix, Phase.TAKE)
            else:
                take_test, take = EventTest(()), layout.NONE
            final = layout.NONE
            if component.is_kleene and ix == last:
                _, final = self._place(ix, Phase.FINAL)
            steps.append((component, begin_test, take_test, begin, take, final))
        # Only now is it known which registers the predicates read.
        finished = tuple(
            Step(
                component,
                self._least(component),
                (component.bounds.most or layout.UNBOUNDED) if component.bounds else 1,
                begin_test,
                take_test,
                begin,
                take,
                final,
                self._updates(component, Phase.BEGIN),
                self._updates(component, Phase.TAKE) if component.is_kleene else (),
            )
            for component, begin_test, take_test, begin, take, final in steps
        )
        strategy = self._query.query.strategy
        by_partition = strategy is not ast.SelectionStrategy.STRICT_CONTIGUITY
        return NfaB(
            finished,
            _STRATEGIES[strategy],
            self._partition_attributes(),
            by_partition,
            tuple(self._columns.items()),
            tuple(self._registers.values()),
            tuple(self._read_until[register] for register in self._registers),
            tuple(self._writer.constants),
            self._writer.source(),
            self._writer.count,
            tuple(self._edges),
        )

    def compile_negation(self, negated: NegatedComponent) -> NegationTest:
        own = negated.component.variable
        on_event: list[tuple[ast.Expression, ...]] = []
        across: list[Test] = []
        resolve = partial(self._resolve, own=own, phase=Phase.BEGIN)
        for clause in negated.clauses:
            if clause.ranges:
                name = next(iter(clause.ranges))
                raise Untranslatable(f"every event of {name}[] is compared with the negated {own}")
            if self._is_on_event(clause, negated.component, Phase.BEGIN):
                on_event.append(clause.literals)
                continue
            self._check_attributes(clause, (*self._components, negated.component))
            across.append(Test(clause.expression, resolve))
            for name, length in clause.least_lengths.items():
                longer = ast.Comparison(">=", ast.Length(name), ast.Literal(length))
                across.append(Test(longer, resolve))
        for test in self._query.equivalences:
            if test.value is not None:
                on_event.append(
                    (ast.Comparison("=", ast.Attribute(own, test.attribute), test.value),)
                )
            for name in negated.component.types:
                if not self._schema.has_attribute(name, test.attribute):
                    raise Untranslatable(f"{name} has no attribute '{test.attribute}'")
        # Predicate 0 is the one across events, where there is one.
        if across:
            self._writer.add(across)
        event_test = self._event_test(negated.component, Phase.BEGIN, on_event, [])
        return NegationTest(
            negated.component,
            event_test,
            sum(1 << ix for ix in negated.after),
            sum(1 << ix for ix in negated.before),
            negated.waits,
            tuple(self._only_updates(component) for component in self._components),
            tuple(self._columns.items()),
            tuple(self._registers.values()),
            tuple(self._writer.constants),
            self._writer.source(),
            bool(across),
        )

    def _only_updates(self, component: ast.Component) -> Step:
        """A step that fills registers and tests nothing."""
        nothing = EventTest(())
        begin = self._updates(component, Phase.BEGIN)
        take = self._updates(component, Phase.TAKE) if component.is_kleene else ()
        none = layout.NONE
        return Step(component, 1, 1, nothing, nothing, none, none, none, begin, take)

    # --- partitions

    def _partition_attributes(self) -> tuple[str, ...]:
        """The attributes by whose values runs are kept apart.

        Equivalence tests decide what a partition is; a key that was found in the conditions
        is used beside them where leaving out other events changes nothing. In a pattern of one
        component it would leave out something: a list of one event, whose value may be null.
        """
        attributes = [test.attribute for test in self._query.equivalences]
        if len(self._components) > 1 and self._query.query.strategy in (
            ast.SelectionStrategy.SKIP_TILL_ANY_MATCH,
            ast.SelectionStrategy.SKIP_TILL_NEXT_MATCH,
        ):
            measure = self._query.query.window.measure if self._query.query.window else None
            if measure is not ast.WindowMeasure.EVENTS_PER_PARTITION:
                for key in self._alternative.partition_keys:
                    name = key.attributes[0]
                    if len(set(key.attributes)) == 1 and self._is_everywhere(name):
                        attributes.append(name)
        return tuple(dict.fromkeys(attributes))

    def _is_everywhere(self, attribute: str) -> bool:
        """Whether all events of a match, and those that could violate it, have this key."""
        return all(
            self._schema.has_attribute(name, attribute)
            for component in self._components
            for name in component.types
        ) and all(_is_tied(negated, attribute) for negated in self._alternative.negations)

    # --- clauses

    def _least(self, component: ast.Component) -> int:
        """A Kleene component is left with at least as many events as the conditions name."""
        if component.bounds is None:
            return 1
        named = [c.least_lengths.get(component.variable, 1) for c in self._alternative.clauses]
        return max(component.bounds.least, *named, 1)

    def _place(self, ix: int, phase: Phase) -> tuple[EventTest, int]:
        """The test of an event and the predicate for this component and phase."""
        component = self._components[ix]
        self._state = 2 * ix if phase is Phase.BEGIN else 2 * ix + 1
        on_event: list[tuple[ast.Expression, ...]] = []
        across: list[Test] = []
        for clause in self._clauses_at(ix, phase):
            if phase is not Phase.FINAL and self._is_on_event(clause, component, phase):
                on_event.append(clause.literals)
            else:
                self._check_attributes(clause, self._components)
                across.append(self._test(clause, ix, phase))
        present: list[str] = []
        for test in self._query.equivalences if phase is not Phase.FINAL else ():
            if test.value is not None:
                here = ast.Attribute(component.variable, test.attribute)
                on_event.append((ast.Comparison("=", here, test.value),))
            if self._query.query.strategy is ast.SelectionStrategy.STRICT_CONTIGUITY:
                present.append(test.attribute)
                if ix > 0 or phase is Phase.TAKE:
                    same = self._same_as_first(component, test.attribute)
                    own = component.variable
                    across.append(Test(same, partial(self._resolve, own=own, phase=phase)))
        number = layout.NONE
        if across:
            number = self._writer.add(across)
            self._edges.append((number, f"{component.variable}_{phase.value}"))
        return self._event_test(component, phase, on_event, present), number

    def _event_test(
        self,
        component: ast.Component,
        phase: Phase,
        clauses: list[tuple[ast.Expression, ...]],
        present: list[str],
    ) -> EventTest:
        """The test of an event alone, as far as possible in generated code."""
        resolve = partial(self._resolve, own=component.variable, phase=phase)
        generated: list[Test] = []
        others: list[tuple[ast.Expression, ...]] = []
        for literals in clauses:
            test = Test(literals[0] if len(literals) == 1 else ast.Or(literals), resolve)
            if self._has_attributes(component, literals) and self._writer.can_add(test):
                generated.append(test)
            else:
                others.append(literals)
        number = self._writer.add(generated) if generated else layout.NONE
        return EventTest(component.types, number, tuple(others), tuple(present))

    def _has_attributes(
        self, component: ast.Component, literals: tuple[ast.Expression, ...]
    ) -> bool:
        return all(
            self._schema.has_attribute(name, attribute)
            for literal in literals
            for node in literal.walk()
            if (attribute := getattr(node, "attribute", None)) is not None
            for name in component.types
        )

    def _clauses_at(self, ix: int, phase: Phase) -> list[Clause]:
        """The clauses that are tested here: those whose last identifier it is."""
        found = []
        variable = self._components[ix].variable
        for clause in self._alternative.clauses:
            if clause.component_ix is None:
                if ix == 0 and phase is Phase.BEGIN:
                    found.append(clause)
                continue
            self._check_ranges(clause)
            at_end = clause.edge is Edge.PROCEED
            if phase is Phase.FINAL:
                here = at_end and clause.component_ix == ix
            elif phase is Phase.TAKE:
                here = clause.edge is Edge.TAKE and clause.component_ix == ix
            else:
                here = (at_end and clause.component_ix == ix - 1) or (
                    clause.component_ix == ix
                    and (clause.edge is Edge.BEGIN or clause.ranges.get(variable) == 1)
                    and not at_end
                )
            if here:
                found.append(clause)
        return found

    def _check_ranges(self, clause: Clause) -> None:
        assert clause.component_ix is not None
        here = self._components[clause.component_ix].variable
        for variable in clause.ranges:
            if variable != here or clause.edge is not Edge.TAKE:
                raise Untranslatable(
                    f"every event of {variable}[] is compared with what is known only later"
                )
            if clause.least_lengths.get(variable, 1) > 1:
                raise Untranslatable(f"every event of {variable}[] is compared with a numbered one")

    def _is_on_event(self, clause: Clause, component: ast.Component, phase: Phase) -> bool:
        """Whether all that the clause speaks of is the event at hand."""
        for literal in clause.literals:
            for node in literal.walk():
                match node:
                    case ast.Attribute(variable) if variable == component.variable:
                        continue
                    case ast.Element(variable, ast.Index.CURRENT, _):
                        if variable == component.variable:
                            continue
                        return False
                    case ast.Element(variable, 1, _):
                        if variable == component.variable and phase is Phase.BEGIN:
                            continue
                        return False
                    case ast.Attribute() | ast.Element() | ast.Length() | ast.Aggregate():
                        return False
        return True

    def _test(self, clause: Clause, ix: int, phase: Phase) -> Test:
        """The test of a clause; one on a numbered element is made at that element only."""
        variable = self._components[ix].variable
        if phase is not Phase.TAKE or clause.ranges:
            return Test(clause.expression, partial(self._resolve, own=variable, phase=phase))
        number = clause.least_lengths[variable]
        length = self._register(variable, "length", None, Storage.INT)
        return Test(
            clause.expression,
            partial(self._resolve, own=variable, phase=phase, at=number),
            f"I(c[0])[r * c[5] + {length}] == {number - 1}",
        )

    def _same_as_first(self, component: ast.Component, attribute: str) -> ast.Expression:
        first = self._components[0]
        here: ast.Expression = ast.Attribute(component.variable, attribute)
        if component.is_kleene:
            here = ast.Element(component.variable, ast.Index.CURRENT, attribute)
        there: ast.Expression = ast.Attribute(first.variable, attribute)
        if first.is_kleene:
            there = ast.Element(first.variable, 1, attribute)
        return ast.Comparison("=", here, there)

    def _check_attributes(self, clause: Clause, components: tuple[ast.Component, ...]) -> None:
        for component in components:
            for literal in clause.literals:
                for node in literal.walk():
                    attribute = getattr(node, "attribute", None)
                    if getattr(node, "variable", None) == component.variable and attribute:
                        for name in component.types:
                            if not self._schema.has_attribute(name, attribute):
                                raise Untranslatable(
                                    f"{name} has no attribute '{attribute}', and a condition "
                                    "compares it across events"
                                )

    # --- what a name is where it is tested

    def _resolve(self, node: ast.Node, own: str, phase: Phase, at: int | None = None) -> Value:
        """Code for a leaf where an event of variable ``own`` is at hand.

        ``at`` is the number of that event among those of the variable, where it is known.
        """
        match node:
            case ast.Attribute(variable, attribute):
                if variable == own:
                    return self._current(attribute)
                return self._stored(variable, "value", attribute)
            case ast.Element(variable, ast.Index.CURRENT, attribute):
                return self._current(attribute)
            case ast.Element(variable, ast.Index.PREVIOUS | ast.Index.LAST, attribute):
                return self._stored(variable, "last", attribute)
            case ast.Element(variable, int(number), attribute):
                if variable == own and number == (1 if phase is Phase.BEGIN else at):
                    return self._current(attribute)
                return self._stored(variable, f"at {number}", attribute)
            case ast.Length(variable) | ast.Aggregate("count", variable, _, None):
                return self._stored(variable, "length", None)
            case ast.Aggregate(function, variable, _, attribute):
                return self._aggregate(function, variable, attribute)
        raise AssertionError(f"{node!r} is not a leaf")

    def _current(self, attribute: str) -> Value:
        kind = self._schema.kind(attribute)
        column = self._column(attribute)
        pointer = "F" if self._columns[attribute] is Storage.FLOAT else "I"
        known = f"c[{column + 1}] == 0 or B(c[{column + 1}])[i] != 0"
        return self._read(attribute, Value(f"{pointer}(c[{column}])[i]", known, kind))

    def _read(self, attribute: str, value: Value) -> Value:
        """What was kept of an attribute, as its value: a list is found by its event's number."""
        if value.kind is not Kind.LIST:
            return value
        place = list(self._columns).index(attribute)
        return replace(value, code=f"L(c[{layout.CONTEXT_LISTS}], {place}, {value.code})")

    def _stored(self, variable: str, role: str, attribute: str | None) -> Value:
        kind = Kind.INTEGER if attribute is None else self._schema.kind(attribute)
        if role == "count":
            kind = Kind.INTEGER
        storage = Storage.INT if attribute is None else storage_of(kind, attribute)
        register = self._register(variable, role, attribute, storage)
        if storage is Storage.FLOAT:
            code = f"F(c[1])[r * c[6] + {register}]"
        else:
            code = f"I(c[0])[r * c[5] + {register}]"
        value = Value(code, f"(I(c[2])[r] >> {register}) & 1 != 0", kind)
        return value if attribute is None else self._read(attribute, value)

    def _aggregate(self, function: str, variable: str, attribute: str | None) -> Value:
        assert attribute is not None
        if function in ("first", "last"):
            return self._stored(variable, "last" if function == "last" else "at 1", attribute)
        if function != "avg":
            return self._stored(variable, function, attribute)
        total = self._stored(variable, "sum", attribute)
        count = self._stored(variable, "count", attribute)
        # The count is positive wherever the sum is known.
        return Value(f"float({total.code}) / float(max({count.code}, 1))", total.known, Kind.FLOAT)

    def _column(self, attribute: str) -> int:
        """The place of a column in the context."""
        kind = self._schema.kind(attribute)
        self._columns.setdefault(attribute, storage_of(kind, attribute))
        return layout.CONTEXT_COLUMNS + 2 * list(self._columns).index(attribute)

    def _register(self, variable: str, role: str, attribute: str | None, storage: Storage) -> int:
        if role == "count" or storage is Storage.LIST:
            storage = Storage.INT
        register = _Register(variable, role, attribute)
        self._registers.setdefault(register, storage)
        self._read_until[register] = max(self._read_until.get(register, 0), self._state)
        if role.startswith("at ") and role != "at 1":
            # The length is read whenever an event is taken, to know which one it is.
            length = _Register(variable, "length", None)
            inside = 2 * [c.variable for c in self._components].index(variable) + 1
            self._registers.setdefault(length, Storage.INT)
            self._read_until[length] = max(self._read_until.get(length, 0), inside)
        if len(self._registers) > layout.MAX_REGISTERS:
            raise Untranslatable("its conditions compare too many values across events")
        if attribute is not None:
            self._column(attribute)
        return list(self._registers).index(register)

    # --- updates

    def _updates(self, component: ast.Component, phase: Phase) -> tuple[Update, ...]:
        """What selecting an event does to the registers of its variable, lengths last."""
        found = []
        for number, (register, storage) in enumerate(self._registers.items()):
            if register.variable == component.variable:
                update = self._one_update(register, storage, number, phase)
                if update is not None:
                    found.append(update)
        return tuple(sorted(found, key=lambda update: update.operation == layout.LENGTH))

    def _one_update(
        self, register: _Register, storage: Storage, number: int, phase: Phase
    ) -> Update | None:
        is_float = storage is Storage.FLOAT
        attribute = register.attribute
        if register.role == "length":
            return Update(layout.LENGTH, None, number)
        if register.role == "count":
            return Update(layout.COUNT, attribute, number)
        if register.role in ("min", "max", "sum"):
            pair = {
                "min": (layout.MIN_INT, layout.MIN_FLOAT),
                "max": (layout.MAX_INT, layout.MAX_FLOAT),
                "sum": (layout.SUM_INT, layout.SUM_FLOAT),
            }[register.role]
            return Update(pair[is_float], attribute, number)
        if register.role.startswith("at "):
            element = int(register.role.removeprefix("at "))
            if (element == 1) is not (phase is Phase.BEGIN):
                return None
            if element > 1:
                length = list(self._registers).index(_Register(register.variable, "length", None))
                operation = layout.SET_FLOAT_AT if is_float else layout.SET_INT_AT
                return Update(operation, attribute, number, element, length)
        return Update(layout.SET_FLOAT if is_float else layout.SET_INT, attribute, number)


def _is_tied(negated: NegatedComponent, attribute: str) -> bool:
    """Whether a condition equates the attribute of the negated component with a match's."""
    own = negated.component.variable
    for clause in negated.clauses:
        match clause.literals:
            case (ast.Comparison("=", ast.Attribute() as left, ast.Attribute() as right),):
                if own in (left.variable, right.variable) and (
                    left.attribute == right.attribute == attribute
                ):
                    return True
    return False
