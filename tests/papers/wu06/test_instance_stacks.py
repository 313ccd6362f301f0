"""The stacks, plans and examples of [Wu06 §3 and §4]."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

import cepheid as cep
from cepheid.engines.base.options import CONSTRUCTIONS, EQUIVALENCES, WINDOWS

Q3 = """
    EVENT SEQ(A x1, B x2, !(C x3), D x4)
    WHERE [attr1, attr2] AND x1.attr3 = '1' AND x1.attr4 < x4.attr4
    WITHIN 6
"""


def events(text: str, **columns: list[object]) -> dict[str, list[object]]:
    """The stream of a figure: letters with their times, and the values below them."""
    names = [word.rstrip("0123456789").upper() for word in text.split()]
    times = [int(word.lstrip("abcdef")) for word in text.split()]
    return {"ts": times, "type": names, **columns}


def found(query: str, stream: dict[str, list[object]], **options: object) -> list[str]:
    """The matches as the figures write them."""
    matches = cep.query(query).match(stream, evaluation="instance_stacks", **options)
    label = [
        f"{name}{time}".lower() for name, time in zip(stream["type"], stream["ts"], strict=True)
    ]
    return sorted(" ".join(label[row] for row in match.values()) for match in matches.bindings())


@pytest.mark.parametrize("construction", CONSTRUCTIONS)
def test_an_instance_follows_all_instances_up_to_its_rip(construction: str) -> None:
    """As in figure 3: b6 can follow a1 and a4, and d9 all that was built for it."""
    stream = events("c1 a2 b3 a4 d5 b6 d9")
    assert found("PATTERN SEQ(A a, B b, D d)", stream, options={"construction": construction}) == [
        "a2 b3 d5",
        "a2 b3 d9",
        "a2 b6 d9",
        "a4 b6 d9",
    ]


@pytest.mark.parametrize("equivalence", EQUIVALENCES)
def test_two_keys_that_agree_one_by_one_need_not_agree_together(equivalence: str) -> None:
    """As in figure 5: b6 agrees with a1 on attr1, with a2 on attr2, and with a3 on both."""
    stream = events("a1 a2 a3 b5 b6", attr1=[1, 2, 1, 2, 1], attr2=[1, 3, 3, 1, 3])
    query = "PATTERN SEQ(A a, B b) WHERE [attr1, attr2]"
    assert found(query, stream, options={"equivalence": equivalence}) == ["a3 b6"]


def test_multi_pais_constructs_sequences_that_selection_drops() -> None:
    stream = events("a1 a2 a3 b5 b6", attr1=[1, 2, 1, 2, 1], attr2=[1, 3, 3, 1, 3])
    query = cep.query("PATTERN SEQ(A a, B b) WHERE [attr1, attr2]")
    constructed = {
        name: query.match(stream, options={"equivalence": name}).metrics.sequences
        for name in EQUIVALENCES
    }
    assert constructed == {"dynamic": 1, "multi_pais": 2, "pais": 3, "selection": 6}


@pytest.mark.parametrize(
    ("construction", "equivalence", "window"),
    list(itertools.product(CONSTRUCTIONS, EQUIVALENCES, WINDOWS)),
)
def test_every_plan_of_query_3_gives_the_same(
    construction: str, equivalence: str, window: str
) -> None:
    stream = events(
        "a1 b2 a3 b4 c5 b6 d7 d8 d12",
        attr1=[1] * 9,
        attr2=[1, 1, 2, 2, 1, 1, 1, 2, 1],
        attr3=["1"] * 9,
        attr4=[1, 0, 2, 0, 0, 0, 3, 5, 9],
    )
    options = {"construction": construction, "equivalence": equivalence, "window": window}
    assert found(Q3, stream, options=options) == ["a3 b4 d8"]


def test_the_plan_of_query_3_pushes_down_what_figure_6_does() -> None:
    plan = cep.query(Q3).explain(domains={"attr1": 100, "attr2": 10}).partition("plan:\n")[2]
    assert plan.splitlines() == [
        "  transformation: the variables of each match",
        "    negation: C x3 between, indexed by time",
        "      sequence scan and construction: active instance stacks",
        "        scan: A x1 where x1.attr3 = '1'",
        "        scan: B x2",
        "        scan: D x4",
        "        scan: stacks partitioned by x1.attr1 = x2.attr1 = x4.attr1 (PAIS, the most "
        "selective key: attr1 has 100 values and attr2 has 10 values)",
        "        scan: the window, which drops events without a partner and prunes stacks",
        "        construction: the window",
        "        construction: x1.attr2 = x2.attr2 = x4.attr2 (dynamic filtering)",
        "        construction: x1.attr4 < x4.attr4, when x1 is bound",
    ]


def test_the_basic_plan_pushes_nothing_down() -> None:
    options = {"construction": "basic", "equivalence": "selection", "window": "selection"}
    plan = cep.query(Q3).explain(options=options).partition("plan:\n")[2]
    assert [line.strip().partition(":")[0] for line in plan.splitlines()] == [
        "transformation",
        "negation",
        "window",
        "selection",
        "selection",
        "sequence scan and construction",
        "scan",
        "scan",
        "scan",
        "construction",
    ]


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("SEQ(A a, B+ b[])", r"b\[\] takes several events, and an instance is one"),
        ("AND(A a, B b)", "it has AND, and stacks are in the order of a sequence"),
        (
            "SEQ(A a, B b) WHERE skip_till_next_match { [id] }",
            "its selection strategy is skip_till_next_match, not skip_till_any_match",
        ),
    ],
)
def test_what_stacks_cannot_run_is_refused_with_a_reason(query: str, why: str) -> None:
    with pytest.raises(cep.EvaluationError, match=why):
        cep.query(f"PATTERN {query}").explain(evaluation="instance_stacks")


@pytest.mark.parametrize(
    ("condition", "evaluation"),
    [
        ("[id]", "instance_stacks"),
        ("b.x = c.x", "instance_stacks"),
        ("a.x < b.x", "nfa_b"),
        ("a.x < b.x AND a.id = c.id", "instance_stacks"),
    ],
)
def test_auto_takes_stacks_unless_nothing_ties_the_last_event(
    condition: str, evaluation: str
) -> None:
    shown = cep.query(f"PATTERN SEQ(A a, B b, C c) WHERE {condition}").explain()
    assert f"evaluation:\n  {evaluation}:" in shown


def test_compressed_output_is_that_of_nfa_b() -> None:
    stream = events("a1 a2 b3")
    assert cep.query("PATTERN SEQ(A a, B b)").match(stream, output="compressed").count() == 2


def test_options_that_do_not_exist_are_named() -> None:
    query = cep.query("PATTERN SEQ(A a, B b)")
    with pytest.raises(cep.OptionError, match=r"there is no equivalence 'pai'; .*'pais'"):
        query.explain(options={"equivalence": "pai"})
    with pytest.raises(cep.OptionError, match="the number of values of 'id' is a positive integer"):
        query.explain(domains={"id": 0})


def test_more_instances_than_allowed_end_the_evaluation(tune: Callable[..., None]) -> None:
    tune(first_instances=4)
    stream = {"ts": list(range(50)), "type": ["A"] * 50}
    with pytest.raises(cep.LimitError, match="more than 10 instances in the stacks"):
        cep.query("PATTERN SEQ(A a, B b)").match(stream, max_runs=10)
