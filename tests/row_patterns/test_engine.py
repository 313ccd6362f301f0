"""The engine ``row_pattern``: when it runs, what it says, and that no failure is walked twice."""

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import EvaluationError, LimitError, OptionError
from cepheid.row_patterns.compiled.alike import alike_rows
from cepheid.tuning import tuned

TABLE = {"t": list(range(300)), "x": [n % 7 for n in range(300)]}


def query(pattern: str, define: str, clauses: str = "") -> cep.RowPatternQuery:
    text = f"MATCH_RECOGNIZE (ORDER BY t {clauses} PATTERN ({pattern}) DEFINE {define})"
    found = cep.query(text)
    assert isinstance(found, cep.RowPatternQuery)
    return found


@pytest.mark.parametrize("pattern", ["(A | A)* B", "(A+)+ B", "((A | A?)* A*)* B", "(A* A)* A+ B"])
def test_what_has_failed_is_not_tried_again(pattern):
    never = query(pattern, "A AS x >= 0, B AS x < 0")
    assert never.count(TABLE, max_steps=3_000) == 0
    with pytest.raises(LimitError, match="Most of them are for the variable A"):
        never.count(TABLE, max_steps=3_000, evaluation="reference")


@pytest.mark.parametrize(
    "pattern", ["A Z* B", "A (Y | Z)* B", "A Z*? B C", "A Z* C Z* B", "A Z* (B | C Z* B)"]
)
def test_what_has_failed_with_a_row_fails_with_all_rows_like_it(pattern):
    rows = {"t": list(range(30_000)), "x": [n % 7 for n in range(30_000)]}
    never = query(pattern, "B AS x = A.x + 100" + ", C AS x < A.x" * ("C" in pattern))
    assert never.count(rows, evaluation="row_pattern") == 0


def test_rows_are_alike_if_all_that_is_read_is_the_same():
    x = np.array([1, 1, 2, 1, 1, 1, 2, 1])
    is_known = np.array([1, 0, 1, 1, 1, 1, 1, 1], np.uint8)
    offsets = np.array([0, 4, 8])
    with tuned(alike_rows=0):
        assert alike_rows([(0, 0)], [(x, None)], offsets).tolist() == [0, 0, 1, 0, 0, 0, 1, 0]
        assert alike_rows([(0, 0)], [(x, is_known)], offsets).tolist() == [0, 1, 2, 0, 0, 0, 2, 0]
        two = [(np.tile(x, 2), None), (np.tile(x, 2), np.tile(is_known, 2))]
        both = alike_rows([(0, -1), (1, 0)], two, np.array([0, 4, 8, 12, 16]))
    # The row before has nothing, 1, 1, 2 in each partition.
    assert both.tolist() == 2 * [0, 1, 2, 3, 0, 4, 2, 3]


def test_rows_of_which_few_are_alike_are_not_compared():
    with tuned(alike_rows=0):
        assert not len(alike_rows([(0, 0)], [(np.arange(9), None)], np.array([0, 9])))
        assert not len(alike_rows([], [], np.array([0, 9])))


def test_a_sum_over_chosen_rows_ends_with_an_error():
    sums = query("(A | Z)* B", "A AS sum(A.x) >= 0, B AS sum(A.x) = -1")
    with pytest.raises(LimitError, match=r"took more than 20,000 steps\. Most of them are for the"):
        sums.count(TABLE, max_steps=20_000, evaluation="row_pattern")


def test_fillers_are_skipped_over_up_to_a_bound():
    near = query("R Z* B", "R AS x = 1, B AS x = 2 AND B.t <= R.t + 9 AND B.x + R.x > 100")
    assert near.count(TABLE, max_steps=10) == 0
    found = query("R Z* B", "R AS x = 1, B AS x = 2 AND B.t <= R.t + 9", "MEASURES B.t AS b")
    assert [row["b"] for row in found.match(TABLE)][:3] == [9, 23, 37]


def test_an_evaluation_can_be_chosen():
    median = query("A B", "B AS median(A.x) >= 0")
    assert median.count(TABLE) == median.count(TABLE, evaluation="reference") == 150
    reason = "row_pattern cannot run this clause: in the condition of B, median needs all values"
    with pytest.raises(EvaluationError, match=reason):
        median.count(TABLE, evaluation="row_pattern")
    with pytest.raises(OptionError, match="MATCH_RECOGNIZE has no evaluation 'nfa_b'; there are"):
        median.count(TABLE, evaluation="nfa_b")


def test_explain_says_how_it_runs():
    schema = pa.schema([("t", pa.int64()), ("x", pa.int64())])
    text = query("R Z* B", "B AS B.x > 1 AND B.t <= R.t + 9").explain(schema)
    for part in (
        "row_pattern: backtracking over an automaton",
        "0: R → 1\n  1: Z → 1, B → 2\n  2: match\n",
        'tested for all rows before the search:\n  B: B."x" > 1',
        'with the rows matched before:\n  B: B."t" <= R."t" + 9',
        "skipped over, as every row can be one:\n  Z",
        'looked for no further than where this is false:\n  B: B."t" <= R."t" + 9',
    ):
        assert part in text
    text = query("R Z* (B | R)", "B AS B.t <= R.t + 9, R AS x > 5").explain(schema)
    assert "looked for no further" not in text  # R has no bound.
    assert "not row_pattern: in the condition of B" in query("A B", "B AS median(A.x) > 0").explain(
        schema
    )
    many = " ".join(f"v{number}" for number in range(70))
    text = cep.query(f"MATCH_RECOGNIZE (PATTERN ({many}))").explain()
    assert "its pattern has more than 62 variables" in text
    text = cep.query("MATCH_RECOGNIZE (PATTERN (((A{1,400}){1,400} B)))").explain()
    assert "its pattern has too many ways" in text
