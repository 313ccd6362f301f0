"""Runs on a machine whose cache is empty."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import cepheid as cep
from cepheid.matches.matches import Matches
from cepheid.sessions import first_runs
from cepheid.sessions.session import Session

QUERY = cep.query("PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_any_match WITHIN 10")
EVENTS = {"ts": list(range(40)), "type": ["A", "B", "B", "C"] * 10}
PROGRAM = """
import sys
import cepheid as cep
query = cep.query("PATTERN SEQ(A a, B b) WHERE [k] AND a.x < b.x WITHIN 10 RETURN a.x")
events = {"ts": [1, 2], "type": ["A", "B"], "k": [1, 1], "x": [1, 5]}
print(query.match(events).to_dicts(), "numba" in sys.modules)
print(query.match(events, evaluation="instance_stacks").to_dicts(), "numba" in sys.modules)
"""


def in_order(matches: Matches) -> list[str]:
    """The matches; those that one event completes may come in any order."""
    return sorted(str(each) for each in matches.bindings())


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of events that compiled code reads."""
    numbers: list[int] = []
    run = Session.run

    def noted(self: Session, events: object) -> object:
        numbers.append(len(events))
        return run(self, events)

    monkeypatch.setattr(Session, "run", noted)
    return numbers


def test_the_compiler_is_not_loaded_for_few_events(tmp_path: Path) -> None:
    environment = {"CEPHEID_CACHE_DIR": str(tmp_path / "empty"), "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment | {"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    answer = "[{'start': 1, 'end': 2, 'a.x': 1}]"
    assert done.stdout.splitlines() == [f"{answer} False", f"{answer} True"], done.stderr


@pytest.mark.usefixtures("empty_cache")
def test_the_answer_is_that_of_compiled_code(compiled: list[int]) -> None:
    first = in_order(QUERY.match(EVENTS))
    streamed = list(QUERY.match_stream(EVENTS))
    assert not compiled
    wanted = in_order(QUERY.match(EVENTS, evaluation="nfa_b"))
    assert compiled == [40]
    assert first == wanted
    assert len(streamed) == len(wanted)


@pytest.mark.usefixtures("empty_cache")
def test_more_events_are_compiled_for_and_then_few_ones_too(compiled, tune) -> None:
    tune(first_run_events=39)
    QUERY.match(EVENTS)
    assert compiled == [40]
    QUERY.match({"ts": [1], "type": ["A"]})
    assert compiled == [40, 1]


@pytest.mark.usefixtures("empty_cache")
def test_what_is_compiled_need_not_be_loaded_for_the_first_query(
    compiled: list[int], tune, tmp_path: Path
) -> None:
    (tmp_path / "ran_nfa_b").touch()
    tune(loading_steps=100_000)
    first = in_order(QUERY.match(EVENTS))
    assert not compiled
    assert in_order(QUERY.match(EVENTS)) == first
    assert compiled == [40]
    first_runs.Steps.left = None
    QUERY.match(EVENTS)
    assert compiled == [40, 40]


@pytest.mark.usefixtures("empty_cache")
def test_out_of_steps(compiled: list[int], tune) -> None:
    wanted = in_order(QUERY.match(EVENTS))
    first_runs.Steps.left = None
    tune(first_run_steps=100)
    assert in_order(QUERY.match(EVENTS)) == wanted
    assert compiled == [40]
    assert QUERY.match({"ts": [1], "type": ["A"]}).bindings() == []
    assert compiled == [40, 1]


@pytest.mark.usefixtures("empty_cache")
@pytest.mark.parametrize("options", [{"evaluation": "nfa_b"}, {"options": {"algorithm": "basic"}}])
def test_what_is_asked_for_runs(compiled: list[int], options: dict[str, object]) -> None:
    QUERY.match(EVENTS, **options)
    assert compiled == [40]


@pytest.mark.usefixtures("empty_cache")
def test_a_script(compiled: list[int]) -> None:
    script = cep.script("PATTERN SEQ(A a, B b) WITHIN 3 RETURN X(n = b.ts); PATTERN SEQ(X x, C c)")
    assert len(script.match(EVENTS)["X"]) == 20
    assert not compiled
