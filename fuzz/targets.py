"""What is fuzzed: a target makes a random case from a seed and runs it.

A case may end in an answer or in an exception of cepheid. Every other exception is a finding, and
so are a crash and a hang, which the parent process notices.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import cepheid as cep
from fuzz.guided import Bytes
from fuzz.rules import hostile_rules
from fuzz.snapshots import damaged_state
from fuzz.statements import hostile_statement
from fuzz.states import damaged_live_state
from fuzz.tables import odd_table
from fuzz.texts import hostile_text

Case = tuple[str, Callable[[], object]]
"""What the case is, for a report, and the function that runs it."""


@dataclass(frozen=True)
class Target:
    """A kind of input."""

    name: str
    make: Callable[[Random], Case]
    seconds: float
    """A case that takes longer hangs. The first case of a process also compiles."""
    is_guided: bool = False
    """Whether atheris, where it is installed, chooses the cases by the lines that they reach."""


def _text(random: Random) -> Case:
    text = hostile_text(random)
    return text, lambda: check_text(text, runs=random.random() < 0.2)


def check_text(text: str, runs: bool = False) -> None:
    """Do with a text what a user can do with it."""
    query = cep.query(text)
    str(query)
    query.explain()
    if cep.query(str(query)).tree != query.tree:
        raise AssertionError("a printed query is another query")
    if runs:
        rows = [(ts, "ABC"[ts % 3], ts % 5, ts % 2, "pqr"[ts % 3]) for ts in range(12)]
        names = ("ts", "type", "x", "k", "s")
        events = {name: [row[ix] for row in rows] for ix, name in enumerate(names)}
        if isinstance(query, cep.RowPatternQuery):
            query.match(events, max_steps=10_000)
        else:
            query.match(events, max_matches=10_000, evaluation="reference")


def _table(random: Random) -> Case:
    text, table, keywords = odd_table(random)
    return f"{text}\n{table.schema}\n{keywords}", lambda: _read(text, table, keywords)


def _read(text: str, table: Any, keywords: dict[str, Any]) -> None:
    found = cep.query(text).match(table, **keywords)
    found.to_arrow()
    repr(found)


TARGETS = {
    target.name: target
    for target in (
        Target("texts", _text, 20, is_guided=True),
        Target("rules", hostile_rules, 20),
        Target("statements", hostile_statement, 20),
        Target("snapshots", damaged_state, 60),
        Target("states", damaged_live_state, 60),
        Target("tables", _table, 60, is_guided=True),
    )
}


def run_case(target: Target, seed: int | bytes) -> tuple[str, str] | None:
    """Run the case of a seed, or of bytes; its description and the traceback of a raw exception."""
    import traceback

    what = f"seed {seed}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            what, run = target.make(Bytes(seed) if isinstance(seed, bytes) else Random(seed))
            run()
    except (cep.CepheidError, MemoryError):
        return None
    except Exception:
        return what, traceback.format_exc()
    return None
