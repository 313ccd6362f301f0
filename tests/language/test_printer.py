"""Printing: parsing the printed text gives an equal query, for queries of every shape."""

from fractions import Fraction

import pytest
from hypothesis import given
from paper_queries import PAPER_QUERIES
from strategies import queries

from cepheid.language import syntax as ast
from cepheid.language.parser import parse
from cepheid.language.printer import item_name, print_query


@given(queries())
def test_a_printed_query_parses_to_an_equal_one(query):
    text = print_query(query)
    assert parse(text) == query
    assert print_query(parse(text)) == text


@pytest.mark.parametrize("text", PAPER_QUERIES.values(), ids=PAPER_QUERIES)
def test_a_query_of_a_paper_survives_printing(text):
    query = parse(text)
    printed = print_query(query)
    assert parse(printed) == query
    assert print_query(parse(printed)) == printed


def test_one_clause_a_line():
    text = """
        from s event seq(A a, !(B b), any(C,D)+ c[])
        where skip-till-next-match(a,c[]) { [id, site='7'] and a.x==1 }
        within 1 hour return a.x as y, c[].x"""
    assert print_query(parse(text)).splitlines() == [
        "FROM s",
        "PATTERN SEQ(A a, ~(B b), ANY(C, D)+ c[])",
        "WHERE skip_till_next_match(a, c) { [id] AND [site = '7'] AND a.x = 1 }",
        "WITHIN 1 hour",
        "RETURN a.x AS y, c[].x",
    ]


@pytest.mark.parametrize(
    "pattern",
    [
        "A a",
        "A",
        "SHELF-READING",
        "SHELF-READING x",
        "`order line` `a b`",
        "`A-1` a",
        "`seq` `where`",
        "A* a[]",
        "A{2,} a[]",
        "A{2,5} a[]",
        "A{3,3} a[]",
        "ANY(A, B)",
        "ANY(A, B) ANY_2",
        "SEQ(A, A A_2)",
        # Without their variables the parser would number these components.
        "OR(SEQ(A A, B), SEQ(A A, C))",
        "SEQ(A A, B A)",
    ],
)
def test_patterns_are_printed_as_they_are_written(pattern):
    assert print_query(parse(f"PATTERN {pattern}")) == f"PATTERN {pattern}"


@pytest.mark.parametrize(
    "condition",
    [
        "a.x + 1 - 2 - (3 - 4) = 5 * (6 + 7) / 8",
        "-a.x * -(a.y + 1) > -(-a.z)",
        "80 % (-a.x) = 80 % (-3)",
        "0.8 * a.x < 80 % b.x",
        "a.x = 1 AND (a.y = 2 OR a.z = 3) AND NOT (a.x = 1 AND a.y = 2)",
        "a.x = 1 AND a.y = 2 OR a.z = 3",
        "NOT a.x IN (1, 'it''s', NULL)",
        "(a.x = 1) = (a.y = 2)",
        "a.x BETWEEN 1 AND 2 AND a.y IS NOT NULL",
        "a.x LIKE 'a%'",
        "a.from = b[1].from AND a.`unit price` = b[i-1].x",
        "b[LEN].x > avg(b[..i-1].x) AND count(b[]) = b.LEN",
        "Corr(a.x, abs(a.y)) > T",
        "`and` = `Where`",
        "a.ts + 1 hour < c.ts - 90 minutes",
        "[id] AND [`tag id` = -7]",
    ],
)
def test_conditions_are_printed_as_they_are_written(condition):
    text = f"PATTERN SEQ(A a, B+ b[], C c)\nWHERE {condition}"
    assert print_query(parse(text)) == text


@pytest.mark.parametrize(
    "query",
    [
        "PATTERN A\nWHERE x = 1 AND A.A = 2",
        "PATTERN A\nRETURN x, A",
        "PATTERN A\nRETURN (x = 1)",
        "PATTERN A\nRETURN x = 1 AS y",
        "PATTERN A a\nRETURN a.x = 1",
        "PATTERN SEQ(A a, B b)\nRETURN (T = 1), (a = 1)",
        "PATTERN A a\nRETURN (f(a.x))",
        "PATTERN A a\nRETURN abs(a.x)",
        "PATTERN A a\nRETURN f(a.x), 1",
        "PATTERN A a\nRETURN Alert(a.x AS y)",
        "PATTERN A a\nRETURN `SHELF-ALERT`()",
        "PATTERN A a\nWITHIN 500 EVENTS PER PARTITION",
        "PATTERN A a\nWITHIN 0.5",
        "PATTERN A a\nWITHIN T hours",
        "PATTERN A a\nWHERE skip_till_next_match(a)",
    ],
)
def test_queries_are_printed_as_they_are_written(query):
    assert print_query(parse(query)) == query


def test_numbers_are_printed_exactly():
    query = parse("EVENT A WHERE x = 0.1 AND y = 1e300 AND z = 9223372036854775807 WITHIN 0.1 s")
    assert parse(print_query(query)) == query
    assert query.window.extent == Fraction(1, 10)


def test_an_item_is_called_by_its_name_or_its_text():
    query = parse("PATTERN A a RETURN a.x + 1, a.x AS y")
    assert [item_name(item, query) for item in query.returns.items] == ["a.x + 1", "y"]
    assert query.returns.items[0] == ast.ReturnItem(
        ast.Arithmetic("+", ast.Attribute("a", "x"), ast.Literal(1))
    )
