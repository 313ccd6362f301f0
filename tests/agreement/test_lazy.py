"""Lazy automata give the matches of the reference evaluation, whatever the pattern and order."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest
from agreement.comparison import agree, answers, comparable, found_in_pieces, is_valid, window_of
from agreement.strategies import Case, nested_cases, similar_branches
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import cepheid as cep
from cepheid.analysis.analyse import analyse
from cepheid.engines.base.options import NEGATIONS, Options
from cepheid.engines.base.query_session import SessionTask
from cepheid.engines.lazy.compile import compile_lazy, refuse_lazy
from cepheid.engines.lazy.sharing import shared_alternatives
from cepheid.events.events import order_events
from cepheid.language import syntax as ast
from cepheid.matches.modes.rule import OutputRule
from cepheid.sessions.session import Session

EVALUATIONS = ("lazy_chain", "lazy_tree")
OUTPUTS = ("all", "non_overlapping")
NEGATION = st.sampled_from(NEGATIONS)


@pytest.fixture(autouse=True)
def _little_room(tune: Callable[..., None]) -> None:
    """Everything that can be full is full soon, and plans change as often as they can."""
    tune(
        output_ids=16,
        output_matches=8,
        plan_events=2,
        plan_gain=1.0,
        lazy_instances=4,
        lazy_nodes=4,
        lazy_pool=8,
        lazy_few_events=2,
        lazy_store=2,
        negation_tests=2,
        few_partitions=2,
        chunk_events=3,
    )


@st.composite
def statistics(draw: st.DrawFn) -> dict[str, float] | None:
    if draw(st.booleans()):
        return None
    return {name: draw(st.sampled_from((0.01, 0.1, 1.0))) for name in "ABC"}


@settings(suppress_health_check=list(HealthCheck), max_examples=2 * settings().max_examples)
@given(
    case=nested_cases(),
    evaluation=st.sampled_from(EVALUATIONS),
    output=st.sampled_from(OUTPUTS),
    negation=NEGATION,
    given=statistics(),
)
def test_agrees_with_reference(
    case: Case,
    evaluation: str,
    output: str,
    negation: str,
    given: dict[str, float] | None,
) -> None:
    agree(case, evaluation, output, {"negation": negation, "statistics": given})


@settings(suppress_health_check=list(HealthCheck))
@given(
    case=nested_cases(),
    cuts=st.lists(st.tuples(st.integers(0, 10), st.booleans()), max_size=6),
    evaluation=st.sampled_from(EVALUATIONS),
    output=st.sampled_from(OUTPUTS),
    negation=NEGATION,
)
def test_any_chunking_and_restart_gives_the_same(
    case: Case,
    cuts: list[tuple[int, bool]],
    evaluation: str,
    output: str,
    negation: str,
) -> None:
    check_chunks(case, cuts, evaluation, output, negation)


@settings(suppress_health_check=list(HealthCheck))
@given(
    case=similar_branches(),
    cuts=st.lists(st.tuples(st.integers(0, 10), st.booleans()), max_size=4),
    output=st.sampled_from(OUTPUTS),
    negation=NEGATION,
)
def test_branches_that_are_alike_are_evaluated_together(
    case: Case, cuts: list[tuple[int, bool]], output: str, negation: str
) -> None:
    check_chunks(case, cuts, "lazy_chain", output, negation)


def check_chunks(
    case: Case, cuts: list[tuple[int, bool]], evaluation: str, output: str, negation: str
) -> None:
    """The answer is that of the reference, however the stream is cut and begun again."""
    tree = cep.query(case.query).tree if is_valid(case.query) else None
    events = order_events(case.table())
    if tree is None:
        return
    analysed = analyse(tree, events.schema)
    if refuse_lazy(analysed) is not None:
        return
    options = Options(negation=negation)
    event(f"together: {sum(len(each.numbers) for each in shared_alternatives(analysed, negation))}")
    window = window_of(tree)
    running = Session(analysed, window, OutputRule(output), options, evaluation=evaluation)
    task = SessionTask(analysed, window, options=options)
    found = found_in_pieces(running, task, events, cuts)
    event(f"matches: {min(len(found), 5)}")
    assert found == answers(cep.query(case.query), case, "reference", output)


def long_stream(size: int = 400) -> pa.Table:
    """Events of three types whose frequencies change again and again."""
    rare = "ABC"
    types = []
    for place in range(size):
        name = rare[place // 100 % 3]
        others = [each for each in rare if each != name]
        types.append(name if place % 17 == 0 else others[(place * 7 // 3) % 2])
    return pa.table(
        {
            "ts": range(size),
            "type": types,
            "x": [(7 * place) % 5 for place in range(size)],
            "k": [place % 3 for place in range(size)],
            "m": [None if place % 13 == 0 else place * 11 % 7 for place in range(size)],
            "n": [None if place % 11 == 0 else place // 20 + place % 3 for place in range(size)],
        }
    )


@pytest.mark.parametrize(
    ("condition", "attributes"),
    [
        ("b[i].n = b[i-1].n", ["n"]),
        ("b[i-1].n = b[i].n", ["n"]),
        ("b[i].n = b[1].n", ["n"]),
        ("b[2].n = b[i].n", ["n"]),
        ("b[i].n = b[b.LEN].n", ["n"]),
        ("b[i].n = first(b[].n)", ["n"]),
        ("b[i].n = max(b[..i-1].n)", ["n"]),
        ("b[i].n = b[i-1].n AND b[i].x = b[1].x", ["n", "x"]),
        ("b[i].n = a.x + c.x", ["n"]),
        # Each by itself, or not at all.
        ("b[i].n = 3", []),
        ("b[i].n = avg(b[..i-1].n)", []),
        ("b[i].n = b[i-1].x", []),
        ("b[1].n = b[2].n", []),
        ("b[i].n = b[i-1].n OR a.x = 1", []),
    ],
)
def test_a_list_is_looked_up_by_what_its_events_agree_in(
    condition: str, attributes: list[str]
) -> None:
    events = order_events(long_stream())
    query = cep.query(f"PATTERN SEQ(A a, B+ b[], C c) WHERE {condition} WITHIN 9").tree
    analysed = analyse(query, events.schema)
    links = compile_lazy(analysed, analysed.alternatives[0], NEGATIONS[0]).links
    assert list(links) == [((1, name),) for name in attributes]


@settings(suppress_health_check=list(HealthCheck))
@given(case=nested_cases(), attributes=st.sampled_from(("x", "k", ("x", "s"))))
def test_a_group_that_is_given_is_a_condition(case: Case, attributes: str | list[str]) -> None:
    if not is_valid(case.query):
        return
    parts = [part for part, _ in ast.components(cep.query(case.query).tree.pattern)]
    query = cep.query(
        case.query, group_by={part.variable: attributes for part in parts if part.is_kleene}
    )
    expected = answers(cep.query(str(query)), case, "reference", "all")
    for evaluation in ("reference", "nfa_b", *EVALUATIONS):
        try:
            found = answers(query, case, evaluation, "all")
        except cep.EvaluationError:
            continue
        assert found == expected


@pytest.mark.parametrize("evaluation", EVALUATIONS)
@pytest.mark.parametrize(
    "text",
    [
        "PATTERN SEQ(A a, B b, C c) WHERE a.x <= b.x AND c.x > a.x WITHIN 20",
        "PATTERN SEQ(A a, B b, C c) WHERE [k] WITHIN 40",
        "PATTERN SEQ(C c, B b, A a) WITHIN 9 EVENTS PER PARTITION",
        "PATTERN AND(A a, SEQ(B b, C c)) WHERE a.x = b.x WITHIN 15",
        "PATTERN SEQ(A a, B{1,2} b[], C c) WHERE b[i].x <= c.x AND b[i].x > b[i-1].x WITHIN 15",
        "PATTERN SEQ(A a, ~(B b), C c) WHERE b.x = a.x WITHIN 20",
        "PATTERN SEQ(A a, B b, C c) WHERE a.x = b.x AND b.k < c.k WITHIN 30",
        "PATTERN SEQ(A a, B b, C c) WHERE a.x = b.x AND b.k = c.x AND [k] WITHIN 90",
        "PATTERN AND(A a, B b, C c) WHERE a.n = b.m AND b.n = c.n WITHIN 90",
        "PATTERN SEQ(A a, B{1,3} b[], C c) WHERE b[i].x = b[i-1].x AND a.k = c.k WITHIN 14",
        "PATTERN SEQ(A a, B+ b[], C c) WHERE b[i].n = b[i-1].n AND b[1].n = c.n WITHIN 12",
        "PATTERN SEQ(A a, B+ b[], C c) WHERE b[i].x = a.x AND b[i].k <= c.k WITHIN 12",
        "PATTERN SEQ(A a, B+ b[], C c) WHERE b[i].m = b[1].m AND a.k = c.k WITHIN 12",
        "PATTERN SEQ(A a, B+ b[], C c) WHERE b[i].n = last(b[].n) AND a.k = c.k WITHIN 12",
        "PATTERN SEQ(A a, B+ b[], C c) WHERE min(b[..i-1].n) = b[i].n AND a.k = c.k WITHIN 12",
        "PATTERN SEQ(A a, B+ b[], C c) WHERE b[i].n = c.m + a.x WITHIN 15",
        "PATTERN SEQ(A a, B+ b[]) WHERE b[i].n = b[i-1].n AND b[i].m = b[i-1].m WITHIN 9",
        "PATTERN B+ b[] WHERE b[i].m = first(b[..i-1].m) AND b.LEN > 1 WITHIN 15",
        "PATTERN SEQ(A a, ~(B b), C c) WHERE b.x = a.x AND a.k = c.k AND b.m = c.x WITHIN 20",
        "PATTERN SEQ(A a, ~(B b), C c, B d) WHERE b.x > a.x AND d.k = a.k WITHIN 12",
        "PATTERN SEQ(A a, OR(B b, AND(C c, B d)), C e) WHERE a.x = e.x AND d.k = a.k WITHIN 15",
        "PATTERN OR(SEQ(A a, B b, C c), SEQ(A d, B e, A f)) WHERE a.x = b.x AND d.x = e.x WITHIN 9",
        "PATTERN OR(SEQ(A a, B b), SEQ(ANY(B, C) c, A d, B e)) WHERE [k] WITHIN 5",
        "PATTERN OR(A a, SEQ(B+ b[], A c)) WHERE [k] WITHIN 6",
        "PATTERN OR(SEQ(A a, B b, ~(C n), B c), SEQ(A d, B e, C f)) "
        "WHERE a.x < b.x AND d.x < e.x AND n.x > a.x AND b.k = c.k AND n.n = c.n WITHIN 12",
        "PATTERN SEQ(A a, B{0,2} b[], C c) WHERE a.x = c.x AND b[i].k < c.k WITHIN 15",
    ],
)
def test_plans_change_and_nothing_is_lost(text: str, evaluation: str) -> None:
    table = long_stream()
    query = cep.query(text)
    expected = sorted(comparable(query.match(table, evaluation="reference")))
    assert len(expected) > 15
    assert sorted(comparable(query.match(table, evaluation=evaluation))) == expected
    running = query.session(evaluation=evaluation)
    found: list[str] = []
    for low in range(0, len(table), 23):
        found += comparable(running.feed(table.slice(low, 23)))
        if low % 5 == 0:
            running = query.restore(running.snapshot(), evaluation=evaluation)
    found += comparable(running.advance())
    assert sorted(found) == expected
