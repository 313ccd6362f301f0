"""Patterns with more components than native code can number."""

import warnings

import pytest

import cepheid as cep

REASON = "it has more than 31 components"


def long_query(count, operator="SEQ", last="A z"):
    parts = ", ".join(f"A a{ix}" for ix in range(count - 1))
    return cep.query(f"PATTERN {operator}({parts}, {last}) WITHIN 100")


@pytest.mark.parametrize(
    "query",
    [
        long_query(32),
        long_query(60),
        long_query(32, "AND"),
        long_query(32, last="A+ z[]"),
        long_query(32, last="A* z[], A y"),
    ],
    ids=str,
)
@pytest.mark.parametrize("schema", [None, {"A": {"x": "integer"}}])
def test_explain_names_the_reference_evaluation_and_the_reason(query, schema):
    plan = query.explain(schema)
    assert "evaluation:\n  reference:" in plan
    assert REASON in plan


def test_a_lazy_evaluation_counts_negated_components():
    parts = ", ".join(f"A a{ix}" for ix in range(30))
    query = cep.query(f"PATTERN AND({parts}, SEQ(~(A c), ~(A d), A b)) WITHIN 9")
    for schema in (None, {"A": {"x": "integer"}}):
        assert f"not lazy_chain: {REASON}" in query.explain(schema)


def test_a_match_and_a_session_warn():
    query = long_query(32)
    with pytest.warns(cep.CepheidWarning, match=REASON):
        query.match({"ts": [1], "type": ["A"]})
    with pytest.warns(cep.CepheidWarning, match=REASON):
        query.session().feed({"ts": [1], "type": ["A"]})


def test_31_components_run_in_native_code():
    query = long_query(31)
    assert "instance_stacks:" in query.explain()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(query.match({"ts": list(range(31)), "type": ["A"] * 31})) == 1
