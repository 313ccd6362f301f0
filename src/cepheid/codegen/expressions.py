"""Expressions as generated code.

Attributes are numbered columns and registers, and literals are numbered constants. No part of the
query text reaches the source. A query therefore cannot inject code, and queries of the same shape
share compiled code.

Every expression becomes a value and whether that value is known; null means unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from cepheid.analysis.needs import RANK, STRING_FUNCTIONS
from cepheid.codegen import context_reads
from cepheid.codegen.layout import KIND_NOT_KNOWN
from cepheid.functions import EXTREMES, Function, Uncallable, find_function
from cepheid.language import syntax as ast
from cepheid.language.units import microseconds
from cepheid.schema import Kind, sources_of

_INT_KINDS = (Kind.INTEGER, Kind.BOOLEAN, Kind.STRING, Kind.TIMESTAMP, Kind.DATE, Kind.DURATION)
_ROUNDED = {"floor": "math.floor", "ceil": "math.ceil"}
_LEAST_FLOAT = "-9223372036854775808.0"
"""The minimum of int64; values from its opposite on do not fit."""

_EXACT = {
    "+": "(({0} ^ {2}) & ({1} ^ {2})) >= 0",
    "-": "(({0} ^ {1}) & ({0} ^ {2})) >= 0",
    "*": "abs(float({0}) * float({1}) - float({2})) < 1e18",
}
"""Whether the result fits into 64 bits; otherwise its sign is wrong, or it is off by 2**64."""

_MOST_OPTIONS = 256
"""A longer IN would take long to compile; on single events, vectorised code is as fast."""

_GUARDED = {
    "sqrt": ("math.sqrt", "{0} >= 0"),
    "ln": ("math.log", "{0} > 0"),
    "log10": ("math.log10", "{0} > 0"),
    "exp": ("math.exp", "{0} < 709.78"),
}


class Untranslatable(Exception):
    """An expression that generated code cannot compute; the message says why."""


class Storage(Enum):
    """How values are stored: integers, string codes and times as int64, others as float64.

    A list is stored as the number of its event.
    """

    INT = "int"
    FLOAT = "float"
    LIST = "list"


def storage_of(kind: Kind, attribute: str) -> Storage:
    """How the values of an attribute are stored."""
    if kind is Kind.FLOAT:
        return Storage.FLOAT
    if kind in _INT_KINDS:
        return Storage.INT
    if kind is Kind.LIST:
        return Storage.LIST
    if kind is Kind.UNKNOWN:
        name = min(sources_of(attribute))
        raise Untranslatable(
            f"the kind of '{name}' {KIND_NOT_KNOWN}; "
            f"declare it with schema={{'A': {{'{name}': 'integer'}}, …}}, or type the column"
        )
    raise Untranslatable(
        f"'{attribute}' is of kind {kind.value}, which is not compared across events"
    )


@dataclass(frozen=True, slots=True)
class Value:
    """Generated code for a value: an expression, whether it is known, and its kind."""

    code: str
    known: str
    kind: Kind


Resolve = Callable[[ast.Node], Value]
"""Gives the code for an attribute, element, length or aggregate where it is tested."""


class Statements:
    """The statements of one predicate, which compute the values of expressions."""

    def __init__(
        self,
        constants: list[int | float | str],
        functions: list[str],
        compute: Callable[[ast.Expression], ast.Expression] = lambda node: node,
        *,
        is_on_event: bool = False,
    ) -> None:
        self._compute = compute
        self._is_on_event = is_on_event
        self.lines: list[str] = []
        self._constants = constants
        self._functions = functions
        self._names = 0

    def _name(self, code: str) -> str:
        name = f"v{self._names}"
        self._names += 1
        self.lines.append(f"{name} = {code}")
        return name

    def _named(self, code: str, known: str, kind: Kind) -> Value:
        known_name = known if known == "True" else self._name(known)
        # An unknown list cannot be read.
        return Value(code if kind is Kind.LIST else self._name(code), known_name, kind)

    def value(self, node: ast.Expression, resolve: Resolve) -> Value:
        """The code of an expression; statements that it needs are added."""

        def value_of(part: ast.Expression) -> Value:
            return self.value(part, resolve)

        node = self._compute(node)
        match node:
            case ast.Literal(None):
                return Value("0", "False", Kind.UNKNOWN)
            case ast.Literal(literal):
                return self._literal(literal)
            case ast.Duration(amount, unit):
                return Value(str(microseconds(amount, unit)), "True", Kind.DURATION)
            case ast.Attribute() | ast.Element() | ast.Length() | ast.Aggregate():
                resolved = resolve(node)
                return self._named(resolved.code, resolved.known, resolved.kind)
            case ast.Negative(operand):
                value = value_of(operand)
                if value.kind is not Kind.INTEGER or isinstance(operand, ast.Literal):
                    return Value(f"(-{value.code})", value.known, value.kind)
                number = self._name(value.code)
                return self._named(f"-{number}", _both(value.known, _fits(number)), Kind.INTEGER)
            case ast.Arithmetic("%", left, ast.Literal(int(divisor))) if divisor > 0:
                # A constant divisor needs no division instruction.
                value = value_of(left)
                if value.kind in (Kind.INTEGER, Kind.BOOLEAN):
                    return self._named(f"{value.code} % {divisor}", value.known, Kind.INTEGER)
                return self._arithmetic("%", value, self._literal(divisor))
            case ast.Arithmetic(
                "*", ast.Literal(int(times)), ast.Duration(amount, unit)
            ) | ast.Arithmetic("*", ast.Duration(amount, unit), ast.Literal(int(times))):
                return value_of(ast.Duration(times * amount, unit))
            case ast.Arithmetic(operator, left, right):
                return self._arithmetic(operator, value_of(left), value_of(right))
            case ast.Call(function, arguments):
                return self._call(function, [value_of(argument) for argument in arguments])
            case ast.Case(branches, otherwise):
                tests = [self._used_often(value_of(condition)) for condition, _ in branches]
                conditions = [f"({test.known}) and {test.code}" for test in tests]
                values = [value_of(value) for _, value in branches]
                return self._chosen(conditions, [*values, value_of(otherwise)])
            case ast.Comparison(operator, left, right):
                return self._comparison(operator, value_of(left), value_of(right))
            case ast.Between(operand, low, high):
                value = self._used_often(value_of(operand))
                ends = ((">=", low), ("<=", high))
                tests = [self._comparison(sign, value, value_of(end)) for sign, end in ends]
                return self._logic(True, tests)
            case ast.In(operand, options):
                if len(options) > _MOST_OPTIONS:
                    raise Untranslatable(f"IN has more than {_MOST_OPTIONS} values")
                value = self._used_often(value_of(operand))
                others = list(map(value_of, options))
                if _are_constants(value, options, others):
                    equal = [f"({value.code} == {other.code})" for other in others]
                    return self._named(" | ".join(equal), value.known, Kind.BOOLEAN)
                tests = [self._comparison("=", value, other) for other in others]
                return self._logic(False, tests)
            case ast.IsNull(operand):
                value = value_of(operand)
                return Value(f"(not {value.known})", "True", Kind.BOOLEAN)
            case ast.Not(operand):
                value = value_of(operand)
                return Value(f"(not {value.code})", value.known, Kind.BOOLEAN)
            case ast.And(operands) | ast.Or(operands):
                return self._logic(isinstance(node, ast.And), [value_of(o) for o in operands])
            case ast.Like():
                raise Untranslatable("LIKE is tested on single events only")
        raise Untranslatable(f"{type(node).__name__} is not tested across events")

    def _chosen(self, conditions: list[str], values: list[Value]) -> Value:
        """The first value whose condition is true, or else the last one."""
        kinds = {value.kind for value in values} - {Kind.UNKNOWN}
        if kinds == {Kind.INTEGER, Kind.FLOAT}:
            kinds = {Kind.FLOAT}
        if len(kinds) > 1 or kinds & {Kind.LIST, Kind.OTHER}:
            raise Untranslatable("values of different kinds are chosen across events")
        kind = next(iter(kinds), Kind.UNKNOWN)
        convert = {Kind.FLOAT: "float", Kind.BOOLEAN: "bool"}.get(kind, "")
        code, known = f"{convert}({values[-1].code})", f"({values[-1].known})"
        for condition, value in reversed([*zip(conditions, values[:-1], strict=True)]):
            test = self._name(condition)
            code = f"({convert}({value.code}) if {test} else {code})"
            known = f"(({value.known}) if {test} else {known})"
        return self._named(code, known, kind)

    def _used_often(self, value: Value) -> Value:
        """The value under a name, so that its code is not repeated at each use."""
        if value.code.isidentifier() or value.known == "False":
            return value
        return self._named(value.code, value.known, value.kind)

    def _literal(self, value: int | float | str | bool | None) -> Value:
        assert value is not None
        if isinstance(value, bool):
            return Value(str(value), "True", Kind.BOOLEAN)
        if isinstance(value, int) and value == 0:  # A literal zero is optimised better.
            return Value("0", "True", Kind.INTEGER)
        same = [
            ix
            for ix, constant in enumerate(self._constants)
            if type(constant) is type(value) and constant == value
        ]
        place = same[0] if same else len(self._constants)
        if not same:
            self._constants.append(value)
        if isinstance(value, float):
            return Value(context_reads.constant(place, is_float=True), "True", Kind.FLOAT)
        kind = Kind.STRING if isinstance(value, str) else Kind.INTEGER
        return Value(context_reads.constant(place, is_float=False), "True", kind)

    def _comparison(self, operator: str, a: Value, b: Value) -> Value:
        kinds = {a.kind, b.kind}
        if Kind.STRING in kinds:
            if kinds - {Kind.STRING, Kind.UNKNOWN}:
                raise Untranslatable("a string is compared with a time across events")
            if operator not in ("=", "!="):
                a, b = (self._of_string(RANK, each, Kind.INTEGER) for each in (a, b))
        symbol = "==" if operator == "=" else operator
        return self._named(f"{a.code} {symbol} {b.code}", _both(a.known, b.known), Kind.BOOLEAN)

    def _extreme_string(self, function: str, strings: list[Value]) -> Value:
        """The least or greatest of several strings; unknown if one of them is."""
        best, *others = map(self._used_often, strings)
        for other in others:
            first = self._comparison("<=" if function == "least" else ">=", best, other)
            code = f"{best.code} if {first.code} else {other.code}"
            best = self._named(code, first.known, Kind.STRING)
        return best

    def _of_string(self, operation: str, string: Value, kind: Kind) -> Value:
        """The result of a string operation; on single events, vectorised code is faster."""
        if self._is_on_event:
            raise Untranslatable(f"{operation} of a string is looked up across events only")
        code = context_reads.string_result(operation.upper(), string.code)
        return self._named(code, string.known, kind)

    def _arithmetic(self, operator: str, a: Value, b: Value) -> Value:
        known = _both(a.known, b.known)
        times = (Kind.TIMESTAMP, Kind.DATE)
        if Kind.STRING in (a.kind, b.kind):
            raise Untranslatable("strings have no arithmetic")
        if a.kind in times and b.kind in times:
            return Value(f"({a.code} - {b.code})", known, Kind.DURATION)
        if a.kind in times or b.kind in times:
            return Value(f"({a.code} {operator} {b.code})", known, Kind.TIMESTAMP)
        if Kind.DURATION in (a.kind, b.kind) and operator in "*/":
            raise Untranslatable("a duration is scaled across events")
        if operator in "/%":
            divisor = self._name(b.code)
            known = _both(known, f"{divisor} != 0")
            safe = f"({divisor} if {divisor} != 0 else 1)"
            if operator == "/":
                return self._number(f"float({a.code}) / float({safe})", known)
            if _wider(a, b) is Kind.FLOAT:
                return self._number(f"{a.code} % {safe}", known)
            return self._named(f"{a.code} % {safe}", known, Kind.INTEGER)
        if Kind.DURATION in (a.kind, b.kind):
            return Value(f"({a.code} {operator} {b.code})", known, Kind.DURATION)
        if _wider(a, b) is Kind.FLOAT:
            return self._number(f"{a.code} {operator} {b.code}", known)
        x, y = self._name(a.code), self._name(b.code)
        result = self._name(f"{x} {operator} {y}")
        known = self._name(_both(known, _EXACT[operator].format(x, y, result)))
        return Value(result, known, Kind.INTEGER)

    def _number(self, code: str, known: str) -> Value:
        """A float, which is known unless it is NaN."""
        result = self._name(code)
        return Value(result, self._name(_both(known, f"{result} == {result}")), Kind.FLOAT)

    def _logic(self, is_and: bool, values: list[Value]) -> Value:
        """Three-valued AND and OR: one operand may decide."""
        result = values[0]
        for value in values[1:]:
            a, b = (self._named(f"bool({v.code})", v.known, Kind.BOOLEAN) for v in (result, value))
            decides = "not " if is_and else ""
            either = (
                f"({_both(a.known, b.known)}) or ({a.known} and {decides}{a.code})"
                f" or ({b.known} and {decides}{b.code})"
            )
            truth = (
                f"not (({a.known} and not {a.code}) or ({b.known} and not {b.code}))"
                if is_and
                else f"({a.known} and {a.code}) or ({b.known} and {b.code})"
            )
            known = "True" if a.known == b.known == "True" else either
            result = self._named(truth, known, Kind.BOOLEAN)
        return result

    def _registered(self, function: Function, arguments: list[Value]) -> Value:
        """A call of a registered function, made only if all arguments are known."""
        assert function.compile is not None
        if any(argument.known == "False" for argument in arguments):
            return Value("0", "False", Kind.UNKNOWN)
        kinds = tuple(argument.kind for argument in arguments)
        if Kind.OTHER in kinds or Kind.UNKNOWN in kinds:
            raise Untranslatable(f"{function.name} is called with a value that has no known kind")
        try:
            compiled = function.compile(kinds)
        except Uncallable as reason:
            raise Untranslatable(f"{function.name} is not compiled: {reason}") from None
        if compiled.key not in self._functions:
            self._functions.append(compiled.key)
        known, codes = "True", []
        for argument in arguments:
            known = _both(known, argument.known)
            if argument.kind is Kind.BOOLEAN:
                codes.append(f"bool({argument.code})")
            else:
                copied = argument.kind is Kind.LIST and compiled.changes_lists
                codes.append(f"{argument.code}.copy()" if copied else argument.code)
        nothing = {Kind.FLOAT: "0.0", Kind.BOOLEAN: "False"}.get(compiled.result, "0")
        value, is_value = self._name(nothing), self._name("False")
        call = f"function_{self._functions.index(compiled.key)}({', '.join(codes)})"
        self.lines += [f"if {known}:", f"    {value}, {is_value} = {call}"]
        return Value(value, is_value, compiled.result)

    def _call(self, function: str, arguments: list[Value]) -> Value:
        found = find_function(function)
        if found is not None and found.compile is not None:
            return self._registered(found, arguments)
        if function == "coalesce":
            named = [self._used_often(argument) for argument in arguments]
            return self._chosen([value.known for value in named[:-1]], named)
        if function == "nullif":
            value, other = map(self._used_often, arguments)
            same = self._comparison("=", value, other)
            known = _both(same.known, f"not {same.code}")
            return self._named(value.code, known, value.kind)
        if function in STRING_FUNCTIONS and arguments[0].kind is Kind.STRING:
            kind = Kind.INTEGER if function == "length" else Kind.STRING
            return self._of_string(function, arguments[0], kind)
        if function in EXTREMES and {argument.kind for argument in arguments} == {Kind.STRING}:
            return self._extreme_string(function, arguments)
        known = "True"
        for argument in arguments:
            if argument.kind in (Kind.STRING, Kind.LIST, Kind.OTHER, Kind.UNKNOWN):
                raise Untranslatable(f"{function} of a string is not computed across events")
            known = _both(known, argument.known)
        codes = [self._name(argument.code) for argument in arguments]
        kind = Kind.FLOAT if any(a.kind is Kind.FLOAT for a in arguments) else Kind.INTEGER
        if function == "abs":
            fits = _fits(codes[0]) if kind is Kind.INTEGER else "True"
            return self._named(f"abs({codes[0]})", _both(known, fits), kind)
        if function == "sign":
            return self._named(f"({codes[0]} > 0) - ({codes[0]} < 0)", known, Kind.INTEGER)
        if function in _ROUNDED and kind is Kind.INTEGER:
            return Value(codes[0], known, kind)
        if function in _ROUNDED:
            fits = self._name(f"{_LEAST_FLOAT} <= {codes[0]} < -({_LEAST_FLOAT})")
            code = f"int({_ROUNDED[function]}({codes[0]})) if {fits} else 0"
            return self._named(code, _both(known, fits), Kind.INTEGER)
        if function in _GUARDED:
            called, guard = _GUARDED[function]
            possible = self._name(guard.format(codes[0]))
            code = f"{called}(float({codes[0]})) if {possible} else 0.0"
            return self._named(code, _both(known, possible), Kind.FLOAT)
        if function == "power":
            result = self._name(f"math.pow(float({codes[0]}), float({codes[1]}))")
            is_odd = f"math.isinf({codes[0]}) or math.isinf({codes[1]})"
            return Value(result, _both(known, f"math.isfinite({result}) or {is_odd}"), Kind.FLOAT)
        if function == "round":
            # Rounds half away from zero; the remainder above an integer is exact.
            scale = self._name(f"10.0 ** {codes[1]}" if len(codes) > 1 else "1.0")
            above = self._name(f"abs({codes[0]}) * {scale} + 0.5")
            result = self._name(f"math.copysign(({above} - {above} % 1.0) / {scale}, {codes[0]})")
            return Value(result, _both(known, f"math.isfinite({result})"), Kind.FLOAT)
        if function in EXTREMES:
            code = f"{'min' if function == 'least' else 'max'}({', '.join(codes)})"
            if all(each.kind in (Kind.TIMESTAMP, Kind.DATE, Kind.DURATION) for each in arguments):
                kind = arguments[0].kind
            return self._named(code, known, kind)
        raise Untranslatable(f"{function} is not computed across events")


def _fits(number: str) -> str:
    """Whether the opposite of an integer fits into 64 bits; that of the minimum does not."""
    return f"({number} == 0 or {number} != -{number})"


def _are_constants(value: Value, options: Sequence[ast.Node], others: Sequence[Value]) -> bool:
    """Whether a value can be compared with all options without a branch: no option is null."""
    kinds = {value.kind, *(other.kind for other in others)}
    return (
        len(others) > 1
        and all(isinstance(each, ast.Literal) for each in options)
        and (kinds <= {Kind.INTEGER, Kind.FLOAT} or kinds == {Kind.STRING})
    )


def _both(left: str, right: str) -> str:
    if left == "True":
        return right
    return left if right == "True" else f"({left}) and ({right})"


def _wider(a: Value, b: Value) -> Kind:
    return Kind.FLOAT if Kind.FLOAT in (a.kind, b.kind) else Kind.INTEGER
