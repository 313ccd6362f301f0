"""An output mode is one registry entry: a mode that is added here runs wherever matches do."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.analysis.analyse import analyse
from cepheid.language.parser import parse
from cepheid.matches.modes.mode import Choice, Chooser, CompletedMatches, OutputMode
from cepheid.matches.modes.registry import (
    all_outputs,
    listed_outputs,
    output_mode,
    register_mode,
    unregister_mode,
)
from cepheid.planning.registry import EVALUATIONS
from cepheid.schema import Schema
from cepheid.snapshots import Arrays

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES = ("all", "first", "longest", "leftmost", "non_overlapping")
QUERIES = (
    "PATTERN SEQ(A a, B b) WHERE [k] WITHIN 6",
    "PATTERN SEQ(A a, B+ b[]) WHERE [k] WITHIN 4",
    "PATTERN SEQ(A a, OR(B b, C c)) WHERE [k] WITHIN 6",
    "PATTERN SEQ(A a, ~(C n), B b) WHERE [k] WITHIN 6",
    "PATTERN SEQ(A a, B b, ~(C n)) WHERE [k] WITHIN 6",
    "PATTERN AND(A a, B b) WHERE [k] WITHIN 6",
)


def last_mode() -> OutputMode:
    """Of the matches with the same completion and last event only the one that starts first.

    The classes are made in a function, so that Spark ships them by value.
    """

    class Last(Chooser):
        def __init__(self) -> None:
            self.latest = np.full(1, np.iinfo(np.int64).min)

        def choose(self, completed: CompletedMatches) -> Choice:
            matches = completed.matches
            assert matches.ends.min() >= self.latest[0], "matches come in order of completion"
            self.latest = matches.ends.max(keepdims=True)
            last, ends = matches.last_events(), matches.ends
            offsets, numbers = matches.rows()
            rows = [tuple(numbers[low:high]) for low, high in pairwise(offsets)]
            keys = list(zip(ends, last, matches.first_events(), rows, strict=True))
            order = sorted(range(len(keys)), key=keys.__getitem__)
            kept = {keys[ix][:2]: ix for ix in reversed(order)}
            return Choice(np.array(sorted(kept.values()), dtype=np.int64))

        def state(self) -> Arrays:
            return {"latest": self.latest}

        def load(self, state: Arrays) -> None:
            self.latest = state["latest"]

    return OutputMode(
        "last",
        "for each last event one match",
        make_chooser=Last,
        refusal=lambda query: "its window is long" if query.query.window is None else None,
    )


@pytest.fixture(autouse=True)
def _mode() -> Iterator[None]:
    register_mode(last_mode())
    yield
    unregister_mode("last")


def stream(seed: int, count: int = 60) -> pa.Table:
    chosen = random.Random(seed)
    times = sorted(chosen.randrange(count) for _ in range(count))
    types = [chosen.choice("ABBC") for _ in range(count)]
    return pa.table({"ts": times, "type": types, "k": [chosen.randrange(2) for _ in range(count)]})


def found(matches: cep.Matches) -> list[Any]:
    ends = matches.to_arrow()["end"].to_pylist()
    return sorted(map(str, zip(ends, matches.bindings(), strict=True)))


def expected(text: str, events: pa.Table) -> list[Any]:
    """The definition of the mode, over all matches."""
    matches = cep.query(text).match(events, evaluation="reference")
    best: dict[tuple[int, int], Any] = {}
    for end, binding in zip(matches.to_arrow()["end"].to_pylist(), matches.bindings(), strict=True):
        lists = [[*bound, -1] if isinstance(bound, list) else [bound] for bound in binding.values()]
        row = [position for each in lists for position in each]
        positions = sorted(position for position in row if position >= 0)
        key = (positions[0], row)
        here = (end, positions[-1])
        if here not in best or key < best[here][0]:
            best[here] = (key, binding)
    return sorted(str((end, binding)) for (end, _), (_, binding) in best.items())


def evaluations(text: str) -> list[str]:
    query = analyse(parse(text), Schema.from_arrow(stream(0).schema))
    return [
        each.name for each in EVALUATIONS if not each.has_confidence and not each.refusal(query)
    ]


@pytest.mark.parametrize("text", QUERIES)
def test_it_runs_in_every_evaluation_and_in_sessions(text: str) -> None:
    events = stream(len(text))
    wanted = expected(text, events)
    everything = cep.query(text).match(events)
    assert 0 < len(wanted) < len(everything)
    names = evaluations(text)
    assert len(names) > 1
    for evaluation in names:
        query = cep.query(text)
        assert found(query.match(events, evaluation=evaluation, output="last")) == wanted
        assert query.count(events, evaluation=evaluation, output="last") == len(wanted)
        if evaluation == "reference":
            continue
        session = query.session(evaluation=evaluation, output="last")
        parts = []
        for low in range(0, len(events), 7):
            parts += found(session.feed(events.slice(low, 7)))
            session = query.restore(session.snapshot(), evaluation=evaluation, output="last")
        parts += found(session.advance())
        assert sorted(parts) == wanted, evaluation


def test_a_query_that_it_refuses_says_why() -> None:
    query = cep.query("PATTERN SEQ(A a, B b)")
    for evaluation in ("auto", "reference"):
        with pytest.raises(cep.OptionError, match="no last output for this query: its window is"):
            query.match(stream(1), output="last", evaluation=evaluation)


def test_it_is_named_where_modes_are() -> None:
    assert listed_outputs() == (*NAMES, "last")
    assert all_outputs() == (*NAMES, "last", "compressed")
    assert output_mode("last").needs_whole_partitions
    with pytest.raises(cep.OptionError, match="non_overlapping, last and compressed"):
        cep.query(QUERIES[0]).match(stream(1), output="lst")
    with pytest.raises(cep.OptionError, match="use another name"):
        register_mode(OutputMode("all", "every match"))


def test_uncertain_times_have_no_such_output() -> None:
    query = cep.query(QUERIES[0])
    with pytest.raises(cep.OptionError, match="times are uncertain"):
        query.match(stream(1), output="last", uncertainty=1)


@pytest.mark.xdist_group("spark")
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_it_runs_on_spark(spark: SparkSession) -> None:
    for text in (QUERIES[0], QUERIES[3]):
        # Spark orders events of equal time by their other columns.
        events = stream(5).sort_by([("ts", "ascending"), ("k", "ascending"), ("type", "ascending")])
        returning = text + " RETURN a.ts AS a, b.ts AS b, b.k AS k"
        local = cep.query(returning).match(events, output="last", tie_break=["k", "type"])
        frame = cep.query(returning).match(
            spark.createDataFrame(events), output="last", tie_break=["k", "type"]
        )
        rows = sorted(str(row.asDict()) for row in frame.collect())
        assert rows == sorted(str(row) for row in local.to_arrow().to_pylist())
        assert rows
