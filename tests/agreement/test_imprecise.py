"""imprecise gives the answers of all possible worlds, on random queries and streams."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from oracles.reference_worlds import UncertainEvent, evaluate_worlds

import cepheid as cep
from cepheid.engines.base.options import METHODS
from cepheid.matches.matches import Matches

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
EXAMPLES = int(os.environ.get("HYPOTHESIS_EXAMPLES", "4000")) if LONG else 200

SEQUENCES = (
    "SEQ(A a, B b)",
    "SEQ(A a, B b, C c)",
    "SEQ(A a, ANY(A, B) b)",
    "SEQ(ANY(A, B) a, ANY(A, B, C) b)",
    "SEQ(ANY(A, B) a, ANY(A, B) b, ANY(B, C) c)",
    "SEQ(ANY(A, B, C) a, B b, ANY(A, B, C) c)",
    "A a",
)
NEXT_SEQUENCES = (
    *SEQUENCES[:-1],
    "SEQ(A a, B b, C c, D d)",
    "SEQ(A a, B b, C c, ANY(A, D) d)",
    "SEQ(A a, ANY(B, C) b, D c)",
    "SEQ(A a, B b, B c, B d)",
)
LISTS = (
    "SEQ(A+ a[], B b)",
    "SEQ(A a, ANY(A, B)+ b[])",
    "SEQ(A a, ANY(B, C)+ b[], C c)",
    "SEQ(A a, B{1,2} b[], C c)",
    "SEQ(A a, B* b[], C c)",
)
NEGATIONS = (
    "SEQ(A a, ~(C n), B b)",
    "SEQ(A a, ~(ANY(A, B) n), B b)",
    "SEQ(~(C n), A a, B b)",
    "SEQ(A a, B b, ~(C n))",
    "SEQ(~(C n), A a, ~(C m))",
    "SEQ(~(C n), A a, ~(C m), B b, ~(C o))",
    "SEQ(A a, ~(C n), ~(ANY(B, C) m), B b)",
    "SEQ(A a, ~(B n), ANY(A, B)+ b[], ~(C m), C c)",
    "OR(SEQ(A a, ~(C n), B b), SEQ(B d, C e))",
)
PARTIAL_ORDERS = (
    "AND(A a, B b)",
    "AND(A a, ANY(A, B) b)",
    "AND(A a, B b, ANY(A, C) c)",
    "AND(SEQ(A a, B b), C c)",
    "SEQ(AND(A a, B b), ANY(A, B, C) c)",
    "SEQ(A c, AND(A a, B b))",
    "OR(SEQ(A a, B b), SEQ(B b, A a))",
    "OR(SEQ(A a, B b), AND(A a, B b))",
    "OR(SEQ(A a, ANY(A, B) b), SEQ(ANY(A, C) b, A a))",
    "OR(SEQ(A a, B b, C c), SEQ(B b, A a, C c), SEQ(A a, C c, B b))",
    "OR(SEQ(A a, B b), SEQ(B a, A b), C c)",
)
CONDITIONS = ("[k]", "a.x <= b.x", "a.x != b.x AND b.x > 0", "b.x = 1")
LIST_CONDITIONS = ("[k]", "b[i].x >= b[i-1].x", "b.LEN < 3", "a[1].x <= 1")
NEGATED_CONDITIONS = ("[k]", "n.x > 0", "n.x > a.x", "a.x <= b.x")


@dataclass(frozen=True)
class Case:
    query: str
    rows: tuple[dict[str, Any], ...]
    window: int | None

    def table(self) -> pa.Table:
        columns = {name: [row[name] for row in self.rows] for name in self.rows[0]}
        columns["p"] = pa.array(columns["p"], pa.list_(pa.float64()))
        return pa.table(columns)

    def uncertain(self) -> list[UncertainEvent]:
        events = []
        for row in self.rows:
            values = {"x": row["x"], "k": row["k"]}
            if row["p"] is None:
                made = UncertainEvent.uniform(row["type"], row["lo"], row["hi"], values)
            else:
                shares = [Fraction(share) for share in row["p"]]
                total = sum(shares)
                times = {row["lo"] + i: share / total for i, share in enumerate(shares)}
                made = UncertainEvent(row["type"], times, values)
            events.append(made)
        return events


@st.composite
def rows(draw: st.DrawFn, types: str = "AABBC", more: int = 0) -> tuple[dict[str, Any], ...]:
    found = []
    for _ in range(draw(st.sampled_from((1, 3, 4, 4, 5, 5))) + more):
        lo = draw(st.integers(0, 7))
        size = draw(st.sampled_from((1, 1, 2, 2, 3, 4)))
        shares = None
        if draw(st.integers(0, 3)) == 0:
            weights = draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
            if sum(weights):
                shares = [weight / sum(weights) for weight in weights]
        found.append(
            {
                "lo": lo,
                "hi": lo + size - 1,
                "type": draw(st.sampled_from(types)),
                "x": draw(st.sampled_from((0, 1, 2, None))),
                "k": draw(st.integers(0, 1)),
                "p": shares,
            }
        )
    return tuple(found)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    kind = draw(st.sampled_from(("sequence", "sequence", "list", "negation", "partial order")))
    patterns, conditions = {
        "sequence": (SEQUENCES, CONDITIONS),
        "list": (LISTS, LIST_CONDITIONS),
        "negation": (NEGATIONS, NEGATED_CONDITIONS),
        "partial order": (PARTIAL_ORDERS, CONDITIONS),
    }[kind]
    pattern = draw(st.sampled_from(patterns))
    chosen = draw(st.lists(st.sampled_from(conditions), max_size=2, unique=True))
    strategy = ""
    if kind != "partial order" and draw(st.booleans()):
        strategies = ["skip_till_next_match", "strict_contiguity"]
        by_partition = ["partition_contiguity"] if "[k]" in chosen else []
        strategy = draw(st.sampled_from([*strategies, *by_partition]))
    where = " AND ".join([*chosen, *([strategy] if strategy else [])])
    window = draw(st.sampled_from((1, 2, 3, 4, 6, 9) if kind == "negation" else (2, 3, 4, 6, None)))
    text = f"PATTERN {pattern}"
    text += f" WHERE {where}" if where else ""
    text += f" WITHIN {window}" if window else ""
    return Case(text, draw(rows()), window)


@st.composite
def next_cases(draw: st.DrawFn) -> Case:
    """Sequences under skip_till_next_match, of more events and in longer windows."""
    pattern = draw(st.sampled_from(NEXT_SEQUENCES))
    chosen = draw(st.lists(st.sampled_from(CONDITIONS), max_size=1))
    where = " AND ".join(["skip_till_next_match", *chosen])
    window = draw(st.sampled_from((3, 4, 6, 8, None)))
    text = f"PATTERN {pattern} WHERE {where}" + (f" WITHIN {window}" if window else "")
    types = draw(st.sampled_from(("AABBC", "ABBCCD")))
    return Case(text, draw(rows(types, draw(st.integers(0, 1)))), window)


def compiled(text: str) -> cep.CompiledQuery | None:
    try:
        return cep.query(text)
    except cep.QuerySemanticError:
        return None


def answers(matches: Matches) -> dict[str, tuple[int, int, float]]:
    """The start, the end and the confidence of each binding."""
    table = matches.to_arrow().select(["start", "end", "confidence"]).to_pylist()
    found = {}
    for binding, row in zip(matches.bindings(), table, strict=True):
        listed = {
            name: tuple(rows) if isinstance(rows, list) else (rows,)
            for name, rows in sorted(binding.items())
        }
        assert str(listed) not in found, "a signature is reported once"
        found[str(listed)] = (row["start"], row["end"], row["confidence"])
    return found


def expected(query: cep.CompiledQuery, case: Case) -> dict[str, tuple[int, int, float]]:
    worlds = evaluate_worlds(query.tree, case.uncertain(), case.window)
    return {
        str(dict(signature)): (answer.start, answer.end, float(answer.confidence))
        for signature, answer in worlds.items()
    }


def assert_same(
    actual: dict[str, tuple[int, int, float]], wanted: dict[str, tuple[int, int, float]]
) -> None:
    assert {key: answer[:2] for key, answer in actual.items()} == {
        key: answer[:2] for key, answer in wanted.items()
    }
    for key, answer in wanted.items():
        assert actual[key][2] == pytest.approx(answer[2], abs=1e-9)


@pytest.fixture(autouse=True)
def _little_room(tune: Callable[..., None]) -> None:
    """Everything that can be full is full soon, so that growing is tested too."""
    tune(
        signature_ids=8,
        signature_matches=4,
        signature_depth=3,
        any_state_runs=2,
        point_entries=1,
        rivals=2,
        confidence_rows=2,
        confidence_grid=4,
        next_listed=1,
        next_times=2,
        next_grid=4,
    )


@pytest.fixture(autouse=True)
def _types_may_be_absent() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cep.CepheidWarning)
        yield


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(case=cases())
def test_every_method_agrees_with_all_possible_worlds(case: Case) -> None:
    query = compiled(case.query)
    if query is None:
        return
    wanted = None
    for method in METHODS:
        try:
            matches = query.match(
                case.table(), time=("lo", "hi"), probabilities="p", options={"method": method}
            )
        except cep.QuerySemanticError:
            return
        except cep.EvaluationError as error:
            event(f"refused: {str(error)[:60]}")
            continue
        wanted = expected(query, case) if wanted is None else wanted
        assert_same(answers(matches), wanted)
    event(f"answers: {min(len(wanted or ()), 5)}")


@settings(max_examples=EXAMPLES // 2, suppress_health_check=list(HealthCheck))
@given(case=next_cases())
def test_next_matches_agree_with_all_possible_worlds(case: Case) -> None:
    query = compiled(case.query)
    if query is None or all(row["x"] is None for row in case.rows):
        return  # A column of nulls has no kind, and a condition across events is refused.
    wanted = expected(query, case)
    for method in ("query_order", "selectivity", "any_state"):
        matches = query.match(
            case.table(), time=("lo", "hi"), probabilities="p", options={"method": method}
        )
        assert_same(answers(matches), wanted)
    event(f"answers: {min(len(wanted), 5)}")


@settings(max_examples=EXAMPLES // 2, suppress_health_check=list(HealthCheck))
@given(
    case=st.one_of(cases(), next_cases()),
    arrival=st.permutations(range(5)),
    cuts=st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=6),
    advances=st.booleans(),
)
def test_any_chunking_and_restart_gives_the_same(
    case: Case, arrival: list[int], cuts: list[tuple[int, bool]], advances: bool
) -> None:
    query = compiled(case.query)
    if query is None:
        return
    case = Case(case.query, in_arrival_order(case, arrival), case.window)
    keywords: dict[str, Any] = {"time": ("lo", "hi"), "probabilities": "p", "max_uncertainty": 3}
    try:
        whole = query.match(case.table(), **keywords)
    except (cep.EvaluationError, cep.QuerySemanticError):
        return
    assert whole.metrics.arrival_violations == 0
    session = query.session(**keywords)
    found: dict[str, tuple[int, int, float]] = {}
    low = 0
    for cut, restarts in [*sorted(cuts), (len(case.rows), False)]:
        high = min(max(cut, low), len(case.rows))
        batch = case.table().slice(low, high - low)
        found = joined(found, answers(session.feed(batch)))
        if advances:
            rest = [row["lo"] for row in case.rows[high:]]
            found = joined(found, answers(session.advance(min(rest, default=20))))
        low = high
        if restarts:
            session = query.restore(session.snapshot(), **keywords)
    found = joined(found, answers(session.advance()))
    assert session.metrics.late_events == 0
    assert_same(found, answers(whole))


def joined(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    assert not one.keys() & other.keys(), "a signature is reported once"
    return {**one, **other}


def in_arrival_order(case: Case, arrival: list[int]) -> tuple[dict[str, Any], ...]:
    """The rows, shuffled as far as each may come: none after one that is sure to be later."""
    pending = [case.rows[place] for place in arrival if place < len(case.rows)]
    ordered: list[dict[str, Any]] = []
    while pending:
        for row in pending:
            if all(bounds(row)[0] <= bounds(other)[1] for other in pending if other is not row):
                ordered.append(row)
                pending = [other for other in pending if other is not row]
                break
    return tuple(ordered)


def bounds(row: dict[str, Any]) -> tuple[int, int]:
    """The first and the last instant that has a probability."""
    if row["p"] is None:
        return row["lo"], row["hi"]
    possible = [place for place, share in enumerate(row["p"]) if share]
    return row["lo"] + possible[0], row["lo"] + possible[-1]


@settings(max_examples=EXAMPLES // 2, suppress_health_check=list(HealthCheck))
@given(
    case=cases(),
    least=st.sampled_from((0.05, 0.25, 0.5, 1.0)),
    method=st.sampled_from(METHODS),
    count=st.integers(1, 4),
)
def test_thresholds_leave_out_only_what_is_less_sure(
    case: Case, least: float, method: str, count: int
) -> None:
    query = compiled(case.query)
    if query is None:
        return
    keywords: dict[str, Any] = {
        "time": ("lo", "hi"),
        "probabilities": "p",
        "options": {"method": method},
    }
    try:
        whole = answers(query.match(case.table(), **keywords))
    except (cep.EvaluationError, cep.QuerySemanticError):
        return
    kept = answers(query.match(case.table(), min_confidence=least, **keywords))
    assert_same(kept, {key: each for key, each in whole.items() if each[2] >= least})
    clause = cep.query(f"{case.query} WITH CONFIDENCE > {least}")
    kept = answers(clause.match(case.table(), **keywords))
    assert_same(kept, {key: each for key, each in whole.items() if each[2] > least})
    best = query.match(case.table(), top_k=count, **keywords).to_arrow()["confidence"].to_pylist()
    assert best == pytest.approx(sorted((each[2] for each in whole.values()), reverse=True)[:count])
