"""The value vector of a run: the values of selected events that later predicates read.

A register holds one value of a variable; an update changes it when an event is selected
[Agrawal08 §5.2.1]. Registers are allocated while predicates are generated, so that a run
keeps only values that are read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cepheid.aggregates import AGGREGATES, DEVIATIONS, FIRST, LAST, SUM, TOTAL
from cepheid.analysis.kinds import attribute_kind
from cepheid.codegen import context_reads, layout
from cepheid.codegen.expressions import Storage, Untranslatable, Value, storage_of
from cepheid.codegen.steps import Phase, StoredValue, Update
from cepheid.language import syntax as ast
from cepheid.schema import Kind, Schema

ROUGH_SUM = "rough sum"
"""The role of a register that sums integers as floats."""
_MEAN, _NUMBER = "mean", "number"
"""The roles of the registers that deviations from the mean are computed with."""
_WRAP = f"{2.0**64}"

_OPERATIONS = {
    "length": (layout.LENGTH, layout.LENGTH),
    "count": (layout.COUNT, layout.COUNT),
    _NUMBER: (layout.COUNT, layout.COUNT),
    "min": (layout.MIN_INT, layout.MIN_FLOAT),
    "max": (layout.MAX_INT, layout.MAX_FLOAT),
    "sum": (layout.SUM_INT, layout.SUM_FLOAT),
    ROUGH_SUM: (layout.SUM_AS_FLOAT, layout.SUM_AS_FLOAT),
}
"""The update of an integer and of a float register with a role; others are set."""
_OF_STRINGS = {"min": layout.MIN_STRING, "max": layout.MAX_STRING}


@dataclass(frozen=True, slots=True)
class Register:
    """The value in a register; ``role`` is value, last, length, at 2, min and so on."""

    variable: str
    role: str
    attribute: str | None


class ValueVector:
    """The columns and registers that the predicates of an automaton read.

    ``state`` is the last state in which the condition being compiled is tested. Runs with
    different values in a register are distinct until the last state in which it is read.
    """

    def __init__(self, schema: Schema, components: tuple[ast.Component, ...]) -> None:
        self._schema = schema
        self._components = components
        self.columns: dict[str, Storage] = {}
        self.registers: dict[Register, Storage] = {}
        self.state = 0
        self._read_until: dict[Register, int] = {}

    @property
    def stored_values(self) -> tuple[StoredValue, ...]:
        """What each register holds: a variable, a role and an attribute."""
        return tuple((each.variable, each.role, each.attribute) for each in self.registers)

    @property
    def read_until(self) -> tuple[int, ...]:
        """The last state in which each register is read."""
        return tuple(self._read_until[register] for register in self.registers)

    def resolve(self, node: ast.Node, own: str, phase: Phase, at: int | None = None) -> Value:
        """Code for a leaf if the current event is one of variable ``own``.

        ``at`` is the number of that event within the variable, if it is known.
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
        return self._value_in("event", attribute)

    def _value_in(self, row: str, attribute: str) -> Value:
        """The attribute of the event in a row, which is generated code."""
        column = self.column(attribute)
        is_float = self.columns[attribute] is Storage.FLOAT
        code = context_reads.column_value(column, is_float, row)
        known = context_reads.column_known(column, row)
        return self._read(attribute, Value(code, known, self._kind(attribute)))

    def _read(self, attribute: str, value: Value) -> Value:
        """The value of an attribute, given its stored form: a list is found by event number."""
        if value.kind is not Kind.LIST:
            return value
        return replace(value, code=context_reads.list_value(self.column(attribute), value.code))

    def _stored(self, variable: str, role: str, attribute: str | None) -> Value:
        kind = Kind.INTEGER if attribute is None else self._kind(attribute)
        if role in ("count", _NUMBER):
            kind = Kind.INTEGER
        elif role in (ROUGH_SUM, DEVIATIONS, _MEAN):
            kind = Kind.FLOAT
        storage = Storage.INT if attribute is None else storage_of(kind, attribute)
        register = self.register(variable, role, attribute, storage)
        code = context_reads.register_value(register, storage is Storage.FLOAT)
        value = Value(code, context_reads.register_known(register), kind)
        return value if attribute is None else self._read(attribute, value)

    def _aggregate(self, function: str, variable: str, attribute: str | None) -> Value:
        assert attribute is not None
        aggregate = AGGREGATES[function]
        if not aggregate.folds:
            raise Untranslatable(f"{function} needs all values of a list together")
        folds = [self._fold(fold, variable, attribute) for fold in aggregate.folds]
        if aggregate.native is None:
            return folds[0]
        code = aggregate.native(*(f"float({fold.code})" for fold in folds))
        known = " and ".join(f"({fold.known})" for fold in folds)
        return Value(f"({code})", f"{known} and ({code}) == ({code})", Kind.FLOAT)

    def _fold(self, fold: str, variable: str, attribute: str) -> Value:
        """A running value of the attribute, over the events of a list so far."""
        if fold in (FIRST, LAST):
            return self._stored(variable, "last" if fold == LAST else "at 1", attribute)
        if fold == DEVIATIONS:
            # In this order they are updated.
            found, _, _ = (self._stored(variable, r, attribute) for r in (fold, _MEAN, _NUMBER))
            return found
        if fold in (SUM, TOTAL):
            return self._sum(fold, variable, attribute)
        return self._stored(variable, fold, attribute)

    def _sum(self, fold: str, variable: str, attribute: str) -> Value:
        """A sum, or as a total a float. A sum of integers is null if 64 bits do not hold it.

        It is then off by a multiple of 2**64, which a sum in floats reveals.
        """
        total = self._stored(variable, "sum", attribute)
        number, known = f"float({total.code})", f"{total.code} == {total.code}"
        if self.columns[attribute] is Storage.INT:
            rough = self._stored(variable, ROUGH_SUM, attribute)
            wraps = f"round(({rough.code} - {number}) / {_WRAP})"
            number, known = f"({number} + {_WRAP} * {wraps})", f"{wraps} == 0"
        if fold == SUM:
            return replace(total, known=f"({total.known}) and {known}")
        return Value(number, f"({total.known}) and {number} == {number}", Kind.FLOAT)

    def _kind(self, attribute: str) -> Kind:
        return attribute_kind(attribute, self._schema)

    def column(self, attribute: str) -> int:
        """The number of a column, which is added if it is not there."""
        if attribute not in self.columns:
            self.columns[attribute] = storage_of(self._kind(attribute), attribute)
        return list(self.columns).index(attribute)

    def register(self, variable: str, role: str, attribute: str | None, storage: Storage) -> int:
        """The number of a register, which is added if it is not there."""
        if role in ("count", _NUMBER) or storage is Storage.LIST:
            storage = Storage.INT
        register = Register(variable, role, attribute)
        self.registers.setdefault(register, storage)
        self._read_until[register] = max(self._read_until.get(register, 0), self.state)
        if role.startswith("at ") and role != "at 1":
            # The length is read whenever an event is taken, to know its number.
            length = Register(variable, "length", None)
            inside = 2 * [c.variable for c in self._components].index(variable) + 1
            self.registers.setdefault(length, Storage.INT)
            self._read_until[length] = max(self._read_until.get(length, 0), inside)
        if len(self.registers) > layout.MAX_REGISTERS:
            raise Untranslatable("its conditions compare too many values across events")
        if attribute is not None:
            self.column(attribute)
        return list(self.registers).index(register)

    # --- updates

    def updates(self, variable: str, phase: Phase) -> tuple[Update, ...]:
        """The updates of the registers of a variable when an event is selected, lengths last."""
        found = []
        for number, (register, storage) in enumerate(self.registers.items()):
            if register.variable == variable:
                update = self._one_update(register, storage, number, phase)
                if update is not None:
                    found.append(update)
        return tuple(sorted(found, key=lambda update: update.operation == layout.LENGTH))

    def _one_update(
        self, register: Register, storage: Storage, number: int, phase: Phase
    ) -> Update | None:
        role, attribute, is_float = register.role, register.attribute, storage is Storage.FLOAT
        if role.startswith("at "):
            element = int(role.removeprefix("at "))
            if (element == 1) is not (phase is Phase.BEGIN):
                return None
            if element > 1:
                length = list(self.registers).index(Register(register.variable, "length", None))
                operation = layout.SET_FLOAT_AT if is_float else layout.SET_INT_AT
                return Update(operation, attribute, number, element, length)
        if role in (DEVIATIONS, _MEAN):
            numbers = list(self.registers)
            mean, count = (numbers.index(replace(register, role=each)) for each in (_MEAN, _NUMBER))
            assert attribute is not None
            is_float = self.columns[attribute] is Storage.FLOAT
            if role == DEVIATIONS:
                operation = layout.DEVIATIONS_FLOAT if is_float else layout.DEVIATIONS_INT
            else:
                operation = layout.MEAN_FLOAT if is_float else layout.MEAN_INT
            return Update(operation, attribute, number, mean, count)
        operation = _OPERATIONS.get(role, (layout.SET_INT, layout.SET_FLOAT))[is_float]
        if attribute is not None and self._kind(attribute) is Kind.STRING:
            operation = _OF_STRINGS.get(role, operation)
        return Update(operation, attribute, number)
