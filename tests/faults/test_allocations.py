"""Whichever allocation fails, there is a documented error, and nothing wrong afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import count
from typing import Any

import pytest
from faults.injection import Countdown, failing_allocation, failing_charge
from typer.testing import CliRunner

import cepheid as cep
from cepheid.cli.app import app
from cepheid.matches.matches import Matches

TYPES = "ABCBCA" * 6
EVENTS = {
    "ts": [*range(36)],
    "type": [*TYPES],
    "x": [ix * 7 % 11 for ix in range(36)],
    "k": [ix // 9 % 2 for ix in range(36)],
    "s": [*"ppq" * 12],
}
LISTS = "PATTERN SEQ(A a, B+ b[], C c) WHERE [k] AND b[i].x > a.x AND c.s = 'p' WITHIN 10"
SEQUENCE = "PATTERN SEQ(A a, B b, C c) WHERE [k] AND a.x < c.x WITHIN 15"
SCRIPT = "PATTERN SEQ(A a, B b) WITHIN 5 RETURN D(x = a.x); PATTERN SEQ(D d, C c) WITHIN 9"
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "nfa_b": (LISTS, {"evaluation": "nfa_b"}),
    "versioned": (LISTS, {"evaluation": "nfa_b", "options": {"buffer": "versioned"}}),
    "instance_stacks": (SEQUENCE, {"evaluation": "instance_stacks"}),
    "lazy_chain": (SEQUENCE, {"evaluation": "lazy_chain"}),
    "negation": ("PATTERN SEQ(A a, ~(B b), C c) WHERE [k] AND b.x > a.x WITHIN 15", {}),
    "alternatives": (
        "PATTERN OR(SEQ(A a, B b), SEQ(A a, C c)) WITHIN 5",
        {"output": "non_overlapping"},
    ),
    "imprecise": ("PATTERN SEQ(A a, B b) WITHIN 5", {"uncertainty": 1}),
    "script": (SCRIPT, {}),
}
FAULTS: dict[str, tuple[Callable[[int], AbstractContextManager[Countdown]], type[Exception]]] = {
    "no memory": (failing_allocation, MemoryError),
    "over budget": (failing_charge, cep.LimitError),
}
SMALL = {
    "chunk_events": 8, "few_events": 4, "few_strings": 1, "few_partitions": 1, "string_slots": 4,
    "string_bytes": 8, "first_runs": 2, "first_nodes": 4, "final_nodes": 4, "versioned_rows": 4,
    "versioned_complete": 4, "first_instances": 2, "lazy_instances": 2, "lazy_nodes": 4,
    "lazy_pool": 8, "lazy_store": 4, "lazy_few_events": 4, "plan_events": 8,
}  # fmt: skip


@pytest.fixture(autouse=True)
def _small_sizes(tune: Callable[..., None]) -> None:
    tune(**SMALL)


def compiled(kind: str) -> Any:
    text = KINDS[kind][0]
    return cep.script(text) if kind == "script" else cep.query(text)


def shown(found: Any) -> list[str]:
    """Matches as texts, in an order of their own."""
    if isinstance(found, Matches):
        return sorted(map(str, found.to_arrow().to_pylist()))
    return [line for name in found for line in shown(found[name])]


def faults(fault: str) -> Iterator[AbstractContextManager[Countdown]]:
    """Each allocation fails once."""
    return map(FAULTS[fault][0], count(1))


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_match_fails_cleanly_and_can_be_repeated(kind: str, fault: str) -> None:
    query, options = compiled(kind), KINDS[kind][1]
    expected = shown(query.match(EVENTS, **options))
    assert expected
    failed = 0
    for injected in faults(fault):
        with injected as allocations:
            try:
                found = shown(query.match(EVENTS, **options))
            except FAULTS[fault][1]:
                assert allocations.has_failed
                failed += 1
            else:
                assert found == expected
                if not allocations.has_failed:
                    break
        if failed % 5 == 0:  # What is wrong from now on is found a little later.
            assert shown(query.match(EVENTS, **options)) == expected
    assert failed > 3
    assert shown(query.match(EVENTS, **options)) == expected


def batch(low: int, high: int) -> dict[str, Any]:
    return {name: values[low:high] for name, values in EVENTS.items()}


STEPS: list[Callable[[Any], Any]] = [
    lambda session: session.feed(batch(12, 24)),
    lambda session: session.snapshot(),
    lambda session: session.feed(batch(24, 36)),
    lambda session: session.advance(),
]


def run(session: Any, steps: list[Callable[[Any], Any]], found: list[Any]) -> None:
    found.extend(step(session) for step in steps)


def shown_all(found: list[Any]) -> list[list[str]]:
    return [shown(each) for each in found if not isinstance(each, bytes)]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_session_goes_on_or_refuses_further_calls(kind: str, fault: str) -> None:
    query, options = compiled(kind), KINDS[kind][1]
    session = query.session(**options)
    session.feed(batch(0, 12))
    stored = session.snapshot()
    whole: list[Any] = []
    run(session, STEPS, whole)
    expected = shown_all(whole)
    outcomes = set()
    for injected in faults(fault):
        session, found = query.restore(stored, **options), []
        with injected as allocations:
            try:
                run(session, STEPS, found)
            except FAULTS[fault][1]:
                assert allocations.has_failed
        try:
            run(session, STEPS[len(found) :], found)
        except cep.SessionError:
            outcomes.add("refuses")
        else:
            outcomes.add("goes on")
            assert shown_all(found) == expected
            if not allocations.has_failed:
                break
    assert "refuses" in outcomes
    run(query.restore(stored, **options), STEPS, found := [])
    assert shown_all(found) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_a_snapshot_is_restored_or_not(kind: str) -> None:
    query, options = compiled(kind), KINDS[kind][1]
    session = query.session(**options)
    session.feed(batch(0, 24))
    stored, expected = session.snapshot(), shown(session.feed(batch(24, 36)))
    for injected in faults("no memory"):
        with injected as allocations:
            try:
                session = query.restore(stored, **options)
            except MemoryError:
                assert allocations.has_failed
                continue
        if not allocations.has_failed:
            break
    assert shown(session.feed(batch(24, 36))) == expected


def test_the_command_line_has_one_line(tmp_path: Any) -> None:
    rows = [f"{ts},{kind},{ts}" for ts, kind in zip(range(36), TYPES, strict=True)]
    events = tmp_path / "events.csv"
    events.write_text("\n".join(["ts,type,x", *rows]))
    query = "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 5"
    arguments = ["match", "-q", query, str(events), "--format", "csv"]
    expected = CliRunner().invoke(app, arguments)
    assert expected.exit_code == 0
    for injected in faults("no memory"):
        with injected as allocations:
            result = CliRunner().invoke(app, arguments)
        if not allocations.has_failed:
            break
        if result.exit_code:
            assert (result.exit_code, result.stderr) == (1, "error: there is not enough memory\n")
        else:
            assert result.stdout == expected.stdout
    assert result.stdout == expected.stdout
