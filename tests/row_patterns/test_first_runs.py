"""Clauses on a machine whose cache is empty."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import cepheid as cep
from cepheid.row_patterns.compiled import execution
from cepheid.sessions import first_runs

CLAUSE = cep.query("""MATCH_RECOGNIZE (
    PARTITION BY k ORDER BY ts
    MEASURES MATCH_NUMBER() AS n, FIRST(B.ts) AS began, SUM(B.x) AS total
    PATTERN (A B+) DEFINE B AS x > PREV(x))""")
EVENTS = {
    "ts": list(range(40)),
    "k": [number % 3 for number in range(40)],
    "x": [number * 7 % 11 for number in range(40)],
}
PROGRAM = f"""
import sys
import cepheid as cep
query = cep.query('''{CLAUSE}''')
for evaluation in ("auto", "row_pattern"):
    print(len(query.match({EVENTS}, evaluation=evaluation)), "numba" in sys.modules)
"""

pytestmark = pytest.mark.usefixtures("empty_cache")


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of rows that the engine reads, with an empty cache."""
    numbers: list[int] = []

    class Noted(execution.Execution):
        def __init__(self, plan: Any, table: Any, *more: Any) -> None:
            numbers.append(len(table))
            super().__init__(plan, table, *more)

    monkeypatch.setattr(execution, "Execution", Noted)
    return numbers


def test_the_compiler_is_not_loaded_for_few_rows(tmp_path: Path) -> None:
    environment = {"CEPHEID_CACHE_DIR": str(tmp_path / "empty"), "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment | {"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    soon, later = done.stdout.splitlines()
    assert soon.split()[0] == later.split()[0]
    assert (soon.split()[1], later.split()[1]) == ("False", "True")


def test_the_result_is_that_of_the_engine(compiled: list[int]) -> None:
    first, count = CLAUSE.match(EVENTS).to_arrow(), CLAUSE.count(EVENTS)
    assert not compiled
    later = CLAUSE.match(EVENTS, evaluation="row_pattern")
    assert compiled == [40]
    assert later.to_arrow().equals(first)
    assert count == len(later)


def test_out_of_steps(compiled: list[int], tune: Any) -> None:
    wanted = CLAUSE.match(EVENTS).to_dicts()
    first_runs.Steps.left = None
    tune(first_run_steps=100)
    assert CLAUSE.match(EVENTS).to_dicts() == wanted
    assert compiled == [40]


def test_more_rows_are_compiled_for(compiled: list[int], tune: Any) -> None:
    tune(first_run_events=39)
    CLAUSE.match(EVENTS)
    assert compiled == [40]
