"""Printing: parsing the printed text gives an equal query, for queries of every shape."""

import pytest
from hypothesis import given
from paper_queries import PAPER_QUERIES
from strategies import queries

from cepheid.language.parser import parse
from cepheid.language.printer import print_query


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
