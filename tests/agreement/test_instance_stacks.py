"""instance_stacks gives the matches of the reference evaluation, whatever its options."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from agreement.comparison import agree, answers, comparable, found_in_pieces, is_valid, window_of
from agreement.strategies import Case, sequence_cases
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import cepheid as cep
from cepheid.analysis.analyse import analyse
from cepheid.engines.base.options import CONSTRUCTIONS, EQUIVALENCES, WINDOWS, Options
from cepheid.engines.base.query_session import SessionTask
from cepheid.engines.stacks.tables import refuse_instance_stacks
from cepheid.events.events import order_events
from cepheid.matches.modes.rule import EVERY_MATCH
from cepheid.sessions.session import Session

EXAMPLES = settings.default.max_examples * 3 // 10  # of each of six tests, with each of two rooms
COMBINATIONS = list(itertools.product(CONSTRUCTIONS, EQUIVALENCES, WINDOWS))
options = st.builds(
    lambda names, domains: Options(
        construction=names[0], equivalence=names[1], window=names[2], domains=domains
    ),
    st.sampled_from(COMBINATIONS),
    st.sampled_from(({}, {"k": 9}, {"s": 9})),
)


@pytest.fixture(autouse=True, params=[(2, 5), (60, 24)], ids=["least room", "some room"])
def _little_room(request: pytest.FixtureRequest, tune: Callable[..., None]) -> None:
    """Everything that can be full is full soon, so that growth and eviction are tested too.

    With the least room nothing that matches have in common can be copied. Positions from 9 on are
    taken for so great that they need eight bytes.
    """
    matches, shared = request.param
    tune(
        first_instances=4,
        sequence_block_matches=matches,
        shared_rows=shared,
        narrow_positions=8,
        chunk_events=3,
    )


@pytest.mark.parametrize("output", ["all", "non_overlapping"])
@pytest.mark.parametrize("negation", [False, True])
@settings(suppress_health_check=list(HealthCheck), max_examples=EXAMPLES)
@given(data=st.data(), chosen=options)
def test_agrees_with_reference(
    output: str, negation: bool, data: st.DataObject, chosen: Options
) -> None:
    case = data.draw(sequence_cases(negation))
    given_options = {name: getattr(chosen, name) for name in chosen.__slots__}
    agree(case, "instance_stacks", output, given_options)


@pytest.mark.parametrize("negation", [False, True])
@settings(suppress_health_check=list(HealthCheck), max_examples=EXAMPLES)
@given(
    data=st.data(),
    cuts=st.lists(st.tuples(st.integers(0, 14), st.booleans()), max_size=6),
    chosen=options,
)
def test_any_chunking_and_restart_gives_the_same(
    negation: bool, data: st.DataObject, cuts: list[tuple[int, bool]], chosen: Options
) -> None:
    case: Case = data.draw(sequence_cases(negation))
    if not is_valid(case.query):
        return
    query = cep.query(case.query)
    events = order_events(case.table())
    analysed = analyse(query.tree, events.schema)
    if refuse_instance_stacks(analysed) is not None:
        return
    window = window_of(query.tree)
    running = Session(analysed, window, EVERY_MATCH, chosen, evaluation="instance_stacks")
    task = SessionTask(analysed, window, options=chosen)
    found = found_in_pieces(running, task, events, cuts)
    event(f"matches: {min(len(found), 5)}")
    assert found == answers(query, case, "reference", "all")


@pytest.mark.parametrize(("construction", "equivalence", "window"), COMBINATIONS)
def test_every_combination_of_options(construction: str, equivalence: str, window: str) -> None:
    """A stream long enough for stacks to be pruned and searches to be interrupted."""
    rows = tuple(
        (at // 2, "ABCZ"[(at * 7) % 11 % 4], at * 5 % 4, 0.5, at * 3 % 5 % 3, "pq"[at % 2])
        for at in range(120)
    )
    text = (
        "PATTERN SEQ(A a, ANY(B, C) b, ~(Z z), C c) "
        "WHERE [k, s] AND a.x <= c.x AND z.x = b.x WITHIN 25"
    )
    case = Case(text, rows)
    chosen = {"construction": construction, "equivalence": equivalence, "window": window}
    found = answers(cep.query(text), case, "instance_stacks", "all", **chosen)
    assert len(found) > 20
    assert found == answers(cep.query(text), case, "reference", "all")


@pytest.mark.parametrize("window", ["selection", "construction", "scan"])
@pytest.mark.parametrize("later", [0, 30])
def test_an_instance_may_be_out_of_the_window_before_older_ones(window: str, later: int) -> None:
    # C at 559 follows only A at 558; what came before it, A at 559, is still in the window at 562.
    types = "ABACBCD" + "C" * later + "D"
    times = [558, 558, 559, 559, 560, 560, 562, *[562] * later, 562]
    events = {"ts": times, "type": [*types]}
    query = cep.query("PATTERN SEQ(A a, B b, C c, D d) WITHIN 4")
    found = query.match(
        events, evaluation="instance_stacks", options={"construction": "basic", "window": window}
    ).bindings()
    expected = query.match(events, evaluation="reference").bindings()
    assert sorted(map(str, found)) == sorted(map(str, expected)) != []


@settings(suppress_health_check=list(HealthCheck), max_examples=EXAMPLES)
@given(
    data=st.data(),
    length=st.integers(3, 5),
    window=st.sampled_from(["selection", "construction", "scan"]),
)
def test_stacks_found_when_they_are_needed_are_those_that_were_kept(
    data: st.DataObject, length: int, window: str
) -> None:
    count = data.draw(st.integers(length, 40))
    types = data.draw(st.lists(st.sampled_from("ABCDE"), min_size=count, max_size=count))
    steps = data.draw(st.lists(st.integers(0, 2), min_size=count, max_size=count))
    events = {"ts": np.cumsum(steps), "type": types}
    names = ", ".join(f"{name} {name.lower()}" for name in "ABCDE"[:length])
    query = cep.query(f"PATTERN SEQ({names}) WITHIN {data.draw(st.integers(2, 9))}")
    basic, ais = (
        query.match(
            events, evaluation="instance_stacks", options={"construction": way, "window": window}
        )
        for way in ("basic", "ais")
    )
    assert sorted(map(str, basic.bindings())) == sorted(map(str, ais.bindings()))


@settings(suppress_health_check=list(HealthCheck), max_examples=EXAMPLES)
@given(
    types=st.lists(st.sampled_from("ABCDE"), max_size=24),
    ids=st.integers(1, 2),
    length=st.integers(2, 5),
    window=st.sampled_from(("5 EVENTS", "12 EVENTS", "30 EVENTS", "9 seconds")),
)
def test_sequences_without_conditions_share_what_they_have_in_common(
    types: list[str], ids: int, length: int, window: str
) -> None:
    components = ", ".join(f"{name} {name.lower()}" for name in "ABCDE"[:length])
    query = cep.query(f"PATTERN SEQ({components}) WHERE [id] WITHIN {window}")
    columns = {"ts": range(len(types)), "type": types, "id": [n % ids for n in range(len(types))]}
    table = pa.table({name: pa.array(column) for name, column in columns.items()})
    table = table.set_column(0, "ts", table["ts"].cast(pa.timestamp("s")))
    table = table.set_column(1, "type", table["type"].cast(pa.string()))
    expected, found = (
        query.match(table, time="ts", type="type", evaluation=evaluation)
        for evaluation in ("reference", "instance_stacks")
    )
    assert sorted(comparable(found)) == sorted(comparable(expected))


@pytest.mark.parametrize("window", ["construction", "scan"])
@pytest.mark.parametrize(
    "pattern", ["A a, B b", "A a, B b, C c, D d", "A a, A b, ANY(A, B) c, B d"]
)
@pytest.mark.parametrize(
    "within", ["12", "25 EVENTS", "9 EVENTS PER PARTITION", "4 EVENTS PER PARTITION"]
)
def test_new_instances_take_the_place_of_those_that_have_left_the_window(
    window: str, pattern: str, within: str
) -> None:
    """A stream of many windows, in which types and keys are now frequent and now rare."""
    random = np.random.default_rng(len(pattern) + len(within))
    count = 450
    frequent = random.integers(1, 5, count // 50).repeat(50)
    types = np.array(list("ABCD"))[random.integers(0, 4, count) % frequent]
    keys = random.integers(0, 3, count) * (random.integers(0, 3, count // 30).repeat(30) > 0)
    steps = np.cumsum(random.integers(0, 2, count) * random.integers(0, 3, count))
    table = pa.table({"ts": steps, "type": types, "k": keys})
    query = cep.query(f"PATTERN SEQ({pattern}) WHERE [k] WITHIN {within}")
    # The reference takes long for a window of a partition; nfa_b agrees with it.
    expected = sorted(comparable(query.match(table, evaluation="nfa_b")))
    running = query.session(evaluation="instance_stacks", options={"window": window})
    found: list[str] = []
    for low in range(0, count, 7):
        found += comparable(running.feed(table[low : low + 7]))
        if low % 210 == 0:
            running = query.restore(
                running.snapshot(), evaluation="instance_stacks", options={"window": window}
            )
    assert sorted(found) == expected
    assert found
