"""Generated code grows with the text of a condition, and no faster."""

import pytest

from cepheid.analysis.analyse import analyse
from cepheid.codegen.sequences import compile_nfa_b, refuse_nfa_b
from cepheid.language.parser import parse
from cepheid.schema import schema_of

SCHEMA = schema_of({name: {"x": "integer", "b": "boolean"} for name in "AB"})


def analysed(condition):
    return analyse(parse(f"PATTERN SEQ(A a, B b) WHERE {condition}"), SCHEMA)


def code_size(condition):
    query = analysed(condition)
    return len(compile_nfa_b(query, query.alternatives[0]).source)


@pytest.mark.parametrize(
    "wrapper",
    [
        "({} IN (true, false))",
        "({} IN (a.b, b.b, true))",
        "(({}) IS NULL)",
        "(NOT {})",
        "({} = b.b)",
    ],
)
@pytest.mark.parametrize("inner", ["(a.x < b.x)", "(b.x < 5)"])
def test_nested_tests_are_computed_once(wrapper, inner):
    def nested(depth):
        condition = inner
        for _ in range(depth):
            condition = wrapper.format(condition)
        return code_size(condition)

    assert nested(20) < 3 * nested(10)


@pytest.mark.parametrize(
    "wrapper",
    [
        "abs({})",
        "(-{})",
        "floor({} / 2)",
        "({} % b.x)",
        "power({}, 2)",
        "greatest({}, a.x)",
        "round({} / 2)",
        "sqrt({})",
    ],
)
def test_nested_values_are_computed_once(wrapper):
    def nested(depth):
        value = "(a.x + b.x)"
        for _ in range(depth):
            value = wrapper.format(value)
        return code_size(f"{value} > 1")

    assert nested(20) < 3 * nested(10)


def test_a_long_list_across_events_is_not_compiled():
    values = ", ".join(map(str, range(1_000)))
    assert refuse_nfa_b(analysed(f"a.x + b.x IN ({values})")) == "IN has more than 256 values"
    assert refuse_nfa_b(analysed(f"a.x IN ({values})")) is None
