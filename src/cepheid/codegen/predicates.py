"""Conditions across events as generated functions.

A predicate is generated from the analysed query. A condition holds if it is known and true.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from cepheid.codegen import context_reads
from cepheid.codegen.computed import computed_if_needed
from cepheid.codegen.context_reads import CONSTANT, FIELD, KNOWN
from cepheid.codegen.expressions import Resolve, Statements, Untranslatable
from cepheid.language import syntax as ast
from cepheid.schema import Schema
from cepheid.tuning import tuning

_MOST_ACROSS = 60_000
_MOST_TOGETHER = 16_000
"""Characters of all conditions across events, and of one of them: compiling takes some seconds."""


@dataclass(frozen=True, slots=True)
class Test:
    """A condition, how its names are resolved, and generated code that says when it applies."""

    expression: ast.Expression
    resolve: Resolve
    guard: str | None = None


@dataclass(slots=True)
class PredicateWriter:
    """Collects the predicates of an automaton into the source of one function."""

    schema: Schema
    constants: list[int | float | str] = field(default_factory=list)
    _functions: list[str] = field(default_factory=list)
    _bodies: list[list[list[str]]] = field(default_factory=list)
    """For each predicate its parts; each part computes some of the tests."""
    _loops: dict[int, list[str]] = field(default_factory=dict)
    _on_event: int = 0
    _across: int = 0

    def add_event_test(self, tests: list[Test]) -> int:
        """Add a predicate on an event alone, with a loop that tests whole batches; its number."""
        number = self.add(tests)
        body = self._statements()
        lines = body.lines
        for test in tests:
            value = body.value(test.expression, test.resolve)
            lines.append(f"holds = holds and {value.known} and {value.code}")
        self._loops[number] = lines
        return number

    def add(self, tests: list[Test]) -> int:
        """Add a predicate that is true if all tests hold that apply; its number."""
        body = self._statements()
        parts: list[list[str]] = [[]]
        for test in tests:
            value = body.value(test.expression, test.resolve)
            failed = f"not ({value.known} and {value.code})"
            if test.guard is not None:
                failed = f"({test.guard}) and {failed}"
            lines = [*body.lines, f"if {failed}:", "    return 0"]
            body.lines.clear()
            self._across += _size(lines) if _size(lines) <= _MOST_TOGETHER else _MOST_ACROSS + 1
            if parts[-1] and _size(parts[-1]) + _size(lines) > tuning().predicate_part:
                parts.append([])
            parts[-1] += lines
        if self._across > _MOST_ACROSS:
            raise Untranslatable("its conditions are too long to compile")
        self._bodies.append(parts)
        return len(self._bodies) - 1

    def _statements(self) -> Statements:
        return Statements(self.constants, self._functions, partial(computed_if_needed, self.schema))

    def can_add(self, test: Test) -> bool:
        """Whether generated code can test this on an event alone; its length is then counted."""
        try:
            body = Statements(list(self.constants), list(self._functions), is_on_event=True)
            body.value(test.expression, test.resolve)
        except Untranslatable:
            return False
        size = self._on_event + _size(body.lines)
        if size > tuning().predicates_on_event:
            return False
        self._on_event = size
        return True

    @property
    def count(self) -> int:
        """The number of predicates."""
        return len(self._bodies)

    def source(self) -> str:
        """The module with the predicate function."""
        lines = [
            "def predicate(number, address, event, run):",
            "    context = int64_pointer(address)",
        ]
        helpers: list[str] = []
        for number, parts in enumerate(self._bodies):
            lines.append(f"    if number == {number}:")
            body = parts[0]
            if len(parts) > 1:
                named = {f"part_{number}_{ix}": part for ix, part in enumerate(parts)}
                helpers += [line for name, part in named.items() for line in _helper(name, part)]
                body = [
                    line
                    for name in named
                    for line in (f"if {name}(address, event, run) == 0:", "    return 0")
                ]
            lines.extend(f"        {line}" for line in [*body, "return 1"])
        lines = [*helpers, *lines, "    return 1", "", "", *self._marks()]
        names = [*context_reads.imports(lines), *self._registered_functions()]
        if helpers:
            names.append("from cepheid.jit.decorators import helper")
        return "\n".join([*names, "", "", *lines]) + "\n"

    def _marks(self) -> list[str]:
        """The function that clears a bit in the masks of all events that fail a test.

        All operands are read before the first mask is written, so that the compiler knows that
        they do not change. No branch depends on an event, so that the loop can be vectorised. A
        second loop without tests for null is used if no column has nulls.
        """
        lines = [
            "def marks(number, address, count, request):",
            "    context = int64_pointer(address)",
            "    masks, bit = int64_pointer(int64_pointer(request)[0]), int64_pointer(request)[1]",
        ]
        for number, body in self._loops.items():
            code = "\n".join(body)
            fields = sorted({*FIELD.findall(code)})
            code = FIELD.sub(lambda found: found[1].lower(), code)
            constants = sorted({*CONSTANT.findall(code)})
            for ix, constant in enumerate(constants):
                code = code.replace(constant, f"constant_{ix}")
            lines += [f"    if number == {number}:"]
            lines += [f"        {field.lower()} = context[{field}]" for field in fields]
            lines += [f"        constant_{ix} = {each}" for ix, each in enumerate(constants)]
            maybe_null = sorted({*KNOWN.findall(code)})
            if maybe_null:
                lines += [f"        if {' == '.join([*maybe_null, '0'])}:"]
                lines += [f"    {line}" for line in _loop(KNOWN.sub("True", code))]
                lines += ["            return 0"]
            lines += _loop(code)
        return [*lines, "    return 0"]

    def _registered_functions(self) -> list[str]:
        """The definitions of the registered functions, by fingerprint."""
        if not self._functions:
            return []
        return [
            "from cepheid.codegen.kernels.registered import offered",
            *(
                f'function_{number} = offered("{key}")'
                for number, key in enumerate(self._functions)
            ),
        ]


def _size(lines: list[str]) -> int:
    return sum(map(len, lines))


def _helper(name: str, body: list[str]) -> list[str]:
    """The lines of a function with some tests of a predicate."""
    lines = ["@helper", f"def {name}(address, event, run):", "    context = int64_pointer(address)"]
    return [*lines, *(f"    {line}" for line in body), "    return 1", "", ""]


def _loop(body: str) -> list[str]:
    """The lines of a loop over all events that clears a bit where a test fails."""
    lines = ["        for event in range(count):", "            holds = True"]
    lines += [f"            {line}" for line in body.split("\n")]
    return [*lines, "            masks[event] = masks[event] if holds else masks[event] & ~bit"]
