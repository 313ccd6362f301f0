"""``python -m benchmarks.auto_choice``: what ``auto`` takes, beside every evaluation that could.

Queries of the other benchmarks at a small size. What is timed is the evaluation of events that
are in memory and in order; for ``auto`` also the choice, with its sample. A query is run by every
evaluation that accepts it, in turn, and the least of the rounds counts.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.kolchinsky17.regions import PATTERNS, changing_stream, pattern_text, register
from benchmarks.kolchinsky17.regions import stream as regions
from benchmarks.stocks import StockStream
from benchmarks.stocks import query_text as stock_query
from benchmarks.timing import print_table, time_in_turn, write_results
from benchmarks.wu06.stream import query_text as sequence_query
from benchmarks.wu06.stream import table as sequences
from cepheid.analysis.analyse import analyse
from cepheid.analysis.model import AnalysedQuery
from cepheid.engines.base.evaluation import AUTO
from cepheid.events.events import Events, order_events
from cepheid.events.read_options import ReadOptions
from cepheid.language.parser import parse
from cepheid.planning.choice import choose
from cepheid.planning.frequencies import choose_by_cost
from cepheid.planning.registry import EVALUATIONS
from cepheid.sessions.session import Session

Row = dict[str, Any]
ITERATED = 6

_NEAR = 3.0
"""How many times the time of the best an evaluation may take to be timed again."""


@dataclass(frozen=True, slots=True)
class Case:
    """A query of a benchmark, and the events that it is about."""

    benchmark: str
    name: str
    text: str
    events: Events

    @property
    def query(self) -> AnalysedQuery:
        """The query, analysed."""
        tree = parse(self.text, "benchmark", {})
        return analyse(tree, self.events.schema, self.text, "benchmark")


def cases(scale: float) -> Iterator[Case]:
    """Representative queries of agrawal08, wu06 and kolchinsky17."""
    stocks = StockStream(0.7, 8).events(int(400_000 * scale))
    for name in ("p1s2", "p2s3", "p3s3"):
        yield Case("agrawal08", name, stock_query(name, 500), stocks)

    window, size = 10_000, int(400_000 * scale)
    plain = _ordered(sequences(size, {}, 930))
    yield Case("wu06", "SEQ3, no test", sequence_query(3, window), plain)
    keyed = _ordered(sequences(size, {"attr1": 100, "attr2": 5, "attr3": 10, "attr4": 100}))
    conditions = {
        "[attr1]": "[attr1]",
        "[attr1, attr2]": "[attr1, attr2]",
        "simple": "[attr1, attr2] AND e1.attr3 = 1",
        "compared": "[attr1, attr2] AND e1.attr3 = 1 AND e1.attr4 < e3.attr4",
        "linked": "e1.attr1 = e2.attr1 AND e2.attr4 = e3.attr4 AND e1.attr3 = 1",
        "unlinked": "e1.attr3 = 1 AND e2.attr3 = 2 AND e3.attr3 = 3 AND e1.attr4 < e2.attr4",
    }
    for name, condition in conditions.items():
        yield Case("wu06", f"SEQ3 {name}", sequence_query(3, window, condition), keyed)
    for length in (2, 4, 5):
        text = sequence_query(length, window, "[attr1]")
        yield Case("wu06", f"SEQ{length} [attr1]", text, keyed)

    of_regions = _ordered(regions(480 * scale, 100, 17), time_unit="s")
    for name, (pattern, groups) in PATTERNS.items():
        minutes = ITERATED if "+" in pattern else 30
        yield Case("kolchinsky17", name, pattern_text(pattern, groups, minutes), of_regions)
    for ratio, rare in ((3, 8), (700, 2)):
        types = {"A": rare * ratio, "B": round(rare * ratio**0.5), "C": rare}
        stream = _ordered(
            regions(60_000 * scale / (rare * ratio) + 20, sum(types.values()), 17, types),
            time_unit="s",
        )
        text = pattern_text("SEQ(A a, B b, C c)", ["abc"], 2 if ratio > 3 else 20)
        yield Case("kolchinsky17", f"ratio 1:{ratio}", text, stream)
    backwards = pattern_text("SEQ(AfrCompany a, EuCompany b, NACompany c)", ["abc"], 30)
    yield Case("kolchinsky17", "SEQ3, rarest first", backwards, of_regions)
    middle = pattern_text("SEQ(EuCompany a, AfrCompany b, NACompany c)", ["abc"], 30)
    yield Case("kolchinsky17", "SEQ3, rarest between", middle, of_regions)
    changing = _ordered(changing_stream(int(240_000 * scale), 100, int(40_000 * scale), 17))
    text = "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x WITHIN 100"
    yield Case("kolchinsky17", "the rarest changes", text, changing)


def _ordered(table: pa.Table, time_unit: str | None = None) -> Events:
    return order_events(table, ReadOptions(time_unit=time_unit))


def measure(case: Case, rounds: int) -> Iterator[Row]:
    """The evaluations that accept the query, and ``auto`` with what it took."""
    query, events = case.query, case.events
    asked = query.query.window
    assert asked is not None
    assert not hasattr(asked.extent, "name")
    window = (
        events.time_axis.window_ticks(asked.extent, asked.unit)
        if asked.measure.name == "TIME"
        else int(asked.extent)
    )
    first = choose(query, AUTO).evaluation
    taken: list[str] = []

    def run(name: str) -> None:
        if name == AUTO:
            name = choose_by_cost(query, events, window, first, EVALUATIONS).name
            taken.append(name)
        Session(query, window, evaluation=name).run(events)

    others = EVALUATIONS[EVALUATIONS.index(first) + 1 :]
    able = [
        first.name,
        *(each.name for each in others if each.cost is not None and each.refusal(query) is None),
    ]
    ways = {name: partial(run, name) for name in (*able, AUTO)}
    seconds = time_in_turn(ways, 1)
    # Those that come near are timed more often: a few milliseconds are mostly noise.
    limit = _NEAR * min(min(each) for each in seconds.values())
    wanted = {AUTO, taken[-1], *(name for name in able if min(seconds[name]) < limit)}
    near = {name: way for name, way in ways.items() if name in wanted}
    for name, more in time_in_turn(near, rounds).items():
        seconds[name] += more
    least = {name: min(each) for name, each in seconds.items()}
    best = min(able, key=lambda name: least[name])
    yield {
        "benchmark": case.benchmark,
        "query": case.name,
        "events": len(events),
        "auto takes": taken[-1],
        "best": best,
        "auto / best": least[AUTO] / least[best],
        "taken / best": least[taken[-1]] / least[best],
        **{f"{name} ms": 1_000 * least[name] for name in (AUTO, *able)},
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.auto_choice", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--scale", type=float, default=1.0, help="a factor of the sizes")
    parser.add_argument("--only", help="queries whose name has this in it")
    parser.add_argument("--output", type=Path, default=Path("build/benchmarks"))
    given = parser.parse_args(arguments)
    register()
    rows: list[Row] = []
    for case in cases(given.scale):
        if given.only is None or given.only in f"{case.benchmark} {case.name}":
            rows += measure(case, given.rounds)
            print(".", end="", flush=True)
            settings = {"rounds": given.rounds, "scale": given.scale}
            write_results(given.output, "auto_choice", rows, settings)
    columns = dict.fromkeys(name for row in rows for name in row)
    print_table("What auto takes", rows, columns)
    worst = max(rows, key=lambda row: row["auto / best"])
    print(f"\nThe worst is {worst['query']}: {worst['auto / best']:.2f}")


if __name__ == "__main__":
    main()
