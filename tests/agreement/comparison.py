"""What an evaluation finds, in a form that can be compared with the reference."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping

from agreement.strategies import Case
from hypothesis import event

import cepheid as cep
from cepheid.engines.base.query_session import QuerySession, SessionTask
from cepheid.events.events import Events
from cepheid.language import syntax as ast
from cepheid.matches.matches import Matches
from cepheid.sessions.plan import open_session
from cepheid.snapshots import unpack


def answers(
    query: cep.CompiledQuery, case: Case, evaluation: str, output: str, **options: str
) -> list[str]:
    """The matches in a form that can be compared, whatever order they come in."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cep.CepheidWarning)
        matches = query.match(case.table(), evaluation=evaluation, output=output, options=options)
    return sorted(comparable(matches))


def comparable(matches: Matches) -> list[str]:
    """Each match as a text: its binding, its start and its end."""
    times = matches.to_arrow().select(["start", "end"]).to_pylist()
    return [f"{binding} {time}" for binding, time in zip(matches.bindings(), times, strict=True)]


def agree(case: Case, evaluation: str, output: str, *ways: Mapping[str, str]) -> None:
    """The evaluation, with each of these options, has the answer of the reference."""
    try:
        query = cep.query(case.query)
        actual = [answers(query, case, evaluation, output, **way) for way in ways]
    except cep.QuerySemanticError as error:
        event(f"refused: {error.faults[0].message[:40]}")
        return
    except cep.EvaluationError as error:
        event(f"not {evaluation}: {str(error)[-40:]}")
        return
    expected = answers(query, case, "reference", output)
    event(f"matches: {min(len(expected), 5)}")
    for way, found in zip(ways, actual, strict=True):
        assert found == expected, way


def found_in_pieces(
    running: QuerySession,
    task: SessionTask,
    events: Events,
    cuts: Iterable[tuple[int, bool]],
    shown: Callable[[Matches], list[str]] = comparable,
) -> list[str]:
    """The matches of a session that reads a stream in pieces, and is restored after some."""
    found: list[str] = []
    low = 0
    for cut, restarts in [*sorted(cuts), (len(events), False)]:
        high = min(cut, len(events))
        found += shown(running.feed(events.slice(low, high)))
        low = high
        if restarts:
            running = open_session(task, unpack(running.snapshot()))
    return sorted([*found, *shown(running.advance())])


def is_valid(text: str) -> bool:
    try:
        cep.query(text)
    except cep.QuerySemanticError:
        return False
    return True


def window_of(tree: ast.Query) -> int | None:
    return None if tree.window is None else int(tree.window.extent)  # type: ignore[arg-type]
