"""The formatter keeps the query and its comments, and leaves formatted text as it is."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paper_queries import PAPER_QUERIES
from row_patterns.clause_strategies import clauses
from strategies import queries

from cepheid.editing.formatting import format_query
from cepheid.editing.tokens import words
from cepheid.errors import QuerySyntaxError
from cepheid.language.parser import parse_script, query_grammar
from cepheid.language.printer import print_query
from cepheid.row_patterns.parser import clause_grammar
from cepheid.row_patterns.parser import parse as parse_clause

COMMENTS = st.sampled_from(
    ["", "", "", " -- note\n", "\n-- above\n", " /* in */ ", "\n\n/* a\n b */\n"]
)


@st.composite
def commented(draw, texts, grammar):
    """Texts with comments between their tokens, and in lines of any length."""
    text = draw(texts)
    tokens = words(text, grammar())
    pieces, place = [], 0
    for token in tokens:
        # Between two tokens that the grammar reads as one, such as OUTPUT FIRST, there is a space.
        gap = text[place : token.start]
        pieces += [gap, draw(COMMENTS), text[token.start : token.end]]
        place = token.end
    return "".join(pieces)


def comments(text, grammar):
    found = words(text, grammar())
    return [each.text for word in found for each in (*word.before, *word.after)]


@settings(max_examples=60)
@given(commented(queries().map(print_query), query_grammar))
def test_a_formatted_query_is_the_same_query_with_the_same_comments(text):
    try:
        tree = parse_script(text)
    except QuerySyntaxError:
        return  # a comment between two words that are one only if nothing is between them
    formatted = format_query(text)
    assert parse_script(formatted) == tree
    assert comments(formatted, query_grammar) == comments(text, query_grammar)
    assert format_query(formatted) == formatted


@settings(max_examples=40)
@given(commented(clauses(), clause_grammar))
def test_a_formatted_clause_is_the_same_clause_with_the_same_comments(text):
    formatted = format_query(text)
    assert parse_clause(formatted) == parse_clause(text)
    assert comments(formatted, clause_grammar) == comments(text, clause_grammar)
    assert format_query(formatted) == formatted


@pytest.mark.parametrize("text", PAPER_QUERIES.values(), ids=PAPER_QUERIES)
def test_queries_of_papers_are_formatted(text):
    formatted = format_query(text)
    assert parse_script(formatted) == parse_script(text)
    assert format_query(formatted) == formatted


def test_long_clauses_are_divided_at_brackets_commas_and_operators():
    text = """pattern seq(Stock+ a[], Stock b) where skip-till-next-match(a[],b) { [symbol] and
        a[1].volume>1000 ∧ a[i].price>avg(a[..i-1].price) and b.volume<80%*a[a.LEN].volume
        and (b.exchange='NASDAQ' or b.exchange='New York Stock Exchange' or b.exchange is null) }
        within 1 hour return Trend(symbol=b.symbol); event Trend"""
    assert (
        format_query(text)
        == """\
PATTERN SEQ(Stock+ a[], Stock b)
WHERE skip_till_next_match(a[], b) {
  [symbol]
  AND a[1].volume > 1000
  AND a[i].price > avg(a[..i-1].price)
  AND b.volume < 80% * a[a.LEN].volume
  AND (
    b.exchange = 'NASDAQ'
    OR b.exchange = 'New York Stock Exchange'
    OR b.exchange IS NULL
  )
}
WITHIN 1 hour
RETURN Trend(symbol = b.symbol);

EVENT Trend
"""
    )


def test_only_the_clauses_of_a_statement_change():
    text = """\
select  symbol, n   -- as written
from ticks match_recognize (partition by symbol order by ts
    measures count(*) as n pattern (down+) -- all of them
    define down as price<prev(price)) as m
where n>3
"""
    assert (
        format_query(text)
        == """\
select  symbol, n   -- as written
from ticks MATCH_RECOGNIZE (
  PARTITION BY symbol
  ORDER BY ts
  MEASURES count(*) AS n
  PATTERN (down+)  -- all of them
  DEFINE down AS price < prev(price)
) as m
where n>3
"""
    )


def test_the_first_line_of_a_statement_is_not_indented():
    text = "\n    SELECT n FROM t MATCH_RECOGNIZE (ORDER BY ts PATTERN (A)) AS m\n    WHERE n > 1\n"
    formatted = format_query(text)
    assert formatted.startswith("SELECT n FROM t MATCH_RECOGNIZE (\n  ORDER BY ts\n")
    assert format_query(formatted) == formatted


def test_signs_that_would_be_a_comment_stay_apart():
    assert format_query("EVENT A WHERE x = 1 - - 2") == "EVENT A\nWHERE x = 1 - -2\n"


def test_a_text_with_faults_is_not_formatted():
    with pytest.raises(QuerySyntaxError, match="is not closed"):
        format_query("PATTERN SEQ(A a WHERE x = 1")
    with pytest.raises(QuerySyntaxError):
        format_query("SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A)")


def test_the_fields_of_a_rule_stay_and_places_are_those_in_the_file():
    fields = '+++\nseverity =   "high"\n+++\n'
    assert format_query(f"{fields}\nevent A") == f"{fields}EVENT A\n"
    with pytest.raises(QuerySyntaxError, match=r"^query:4:7: "):
        format_query(f"{fields}EVENT (A")
