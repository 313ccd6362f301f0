"""No text whatsoever makes the parser fail in any other way than by saying what is wrong.

Whatever the text is, the answer is a query, which can be printed, a ``QuerySyntaxError`` whose
message can be shown, or a ``LimitError``. How long it takes is not asserted here, but a text whose
time grew faster than its length would make this module hang: the long ones are of the kinds that
once did.
"""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from paper_queries import PAPER_QUERIES
from strategies import fragments, mutations, query_texts

from cepheid.errors import LimitError, QuerySyntaxError
from cepheid.language.parser import parse_script
from cepheid.language.printer import print_query

ANY_CHARACTER = st.characters(codec=None, categories=None)


def check(text):
    faults = []
    try:
        for query in parse_script(text):
            print_query(query)
    except LimitError:
        return
    except QuerySyntaxError as error:
        faults.extend(error.faults)
    for fault in faults:
        assert fault.span is not None
        assert 0 <= fault.span.start <= len(text)


@given(st.text(ANY_CHARACTER))
@example("")
@example("\0")
@example("\ud800")
@example("PATTERN \ud800")
@example("PATTERN A a WHERE a.x = '\ud800'")
@example("EVENT A WITHIN 5 ſ")
@example("EVENT A WITHIN 5 μs")
@example("EVENT A WHERE ſkip till any match")
@example("EVENT A WITHIN 1e999")
@example("EVENT A WITHIN 1e300")
@example("EVENT A WHERE x = " + "9" * 5000)
@example("EVENT A{" + "9" * 5000 + "} a[]")
@example("EVENT A+ a[] WHERE a[" + "9" * 5000 + "].x = 1")
@example("EVENT A WHERE x = " + "9" * 5000 + "%")
@example("EVENT A WHERE x = 1\r\n\r\n")
@example("EVENT A\x0c\x0cB C")
def test_any_text(text):
    check(text)


@given(fragments)
def test_words_of_the_language_in_no_order(text):
    check(text)


@given(mutations(query_texts))
def test_queries_with_tokens_changed(text):
    check(text)


@given(mutations(st.sampled_from(list(PAPER_QUERIES.values()))))
def test_queries_of_the_papers_with_tokens_changed(text):
    check(text)


@given(query_texts, st.integers(0, 10_000), ANY_CHARACTER)
def test_queries_with_one_character_put_in(text, place, character):
    place %= len(text) + 1
    check(text[:place] + character + text[place:])


@given(query_texts, st.integers(0, 10_000))
def test_queries_that_are_cut_off(text, length):
    check(text[: length % (len(text) + 1)])


NESTED = {
    "round brackets": ("PATTERN A a WHERE ", "(", "a.x = 1", ")"),
    "functions": ("PATTERN A a WHERE ", "abs(", "a.x", ")"),
    "not": ("PATTERN A a WHERE ", "NOT ", "a.x = 1", ""),
    "minus": ("PATTERN A a WHERE ", "- ", "a.x", ""),
    "not and minus": ("PATTERN A a WHERE ", "NOT -(", "a.x", ")"),
    "and and or": ("PATTERN A a WHERE ", "a.x = 1 AND (a.y = 2 OR ", "a.x = 1", ")"),
    "a sum": ("PATTERN A a WHERE ", "a.x + ", "a.x", ""),
    "a product in brackets": ("PATTERN A a WHERE ", "2 * (1 + ", "a.x", ")"),
    "IN": ("PATTERN A a WHERE ", "a.x IN (", "1", ")"),
    "patterns": ("PATTERN ", "SEQ(", "A a", ")"),
    "negations": ("PATTERN ", "~(", "A a", ")"),
    "RETURN": ("PATTERN A a RETURN ", "f(", "a.x", ")"),
}


@pytest.mark.parametrize("depth", [90, 101, 1_000, 5_000])
@pytest.mark.parametrize(("before", "opening", "inside", "closing"), NESTED.values(), ids=NESTED)
def test_deep_nesting(before, opening, inside, closing, depth):
    check(before + opening * depth + inside + closing * depth)


@pytest.mark.parametrize(("before", "opening", "inside", "closing"), NESTED.values(), ids=NESTED)
def test_deep_nesting_that_is_not_closed(before, opening, inside, closing):
    check(before + opening * 5_000)
    check(before + opening * 5_000 + inside + closing)


LONG = {
    "one word": "w" * 100_000,
    "one type": "PATTERN " + "w" * 100_000 + " a b",
    "one name in backticks": "PATTERN `" + " " * 100_000 + "` a",
    "many words": "PATTERN " + "w " * 50_000,
    "many components": "PATTERN SEQ(" + ", ".join(["A"] * 10_000) + ")",
    "many conditions": "PATTERN A a WHERE " + " AND ".join(["a.x = 1"] * 5_000),
    "many values": "PATTERN A a WHERE a.x IN (" + ", ".join("1" * 20_000) + ")",
    "many faults": "PATTERN A+ a[] WHERE " + " AND ".join(["a[0].x = 1"] * 5_000),
    "many queries": "EVENT A;" * 5_000,
    "digits": "PATTERN A a WHERE a.x = " + "9" * 100_000,
    "digits and dots": "PATTERN A a WHERE a.x = " + "9." * 50_000,
    "spaces": "PATTERN A a WHERE skip" + " " * 100_000,
    "one comment": "PATTERN A a /*" + "*" * 100_000 + "*/",
    "many comments": "PATTERN A a " + "/**/" * 25_000,
    "one ruler": "PATTERN A a --" + "-" * 100_000,
    "a percentage before comments": "PATTERN A a WHERE a.x = 5 % " + "/**/" * 25_000 + "a.x",
    "a percentage before rulers": "PATTERN A a WHERE a.x = 5 % " + "-- " * 25_000 + "\na.x",
    "a percentage before an open comment": "PATTERN A a WHERE a.x = 5 % " + "/*" * 50_000,
    "SEQ before comments": "PATTERN SEQ" + "/**/" * 25_000,
    "quotes": "PATTERN A a WHERE a.x = '" + "''" * 50_000,
    "nothing but quotes": "'" * 100_000,
    "nothing but brackets": "[" * 100_000,
    "nothing but NUL": "\0" * 100_000,
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_long_texts(text):
    check(text)
