"""A script over events of known columns: the stream of each query, and what runs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cepheid.analysis.model import AnalysedQuery
from cepheid.analysis.scripts import ScriptQuery, schema_read
from cepheid.engines.base.options import Options
from cepheid.errors import EvaluationError, LimitError, OptionError
from cepheid.events.events import Events
from cepheid.matches.matches import Matches
from cepheid.schema import Kind, Schema
from cepheid.sessions.composites import Composites
from cepheid.sessions.merged_stream import (
    Columns,
    MergedStream,
    composite_columns,
    kinds_made,
    merged_stream,
    name_of_row,
    refuse_taken_types,
)


@dataclass(frozen=True, slots=True)
class Script:
    """A script and how it is run; ``text`` and ``source`` are for showing faults.

    ``analyse`` gives for a query and a schema what is run, and by which evaluation; ``window``
    the extent of a query's window.
    """

    queries: tuple[ScriptQuery, ...]
    text: str
    source: str
    names: Columns
    output: str
    options: Options
    analyse: Callable[[int, Schema], tuple[AnalysedQuery, str]]
    window: Callable[[int, Events], int | None]


@dataclass(frozen=True, slots=True, eq=False)
class PlannedQuery:
    """One query of a script: what it reads, what runs it, and the columns of what it makes."""

    each: ScriptQuery
    analysed: AnalysedQuery
    evaluation: str
    window: int | None
    stream: MergedStream | None  # None where it reads only the input
    makes: pa.Table | None  # None where nobody reads what it makes

    def no_composites(self) -> Composites:
        """None of the composite events of the query."""
        none = np.empty(0, dtype=np.int64)
        assert self.makes is not None
        return Composites(self.makes, none, none, 0)


def plan_script(script: Script, events: Events) -> list[PlannedQuery]:
    """What is run for each query over events with the columns of these, which may be none."""
    refuse_taken_types(script.queries, events)
    planned: list[PlannedQuery] = []
    made: dict[int, pa.Table] = {}
    kinds: dict[int, dict[str, Kind]] = {}
    sample = events.slice(0, 0)
    for number, each in enumerate(script.queries):
        stream, read = None, sample
        if each.reads:
            schema = schema_read(
                number, script.queries, events.schema, kinds, script.text, script.source
            )
            stream = merged_stream(number, script.queries, sample, made, schema, script.names)
            none = {ix: planned[ix].no_composites() for ix in each.reads}
            nowhere = np.empty(0, dtype=np.int64)
            read, _ = stream.merge(sample, nowhere, none, len(script.queries))
        with naming(number, each):
            analysed, evaluation = script.analyse(number, read.schema)
            window = script.window(number, read)
        makes = None
        if each.is_read:
            makes = made[number] = composite_columns(each, read)
            kinds[number] = kinds_made(makes, sample, script.names)
        planned.append(PlannedQuery(each, analysed, evaluation, window, stream, makes))
    return planned


@contextmanager
def naming(number: int, each: ScriptQuery) -> Iterator[None]:
    """Say of which query an error is that does not say so by a place in the text."""
    try:
        yield
    except (EvaluationError, LimitError, OptionError) as error:
        raise type(error)(f"query {number + 1} ({each.name}): {error}") from error


def named_matches(matches: Matches, queries: Sequence[ScriptQuery]) -> Matches:
    """The matches, in whose bindings composite events are named by their query."""
    names = [each.name for each in queries]
    return matches.with_rows_named(lambda row: name_of_row(row, names))
