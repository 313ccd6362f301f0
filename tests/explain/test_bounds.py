"""The bounds that ``explain`` states: derived by hand, and never exceeded by the runs there are."""

import random

import pytest

import cepheid as cep
from cepheid.analysis.analyse import analyse
from cepheid.engines.base.options import Options
from cepheid.explain.bounds import RunBound, nondeterminism, query_selectivity, run_bound
from cepheid.language.parser import parse


def bound(pattern: str, strategy: str) -> RunBound:
    query = analyse(parse(f"PATTERN {pattern} WHERE {strategy}"))
    return run_bound(query, query.alternatives[0])


STRICT, PARTITION = "strict_contiguity", "partition_contiguity"
NEXT, ANY = "skip_till_next_match", "skip_till_any_match"


@pytest.mark.parametrize(
    ("pattern", "strategy", "expected"),
    [
        # Contiguous: a run is told apart by the lengths of its lists.
        ("A a", STRICT, "0: constant"),
        ("SEQ(A a, B b, C c)", STRICT, "2: constant"),
        ("SEQ(A a, B{1,3} b[], C c)", PARTITION, "4: constant"),
        ("SEQ(A{2,3} a[], B{4} b[], C c)", STRICT, "11: constant"),
        ("SEQ(A+ a[], B b)", PARTITION, "W: linear"),
        ("SEQ(A+ a[], B+ b[], C c)", STRICT, "2·W^2: polynomial"),
        # The next match: by its first event, and by the events with which it left lists.
        ("SEQ(A a, B b)", NEXT, "W: linear"),
        ("SEQ(A+ a[], B b)", NEXT, "W: linear"),
        ("SEQ(A+ a[], B b, C c)", NEXT, "2·W^2: polynomial"),
        ("SEQ(A{3} a[], B b, C c)", NEXT, "2·W: linear"),
        ("SEQ(A+ a[], B{1,2} b[], C+ c[])", NEXT, "3·W^3: polynomial"),
        # Any match: by all the events it selected.
        ("SEQ(A a, B b)", ANY, "W: linear"),
        ("SEQ(A a, B b, C c)", ANY, "2·W^2: polynomial"),
        ("SEQ(A a, B{2} b[])", ANY, "2·W^2: polynomial"),
        ("SEQ(A a, B{1} b[])", ANY, "W: linear"),
        ("SEQ(A a, B+ b[], C c)", ANY, "2·2^W: exponential"),
        ("SEQ(A+ a[], B+ b[])", ANY, "2·W·2^W: exponential"),
    ],
)
def test_bounds_derived_by_hand(pattern, strategy, expected):
    assert str(bound(pattern, strategy)) == expected


def test_the_computation_state_of_query_3_is_that_of_figure_5():
    text = """
        PATTERN SEQ(Stock+ a[], Stock b)
        WHERE skip_till_next_match(a[], b) {
            [symbol] AND a[1].volume > 1000
            AND a[i].price > avg(a[..i-1].price) AND b.volume < 80% * a[a.LEN].volume }
        WITHIN 1 hour"""
    schema = {"Stock": {"symbol": "string", "price": "float", "volume": "integer"}}
    shown = cep.query(text).explain(schema, bounds=True)
    # Events are partitioned by symbol, so that it is no column.
    assert shown.splitlines()[-3:] == [
        "  V = (sum(a[].price), count(a[].price), a[a.LEN].volume)",
        "  merging mask of a[i]: sum(a[].price), count(a[].price), a[a.LEN].volume",
        "  merging mask of b: a[a.LEN].volume",
    ]
    assert "computation state" not in cep.query(text).explain(bounds=True)


def test_columns_that_no_later_state_reads_are_in_no_mask():
    text = "PATTERN SEQ(A a, B{1,3} b[], C c, D d) WHERE b[i].x > a.x AND b[2].x < 9 AND d.x = c.x"
    types = {name: {"x": "integer"} for name in "ABCD"}
    shown = cep.query(text).explain(types, evaluation="nfa_b", bounds=True)
    masks = [line.split(" of ")[1] for line in shown.splitlines() if "merging mask" in line]
    assert masks == ["b[1]: a.x", "b[i]: length, a.x, b.LEN", "c: nothing", "d: c.x"]


def test_a_numbered_event_makes_a_list_of_fixed_length():
    query = analyse(
        parse("PATTERN SEQ(A{1,3} a[], B b, C c) WHERE skip_till_next_match AND a[3].x > 1")
    )
    assert str(run_bound(query, query.alternatives[0])) == "2·W: linear"


TAKE_PROCEED, IGNORE_PROCEED = "take-proceed", "ignore-proceed"
TAKE_IGNORE, BEGIN_IGNORE = "take-ignore", "begin-ignore"


@pytest.mark.parametrize(
    ("pattern", "strategy", "expected"),
    [
        # Query 3 of the paper: an event can extend the list and also end it.
        ("SEQ(A+ a[], A b)", NEXT, {"a[i]": {TAKE_PROCEED, IGNORE_PROCEED}}),
        ("SEQ(A+ a[], A b)", PARTITION, {"a[i]": {TAKE_PROCEED}}),
        ("SEQ(A+ a[], A b)", STRICT, {"a[i]": {TAKE_PROCEED}}),
        (
            "SEQ(A+ a[], A b)",
            ANY,
            {"a[i]": {TAKE_PROCEED, IGNORE_PROCEED, TAKE_IGNORE}, "b": {BEGIN_IGNORE}},
        ),
        # Types that differ exclude one another.
        ("SEQ(A+ a[], B b)", STRICT, {}),
        ("SEQ(A+ a[], B b)", NEXT, {"a[i]": {IGNORE_PROCEED}}),
        ("SEQ(ANY(A, B)+ a[], B b)", STRICT, {"a[i]": {TAKE_PROCEED}}),
        # A list at the end is a match with each event that it takes.
        ("SEQ(A a, B+ b[])", STRICT, {"b[i]": {TAKE_PROCEED}}),
        ("SEQ(A a, B+ b[])", ANY, {"b[1]": {BEGIN_IGNORE}, "b[i]": {TAKE_PROCEED, TAKE_IGNORE}}),
        # A list of fixed length is left when it is full, and not before.
        ("SEQ(A{3} a[], A b)", NEXT, {}),
        ("SEQ(A{3} a[], A b)", ANY, {"a[i]": {TAKE_IGNORE}, "b": {BEGIN_IGNORE}}),
        ("SEQ(A{1} a[], A b)", ANY, {"b": {BEGIN_IGNORE}}),
        # The first event of a match is never ignored.
        ("SEQ(A a, B b)", NEXT, {}),
        ("SEQ(A a, B b)", ANY, {"b": {BEGIN_IGNORE}}),
    ],
)
def test_nondeterminism_derived_by_hand(pattern, strategy, expected):
    query = analyse(parse(f"PATTERN {pattern} WHERE {strategy}"))
    kinds = nondeterminism(query, query.alternatives[0])
    assert {state: set(each) for state, each in kinds.items() if each} == expected


PATTERNS = [
    "SEQ(A a, A b, A c)",
    "SEQ(A a, B b, A c)",
    "SEQ(A+ a[], A b)",
    "SEQ(A+ a[], B b, A c)",
    "SEQ(A+ a[], ANY(A, B)+ b[], A c)",
    "SEQ(A{1,2} a[], A{2,3} b[])",
    "SEQ(A a, ANY(A, B)+ b[])",
]


@pytest.mark.parametrize("strategy", [STRICT, PARTITION, NEXT, ANY])
def test_no_more_runs_than_the_bound(strategy):
    size = 6
    draw = random.Random(25)
    streams = ["A" * 20, *("".join(draw.choices("AAB", k=20)) for _ in range(5))]
    for pattern in PATTERNS:
        stated = bound(pattern, strategy)
        query = cep.query(f"PATTERN {pattern} WHERE {strategy} WITHIN {size}")
        peaks = []
        for types in streams:
            events = {"ts": list(range(len(types))), "type": list(types)}
            found = query.match(events, evaluation="nfa_b", options={"algorithm": "basic"})
            peaks.append(found.metrics.runs_peak)
        # The peak is taken while an event is read: runs from before it and after it are both there.
        assert max(peaks) <= 2 * stated.at(size) + 1, pattern
        if strategy in (NEXT, ANY):
            assert max(peaks) <= stated.at(size + 1) + 1, pattern
        assert max(peaks) > 0, pattern


def test_only_a_constant_bound_means_constant_time():
    said = {
        strategy: cep.query(f"PATTERN SEQ(A a, B b) WHERE {strategy} WITHIN 9").explain(
            evaluation="nfa_b", bounds=True
        )
        for strategy in (STRICT, NEXT)
    }
    assert "time per event: constant" in said[STRICT]
    assert "time per event: grows with the number of runs" in said[NEXT]


@pytest.mark.parametrize(
    ("conditions", "window", "expected"),
    [
        ("[id]", "1 hour", "W = T·C·p events: T = 1 hour, C events at most at one time, "),
        ("true", "1 hour", "W = T·C events: T = 1 hour, C events at most at one time\n"),
        ("[id]", "50 EVENTS", "W = p · 50 EVENTS, p the share of a partition\n"),
        ("[id]", "50 EVENTS PER PARTITION", "W = 50 EVENTS PER PARTITION\n"),
    ],
)
def test_the_partition_window(conditions, window, expected):
    query = cep.query(
        f"PATTERN SEQ(A+ a[], B b) WHERE skip_till_next_match {{ {conditions} }} WITHIN {window}"
    )
    assert f"bounds:\n  {expected}" in query.explain(bounds=True)


@pytest.mark.parametrize(
    ("pattern", "statistics", "domains"),
    [
        ("SEQ(A a, A b, C c) WITHIN 9", {"A": 4.5, "C": 4.5}, {}),
        ("SEQ(A a, B b, C c) WHERE [id] WITHIN 90", dict.fromkeys("ABC", 30), {"id": 5}),
        ("SEQ(A a, B b) WHERE a.id = b.id WITHIN 40", {"A": 20, "B": 20, "a.id = b.id": 0.2}, {}),
    ],
)
def test_the_query_selectivity_is_what_is_found(pattern, statistics, domains):
    size = 20_000
    draw = random.Random(6)
    types = [name for name in statistics if "." not in name]
    events = {
        "ts": list(range(size)),
        "type": draw.choices(types, k=size),
        "id": draw.choices(range(5), k=size),
    }
    found = cep.query(f"PATTERN {pattern}").match(events, evaluation="instance_stacks")
    query = analyse(parse(f"PATTERN {pattern}"))
    options = Options(statistics=statistics, domains=domains)
    expected = query_selectivity(query, query.alternatives[0], options)
    assert len(found) / size == pytest.approx(expected, rel=0.1)


def test_no_more_instances_than_the_bound():
    # Six events, all within the window: the first two stacks have all of them.
    query = cep.query("PATTERN SEQ(A a, A b, A c) WITHIN 6")
    events = {"ts": list(range(6)), "type": ["A"] * 6}
    assert query.match(events, evaluation="instance_stacks").metrics.runs_peak <= 3 * 6


def test_bounds_of_stacks():
    query = cep.query("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 9")
    statistics = {"A": 50, "B": 50}
    said = query.explain(
        evaluation="instance_stacks", bounds=True, statistics=statistics, domains={"id": 5}
    )
    assert said.partition("bounds:\n")[2].splitlines() == [
        "  W = T·C·p events: T = 9, C events at most at one time, p the share of a partition",
        "  instances of a partition in the window: at most 2·W: linear",
        "  pointers that the search from an event can follow: at most 4·W: linear",
        "  query selectivity: about 4.95 sequences per event",
    ]
    unknown = query.explain(evaluation="instance_stacks", bounds=True, statistics=statistics)
    assert "about 24.8 sequences per event, if all events are of one partition" in unknown
    assert "query selectivity" not in query.explain(bounds=True)
