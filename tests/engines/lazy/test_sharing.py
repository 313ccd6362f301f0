"""Which alternatives are evaluated together: those that say the same of some components."""

import pytest

import cepheid as cep
from cepheid.analysis.analyse import analyse
from cepheid.engines.base.options import FIRST_CHANCE, POST_PROCESSING
from cepheid.engines.lazy.sharing import shared_alternatives, sharing_lines
from cepheid.language.parser import parse


def lines(text: str) -> list[str]:
    return [
        line.replace("alternatives ", "").replace(" are evaluated together", "")
        for line in sharing_lines(analyse(parse(f"PATTERN {text} WITHIN 9")))
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("OR(SEQ(A a, B b), SEQ(A c, B d))", ["1, 2: a = c, b = d in both"]),
        (
            "OR(SEQ(A a, B b), SEQ(A c, C d), SEQ(A e, B f))",
            ["1, 2, 3: a = c = e in all; b = f in several"],
        ),
        ("OR(SEQ(A a, B b), AND(A c, B d))", ["1, 2: a = c in both"]),
        ("OR(SEQ(A a, B b), SEQ(B c, A d))", ["1, 2: b = c in both"]),
        ("OR(SEQ(A a, B+ b[]), SEQ(A c, B d))", ["1, 2: a = c in both"]),
        ("OR(SEQ(A a, B+ b[]), SEQ(A c, B+ d[]))", ["1, 2: a = c, b = d in both"]),
        ("OR(SEQ(A a, B b), SEQ(C c, D d), SEQ(D e, C f))", ["2, 3: d = e in both"]),
        ("OR(SEQ(A a, B b), SEQ(C c, D d))", []),
        ("OR(A a, ANY(A, B) b)", []),
        # The first of two that could be meant.
        ("OR(SEQ(A a, A b), SEQ(A c, C d))", ["1, 2: a = c in both"]),
        ("OR(SEQ(A a, C b), SEQ(A c, A d, C e))", ["1, 2: a = c, b = e in both"]),
    ],
)
def test_components_are_the_same_whatever_they_are_called(text: str, expected: list[str]) -> None:
    assert lines(text) == expected


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ("a.x < b.x AND c.x < d.x", ["a = c, b = d"]),
        ("a.x < b.x AND c.x <= d.x", ["a = c"]),
        ("a.x < b.x", ["a = c"]),
        ("a.x = 1 AND c.x = 1", ["a = c, b = d"]),
        ("a.x = 1 AND c.x = 2", ["b = d"]),
        ("a.x = 1 AND b.x = 1", []),
        ("a.x + b.x < e.x AND c.x < 3 AND a.x < 3 AND d.x < 3", ["a = c"]),
        ("[k]", ["a = c, b = d"]),
    ],
)
def test_conditions_must_be_the_same(conditions: str, expected: list[str]) -> None:
    found = lines(f"OR(SEQ(A a, B b, C e), SEQ(A c, B d)) WHERE {conditions}")
    assert found == [f"1, 2: {each} in both" for each in expected]


def test_names_come_first() -> None:
    found = lines("SEQ(A a, OR(A b, SEQ(A c, B d)), A e)")
    assert found == ["1, 2: a, b = c, e in both"]


def test_negations_that_are_tested_early_are_run_apart() -> None:
    text = "PATTERN OR(AND(SEQ(A a, ~(C n), B b), D d), SEQ(A e, B f)) WITHIN 9"
    query = analyse(parse(text))
    assert not shared_alternatives(query)
    assert not shared_alternatives(query, FIRST_CHANCE)
    [group] = shared_alternatives(query, POST_PROCESSING)
    assert group.places == ((0, 1, 2), (0, 1))
    assert not group.union.negations
    last = analyse(parse("PATTERN OR(SEQ(A a, B b, ~(C n)), SEQ(A e, B f)) WITHIN 9"))
    assert len(shared_alternatives(last, FIRST_CHANCE)) == 1


@pytest.mark.parametrize(
    "pattern",
    [
        "SEQ(B+ a[], OR(A* c[], A d)) WHERE a[2].x < d.x",
        "SEQ(B+ a[], A* c[]) WHERE a[2].x < c[1].x",
        "OR(B+ a[], SEQ(B+ a[], A d)) WHERE a[2].x < d.x",
    ],
)
def test_a_list_that_has_to_be_longer_in_one_alternative_is_another(pattern: str) -> None:
    query = cep.query(f"PATTERN {pattern} WITHIN 9")
    events = {"ts": [0, 1, 2], "type": ["B", "B", "A"], "x": [1, 2, 3]}
    expected, *others = (
        sorted(map(str, query.match(events, evaluation=name).bindings()))
        for name in ("reference", "nfa_b", "lazy_chain", "lazy_tree")
    )
    assert all(found == expected for found in others)
    assert "{'a': [0]}" in expected
