"""Runs a query that is being written over a sample of events, for the page.

It runs in a separate process, which is ended when it takes too long.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from itertools import islice
from time import perf_counter
from typing import Any

from cepheid.api import CompiledQuery
from cepheid.compiled import Compiled
from cepheid.editing.document import Document
from cepheid.editing.known_events import KnownEvents, read_events
from cepheid.errors import CepheidError, CepheidWarning, EvaluationError, EventError
from cepheid.language.parser import parse_script
from cepheid.matches.matches import Matches
from cepheid.report.making import with_events
from cepheid.report.page import visible_values
from cepheid.report.timeline import draw_timeline
from cepheid.report.timeline import text as shown
from cepheid.row_patterns.query import RowPatternQuery
from cepheid.rule_sets.reading import split_front_matter
from cepheid.rule_sets.testing import Case
from cepheid.scripts import CompiledScript, any_query

MOST_MATCHES = 100_000
MOST_MEMORY = "1 GiB"
MOST_ROWS = 200
MOST_STEPS = 2_000_000


@dataclass(frozen=True, slots=True)
class Sample:
    """Which events a query is tried on: a file, its columns, and the number of rows."""

    path: str
    time: str = "ts"
    type: str | None = "type"
    rows: int = 20_000

    def read(self) -> KnownEvents:
        """The events of the sample."""
        return read_events(self.path, self.time, self.type, self.rows)


def events_of(text: str, sample: Sample | None) -> KnownEvents:
    """The events that a text names in a comment, or those of the sample.

    Raises:
        EventError: there are none.
    """
    known = Document(text, None, None if sample is None else sample.read()).known_events
    if known is None:
        raise EventError("there are no events: write -- events: PATH above the query")
    return known


def compile_text(text: str) -> CompiledQuery | CompiledScript | RowPatternQuery:
    """The query, script or clause of a text, with the parameters of its fields."""
    fields, body = split_front_matter(text)
    parameters = fields.get("parameters") or {}
    return any_query(body, parameters=parameters)


def run_trial(text: str, sample: Sample | None) -> dict[str, Any]:
    """What the page shows for a text: matches, drawing, plan and diagnosis, as JSON values.

    Raises:
        CepheidError: the query has faults, the events cannot be read, or a limit was exceeded.
    """
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", CepheidWarning)
        begun = perf_counter()
        known = events_of(text, sample)
        compiled = compile_text(text)
        found = (
            _rows(compiled, known)
            if isinstance(compiled, RowPatternQuery)
            else _matches(compiled, known)
        )
    return {
        **found,
        "events": known.table.num_rows,
        "isWhole": known.is_whole,
        "source": known.name,
        "seconds": round(perf_counter() - begun, 3),
        "warnings": list(dict.fromkeys(str(each.message) for each in said)),
    }


def _rows(compiled: RowPatternQuery, known: KnownEvents) -> dict[str, Any]:
    found = compiled.match(known.table, max_steps=MOST_STEPS)
    diagnosis = compiled.diagnose(known.table)
    rows = [[shown(value) for value in row.values()] for row in islice(found, MOST_ROWS)]
    return {
        "timeline": None,
        "table": visible_values({"columns": found.columns, "rows": rows, "total": len(found)}),
        "automaton": None,
        "plan": compiled.explain(known.schema).partition("\n\n")[2],
        "funnel": diagnosis._repr_html_(),
    }


def _matches(compiled: CompiledQuery | CompiledScript, known: KnownEvents) -> dict[str, Any]:
    reading = {"time": known.time, "type": known.type}
    limits = {"max_matches": MOST_MATCHES, "max_memory": MOST_MEMORY}
    assert isinstance(compiled, Compiled)
    counts: dict[str, int] = {}
    if isinstance(compiled, CompiledScript):
        results = compiled.match(known.table, **reading, **limits)  # type: ignore[arg-type]
        counts = {name: len(each) for name, each in results.items()}
        name = list(results)[-1]
        matches, tree = results[name], compiled.queries[name]
        diagnosis = compiled.diagnose(known.table, name, **reading)  # type: ignore[arg-type]
        plan, automaton = compiled.explain(known.schema), None
    else:
        keywords: dict[str, Any] = {**reading, **limits, "whole_events": True}
        matches, tree = compiled.match(known.table, **keywords), compiled.tree
        diagnosis = compiled.diagnose(known.table, **reading)  # type: ignore[arg-type]
        plan = compiled.explain(known.schema).partition("\n\n")[2]
        automaton = _automaton(compiled, known)
    return {
        "timeline": _timeline(matches, tree, known),
        "table": None,
        "automaton": automaton,
        "plan": plan,
        "funnel": diagnosis._repr_html_(),
        "counts": counts,
    }


def _timeline(matches: Matches, tree: Any, known: KnownEvents) -> dict[str, Any]:
    batches = with_events(matches, tree)
    drawn = draw_timeline(batches, len(matches), time=known.time, type=known.type)
    return visible_values(drawn.to_dict())  # type: ignore[no-any-return]


def _automaton(compiled: CompiledQuery, known: KnownEvents) -> str | None:
    try:
        return compiled.automaton("svg", schema=known.schema)
    except EvaluationError:
        return None


def record_case(case: Case) -> Case:
    """The case with what its rule finds now."""
    return replace(case, expect=tuple(case.found()))


def prepare() -> None:
    """Load or compile the code of common evaluations, so that no trial waits for it."""
    events = {"ts": [1, 2], "type": ["A", "B"], "x": [1, 2]}
    for evaluation, pattern in (
        ("instance_stacks", "SEQ(A a, B b) WHERE a.x < b.x"),
        ("nfa_b", "SEQ(A a, B+ b[]) WHERE skip_till_next_match { b[i].x > a.x }"),
    ):
        small = CompiledQuery(parse_script(f"PATTERN {pattern} WITHIN 9")[0], "", "query")
        # Without a name the definition would answer, as it does for few events at first.
        small.match(events, evaluation=evaluation)
        small.diagnose(events)


def answer(task: str, arguments: tuple[Any, ...]) -> tuple[str, Any]:
    """The result of a task, or the message of its error."""
    try:
        return "found", run_trial(*arguments) if task == "trial" else record_case(*arguments)
    except CepheidError as error:
        return "error", str(error)
    except MemoryError:
        return "error", "there is not enough memory"
