"""[Agrawal08 §5]: the shared versioned buffer of Query 3, and the search that backtracks."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from papers.agrawal08.test_query_3 import PRICES, QUERY_3, VOLUMES

import cepheid as cep
from cepheid.analysis.analyse import analyse
from cepheid.engines.base.options import Options
from cepheid.events.events import order_events
from cepheid.matches.modes.rule import EVERY_MATCH
from cepheid.sessions.session import Session

FIGURE_3 = pa.table(
    {
        "ts": range(1, 9),
        "type": ["Stock"] * 8,
        "symbol": ["Goog"] * 8,
        "price": PRICES,
        "volume": VOLUMES,
    }
)


def buffer_after(query: str, table: pa.Table, options: Options) -> tuple[set[str], set[str]]:
    """The pointers of the buffer, and those of the last stack, before matches are retrieved.

    A pointer is shown as ``e2 –1.0→ e1``; at the bottom of the first stack there is none.
    """
    events = order_events(table)
    running = Session(analyse(cep.query(query).tree, events.schema), 60, EVERY_MATCH, options)
    engine = running.engines[0]
    complete: list[np.void] = []
    retrieve = engine._retrieved

    def retrieved(first_event: int):
        shared = engine._shared
        complete.extend(shared.complete[: shared.tops[0]["complete"]].tolist())
        return retrieve(first_event)

    engine._retrieved = retrieved
    running.feed(events)
    parts = engine._used

    def event(head: int) -> str:
        return f"e{(parts['entries'][head]['tag'] >> 5) + 1}" if head >= 0 else ""

    def version(number: int) -> str:
        parent, digit = parts["versions"][number].tolist()
        return f"{version(parent)}.{digit}" if parent >= 0 else f"{digit}"

    inner = {
        f"{event(at)} –{version(label)}→ {event(previous)}".strip()
        for at, label, previous in parts["pointers"].tolist()
    }
    last = {
        f"e{(tag >> 5) + 1} –{version(number)}.0→ {event(head)}"
        for number, head, tag, _ in complete
    }
    return inner, last


def test_the_buffer_that_the_runs_of_query_3_share() -> None:
    # Figure 4(d) has the pointers of three matches. The other three below are of runs that had
    # not failed when the stream ended.
    inner, last = buffer_after(QUERY_3, FIGURE_3, Options("basic", "versioned"))
    assert last == {"e6 –1.0.0→ e5", "e6 –2.0.0→ e4", "e8 –1.1.0→ e7"}
    in_matches = {
        "e1 –1.0→",
        "e2 –1.0→ e1",
        "e3 –1.0→ e2",
        "e4 –1.0→ e3",
        "e5 –1.0→ e4",
        "e6 –1.1→ e5",
        "e7 –1.1→ e6",
        "e3 –2.0→",
        "e4 –2.0→ e3",
    }
    assert inner - in_matches == {"e8 –1.2→ e7", "e6 –2.1→ e4"}
    assert in_matches <= inner


def test_an_event_is_in_a_stack_once() -> None:
    # e3 is the first event of one run and a later one of the other: two states, two stacks.
    # e4 and e6 were selected by both runs in the same state.
    found = cep.query(QUERY_3).match(
        FIGURE_3, time_unit="minutes", options={"algorithm": "basic", "buffer": "versioned"}
    )
    first, later = ("e1", "e3"), ("e2", "e3", "e4", "e5", "e6", "e7", "e8")
    assert found.metrics.buffer_nodes == len(first) + len(later)
    chains = cep.query(QUERY_3).match(FIGURE_3, time_unit="minutes", options={"algorithm": "basic"})
    assert chains.metrics.buffer_nodes == found.metrics.buffer_nodes + len(("e4", "e6"))
    assert sorted(map(str, found.bindings())) == sorted(map(str, chains.bindings()))


def test_a_combined_run_keeps_the_versions_of_both() -> None:
    # Query 3.2 of Figure 6 compares the runs of e1 and e3 after e4; their state, maximum and
    # last volume are the same after e3 already. One run goes on under a third version, and
    # what is before e4 is found under the versions of its members.
    query = QUERY_3.replace("> avg", ">= max")
    inner, last = buffer_after(query, FIGURE_3, Options("merging", "versioned"))
    assert {"e3 –1.0→ e2", "e3 –2.0→", "e4 –3.0→"} <= inner
    assert last == {"e6 –3.0.0→ e4"}
    found = cep.query(query).match(FIGURE_3, time_unit="minutes", options={"buffer": "versioned"})
    assert found.metrics.runs_merged == 1
    assert sorted(binding["a"] for binding in found.bindings()) == [[0, 1, 2, 3], [2, 3]]


def test_one_digit_for_each_state_is_too_little_where_a_run_takes_and_ignores() -> None:
    # Two runs that stay in b[i], one with e2 e3 and one with e2 only, both take e4, and both
    # then ignore e5. With one digit for b[i], the label of either pointer of e4 would be
    # smaller than the version of either run. The taker has a digit more instead.
    events = {"ts": range(6), "type": list("ABBBBC")}
    for algorithm in ("basic", "merging"):
        found = cep.query("PATTERN SEQ(A a, B+ b[], C c)").match(
            events, options={"algorithm": algorithm, "buffer": "versioned"}
        )
        assert len({str(binding) for binding in found.bindings()}) == len(found) == 2**4 - 1


def test_a_search_that_backtracks_reads_events_again() -> None:
    # Figure 7, with names for its states: e3 both goes on with a[] and begins b. The first run
    # begins b and fails at e4, which is no c; the second, resumed at e3, is complete with e6.
    table = pa.table(
        {
            "ts": range(1, 7),
            "type": ["S"] * 6,
            "x": [1, 1, 2, 1, 2, 3],
            "first": [True] + [False] * 5,
        }
    )
    events = order_events(table)
    query = cep.query(
        """PATTERN SEQ(S+ a[], S b, S c)
        WHERE strict_contiguity { a[1].first = true AND b.x >= 2 AND c.x >= 3 }"""
    )
    running = Session(analyse(query.tree, events.schema), None, EVERY_MATCH, Options("backtrack"))
    assert running.feed(events).bindings() == [{"a": [0, 1, 2, 3], "b": 4, "c": 5}]
    # ρ1: e2 e3 e4; ρ2: e3 e4 e5 e6; ρ3, which goes on at e5: e5 e6; ρ4, at e6: e6.
    assert running.engines[0].events_read == 3 + 4 + 2 + 1
