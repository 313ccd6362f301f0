"""``diagnose``: which rows the variables take, and how far searches come."""

import pytest

import cepheid as cep
from cepheid.errors import QuerySemanticError


def lines(text: str, source: object, **keywords: object) -> list[str]:
    return str(cep.query(text).diagnose(source, **keywords)).split("\n\n")


V = """MATCH_RECOGNIZE (
  PARTITION BY p
  ORDER BY t
  PATTERN (S DOWN+ UP)
  DEFINE DOWN AS x < PREV(x), UP AS x > PREV(x)
)"""


def test_it_shows_how_far_searches_come():
    parts = lines(V, {"p": [1, 1, 1, 2], "t": [1, 2, 3, 4], "x": [9, 7, 5, 8]})
    assert parts[0].startswith("MATCH_RECOGNIZE (")
    assert parts[1:] == [
        "No row begins a match, among 4 rows in 2 partitions.",
        "Rows that satisfy the condition of each variable:\n"
        "  S: 4 (any row)\n  DOWN: 2 (x < PREV(x))\n  UP: 0 (x > PREV(x))",
        "How far the search from each row gets:\n"
        "  S DOWN: 2 rows; no row followed 4 times\n"
        "  S: 2 rows; no row followed 2 times",
        "No row satisfies the condition of UP: check its values.",
    ]


def test_a_match_is_counted_by_its_first_row():
    found = cep.query(V).diagnose({"p": [1] * 4, "t": [1, 2, 3, 4], "x": [9, 7, 5, 8]})
    assert (found.starts, found.rows, found.partitions) == (2, 4, 1)
    assert found.reached[0].path == ("S", "DOWN", "UP")
    assert "2 rows can begin a match, among 4 rows in 1 partition." in str(found)
    assert "<pre>MATCH_RECOGNIZE" in found._repr_html_()


def test_a_condition_on_other_variables_is_not_counted():
    text = "MATCH_RECOGNIZE (ORDER BY t PATTERN (A B) DEFINE B AS x > A.x)"
    found = cep.query(text).diagnose({"t": [1, 2], "x": [2, 1]})
    assert [each.count for each in found.taken] == [2, None]
    assert "B: depends on rows before (x > A.x)" in str(found)


def test_the_work_is_bounded(tune):
    tune(diagnosis_rows=3, diagnosis_steps=20)
    text = "MATCH_RECOGNIZE (ORDER BY t PATTERN ((A | A)* B) DEFINE B AS x = 1)"
    shown = str(cep.query(text).diagnose({"t": list(range(9)), "x": [0] * 9}))
    assert "These are the first ones of 9 rows." in shown
    assert "given up: 3 rows, after 20 steps" in shown


def test_faults_have_places():
    with pytest.raises(QuerySemanticError, match="query:2:16: the table has no column 'p'"):
        cep.query(V).diagnose({"t": [1], "x": [1]})
