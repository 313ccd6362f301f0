"""Events with uncertain times are read as said, and refused with a reason."""

from datetime import datetime, timedelta
from itertools import permutations

import pyarrow as pa
import pytest

import cepheid as cep

QUERY = cep.query("PATTERN SEQ(A a, B b) WITHIN 10")


def answers(matches):
    rows = matches.to_arrow().to_pylist()
    return [(row["start"], row["end"], round(row["confidence"], 6)) for row in rows]


def test_a_misspelt_type_is_not_certain_in_silence() -> None:
    events = {"ts": [1, 5], "type": ["Load", "Task"]}
    query = cep.query("PATTERN SEQ(Load a, Task b)")
    with pytest.warns(cep.CepheidWarning, match="no event has type 'Lod'.* Did you mean 'Load'"):
        query.match(events, uncertainty={"Lod": 2})
    assert len(query.match(events, uncertainty={"Load": 2, "Restart": 1})) == 1


def test_an_uncertainty_is_on_both_sides_of_the_time():
    events = {"ts": [5, 6], "type": ["A", "B"]}
    both = {"lower": [4, 5], "upper": [6, 7], "type": ["A", "B"]}
    assert answers(QUERY.match(events, uncertainty=1)) == [(4, 7, round(6 / 9, 6))]
    assert answers(QUERY.match(both, time=("lower", "upper"))) == [(4, 7, round(6 / 9, 6))]


def test_an_uncertainty_may_differ_by_type_and_a_type_without_one_is_certain():
    events = {"ts": [5, 6], "type": ["A", "B"]}
    assert answers(QUERY.match(events, uncertainty={"B": 2})) == [(5, 8, 0.6)]


def test_a_unit_is_turned_into_that_of_the_column():
    moment = datetime(2024, 3, 1, 9, 0)
    events = {"ts": [moment, moment + timedelta(seconds=1)], "type": ["A", "B"]}
    query = cep.query("PATTERN SEQ(A a, B b) WITHIN 1 minute")
    found = query.match(events, uncertainty="1 second", granularity="500 ms")
    [(start, end, confidence)] = answers(found)
    assert start == moment - timedelta(seconds=1)
    assert end == moment + timedelta(seconds=2)
    # Five instants of A, five of B that begin two later: all pairs but three with A not first,
    # and three at the same instant.
    assert confidence == round((25 - 3 - 3) / 25, 6)


def test_instants_are_as_long_as_the_granularity():
    events = {"lower": [3, 17], "upper": [19, 29], "type": ["A", "B"]}
    query = cep.query("PATTERN SEQ(A a, B b) WITHIN 20")
    # A is in the instants 0 and 1, B in 1 and 2; a window of 20 is two instants long.
    assert answers(query.match(events, time=("lower", "upper"), granularity=10)) == [(0, 20, 0.5)]


def test_probabilities_are_used_as_given():
    events = pa.table(
        {
            "lower": [0, 1],
            "upper": [2, 1],
            "type": ["A", "B"],
            "p": pa.array([[0.25, 0.5, 0.25], None], pa.list_(pa.float64())),
        }
    )
    found = QUERY.match(events, time=("lower", "upper"), probabilities="p")
    assert answers(found) == [(0, 1, 0.25)]


def test_instants_without_probability_do_not_widen_the_range():
    events = pa.table(
        {
            "lower": [0, 5],
            "upper": [3, 6],
            "type": ["A", "B"],
            "p": pa.array([[0, 0.5, 0.5, 0], [1, 0]], pa.list_(pa.float64())),
        }
    )
    found = QUERY.match(events, time=("lower", "upper"), probabilities="p")
    assert answers(found) == [(1, 5, 1.0)]


def test_events_of_one_instant_do_not_follow_one_another():
    events = {"ts": [5, 5], "type": ["A", "B"]}
    assert len(QUERY.match(events)) == 1
    assert len(QUERY.match(events, evaluation="imprecise")) == 0


def test_violations_of_the_arrival_order_are_counted():
    events = {"lower": [8, 1], "upper": [9, 2], "type": ["B", "A"]}
    found = QUERY.match(events, time=("lower", "upper"))
    assert len(found) == 1
    assert found.metrics.arrival_violations == 1


def test_a_session_leaves_out_what_comes_too_late_and_says_so():
    session = QUERY.session(time=("lower", "upper"), max_uncertainty=1)
    session.feed({"lower": [20], "upper": [21], "type": ["A"]})
    with pytest.warns(cep.CepheidWarning, match="1 of 1 events arrived too late"):
        session.feed({"lower": [5], "upper": [6], "type": ["B"]})
    assert session.metrics.late_events == 1
    assert session.metrics.arrival_violations == 1


def test_an_interval_that_is_longer_than_said_is_refused():
    session = QUERY.session(time=("lower", "upper"), max_uncertainty=1)
    with pytest.raises(cep.EventError, match=r"row 0 .* longer than max_uncertainty=1"):
        session.feed({"lower": [20], "upper": [22], "type": ["A"]})


ORDERS = [*permutations(("A a", "B b", "C c")), ("B a", "A b", "C c")]
EVENTS = {"ts": [5, 6], "type": ["A", "B"], "upper": [7, 4]}


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"time": ("ts", "upper")}, cep.EventError, "1 of 2 events end before they begin.*row 1"),
        ({"time": ("ts", "uper")}, cep.EventError, "no column 'uper'.*Did you mean 'upper'"),
        ({"time": ("ts", "ts")}, cep.OptionError, "names one column twice"),
        ({"time": ("ts",)}, cep.OptionError, "time=\\('lower', 'upper'\\)"),
        ({"time": ("ts", "upper"), "uncertainty": 1}, cep.OptionError, "give one of them"),
        ({"uncertainty": "1 second"}, cep.OptionError, "plain numbers.*time_unit"),
        ({"uncertainty": "long"}, cep.OptionError, "uncertainty is a length of time"),
        ({"uncertainty": -1}, cep.OptionError, "uncertainty is a length of time"),
        ({"uncertainty": 1, "granularity": 0}, cep.OptionError, "granularity is a length of time"),
        ({"uncertainty": 1, "granularity": 0.5}, cep.OptionError, "not a multiple"),
        ({"uncertainty": 1, "probabilities": "q"}, cep.EventError, "no column 'q'"),
        ({"uncertainty": 1, "probabilities": "upper"}, cep.EventError, "list of numbers"),
        ({"uncertainty": 10**7}, cep.OptionError, "granularity='100 ms'"),
        (
            {"uncertainty": 1, "options": {"method": "points"}},
            cep.OptionError,
            "Did you mean 'point'",
        ),
        ({"uncertainty": 1, "min_confidence": 2}, cep.OptionError, "a number from 0 to 1"),
        ({"uncertainty": 1, "evaluation": "nfa_b"}, cep.EvaluationError, "one time for each event"),
        ({"uncertainty": 1, "output": "non_overlapping"}, cep.OptionError, "no output"),
        ({"min_confidence": 0.5}, cep.OptionError, "min_confidence is for events with uncertain"),
        ({"uncertanty": 1}, cep.OptionError, "Did you mean 'uncertainty'"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_reason(keywords, error, message):
    with pytest.raises(error, match=message):
        QUERY.match(EVENTS, **keywords)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([[0.5, 0.5], [1.0]], "has 1 numbers for 2 instants in row 1"),
        ([[0.5, 0.4], [0.5, 0.5]], "adds up to 0.9 instead of 1 in row 0"),
        ([[-0.5, 1.5], [0.5, 0.5]], "has a negative number"),
    ],
)
def test_probabilities_that_are_none_are_refused(given, message):
    table = pa.table(
        {
            "lower": [0, 1],
            "upper": [1, 2],
            "type": ["A", "B"],
            "p": pa.array(given, pa.list_(pa.float64())),
        }
    )
    with pytest.raises(cep.EventError, match=message):
        QUERY.match(table, time=("lower", "upper"), probabilities="p")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "PATTERN AND(A a, B+ b[])",
            "AND has no confidences with the list 'b\\[\\]'; write the orders",
        ),
        ("PATTERN AND(A a, ~(B n), A b) WITHIN 3", "AND has no confidences with a negation"),
        ("PATTERN SEQ(A a, B b) WITHIN 3 EVENTS", "cannot count events"),
        (
            "PATTERN OR(SEQ(A a, B b), SEQ(B b, A a)) WHERE skip_till_next_match",
            "the same variables over uncertain times needs skip_till_any_match; give each part",
        ),
        ("PATTERN OR(SEQ(A a, B+ b[]), SEQ(B+ b[], A a))", "the same variables has no conf"),
        (
            f"PATTERN AND({', '.join(f'A a{n}' for n in range(9))})",
            "AND has confidences for at most 8 events",
        ),
        (
            f"PATTERN OR({', '.join(f'SEQ({a}, {b}, {c})' for a, b, c in ORDERS)})",
            "confidences for at most 6 of them",
        ),
    ],
)
def test_queries_without_an_answer_are_refused_with_a_reason(text, message):
    with pytest.raises(cep.EvaluationError, match=message):
        cep.query(text).match({"ts": [1], "type": ["A"]}, uncertainty=1)


def test_a_method_without_lists_refuses_them():
    query = cep.query("PATTERN SEQ(A a, B+ b[])")
    with pytest.raises(cep.EvaluationError, match="query_order finds lists"):
        query.match({"ts": [1], "type": ["A"]}, uncertainty=1, options={"method": "point"})


def test_and_has_no_order_for_a_method_to_follow():
    query = cep.query("PATTERN AND(A a, B b)")
    with pytest.raises(cep.EvaluationError, match=r"method query_order .* use method auto"):
        query.match({"ts": [1], "type": ["A"]}, uncertainty=1, options={"method": "query_order"})


def confidences(text, **keywords):
    """The confidence of each match, by its events."""
    found = cep.query(text).match(keywords, time=("lower", "upper"))
    return {str(match.bindings): round(match.confidence, 4) for match in found}


def test_events_of_a_list_under_skip_till_next_match_are_those_that_a_run_takes():
    found = confidences(
        "PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_next_match",
        lower=[0, 1, 2, 5],
        upper=[0, 3, 4, 5],
        type=["A", "B", "B", "C"],
    )
    # The first b is earlier in 6 of 9 worlds, and at the same instant in 2.
    assert found == {
        "{'a': 0, 'b': [1, 2], 'c': 3}": 0.6667,
        "{'a': 0, 'b': [2, 1], 'c': 3}": 0.1111,
        "{'a': 0, 'b': [1], 'c': 3}": 0.2222,
        "{'a': 0, 'b': [2], 'c': 3}": 0.2222,
    }


def test_adjacent_events_have_no_event_at_an_instant_between_them():
    found = confidences(
        "PATTERN SEQ(A a, B b) WHERE strict_contiguity",
        lower=[0, 1, 3],
        upper=[0, 4, 3],
        type=["A", "X", "B"],
    )
    assert found == {"{'a': 0, 'b': 2}": 0.5}


def test_events_in_any_order_may_be_at_the_same_instant():
    events = {"lower": [0, 0], "upper": [1, 3], "type": ["A", "B"]}
    query = cep.query("PATTERN AND(A a, B b) WITHIN 2")
    assert answers(query.match(events, time=("lower", "upper"))) == [(0, 2, 0.625)]


def test_orders_of_one_match_are_added_up_once():
    events = {"lower": [0, 0], "upper": [1, 1], "type": ["A", "B"]}
    query = cep.query("PATTERN OR(SEQ(A a, B b), SEQ(B b, A a), AND(A a, B b))")
    assert answers(query.match(events, time=("lower", "upper"))) == [(0, 1, 1.0)]


def test_a_diagnosis_is_of_one_order_of_the_events():
    events = {"lower": [0, 0], "upper": [1, 3], "type": ["A", "B"]}
    for keywords in ({"time": ("lower", "upper")}, {"time": "lower", "uncertainty": 2}):
        with pytest.raises(cep.OptionError, match="with time='lower' alone"):
            QUERY.diagnose(events, **keywords)
    with pytest.raises(cep.OptionError, match="no option 'uncertanty'"):
        QUERY.diagnose(events, time="lower", uncertanty=2)


def test_explain_tells_how_uncertain_times_are():
    query = cep.query("PATTERN SEQ(A a, B b) WITHIN 4 seconds")
    explained = query.explain(
        time=("lower", "upper"), max_uncertainty="3 s", granularity="1 s", min_confidence=0.5
    )
    assert "imprecise: events with uncertain times" in explained
    assert "an event is at an instant from lower to upper" in explained
    assert "an instant is 1 s long; instants are equally likely" in explained
    assert "no interval is longer than 3 s (U_max)" in explained
    assert "the last event is less than 4 seconds after the first" in explained
    assert "matches have a confidence of at least 0.5" in explained
    by_type = query.explain(
        uncertainty={"A": "3 s"}, options={"method": "point"}, probabilities="p", top_k=2
    )
    assert "an event of type A is at most 3 s from ts" in by_type
    assert "as likely as listed in p" in by_type
    assert "point, as requested: every instant of an event" in by_type
    assert "the 2 matches with the highest confidence" in by_type


def test_a_session_cannot_rank_matches_that_have_not_come():
    session = QUERY.session(uncertainty=1, top_k=3)
    with pytest.raises(cep.OptionError, match="top_k ranks all matches"):
        session.feed({"ts": [1], "type": ["A"]})


def test_a_snapshot_is_of_one_kind_of_time():
    session = QUERY.session(uncertainty=1)
    session.feed({"ts": [1], "type": ["A"]})
    with pytest.raises(cep.SnapshotError, match="made with uncertainty='1'"):
        QUERY.restore(session.snapshot(), uncertainty=2)
    with pytest.raises(cep.SnapshotError, match="made for events with uncertain times"):
        QUERY.restore(session.snapshot())


def test_a_snapshot_has_batches_whose_intervals_overlap():
    options = {"time": ("lower", "upper"), "max_uncertainty": 3}
    session = QUERY.session(**options)
    session.feed({"lower": [1], "upper": [1], "type": ["A"]})
    session.feed({"lower": [0], "upper": [1], "type": ["A"]})
    session = QUERY.restore(session.snapshot(), **options)
    assert len(session.feed({"lower": [2], "upper": [2], "type": ["B"]})) == 2


def test_memory_of_a_session_is_bounded_by_the_window():
    session = QUERY.session(uncertainty=1)
    sizes = []
    for number in range(6):
        times = list(range(number * 200, number * 200 + 200))
        session.feed({"ts": times, "type": ["A", "B"] * 100})
        sizes.append(len(session.snapshot()))
    assert sizes[5] <= sizes[1] * 1.2


def test_a_later_event_of_a_match_is_no_rival_of_an_earlier_one():
    query = cep.query("PATTERN SEQ(A a, B b, B c, C d) WHERE skip_till_next_match")
    events = {"lower": [0, 2, 3, 10], "upper": [1, 4, 5, 11], "type": ["A", "B", "B", "C"]}
    # The events of type B have nine pairs of times: six in this order, one in the other.
    found = answers(query.match(events, time=("lower", "upper")))
    assert sorted(each[2] for each in found) == [round(1 / 9, 6), round(6 / 9, 6)]
