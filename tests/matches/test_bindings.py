"""The columns of matches: their first and last events, rows, and the form in snapshots."""

from __future__ import annotations

import numpy as np
import pytest

import cepheid as cep
from cepheid.language import syntax as ast
from cepheid.language.parser import parse
from cepheid.matches.bindings import Bindings, MatchTimes, bindings_from_rows, with_variables
from cepheid.matches.duplicates import without_duplicates
from cepheid.matches.stored import load_matches, store_matches

PATTERN = parse("PATTERN AND(A a, OR(B+ b[], C c))").pattern
COMPONENTS = [component for component, _ in ast.components(PATTERN)]
ROWS = [{"a": 5, "b": [3, 8]}, {"a": 2, "c": 1}, {"a": 4, "b": [6]}, {"a": 5, "b": [3, 8]}]


def matches() -> Bindings:
    found = bindings_from_rows(PATTERN, ROWS, [30, 10, 40, 30], [80, 20, 60, 70])
    completed = np.array([8, 2, 6, 7])
    return Bindings(found.variables, len(found), found.times, completed)


def test_first_and_last_events_do_not_depend_on_the_order_of_variables() -> None:
    assert matches().first_events().tolist() == [3, 1, 4, 3]
    assert matches().last_events().tolist() == [8, 2, 6, 8]


def test_columns_of_different_widths() -> None:
    found = matches()
    narrow = {
        name: column.moved(lambda p: p.astype(np.int32)) for name, column in found.variables.items()
    }
    mixed = Bindings({**found.variables, "b": narrow["b"]}, len(found))
    assert mixed.first_events().tolist() == [3, 1, 4, 3]
    assert Bindings(narrow, len(found)).first_events().tolist() == [3, 1, 4, 3]


def test_a_match_found_twice_is_kept_as_completed_first() -> None:
    once = without_duplicates(matches())
    assert list(once) == [ROWS[1], ROWS[2], ROWS[0]]
    assert once.ends.tolist() == [20, 60, 70]


def test_matches_are_stored_and_loaded() -> None:
    state = store_matches(matches())
    assert sorted(state) == ["end_positions", "ends", "ids", "offsets", "starts"]
    assert state["ids"][:3].tolist() == [5 * 32, 3 * 32 + 1, 8 * 32 + 1]
    loaded = load_matches(state, COMPONENTS, range(10))
    assert list(loaded) == ROWS
    assert loaded.starts.tolist() == [30, 10, 40, 30]
    assert loaded.completion_positions.tolist() == [8, 2, 6, 7]


def test_an_alternative_gets_the_variables_of_the_pattern() -> None:
    found = matches().pick(np.array([1]))
    own = Bindings(
        {"c": found.variables["c"], "a": found.variables["a"]},
        1,
        MatchTimes.of(found.starts, found.ends),
    )
    whole = with_variables(own, COMPONENTS)
    assert list(whole.variables) == ["a", "b", "c"]
    assert list(whole) == [ROWS[1]]


@pytest.mark.parametrize("evaluation", ["lazy_chain", "lazy_tree", "reference"])
def test_a_match_of_and_starts_with_its_first_event(evaluation: str) -> None:
    events = {"ts": [1, 2, 5], "type": ["B", "A", "B"]}
    found = cep.query("PATTERN AND(A a, B b)").match(events, evaluation=evaluation).to_arrow()
    times = zip(found["start"].to_pylist(), found["end"].to_pylist(), strict=True)
    assert list(times) == [(1, 2), (2, 5)]
