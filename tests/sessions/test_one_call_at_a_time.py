"""A session that two threads use at once, and one whose call was interrupted."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from typing import Any

import pytest

import cepheid as cep
from cepheid.sessions.query_node import QueryNode

QUERIES = {
    "nfa_b": "PATTERN SEQ(A a, B+ b[], C c) WHERE b[i].x > a.x WITHIN 10",
    "script": "PATTERN SEQ(A a, B b) WITHIN 5 RETURN D(x = a.x); PATTERN SEQ(D d, C c) WITHIN 9",
}
EVENTS = {"ts": [1, 2, 3], "type": ["A", "B", "C"], "x": [1, 2, 3]}
LATER = {"ts": [4, 5, 6], "type": ["A", "B", "C"], "x": [1, 2, 3]}
CALLS: dict[str, Callable[[Any], object]] = {
    "feed": lambda session: session.feed(LATER),
    "advance": lambda session: session.advance(9),
    "settle": lambda session: session.settle(9),
    "snapshot": lambda session: session.snapshot(),
    "next_completion": lambda session: session.next_completion,
    "evicted_from": lambda session: session.evicted_from,
}


def new_session(name: str) -> Any:
    text = QUERIES[name]
    session = cep.script(text).session() if name == "script" else cep.query(text).session()
    session.feed(EVENTS)
    return session


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("call", CALLS)
def test_a_call_during_another_one_is_rejected(
    name: str, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = new_session(name)
    begun, may_end = Event(), Event()
    step = QueryNode.step

    def slow_step(*given: Any) -> Any:
        begun.set()
        assert may_end.wait(60)
        return step(*given)

    monkeypatch.setattr(QueryNode, "step", slow_step)
    other = Thread(target=lambda: session.feed(LATER))
    other.start()
    assert begun.wait(60)
    try:
        with pytest.raises(cep.SessionError, match="another call of this session is running"):
            CALLS[call](session)
        assert session.metrics is not None
    finally:
        may_end.set()
        other.join()
    CALLS["snapshot"](session)


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("call", CALLS)
def test_after_an_interrupted_step_calls_are_rejected(
    name: str, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = new_session(name)
    stored = session.snapshot()
    with monkeypatch.context() as patch:
        patch.setattr(QueryNode, "step", interrupt)
        with pytest.raises(KeyboardInterrupt):
            session.feed(LATER)
    with pytest.raises(cep.SessionError, match="was interrupted"):
        CALLS[call](session)
    compile_again = cep.script if name == "script" else cep.query
    CALLS[call](compile_again(QUERIES[name]).restore(stored))


@pytest.mark.parametrize("name", QUERIES)
def test_a_session_survives_an_interrupt_while_events_are_read(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, other = new_session(name), new_session(name)
    with monkeypatch.context() as patch:
        patch.setattr("cepheid.events.read_options.ReadOptions.order", interrupt)
        with pytest.raises(KeyboardInterrupt):
            session.feed(LATER)
    assert str(session.feed(LATER)) == str(other.feed(LATER))


def test_errors_do_not_end_a_session() -> None:
    session, other = new_session("nfa_b"), new_session("nfa_b")
    with pytest.raises(cep.EventError):
        session.feed({"ts": [0], "type": ["A"], "x": [1]})
    assert session.feed(LATER).bindings() == other.feed(LATER).bindings()
