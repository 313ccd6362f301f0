"""Arguments that are too long, or no such value at all, are an error of cepheid."""

import pytest

import cepheid as cep

EVENTS = {"ts": [1, 2], "type": ["A", "B"], "x": [1, 2]}
LONG = "9" * 5_000
PAIR = cep.query("PATTERN SEQ(A a, B b) WITHIN 5")
CLAUSE = "MATCH_RECOGNIZE (ORDER BY ts PATTERN (A) DEFINE A AS x > 0)"


@pytest.mark.parametrize("path", [None, 5, "a\0b", "\ud800", LONG])
def test_paths_of_queries(path):
    with pytest.raises(cep.OptionError, match=r"cannot read the query|is not the path of a query"):
        cep.read_query(path)


def test_paths_of_rules_and_events_that_are_too_long():
    with pytest.raises(cep.OptionError, match="no such folder"):
        cep.rules(LONG)
    with pytest.raises(cep.CepheidError):
        PAIR.match(LONG)


@pytest.mark.parametrize(
    "keywords",
    [
        {"evaluation": []},
        {"max_memory": -(10**5_000)},
        {"options": {1: 2}},
        {"uncertainty": LONG},
    ],
)
def test_keywords_of_match(keywords):
    with pytest.raises(cep.CepheidError):
        PAIR.match(EVENTS, **keywords)


def test_a_memory_limit_may_be_as_large_as_one_likes():
    assert len(PAIR.match(EVENTS, max_memory=f"{LONG} GB")) == 1


@pytest.mark.parametrize(
    "steps", [2**63, 10**5_000, -(10**5_000)], ids=["63 bits", "large", "small"]
)
def test_numbers_of_steps(steps):
    with pytest.raises(cep.OptionError, match="max_steps is a positive integer"):
        cep.query(CLAUSE).match(EVENTS, max_steps=steps)


def test_tables_of_statements_and_times():
    with pytest.raises(cep.OptionError, match="tables are a mapping"):
        cep.sql("SELECT 1", 5)
    session = PAIR.session()
    session.feed(EVENTS)
    with pytest.raises(cep.OptionError, match="is not a time"):
        session.advance("\ud800")
