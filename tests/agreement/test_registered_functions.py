"""Registered functions mean the same in nfa_b and in the reference, over numbers and lists."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from agreement.comparison import found_in_pieces
from agreement.strategies import STRATEGIES
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import cepheid as cep
from cepheid.analysis.analyse import analyse
from cepheid.codegen.sequences import refuse_nfa_b
from cepheid.engines.base.options import ALGORITHMS, Options
from cepheid.engines.base.query_session import SessionTask
from cepheid.events.events import order_events
from cepheid.matches.matches import Matches
from cepheid.matches.modes.rule import EVERY_MATCH
from cepheid.sessions.session import Session

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
def _registered(tune: Callable[..., None]) -> None:
    """The functions, and little room, so that growth and eviction are tested too."""
    tune(
        first_runs=2,
        first_nodes=8,
        final_nodes=4,
        block_events=16,
        block_matches=5,
        chunk_events=3,
    )
    for name, function in FUNCTIONS.items():
        cep.register_function(name, function)


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


@st.composite
def streams(draw: st.DrawFn) -> dict[str, list]:
    """Some events; one value in eight is null."""
    random = Random(draw(st.integers(0, 2**32 - 1)))
    count = draw(st.sampled_from((14, 12, 10, 8, 3, 0)))

    def values(*choices: Any) -> list[Any]:
        return [None if random.random() < 1 / 8 else random.choice(choices) for _ in range(count)]

    def lists(*choices: Any) -> list[Any]:
        lengths = values(0, 1, 1, 2, 3)
        return [n if n is None else [random.choice(choices) for _ in range(n)] for n in lengths]

    gaps = random.choices((0, 1, 1, 1, 2, 5), k=count)
    return {
        "ts": list(accumulate(gaps)),
        "type": random.choices("AAABBBCCZ", k=count),
        "x": values(0, 1, 2, 3),
        "y": values(0.0, 0.5, 1.0, 2.0),
        "k": values(1, 1, 1, 2),
        "s": values("p", "q"),
        "b": values(True, False),
        "t": values(0, 999, 1000, 2500),
        "h": lists(0.0, 0.5, 1.0, 1.0, 2.0, 2.0, None),
        "w": lists("p", "q", None),
    }


WINDOWS = (
    "",
    "WITHIN 10",
    "WITHIN 4",
    "WITHIN 8 EVENTS",
    "WITHIN 4 EVENTS",
    "WITHIN 6 EVENTS PER PARTITION",
    "WITHIN 3 EVENTS PER PARTITION",
)


# Each is compiled once: what strategy, window and partition it has is left open. The conditions
# stand for the places of a call: on one event, across events, on a list of events, below OR and
# NOT, and on a negated component.
QUERIES = {
    "SEQ(A a)": "top(a.h) >= 1 AND NOT near(a.x, a.y, 0)",
    "SEQ(B b)": "(same(b.s, 'p') OR b.s LIKE 'q%') AND (second(b.t) = 0 OR ratio(b.x, b.y) > 1)",
    "SEQ(ANY(A, B) a, B b)": "product(a.h, b.h) >= 1",
    "SEQ(A a, ANY(A, B) b)": "(top(a.h) = top(b.h) OR ratio(a.x, b.x) >= 1) AND "
    "NOT longer(a.h, b.h, a.x) AND near(a.x, NULL) IS NULL",
    "SEQ(A a, B b, ANY(A, C) c)": "smallest(a.h) <= smallest(c.h) + 1 AND NOT same(a.s, "
    "'none') AND longer(b.h, a.h, -2)",
    "SEQ(ANY(A, C) a, B b)": "chosen(b.b, near(a.x, b.y), second(a.t) = 0)",
    "SEQ(A+ a[], B b)": "product(a[i].h, a[i-1].h) >= 0.5 AND some(b.x) IS NOT NULL",
    "SEQ(ANY(A, B)+ a[], B b)": "longer(a[1].h, b.h) AND some(a[i].x) IS NOT NULL",
    "SEQ(A{2,} a[], B b)": "NOT longer(a[2].h, a[1].h) AND product(b.h, a[a.LEN].h) >= 0",
    "SEQ(A a, B+ b[])": "product(a.h, b[i].h) > 0 AND top(last(b[].h)) >= top(a.h)",
    "SEQ(A a, B+ b[], C c)": "smallest(first(b[].h)) >= 0 AND product(c.w, a.w) = "
    "product(a.w, c.w) AND count(b[].h) = b.LEN",
    "SEQ(A a, ~(B b), C c)": "product(a.h, b.h) > 0 AND top(b.h) >= 1",
    "SEQ(A a, B b, ~(C c))": "NOT longer(b.h, c.h) AND NOT same(c.s, 'q')",
    "SEQ(~(A a), B+ b[])": "product(a.h, b[1].h) > 0 AND smallest(a.h) < 2",
}


@st.composite
def cases(draw: st.DrawFn, pattern: str) -> Case:
    """The query of a pattern under any strategy, and a stream."""
    condition = QUERIES[pattern] + draw(st.sampled_from(("", "", " AND [k]")))
    strategy = draw(st.sampled_from(STRATEGIES))
    window = draw(st.sampled_from(WINDOWS["~" in pattern :]))
    query = f"PATTERN {pattern} WHERE {strategy} {{ {condition} }} {window}"
    return Case(query, draw(streams()))


def comparable(matches: Matches) -> list[str]:
    return [str(binding) for binding in matches.bindings()]


def expected(query: cep.CompiledQuery, case: Case) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cep.CepheidWarning)
        return sorted(comparable(query.match(case.table(), evaluation="reference")))


@pytest.mark.parametrize("pattern", QUERIES)
@settings(suppress_health_check=list(HealthCheck), max_examples=50)
@given(data=st.data(), cuts=st.lists(st.tuples(st.integers(0, 10), st.booleans()), max_size=6))
def test_nfa_b_agrees_however_the_stream_is_cut(
    pattern: str, data: st.DataObject, cuts: list[tuple[int, bool]]
) -> None:
    case = data.draw(cases(pattern))
    query = cep.query(case.query)
    events = order_events(case.table())
    analysed = analyse(query.tree, events.schema)
    assert refuse_nfa_b(analysed) is None
    within = query.tree.window
    window = None if within is None else int(within.extent)
    options = Options(data.draw(st.sampled_from(ALGORITHMS)))
    running = Session(analysed, window, EVERY_MATCH, options)
    task = SessionTask(analysed, window, options=options)
    found = found_in_pieces(running, task, events, cuts, comparable)
    event(f"matches: {min(len(found), 5)}")
    assert found == expected(query, case)


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
    from cepheid.engines.reference import python_events
    from cepheid.reference import definition as reference

    items = ", ".join(f"{item} AS r{ix}" for ix, item in enumerate(RETURNED))
    query = cep.query(f"PATTERN SEQ(A a, B b) RETURN {items}")
    case = Case("", columns)
    events = order_events(case.table())
    stream = python_events(events, set(events.table.column_names))
    matches = reference.evaluate(query.tree, stream)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cep.CepheidWarning)
        rows = query.match(case.table(), evaluation="reference").to_arrow().to_pylist()
    actual = [[row[f"r{ix}"] for ix in range(len(RETURNED))] for row in rows]
    assert actual == [reference.returned(query.tree, match) for match in matches]
