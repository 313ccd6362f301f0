"""Registered functions mean the same in nfa_b and in the reference, over numbers and lists."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pytest
from agreement.strategies import STRATEGIES, Part, sequences, windows
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import cepheid as cep
from cepheid.analysis.analyse import analyse
from cepheid.automata.nfa_b import refuse_nfa_b
from cepheid.functions import REGISTERED
from cepheid.runtime import nfa_b_engine, session
from cepheid.runtime.events import order_events
from cepheid.runtime.matches import Matches
from cepheid.runtime.session import Session

# All numbers are small and whole, or halves: sums are exact in whatever order they are made.


def _ratio(x, y):
    return x / y


def _near(x, y, most=1):
    return abs(x - y) <= most


def _same(s, t):
    return s == t


def _product(g, h):
    total = 0.0
    for ix in range(min(len(g), len(h))):
        total += g[ix] * h[ix]
    return total


def _top(h):
    return h[0]


def _least(h):
    h.sort()
    return h[0]


def _longer(g, h, by=0):
    return len(g) > len(h) + by


def _second(t):
    return t // 1_000_000


def _chosen(b, x, y):
    if b:
        return x
    return y


def _some(x):
    if x == 1:
        return None
    return 2 * x


FUNCTIONS = {
    "ratio": _ratio,
    "near": _near,
    "same": _same,
    "product": _product,
    "top": _top,
    "smallest": _least,
    "longer": _longer,
    "second": _second,
    "chosen": _chosen,
    "some": _some,
}


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The functions, and little room, so that growing and forgetting are tested too."""
    rooms = {"_FIRST_RUNS": 2, "_FIRST_NODES": 8, "_OUTPUT_IDS": 16, "_OUTPUT_MATCHES": 8}
    for name, room in rooms.items():
        monkeypatch.setattr(nfa_b_engine, name, room)
    monkeypatch.setattr(session, "CHUNK", 3)
    for name, function in FUNCTIONS.items():
        cep.register_function(name, function)
    yield
    REGISTERED.clear()


@dataclass(frozen=True)
class Case:
    """A query and a stream."""

    query: str
    columns: dict[str, list]

    def table(self) -> pa.Table:
        kinds = {
            "ts": pa.int64(),
            "type": pa.string(),
            "x": pa.int64(),
            "y": pa.float64(),
            "k": pa.int64(),
            "s": pa.string(),
            "b": pa.bool_(),
            "t": pa.timestamp("ms"),
            "h": pa.list_(pa.float64()),
            "w": pa.list_(pa.string()),
        }
        return pa.table({name: pa.array(self.columns[name], kinds[name]) for name in kinds})


def _some_of(values: st.SearchStrategy, length: int) -> st.SearchStrategy:
    return st.lists(values, min_size=length, max_size=length)


@st.composite
def streams(draw: st.DrawFn) -> dict[str, list]:
    count = draw(st.sampled_from((0, 2, *range(4, 11))))
    gaps = draw(_some_of(st.sampled_from((0, 1, 1, 1, 2, 5)), count))
    texts = st.sampled_from(("p", "p", "q", None))
    floats = st.sampled_from((0.0, 0.5, 1.0, 2.0, 2.0, None))
    lists = st.none() | st.lists(floats, max_size=3) | st.lists(st.just(1.0), min_size=1, max_size=3)
    return {
        "ts": [sum(gaps[: ix + 1]) for ix in range(count)],
        "type": draw(_some_of(st.sampled_from(("A", "A", "B", "B", "C", "Z")), count)),
        "x": draw(_some_of(st.none() | st.integers(0, 3), count)),
        "y": draw(_some_of(floats, count)),
        "k": draw(_some_of(st.sampled_from((1, 1, 1, 2, None)), count)),
        "s": draw(_some_of(texts, count)),
        "b": draw(_some_of(st.sampled_from((True, False, None)), count)),
        "t": draw(_some_of(st.none() | st.integers(0, 3000), count)),
        "h": draw(_some_of(lists, count)),
        "w": draw(_some_of(st.none() | st.lists(texts, max_size=2), count)),
    }


ONE = (
    "top({a}.h) >= 1",
    "NOT top({a}.h) >= 1",
    "smallest({a}.h) < 1",
    "near({a}.x, 1)",
    "NOT near({a}.x, {a}.y, 0)",
    "same({a}.s, 'p')",
    "NOT same('q', {a}.s)",
    "ratio({a}.x, {a}.y) > 1",
    "ratio({a}.x, {a}.y) IS NULL",
    "some({a}.x) IS NOT NULL",
    "second({a}.t) = 1",
    "chosen({a}.b, {a}.x, 0.5) < 1",
    "(top({a}.h) = 1 OR {a}.x = 0)",
    "(same({a}.s, 'p') OR {a}.s LIKE 'q%')",
    "smallest({a}.w) = smallest({a}.w)",
    "chosen({a}.x > 1, 1, 2) = 2",
    "near({a}.x, NULL) IS NULL",
)
TWO = (
    "product({a}.h, {b}.h) >= 1",
    "NOT product({a}.h, {b}.h) >= 1",
    "longer({a}.h, {b}.h)",
    "longer({a}.h, {b}.h, {a}.x - 1)",
    "smallest({a}.h) <= smallest({b}.h)",
    "(top({a}.h) = top({b}.h) OR {a}.x = {b}.x)",
    "product({a}.h, {b}.h) + top({b}.h) > {a}.x",
    "near({a}.x, {b}.y)",
    "ratio({a}.x, {b}.x) >= 1",
    "same({a}.s, {b}.s)",
    "NOT same({a}.s, {b}.s)",
    "second({b}.t) - second({a}.t) >= 0",
    "chosen({a}.b, {b}.x, {a}.y) > 0",
    "top({a}.h) IS NULL",
    "product({a}.w, {b}.w) = product({b}.w, {a}.w)",
    "{a}.h IS NULL",
)


def names_of(part: Part) -> tuple[str, ...]:
    """What stands before the dot for an event of the part."""
    if not part.kleene:
        return (part.variable,)
    v = part.variable
    return (f"{v}[i]", f"{v}[1]", f"{v}[2]", f"{v}[{v}.LEN]")


@st.composite
def conditions(draw: st.DrawFn, parts: list[Part]) -> str:
    part, other = draw(st.sampled_from(parts)), draw(st.sampled_from(parts))
    here = draw(st.sampled_from(names_of(part)))
    if part.kleene and draw(st.booleans()):
        return draw(st.sampled_from(TWO)).format(a=f"{part.variable}[i]", b=f"{part.variable}[i-1]")
    if other is part or (part.negated and other.negated):
        return draw(st.sampled_from(ONE)).format(a=here)
    there = draw(st.sampled_from(names_of(other)))
    if other.kleene and draw(st.integers(0, 3)) == 0:
        return f"product({here}.h, last({other.variable}[].h)) > top(first({other.variable}[].h))"
    return draw(st.sampled_from(TWO)).format(a=here, b=there)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    parts = draw(sequences(negation=True))
    tests = [draw(conditions(parts)) for _ in range(draw(st.integers(1, 2)))]
    if draw(st.integers(0, 2)) == 0:
        tests.append("[k]")
    pattern = f"SEQ({', '.join(part.text for part in parts)})"
    window = draw(windows(any(part.negated for part in parts)))
    strategy = draw(st.sampled_from(STRATEGIES))
    query = f"PATTERN {pattern} WHERE {strategy} {{ {' AND '.join(tests)} }} {window}"
    return Case(query, draw(streams()))


def comparable(matches: Matches) -> list[str]:
    return [str(binding) for binding in matches.bindings()]


def expected(query: cep.CompiledQuery, case: Case) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cep.CepheidWarning)
        return sorted(comparable(query.match(case.table(), evaluation="reference")))


@settings(suppress_health_check=list(HealthCheck))
@given(case=cases(), cuts=st.lists(st.tuples(st.integers(0, 10), st.booleans()), max_size=6))
def test_nfa_b_agrees_however_the_stream_is_cut(
    case: Case, cuts: list[tuple[int, bool]]
) -> None:
    try:
        query = cep.query(case.query)
    except cep.QuerySemanticError as error:
        event(f"refused: {error.faults[0].message[:40]}")
        return
    events = order_events(case.table(), time="ts", type="type")
    analysed = analyse(query.tree, events.schema)
    refusal = refuse_nfa_b(analysed)
    if refusal is not None:
        event(f"not nfa_b: {refusal[-40:]}")
        return
    window = query.tree.window
    running = Session(analysed, None if window is None else int(window.extent))
    found: list[str] = []
    low = 0
    for cut, restarts in [*sorted(cuts), (len(events), False)]:
        high = min(cut, len(events))
        found += comparable(running.feed(events.slice(low, high)))
        low = high
        if restarts:
            running = Session.restore(analysed, running.snapshot())
    found += comparable(running.advance())
    event(f"matches: {min(len(found), 5)}")
    assert sorted(found) == expected(query, case)


RETURNED = (
    "ratio(a.x, b.y)",
    "near(a.x, b.x)",
    "some(a.x)",
    "same(a.s, b.s)",
    "product(a.h, b.h)",
    "top(a.h)",
    "smallest(b.h)",
    "longer(a.h, b.h, a.x)",
    "second(a.t)",
    "chosen(a.b, a.x, b.y)",
    "near(a.x, NULL)",
    "longer(a.h, b.h) OR near(a.x, 1)",
)


@settings(suppress_health_check=list(HealthCheck), max_examples=30)
@given(columns=streams())
def test_return_gives_what_the_interpreter_gives(columns: dict[str, list]) -> None:
    from cepheid import reference
    from cepheid.runtime.reference_run import python_events

    items = ", ".join(f"{item} AS r{ix}" for ix, item in enumerate(RETURNED))
    query = cep.query(f"PATTERN SEQ(A a, B b) RETURN {items}")
    case = Case("", columns)
    events = order_events(case.table(), time="ts", type="type")
    stream = python_events(events, set(events.table.column_names))
    matches = reference.evaluate(query.tree, stream)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cep.CepheidWarning)
        rows = query.match(case.table(), evaluation="reference").to_arrow().to_pylist()
    actual = [[row[f"r{ix}"] for ix in range(len(RETURNED))] for row in rows]
    assert actual == [reference.returned(query.tree, match) for match in matches]
