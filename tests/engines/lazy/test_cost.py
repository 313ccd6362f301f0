"""The choice of an order and of an evaluation by what it is estimated to cost."""

from __future__ import annotations

import re
from itertools import islice, permutations

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.analysis.analyse import analyse
from cepheid.analysis.model import AnalysedQuery
from cepheid.engines.base.engine import EngineTask
from cepheid.engines.base.options import BY_COST, Options
from cepheid.engines.base.workload import Workload, best_order, orders_cost
from cepheid.engines.lazy.compile import LazyAutomaton, compile_lazy, compile_shared
from cepheid.engines.lazy.plans import LazyPlans
from cepheid.engines.lazy.sharing import shared_alternatives
from cepheid.events.events import order_events
from cepheid.language.parser import parse
from cepheid.planning.estimates import Frequencies, estimate_costs
from cepheid.planning.frequencies import observe
from cepheid.schema import Schema


@pytest.mark.parametrize("seed", range(20))
def test_the_best_order_is_the_best_of_all_orders(seed: int) -> None:
    random = np.random.default_rng(seed)
    events = (10.0 ** random.uniform(-1, 3, 4)).tolist()
    before = frozenset((a, b) for a in range(4) for b in range(a) if random.random() < 0.5)
    selectivities = {(a, b): float(random.random()) for b in range(4) for a in range(b)}
    workload = Workload(events, frozenset(), before, selectivities)
    least = min(orders_cost(workload, [order]) for order in permutations(range(4)))
    assert orders_cost(workload, [best_order(workload)]) == pytest.approx(least)


def test_a_list_is_bound_last() -> None:
    assert best_order(Workload([40.0, 100.0, 5.0], lists=frozenset({0}))) == (2, 1, 0)


def test_many_components_are_ordered_by_frequency() -> None:
    events = [float(20 - ix) for ix in range(15)]
    assert best_order(Workload(events)) == tuple(reversed(range(15)))


def analysed(text: str):
    return analyse(parse(text, "test", {}), None, text, "test")


def test_costs_follow_the_order_in_which_components_are_bound() -> None:
    query = analysed("PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x WITHIN 9")
    rare_last = estimate_costs(query, Frequencies({"A": 9_000.0, "B": 300.0, "C": 1.0}))
    assert rare_last["lazy_chain"] * 5 < rare_last["nfa_b"]
    rare_first = estimate_costs(query, Frequencies({"A": 1.0, "B": 300.0, "C": 9_000.0}))
    assert rare_first["nfa_b"] * 3 < rare_first["instance_stacks"]
    drifting = estimate_costs(query, Frequencies({"A": 9.0, "B": 9.0, "C": 9.0}, drifts=True))
    assert drifting["lazy_tree"] < drifting["lazy_chain"]


def skewed(size: int = 12_000) -> pa.Table:
    random = np.random.default_rng(3)
    types = np.where(
        random.random(size) < 0.002, "B", np.where(random.random(size) < 0.5, "A", "C")
    )
    return pa.table({"ts": np.arange(size), "type": types, "x": random.random(size)})


def test_frequencies_are_those_of_a_window() -> None:
    table = skewed()
    events = order_events(table)
    query = analysed("PATTERN SEQ(A a, B b) WITHIN 1200")
    found = observe(query, events, 1_200)
    assert found.per_window["a"] == pytest.approx(600, rel=0.1)
    assert found.per_window["b"] < 10
    assert not found.drifts
    rising = pa.table({"ts": np.arange(40_000), "type": ["A"] * 20_000 + ["B"] * 20_000})
    assert observe(query, order_events(rising), 100).drifts


def test_conditions_are_tested_on_a_sample() -> None:
    events = order_events(skewed(400_000))
    query = analysed("PATTERN SEQ(A a, C c) WHERE a.x < 0.1 AND a.x < c.x AND c.x > 0.5 WITHIN 100")
    found = observe(query, events, 100).per_window
    assert found["a"] == pytest.approx(5, rel=0.9)
    assert found["c"] == pytest.approx(25, rel=0.4)
    assert found["a.x < c.x"] == pytest.approx(0.5, abs=0.25)


def test_statistics_of_conditions_decide() -> None:
    text = "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x AND b.y < c.y WITHIN 9"
    known = {"A": 50, "B": 50, "C": 50}
    shown = cep.query(text).explain(statistics={**known, "a.x < b.x": 0.9, "b.y < c.y": 0.001})
    assert "lazy_chain binds b, c, a" in shown
    shown = cep.query(text).explain(statistics={**known, "a.x < b.x": 0.001, "b.y < c.y": 0.9})
    assert "lazy_chain binds a, b, c" in shown


def test_estimates_are_of_evaluations_that_run_the_query() -> None:
    known = {"A": 10, "B": 10}

    def estimated(text: str) -> set[str]:
        shown = cep.query(text).explain(statistics=known)
        section = shown.partition("estimates:\n")[2].partition("\nselection strategy:")[0]
        return {line.split()[0].rstrip(":") for line in section.splitlines()}

    eager = {"nfa_b"}
    lazy = {"lazy_chain", "lazy_tree"}
    assert estimated("PATTERN SEQ(A a, B b) WITHIN 9") == {"instance_stacks"} | eager | lazy
    assert estimated("PATTERN SEQ(A a, B+ b[]) WITHIN 9") == eager | lazy
    assert estimated("PATTERN AND(A a, B b) WITHIN 9") == lazy
    assert estimated("PATTERN SEQ(A a, B b) WHERE skip_till_next_match WITHIN 9") == eager


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x WITHIN 9",
        "PATTERN SEQ(A a, B b, C c) WHERE a.x = c.x AND b.y < c.y WITHIN 9",
        "PATTERN SEQ(A+ a[], B b, C c) WHERE a[i].x > a[i-1].x AND a[i].x < c.x WITHIN 9",
        "PATTERN AND(A a, SEQ(B b, ~(A n), C c)) WHERE a.x = n.x WITHIN 9",
        "PATTERN SEQ(A a, OR(B b, C c), A d) WHERE a.x < d.x AND b.x = d.x WITHIN 9",
    ],
)
@pytest.mark.parametrize("rates", [(250, 250, 1), (1, 50, 50), (20, 1, 300)])
def test_explain_and_drawings_show_the_order_that_runs(
    text: str, rates: tuple[int, int, int]
) -> None:
    statistics = dict(zip("ABC", rates, strict=True))
    query = cep.query(text)
    kinds = {name: {"x": "integer", "y": "integer"} for name in "ABC"}
    orders = running_orders(analyse(parse(text), Schema.declared(kinds)), statistics)
    shown = query.explain(evaluation="lazy_chain", statistics=statistics)
    lines = [line for line in shown.splitlines() if "lazy_chain binds" in line]
    assert lines == [f"  lazy_chain binds {', '.join(order)}" for order in orders]
    chart = query.automaton(evaluation="lazy_chain", statistics=statistics)
    if "alternatives 1, 2" in chart:  # They share the states of their common beginnings.
        states = re.findall(r'\(\("([^"]+)"\)\)', chart)
        begun = dict.fromkeys(" ".join(each[:n]) for each in orders for n in range(1, len(each)))
        assert states == ["∅", *begun, "F1", "F2"]
        return
    # R, where a match that a negation excludes ends, comes last.
    states = re.findall(r'\(\("(\w)(?:\[\])?"\)\)', chart.replace('(("R"))', ""))
    assert states == [name for order in orders for name in (*order, "F")]


def running_orders(query: AnalysedQuery, statistics: dict[str, int]) -> list[list[str]]:
    """The order of each alternative in the plan that the kernel reads."""
    found: dict[int, list[str]] = {}
    for group in shared_alternatives(query):
        names = planned(query, compile_shared(query, group), statistics)
        found.update(zip(group.numbers, names, strict=True))
    for number, each in enumerate(query.alternatives):
        if number not in found:
            (found[number],) = planned(query, compile_lazy(query, each, BY_COST), statistics)
    return [found[number] for number in range(len(query.alternatives))]


def planned(
    query: AnalysedQuery, automaton: LazyAutomaton, statistics: dict[str, int]
) -> list[list[str]]:
    options = Options(statistics=statistics)
    task = EngineTask(query, query.alternatives[0], 9, by_partition=False, options=options)
    plans = LazyPlans(automaton, task, is_tree=False)
    places = iter(plans.state()["orders"].tolist())
    return [
        [automaton.placement.components[ix].component.variable for ix in islice(places, len(each))]
        for each in automaton.placement.alternatives
    ]


def test_auto_takes_what_costs_least_by_statistics() -> None:
    query = cep.query("PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x WITHIN 9")
    rare_between = query.explain(statistics={"A": 9_000, "B": 1, "C": 9_000, "b.x < c.x": 1})
    assert "  lazy_chain: instances" in rare_between
    assert "  nfa_b: runs" in query.explain(statistics={"A": 1, "B": 50, "C": 5_000})


def test_over_many_events_auto_takes_what_costs_least() -> None:
    """The rare type is in the middle, where neither forward nor backward is a good order."""
    query = cep.query(
        "PATTERN SEQ(A a, C c, B b, A d, C e) "
        "WHERE a.x > b.x AND c.x > a.x AND d.x < b.x / 9 AND e.x < b.x / 9 WITHIN 240"
    )
    table = skewed()
    chosen, lazy = query.match(table), query.match(table, evaluation="lazy_chain")
    assert chosen.metrics.evaluations == lazy.metrics.evaluations
    assert len(chosen) == len(lazy) > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"statistics": [1]}, "statistics are a mapping"),
        ({"statistics": {"A": -1}}, "how many events of 'A' a window has is a number"),
        ({"statistics": {"A": 1}}, "statistics do not say how many events of B"),
        ({"statistics": {"A": 1, "B": 1, "a.x < b.x": 3}}, "'a.x < b.x' is a number from 0 to 1"),
        ({"options": {"negation": "first_chanc"}}, "Did you mean 'first_chance'"),
    ],
)
def test_wrong_options_are_refused(options: dict, message: str) -> None:
    events = {"ts": [1, 2], "type": ["A", "B"]}
    with pytest.raises(cep.OptionError, match=message):
        cep.query("PATTERN SEQ(A a, B b)").match(events, evaluation="lazy_chain", **options)


def test_given_statistics_fix_the_order() -> None:
    query = cep.query("PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x WITHIN 30")
    table = skewed(2_000)
    rare_first = query.match(table, evaluation="lazy_chain", statistics={"A": 9, "B": 1, "C": 9})
    rare_last = query.match(table, evaluation="lazy_chain", statistics={"A": 1, "B": 99, "C": 9})
    assert sorted(map(str, rare_first.bindings())) == sorted(map(str, rare_last.bindings()))
    assert rare_first.metrics.runs_created < rare_last.metrics.runs_created


def test_too_many_instances_end_with_an_error() -> None:
    events = {"ts": list(range(2_000)), "type": ["A"] * 2_000}
    query = cep.query("PATTERN SEQ(A a, B b) WITHIN 3000")
    with pytest.raises(cep.LimitError, match="more than 300 instances, most of them waiting"):
        query.match(events, evaluation="lazy_chain", max_runs=300, statistics={"A": 1, "B": 5})
