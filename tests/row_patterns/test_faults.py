"""What is wrong with a clause: the exact message, its place, and the advice."""

import pytest

import cepheid as cep
from cepheid.errors import QueryError, QuerySemanticError, QuerySyntaxError

COLUMNS = {"x": [1], "y": [2], "Name": ["n"], "NAME": ["m"], "tags": [["a"]]}


def fault(text: str) -> tuple[str, str, str]:
    """The message of the only fault, the text at its place, and the advice."""
    with pytest.raises(QueryError) as error:
        cep.query(text).match(COLUMNS)
    (found,) = error.value.faults
    assert found.span is not None
    place = text[found.span.start : found.span.end]
    assert "^" * len(place) in str(error.value)
    return found.message, place, found.advice()


@pytest.mark.parametrize(
    ("inside", "message", "place", "advice"),
    [
        # unknown variables
        ("MEASURES dwn.x AS m PATTERN (S DOWN)", "the pattern has no variable 'DWN'", "dwn",
         "It has S and DOWN. Did you mean 'DOWN'?"),
        ("PATTERN (A) DEFINE B AS x > 1", "the pattern has no variable 'B'", "B", "It has A."),
        ("PATTERN (A) DEFINE A AS A.x > B.x", "the pattern has no variable 'B'", "B", "It has A."),
        ('PATTERN (A) DEFINE A AS "a".x > 1', "the pattern has no variable 'a'", '"',
         "It has A. Did you mean 'A'?"),
        ("MEASURES CLASSIFIER(B) AS c PATTERN (A)", "the pattern has no variable 'B'",
         "CLASSIFIER(B)", "It has A."),
        ("MEASURES count(B.*) AS c PATTERN (A)", "the pattern has no variable 'B'", "count(B.*)",
         "It has A."),
        ("AFTER MATCH SKIP TO LAST B PATTERN (A)", "the pattern has no variable 'B'", "B",
         "It has A."),
        ("PATTERN (A B) SUBSET S = (A, C)", "the pattern has no variable 'C'", "S = (A, C)",
         "It has A and B."),
        # SUBSET and DEFINE
        ("PATTERN (A B) SUBSET A = (B)", "'A' is a variable of the pattern, and not a new name",
         "A", ""),
        ("PATTERN (A B) SUBSET S = (A), s = (B)", "SUBSET defines 'S' twice", "s", ""),
        ("PATTERN (A B) SUBSET S = (A), T = (S, B)", "a subset cannot contain the subset 'S'",
         "T = (S, B)", "List the variables of the pattern."),
        ("PATTERN (A B) SUBSET S = (A) DEFINE S AS x > 1",
         "'S' is a subset, which has no condition", "S", "Define the variables in it instead."),
        ("PATTERN (A) DEFINE A AS x > 1, a AS x < 5", "DEFINE defines 'A' twice", "a",
         "Join the conditions with AND."),
        # FINAL in DEFINE
        ("PATTERN (A) DEFINE A AS FINAL LAST(x) > 1", "FINAL cannot be used in DEFINE",
         "FINAL LAST(x)",
         "A condition is tested when its row is reached, and knows no later row."),
        ("PATTERN (A) DEFINE A AS FINAL sum(x) > 1", "FINAL cannot be used in DEFINE",
         "FINAL sum(x)",
         "A condition is tested when its row is reached, and knows no later row."),
        # forbidden nesting
        ("MEASURES FIRST(PREV(A.x)) AS m PATTERN (A)", "PREV cannot be inside FIRST", "PREV(A.x)",
         "Write it the other way round: PREV(FIRST(A.x))."),
        ("MEASURES PREV(NEXT(A.x)) AS m PATTERN (A)", "NEXT cannot be inside PREV", "NEXT(A.x)",
         ""),
        ("MEASURES FIRST(LAST(A.x)) AS m PATTERN (A)", "LAST cannot be inside FIRST", "LAST(A.x)",
         ""),
        ("MEASURES PREV(LAST(A.x) + A.x) AS m PATTERN (A)", "LAST cannot be inside PREV",
         "LAST(A.x)", "It can only be the whole operand: PREV(LAST(A.x), 2)."),
        ("MEASURES sum(PREV(A.x)) AS m PATTERN (A)", "PREV cannot be inside sum", "PREV(A.x)", ""),
        ("MEASURES sum(avg(A.x)) AS m PATTERN (A)", "avg cannot be inside sum", "avg(A.x)", ""),
        ("MEASURES PREV(sum(A.x) + A.x) AS m PATTERN (A)", "sum cannot be inside PREV", "sum(A.x)",
         ""),
        ("MEASURES LAST(A.x + B.x) AS m PATTERN (A B)",
         "LAST names rows of several variables: A and B", "LAST(A.x + B.x)",
         "All columns in it must be of one variable, or all without a variable."),
        ("MEASURES sum(A.x + y) AS m PATTERN (A)",
         "sum names rows of several variables: A and all rows", "sum(A.x + y)",
         "All columns in it must be of one variable, or all without a variable."),
        ("MEASURES PREV(1) AS m PATTERN (A)", "PREV needs a column", "PREV(1)",
         "For example, write PREV(A.x)."),
        ("MEASURES PREV(A.x, -1) AS m PATTERN (A)",
         "the offset of PREV must be an integer from 0", "-1",
         "For example, write PREV(A.x, 2)."),
        ("MEASURES LAST(A.x, y) AS m PATTERN (A)",
         "the offset of LAST must be an integer from 0", "y",
         "For example, write LAST(A.x, 2)."),
        ("MEASURES LAST(A.x, 1, 2) AS m PATTERN (A)", "LAST takes 1 or 2 arguments, not 3",
         "LAST(A.x, 1, 2)", ""),
        ("MEASURES FINAL PREV(A.x) AS m PATTERN (A)", "FINAL cannot be used with PREV",
         "FINAL PREV(A.x)",
         "It is for FIRST, LAST and aggregates. Write PREV(FINAL LAST(A.x))."),
        ("MEASURES RUNNING CLASSIFIER() AS m PATTERN (A)", "RUNNING cannot be used with CLASSIFIER",
         "RUNNING CLASSIFIER()", "It is for FIRST, LAST and aggregates."),
        # calls
        ("MEASURES CLASSIFIER(1) AS m PATTERN (A)",
         "CLASSIFIER takes the name of a variable, or nothing", "CLASSIFIER(1)",
         "Write CLASSIFIER(), or CLASSIFIER(A) for the last row of A."),
        ("MEASURES MATCH_NUMBER(x) AS m PATTERN (A)", "MATCH_NUMBER takes no arguments",
         "MATCH_NUMBER(x)", "Write MATCH_NUMBER()."),
        ("MEASURES sum(*) AS m PATTERN (A)", "sum cannot be applied to whole rows", "sum(*)",
         "Only count(*) can."),
        ("MEASURES PREV(A.*) AS m PATTERN (A)", "PREV cannot be applied to whole rows", "PREV(A.*)",
         "Only count(*) can."),
        ("MEASURES sum(x, y) AS m PATTERN (A)", "sum takes 1 argument, not 2", "sum(x, y)", ""),
        ("MEASURES abs(DISTINCT x) AS m PATTERN (A)", "DISTINCT cannot be used with ABS",
         "abs(DISTINCT x)", "It is for aggregates."),
        ("MEASURES abs(x, y) AS m PATTERN (A)", "abs takes 1 argument, not 2", "abs(x, y)", ""),
        ("MEASURES prve(x) AS m PATTERN (A)", "there is no function 'prve'", "prve",
         "Did you mean 'PREV'?"),
        # bounds in the wrong order
        ("PATTERN (A{3,2})", "a repetition of at least 3 and at most 2 times is impossible",
         "{3,2}", "Write {2,3}."),
        ("PATTERN (A{,0})", "the upper bound of a repetition must be at least 1", "{,0}", ""),
        ("PATTERN (A{0})", "the upper bound of a repetition must be at least 1", "{0}", ""),
        # what cannot be combined
        ("ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A {- B -})",
         "an exclusion cannot be combined with WITH UNMATCHED ROWS", "{- B -}",
         "Leave out one of them: excluded rows are neither matched nor unmatched."),
        ("PATTERN (A) WITHIN INTERVAL '1' HOUR", "WITHIN needs ORDER BY", "INTERVAL '1' HOUR",
         "The first column of ORDER BY is the time that WITHIN measures."),
        ("ORDER BY x DESC PATTERN (A) WITHIN INTERVAL '1' HOUR",
         "with WITHIN, the first column of ORDER BY cannot be DESC", "x DESC",
         "WITHIN measures the time from the first row of a match to the last."),
        ("ORDER BY x PATTERN (A) WITHIN INTERVAL '1' MONTH", "an interval cannot be in months",
         "INTERVAL '1' MONTH", "A month has no fixed length: write it in days or weeks."),
        ("ORDER BY x PATTERN (A) WITHIN INTERVAL '1' MINTUE", "this is not an interval", "MINTUE",
         "Did you mean 'MINUTE'?"),
        ("ORDER BY x PATTERN (A) WITHIN INTERVAL 'soon' MINUTE", "this is not an interval",
         "INTERVAL 'soon' MINUTE", "Write it like INTERVAL '10' MINUTE."),
        ("MEASURES x AS m, y AS M PATTERN (A)", "MEASURES has two measures named 'M'", "M",
         "Rename one."),
        # columns of the table
        ("MEASURES z AS m PATTERN (A)", "the table has no column 'z'", "z",
         "It has x, y, Name, NAME and tags."),
        ("PARTITION BY tagz PATTERN (A)", "the table has no column 'tagz'", "tagz",
         "It has x, y, Name, NAME and tags. Did you mean 'tags'?"),
        ("ORDER BY ts PATTERN (A)", "the table has no column 'ts'", "ts",
         "It has x, y, Name, NAME and tags."),
        ('MEASURES A."X" AS m PATTERN (A)', "the table has no column 'X'", '"X"',
         'The name in quotes is "x".'),
        ("MEASURES name AS m PATTERN (A)", "several columns are called 'name': Name and NAME",
         "name", 'Put the name in quotes: "Name".'),
        ("PATTERN (A) DEFINE A AS A > 1", "the table has no column 'A'", "A",
         "'A' is a variable: name one of its columns, such as A.x."),
        ("PARTITION BY tags PATTERN (A)", "'tags' is a list, which cannot make partitions", "tags",
         ""),
        ("ORDER BY tags PATTERN (A)", "'tags' is a list, which has no order", "tags", ""),
        ('ORDER BY "Name" PATTERN (A) WITHIN INTERVAL \'1\' HOUR',
         "WITHIN measures time, but ORDER BY begins with a string", '"Name"', ""),
        ("MEASURES 1 AS X ALL ROWS PER MATCH PATTERN (A)", "the result would have two columns 'X'",
         "X", "Give the measure another name."),
        # kinds
        ("PATTERN (A) DEFINE A AS x", "this is an integer, not a condition", "x",
         "Compare it with a value."),
        ('PATTERN (A) DEFINE A AS x > "Name"', "an integer cannot be compared with a string",
         'x > "Name"', ""),
        ('MEASURES sum("Name") AS m PATTERN (A)', "sum is over numbers, and this is a string",
         'sum("Name")', ""),
        ("MEASURES x || 'a' AS m PATTERN (A)", "concat takes a string, but this is an integer", "x",
         ""),
        ("MEASURES count(DISTINCT tags) AS m PATTERN (A)", "a list cannot be compared",
         "count(DISTINCT tags)", ""),
        ("PATTERN (A) DEFINE A AS x = NULL", "a comparison with NULL is never true", "x = NULL",
         "Write IS NULL or IS NOT NULL."),
    ],
)  # fmt: skip
def test_faults(inside, message, place, advice):
    found = fault(f"MATCH_RECOGNIZE ({inside})")
    assert found == (message, place, advice)


@pytest.mark.parametrize(
    ("text", "message", "place", "advice"),
    [
        ("MATCH_RECOGNIZE (PARTITON BY x PATTERN (A))", "unexpected 'PARTITON'", "PARTITON",
         "Did you mean 'PARTITION BY'?"),
        ("MATCH_RECOGNIZE (MEASURE x AS m PATTERN (A))", "unexpected 'MEASURE'", "MEASURE",
         "Did you mean 'MEASURES'?"),
        ("MATCH_RECOGNIZE (PATTERN (A) DEFIN A AS x > 1)", "unexpected 'DEFIN'", "DEFIN",
         "Did you mean 'DEFINE'?"),
        ("MATCH_RECOGNIZE (PATTERN (A) ORDER BY x)", "unexpected 'ORDER BY'", "ORDER BY",
         "The order is PARTITION BY, ORDER BY, MEASURES, ONE ROW or ALL ROWS PER MATCH, AFTER "
         "MATCH SKIP, PATTERN, WITHIN, SUBSET, DEFINE, each at most once."),
        ("MATCH_RECOGNIZE (MEASURES x PATTERN (A))", "unexpected 'PATTERN'", "PATTERN",
         "Every measure needs a name: write it AS name."),
        ("MATCH_RECOGNIZE (MEASURES x, y AS z PATTERN (A))", "unexpected ','", ",",
         "Every measure needs a name: write it AS name."),
        ("MATCH_RECOGNIZE (PATTERN (A, B))", "unexpected ','", ",",
         "Variables follow each other without commas: PATTERN (A B+ C)."),
        ("MATCH_RECOGNIZE (PATTERN (A*+))", "unexpected '+'", "+",
         "One quantifier follows another: put the first part in brackets, such as (A*)+."),
        *((f"MATCH_RECOGNIZE (MEASURES {subquery} AS z PATTERN (A))", "unexpected '0'", "0",
           "A subquery cannot be in the clause: join its result to the input or to the matches.")
          for subquery in ("x + (SELECT 0)", "x IN ( select 0)", "EXISTS(SELECT 0)")),
        ("MATCH_RECOGNIZE (SEEK PATTERN (A))", "unexpected 'SEEK'", "SEEK",
         "SEEK belongs to windows, and there are none here: leave it out."),
        ("MATCH_RECOGNIZE (PATTERN (A)", "the bracket '(' is not closed", "(",
         "Expected ')' before the end of the query."),
        ("MATCH_RECOGNIZE (PATTERN (A (B DEFINE A AS x)", "the bracket '(' is not closed", "(",
         "Expected ')' before the end of the query."),
        ("MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS k = 'a)", "the quote ' is not closed", "'",
         "Write ' twice inside a string."),
        ("MATCH_RECOGNIZE (PATTERN (A) /* no end )", "the comment is not closed", "/*",
         "A comment ends with */."),
        ("SELECT x FROM t MATCH_RECOGNIZE (PATTERN (A))", "unexpected 'x'", "x",
         "A statement here is SELECT * FROM name MATCH_RECOGNIZE ( … ), and no more. "
         "cep.sql() runs whole statements (cepheid sql)."),
        ("SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A)) AS m WHERE x > 1", "unexpected 'WHERE'",
         "WHERE", "Nothing but a name can follow the clause. cep.sql() runs whole statements "
         "(cepheid sql)."),
        ("MATCH_RECOGNIZE ()", "unexpected ')'", ")",
         "Expected PARTITION BY, ORDER BY, MEASURES, ONE ROW PER MATCH, ALL ROWS PER MATCH, AFTER "
         "MATCH SKIP or PATTERN."),
        ("MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS x == 1)", "unexpected '='", "=",
         "Compare with =, <>, !=, <, <=, > or >=."),
    ],
)  # fmt: skip
def test_syntax_errors(text, message, place, advice):
    found = fault(text)
    assert found == (message, place, advice)
    with pytest.raises(QuerySyntaxError):
        cep.query(text)


def test_all_faults_are_reported_together():
    text = """MATCH_RECOGNIZE (
      MEASURES C.x AS m, FIRST(PREV(A.x)) AS n
      AFTER MATCH SKIP TO D
      PATTERN (A B{5,2})
      SUBSET S = (A, E)
      DEFINE A AS FINAL LAST(A.x) > 1, F AS x > 1
    )"""
    with pytest.raises(QuerySemanticError) as error:
        cep.query(text, source="falls.sql")
    assert [found.message for found in error.value.faults] == [
        "the pattern has no variable 'C'",
        "PREV cannot be inside FIRST",
        "the pattern has no variable 'D'",
        "a repetition of at least 5 and at most 2 times is impossible",
        "the pattern has no variable 'E'",
        "FINAL cannot be used in DEFINE",
        "the pattern has no variable 'F'",
    ]
    assert "falls.sql:4:19: a repetition of at least 5" in str(error.value)
    assert "  4 |       PATTERN (A B{5,2})\n    |                   ^^^^^" in str(error.value)


def test_faults_of_columns_and_kinds_are_reported_together():
    text = "MATCH_RECOGNIZE (PARTITION BY q MEASURES z AS m PATTERN (A) DEFINE A AS x > 'a' OR y)"
    with pytest.raises(QuerySemanticError) as error:
        cep.query(text).match(COLUMNS)
    assert [found.message for found in error.value.faults] == [
        "the table has no column 'q'",
        "the table has no column 'z'",
        "an integer cannot be compared with a string",
        "this is an integer, not a condition",
    ]
