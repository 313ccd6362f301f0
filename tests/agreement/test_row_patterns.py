"""The engine ``row_pattern`` and the reference give the same rows, or the same error.

Generated predicates take about a second to compile. Several clauses therefore share a DEFINE.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cepheid as cep
from cepheid.errors import EvaluationError, LimitError
from cepheid.tuning import tuned

MATCHED_EXAMPLES = max(settings.default.max_examples // 10, 1)
VARIABLES = ("A", "B", "C", "Z")
SIGNS = st.sampled_from(
    ["*", "+", "?", "{2}", "{1,}", "{,2}", "{1,2}", "{0,3}", "{2,}", "*?", "+?", "??", "{,2}?",
     "{1,}?", "{2,3}?"]
)  # fmt: skip
LEAVES = st.sampled_from([*VARIABLES, *VARIABLES, "A", "B", "()", "^", "$"])


def _grouped(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    several = st.lists(parts, min_size=2, max_size=3)
    return st.one_of(
        st.builds(lambda each: f"({' '.join(each)})", several),
        st.builds(lambda each: f"({' | '.join(each)})", several),
        st.builds(lambda each: f"PERMUTE({', '.join(each)})", several),
        st.builds(lambda part, sign: f"({part}){sign}", parts, SIGNS),
        st.builds(lambda part, sign: f"({part}){sign}", parts, SIGNS),
    )


def _patterns(leaves: st.SearchStrategy[str], most: int) -> st.SearchStrategy[str]:
    return st.one_of(
        st.recursive(leaves, _grouped, max_leaves=most),
        st.lists(
            st.builds(lambda v, sign: v + sign, st.sampled_from(VARIABLES), st.just("") | SIGNS),
            min_size=2, max_size=5,
        ).map(" ".join),
    )  # fmt: skip


NUMBERS = st.sampled_from(["0", "1", "2", "0.5"])
COMPARED = st.sampled_from(["=", "<", "<=", ">", ">=", "<>"])
NAMES = st.sampled_from(["A.", "B.", "C.", "S.", ""])
COLUMNS = st.sampled_from(["x", "y", "t"])


@st.composite
def _readings(draw: st.DrawFn, *, is_measure: bool) -> str:
    """A number that is read from rows."""
    name, column, offset = draw(NAMES), draw(COLUMNS), draw(st.integers(0, 2))
    read = draw(st.sampled_from([f"{name}{column}", f"{name}x + {name}y", f"coalesce({name}y, 1)"]))
    word = draw(st.sampled_from(["", "RUNNING ", "FINAL "] if is_measure else ["", "RUNNING "]))
    aggregates = ["sum", "avg", "min", "max", "count", "variance", "stddev", "median"]
    function = draw(st.sampled_from(aggregates))
    distinct = draw(st.sampled_from(["", "", "", "DISTINCT "]))
    return draw(
        st.sampled_from(
            [
                f"{name}{column}",
                f"{name}{column}",
                f"PREV({read})",
                f"NEXT({read}, {offset})",
                f"{word}FIRST({read}, {offset})",
                f"{word}LAST({read}, {offset})",
                f"PREV({word}LAST({read}, {offset}), {offset})",
                f"NEXT({word}FIRST({read}))",
                f"{word}{function}({distinct}{read})",
                f"{word}count({name}*)",
                "MATCH_NUMBER()",
                f"{name}{column} - {draw(st.sampled_from(['A.', 'B.', 'S.', 'FIRST(']))}t"
                .replace("FIRST(t", "FIRST(t)"),
            ]
        )
    )  # fmt: skip


def _compared(
    left: st.SearchStrategy[str], right: st.SearchStrategy[str]
) -> st.SearchStrategy[str]:
    return st.builds(lambda a, sign, b: f"{a} {sign} {b}", left, COMPARED, right)


def _combined(comparison: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        comparison,
        comparison,
        st.builds(lambda a, b: f"{a} AND {b}", comparison, comparison),
        st.builds(lambda a, b: f"({a}) OR {b}", comparison, comparison),
        st.builds(lambda a: f"NOT ({a})", comparison),
    )


def _local(variable: str) -> st.SearchStrategy[str]:
    """Conditions on a row and its neighbours."""
    number = st.sampled_from(
        [f"{variable}.x", "x", "y", "PREV(x)", "NEXT(y)", f"PREV({variable}.x, 2)", "LAST(x)",
         f"NEXT(LAST({variable}.x + {variable}.y), 1)", "PREV(coalesce(x, 1), 3)"]
    )  # fmt: skip
    strings = [*(f"k = '{k}'" for k in "abc"), "k LIKE 'a%'", "upper(k) = k", "PREV(k) < k"]
    more = [f"CLASSIFIER() = '{variable}'", "k IS NULL", "x IN (1, 2)", "t BETWEEN 2 AND 6"]
    return _combined(_compared(number, number | NUMBERS) | st.sampled_from(strings + more))


def _matched(variable: str) -> st.SearchStrategy[str]:
    """Conditions on rows already matched."""
    number, name = _readings(is_measure=False), st.sampled_from(["A.", "B.", "S."])
    local = st.sampled_from([f"{variable}.x", "x", "y", "PREV(x)"])
    comparison = st.one_of(
        _compared(number, local | NUMBERS),
        _compared(local, number),
        st.builds(lambda a, b: f"t BETWEEN {a} AND {b} + 2", number, number),
        st.builds(lambda v, n: f"t <= {v}t + {n}", name, NUMBERS),
        st.builds(lambda v, n: f"t - {v}t < {n}", name, NUMBERS),
        st.builds(lambda a: f"{a} IS NULL", number),
        st.builds(lambda v, sign: f"k {sign} {v}k", name, COMPARED),
        st.builds(lambda v: f"upper({v}k) = upper(k)", name),
        st.sampled_from(
            ["CLASSIFIER(S) = 'B'", "PREV(CLASSIFIER()) = 'A'", "LAST(CLASSIFIER(), 1) <> 'B'",
             "CLASSIFIER(A) IS NULL"]
        ),
    )  # fmt: skip
    return _combined(comparison | comparison | _local(variable))


@st.composite
def _definitions(draw: st.DrawFn, condition: Callable[[str], st.SearchStrategy[str]]) -> str:
    chosen = [v for v in "ABC" if draw(st.sampled_from([True, True, False]))]
    parts = [f"{v} AS {draw(condition(v))}" for v in chosen]
    return f"DEFINE {', '.join(parts)}" if parts else ""


@st.composite
def _clauses(draw: st.DrawFn, definitions: str) -> str:
    row_mode = draw(
        st.sampled_from(
            ["", "ONE ROW PER MATCH", "ALL ROWS PER MATCH", "ALL ROWS PER MATCH",
             "ALL ROWS PER MATCH OMIT EMPTY MATCHES", "ALL ROWS PER MATCH WITH UNMATCHED ROWS"]
        )
    )  # fmt: skip
    leaves = LEAVES
    if "UNMATCHED" not in row_mode:
        leaves = st.one_of(LEAVES, st.builds(lambda v: f"{{- {v} -}}", st.sampled_from("AB")))
    # The variables come in the same order in all patterns, for the sake of shared predicates.
    pattern = f"($ A B C)?? {draw(_patterns(leaves, 5))}"
    skip = draw(
        st.sampled_from(
            ["", "", "AFTER MATCH SKIP PAST LAST ROW", "AFTER MATCH SKIP TO NEXT ROW",
             "AFTER MATCH SKIP TO FIRST B", "AFTER MATCH SKIP TO LAST A", "AFTER MATCH SKIP TO S"]
        )
    )  # fmt: skip
    within = draw(st.sampled_from(["", "", "", "WITHIN INTERVAL '3' SECOND"]))
    measures = ["CLASSIFIER() AS label", "MATCH_NUMBER() AS number", "count(*) AS size"]
    extra = st.one_of(
        _readings(is_measure=True),
        _readings(is_measure=True),
        st.sampled_from(
            ["CLASSIFIER(S)", "PREV(CLASSIFIER())", "A.k", "FINAL LAST(B.k)", "min(A.k)",
             "max(S.k)", "upper(A.k)", "CASE WHEN A.x > B.x THEN A.x ELSE 0 END", "A.x > B.x",
             "FIRST(k || k)", "count(DISTINCT k)", "NOT A.x > 1", "x + B.y * 2"]
        ),
    )  # fmt: skip
    measures += [f"{draw(extra)} AS m{n}" for n in range(draw(st.integers(0, 3)))]
    partition = draw(st.sampled_from(["", "PARTITION BY p", "PARTITION BY p"]))
    order = draw(st.sampled_from(["t", "t", "t NULLS FIRST"]))
    return f"""MATCH_RECOGNIZE ({partition} ORDER BY {order}
        MEASURES {", ".join(measures)} {row_mode} {skip}
        PATTERN ({pattern}) {within} SUBSET S = (A, B) {definitions})"""


@st.composite
def _tables(draw: st.DrawFn) -> pa.Table:
    size = draw(st.integers(0, 12))

    def column(values: list[Any], kind: pa.DataType) -> pa.Array:
        return pa.array(draw(st.lists(st.sampled_from(values), min_size=size, max_size=size)), kind)

    times = sorted(draw(st.lists(st.integers(0, 9), min_size=size, max_size=size)))
    nulls = draw(st.booleans())
    if size and nulls:
        times = [None if draw(st.integers(0, 5)) == 0 else time for time in times]
    return pa.table(
        {
            "t": pa.array(times, pa.int64()),
            "p": column(draw(st.sampled_from([[1], [1, None], [1, 2, None]])), pa.int64()),
            "x": column([0, 1, 2, 3, None], pa.int64()),
            "y": column([0.0, 0.5, 1.0, 2.0, None], pa.float64()),
            "k": column(["a", "b", "c", "B", None], pa.string()),
        }
    )


def outcome(query: cep.RowPatternQuery, table: pa.Table, evaluation: str) -> Any:
    """The table of the result, or the error."""
    try:
        found = query.match(table, evaluation=evaluation, time_unit="s", max_steps=2_000)
    except (EvaluationError, LimitError) as error:
        return type(error), str(error)
    return found.to_arrow(), len(found), found.count


def check(clause: str, table: pa.Table, sizes: dict[str, float]) -> None:
    """Compare the results of a clause over a table."""
    query = cep.query(clause)
    expected = outcome(query, table, "reference")
    if expected[0] is LimitError:
        return  # The engine needs fewer steps.
    with tuned(**sizes):
        found = outcome(query, table, "auto")
    if isinstance(found[0], pa.Table) and isinstance(expected[0], pa.Table):
        assert found[0].schema == expected[0].schema, clause
        assert found[0].to_pylist() == expected[0].to_pylist(), clause
        assert found[1:] == expected[1:], clause
    else:
        assert found == expected, clause


SIZES = st.sampled_from(
    [{}, {"first_frames": 1, "first_memo_rows": 2, "mask_rows": 3, "alike_rows": 0}]
)


@settings(suppress_health_check=list(HealthCheck))
@given(st.data())
def test_conditions_on_a_row_and_its_neighbours(data):
    clause = data.draw(_clauses(data.draw(_definitions(_local))))
    for _ in range(2):
        check(clause, data.draw(_tables()), data.draw(SIZES))


@settings(suppress_health_check=list(HealthCheck), max_examples=MATCHED_EXAMPLES)
@given(st.data())
def test_conditions_on_rows_already_matched(data):
    definitions = data.draw(_definitions(_matched))
    for _ in range(8):
        check(data.draw(_clauses(definitions)), data.draw(_tables()), data.draw(SIZES))
