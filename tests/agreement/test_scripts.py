"""Scripts give the matches that their definition gives, whole, in pieces, and restored."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from agreement.script_strategies import script_cases
from agreement.strategies import Case
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from oracles.reference_script import evaluate_script

import cepheid as cep
from cepheid.engines.reference import python_events
from cepheid.events.events import order_events
from cepheid.language import syntax as ast
from cepheid.matches.matches import Match, Matches
from cepheid.reference.definition import returned

pytestmark = pytest.mark.filterwarnings("ignore:no fast evaluation runs this query")

MOST = 40
"""More composite events than this make the definition slow."""


@pytest.fixture(autouse=True)
def _small_chunks(tune: Callable[..., None]) -> None:
    tune(chunk_events=3)


def comparable(matches: Matches, tree: ast.Query) -> list[str]:
    """Each match as a text: its times, its binding, and what it returns."""
    return [shown(match.start, match.end, match.bindings, values(tree, match)) for match in matches]


def values(tree: ast.Query, match: Match) -> list[Any]:
    return list(match.values.values())[2:] if tree.returns is not None else []


def shown(start: int, end: int, binding: dict[str, Any], values: list[Any]) -> str:
    return f"{start}–{end} {binding} {[plain(value) for value in values]}"


def plain(value: Any) -> Any:
    if isinstance(value, int | float):  # Whole numbers are floats where others of their name are.
        return None if math.isnan(value) else round(float(value), 9)
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {name: plain(item) for name, item in sorted(value.items()) if item is not None}
    return value


def defined(script: cep.CompiledScript, case: Case, output: str) -> dict[str, list[str]]:
    """What the definition gives for each query."""
    events = order_events(case.table())
    trees = script.queries
    stream = python_events(events, set(events.table.column_names))
    windows = [None if tree.window is None else int(tree.window.extent) for tree in trees.values()]
    answers = evaluate_script(list(trees.values()), stream, windows, output)
    names = list(trees)
    found: dict[str, list[str]] = {}
    for (name, tree), answer in zip(trees.items(), answers, strict=True):
        labels = [
            position if query < 0 else f"{names[query]}[{report}]"
            for _, position, query, report in (placed.place for placed in answer.stream)
        ]
        found[name] = [
            shown(
                match.events()[0].ticks,
                match.completed[0],
                {
                    variable: [labels[e.position] for e in bound]
                    if isinstance(bound, list)
                    else labels[bound.position]
                    for variable, bound in match.binding.items()
                },
                returned(tree, match) if tree.returns is not None else [],
            )
            for match in answer.matches
        ]
    return found


def compiled(case: Case, output: str) -> tuple[cep.CompiledScript, dict[str, list[str]]] | None:
    """The script and what it finds, unless it is refused or finds too much."""
    try:
        script = cep.script(case.query)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cep.CepheidWarning)
            found = script.match(case.table(), output=output, max_matches=500)
    except cep.QuerySemanticError as error:
        event(f"refused: {error.faults[0].message[:40]}")
        return None
    except cep.LimitError:
        event("too many matches")
        return None
    if any(len(found[name]) > MOST for names in script.reads.values() for name in names):
        event("too many matches")
        return None
    return script, {name: comparable(found[name], tree) for name, tree in script.queries.items()}


@pytest.mark.parametrize("output", ["all", "non_overlapping"])
@settings(suppress_health_check=list(HealthCheck), max_examples=max(150, settings().max_examples))
@given(
    case=script_cases(),
    cuts=st.lists(st.tuples(st.integers(0, 9), st.sampled_from((0, 0, 1, 2, 3))), max_size=6),
)
def test_a_script_gives_what_its_definition_gives_however_it_is_cut(
    output: str, case: Case, cuts: list[tuple[int, int]]
) -> None:
    run = compiled(case, output)
    if run is None:
        return
    script, found = run
    expected = defined(script, case, output)
    event(f"matches of the last query: {min(len(list(found.values())[-1]), 5)}")
    assert in_any_order(found) == in_any_order(expected)
    for names in script.reads.values():  # A composite event is named by its place in the result.
        for name in names:
            assert found[name] == expected[name]
    try:
        pieces = in_pieces(script, case, output, cuts)
    except cep.EvaluationError as error:
        event(f"no session: {str(error)[-40:]}")
        return
    assert in_any_order(pieces) == in_any_order(expected)


def in_any_order(found: dict[str, list[str]]) -> dict[str, list[str]]:
    return {name: sorted(each) for name, each in found.items()}


def in_pieces(
    script: cep.CompiledScript, case: Case, output: str, cuts: list[tuple[int, int]]
) -> dict[str, list[str]]:
    """What a session finds that is fed in pieces, stored and restored, and told of the time."""
    running = script.session(output=output)
    table = case.table()
    found: dict[str, list[str]] = {name: [] for name in script.queries}
    low = 0
    for cut, what in [*sorted(cuts), (table.num_rows, 0)]:
        high = min(cut, table.num_rows)
        collect(script, running.feed(table.slice(low, high - low)), found)
        low = high
        if what & 1:
            running = script.restore(running.snapshot(), output=output)
        if what & 2 and low < table.num_rows:
            collect(script, running.advance(table["ts"][low].as_py()), found)
    collect(script, running.advance(), found)
    return found


def collect(script: cep.CompiledScript, found: Any, into: dict[str, list[str]]) -> None:
    for name, tree in script.queries.items():
        into[name] += comparable(found[name], tree)
