"""A correlation of Sigma finds the groups of events that Sigma says, and does not repeat alerts."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
import yaml

from cepheid import sigma


def base(name, letter, category="log", **more):
    selection = {"what": letter}
    return {
        "title": name, "name": name, "logsource": {"category": category},
        "detection": {"selection": selection, "condition": "selection"}, **more,
    }  # fmt: skip


START = datetime(2024, 3, 1)
BASE = [base("aa", "a"), base("bb", "b"), base("cc", "c"), base("other", "o", "net")]


def correlation(type, rules, condition=None, name="it", span="10s", by=("user",), **more):
    inside = {"type": type, "rules": rules, "timespan": span, **more}
    inside |= {"group-by": list(by)} if by else {}
    inside |= {"condition": condition} if condition is not None else {}
    return {"title": name, "name": name, "correlation": inside}


def rules_of(*documents, mapping=None):
    return sigma.rules(yaml.safe_dump_all([*BASE, *documents]), mapping, strict=True)


def alerts(words, *documents, mapping=None, **columns):
    """The times (first, last) of the alerts of the rule ``it``.

    A word is ``letter + user + @ + time``: ``ax@3`` is an event ``a`` of the user x.
    """
    split = [(word[0], word[1], int(word[3:])) for word in words.split()]
    events = {
        "ts": [START + timedelta(seconds=time) for *_, time in split],
        "type": ["net" if letter == "o" else "log" for letter, *_ in split],
        "what": [letter for letter, *_ in split],
        "user": [None if user == "-" else user for _, user, _ in split],
        **columns,
    }
    found = rules_of(*documents, mapping=mapping).match(events)
    assert not found.faults
    times = [(each.start, each.end) for each in found if each.rule == "it"]
    return [tuple((time - START).seconds for time in each) for each in times]


COUNT = correlation("event_count", ["aa"], {"gte": 3})


def test_an_event_count_is_reached_within_its_time_span_in_a_group():
    assert alerts("ax@1 ax@2 ax@3", COUNT) == [(1, 3)]
    assert alerts("ax@1 ax@2 ay@3 bx@4 ax@5", COUNT) == [(1, 5)]
    assert alerts("ax@1 ax@2 ay@3 ay@4", COUNT) == []
    assert alerts("ax@1 ax@2 ax@11", COUNT) == []  # less than 10 seconds
    assert alerts("ax@1 ax@2 ax@11 ax@11", COUNT) == [(2, 11)]
    assert alerts("a-@1 a-@2 a-@3", COUNT) == []  # no group


def test_gt_is_one_more_than_gte():
    rule = correlation("event_count", ["aa"], {"gt": 2})
    assert alerts("ax@1 ax@2", rule) == []
    assert alerts("ax@1 ax@2 ax@3", rule) == [(1, 3)]


def test_a_count_of_one_is_reached_by_each_event():
    rule = correlation("event_count", ["aa"], {"gte": 1})
    assert alerts("ax@1 ax@2 ay@3 ax@30", rule) == [(1, 1), (3, 3), (30, 30)]


def test_a_burst_is_one_alert_for_each_group_and_time_span():
    burst = " ".join(f"ax@{time}" for time in range(25))
    assert alerts(burst, COUNT) == [(0, 2), (12, 14)]
    two = " ".join(f"ax@{time} ay@{time}" for time in range(5))
    assert sorted(alerts(two, COUNT)) == [(0, 2), (0, 2)]


def test_a_count_without_groups_is_of_all_events():
    rule = correlation("event_count", ["aa"], {"gte": 3}, by=())
    assert alerts("ax@1 ay@2 a-@3", rule) == [(1, 3)]


def test_a_count_of_several_rules_counts_the_events_of_all():
    rule = correlation("event_count", ["aa", "bb"], {"gte": 3})
    assert alerts("ax@1 bx@2 cx@3 ax@4", rule) == [(1, 4)]
    rule = correlation("event_count", ["aa", "other"], {"gte": 3})
    assert alerts("ax@1 ox@2 bx@3 ax@4", rule) == [(1, 4)]


def test_a_value_count_counts_different_values():
    rule = correlation("value_count", ["aa"], {"gte": 3, "field": "ip"})
    words = "ax@1 ax@2 ax@3 ax@4"
    assert alerts(words, rule, ip=["1", "1", "2", "2"]) == []
    assert alerts(words, rule, ip=["1", "2", "1", "3"]) == [(2, 4)]
    assert alerts(words, rule, ip=["1", "2", "2", "3"]) == [(1, 4)]
    assert alerts(words, rule, ip=["1", None, "2", None]) == []
    assert alerts(words, rule, ip=[None, "1", "2", "3"]) == [(2, 4)]
    assert alerts("ax@1 ay@2 ax@3 ax@4", rule, ip=["1", "2", "3", "3"]) == []
    assert alerts("ax@1 ax@2 ax@3 ax@14", rule, ip=["1", "2", "2", "3"]) == []
    pairs = correlation("value_count", ["aa"], {"gte": 2, "field": ["ip", "port"]})
    assert alerts("ax@1 ax@2", pairs, ip=["1", "1"], port=[5, 5]) == []
    assert alerts("ax@1 ax@2", pairs, ip=["1", "1"], port=[5, 6]) == [(1, 2)]


def test_a_value_sum_is_reached():
    rule = correlation("value_sum", ["aa"], {"gte": 10, "field": "size"})
    assert alerts("ax@1 ax@2 ax@3", rule, size=[4, 5, 1]) == [(1, 3)]
    assert alerts("ax@1 ax@2 ax@3", rule, size=[4, 5, None]) == []
    assert alerts("ax@1 ay@2 ax@3", rule, size=[4, 5, 5]) == []
    assert alerts("ax@1 ax@2 ax@12", rule, size=[4, 5, 1]) == []
    assert alerts("ax@1 ax@2", rule, size=[4, 20]) == [(2, 2)]
    rule = correlation("value_sum", ["aa"], {"gt": 10, "field": "size"})
    assert alerts("ax@1 ax@2 ax@3", rule, size=[4, 6, 0.5]) == [(1, 3)]


TEMPORAL = correlation("temporal", ["aa", "bb"])


def test_temporal_rules_match_in_any_order():
    assert alerts("ax@1 bx@2", TEMPORAL) == [(1, 2)]
    assert alerts("bx@1 ax@2", TEMPORAL) == [(1, 2)]
    assert alerts("bx@1 ay@2", TEMPORAL) == []
    assert alerts("bx@1 ax@11", TEMPORAL) == []
    assert alerts("ax@1 ax@2 ax@3 bx@4 bx@5 bx@6", TEMPORAL) == [(3, 4)]
    three = correlation("temporal", ["aa", "bb", "cc"])
    assert alerts("cx@1 ax@2 cx@3 bx@4", three) == [(2, 4)]
    assert alerts("cx@1 ax@2 cx@3", three) == []


def test_temporal_with_a_smaller_number_of_rules():
    two = correlation("temporal", ["aa", "bb", "cc"], {"gte": 2})
    assert alerts("cx@1 cx@2 ax@3", two) == [(2, 3)]
    assert alerts("cx@1 cx@2", two) == []


def test_temporal_ordered_rules_match_in_their_order():
    rule = correlation("temporal_ordered", ["aa", "bb", "cc"])
    assert alerts("ax@1 bx@2 cx@3", rule) == [(1, 3)]
    assert alerts("bx@1 ax@2 cx@3", rule) == []
    assert alerts("ax@1 ax@2 bx@3 ay@4 cy@5 bx@6 cx@7 cx@8", rule) == [(2, 7)]
    assert alerts("ax@1 bx@2 cx@11", rule) == []
    net = correlation("temporal_ordered", ["aa", "other"])
    assert alerts("ox@1 ax@2 ox@3", net) == [(2, 3)]


def test_extended_conditions():
    rule = correlation("temporal", ["aa", "bb", "cc"], "aa and (bb or cc)")
    assert alerts("bx@1 cx@2", rule) == []
    assert alerts("cx@1 ax@2", rule) == [(1, 2)]
    rule = correlation("temporal_ordered", ["aa", "bb", "cc"], "aa and (bb or cc)")
    assert alerts("cx@1 ax@2", rule) == []
    assert alerts("ax@1 cx@2", rule) == [(1, 2)]


def test_aliases_group_by_different_fields():
    alias = {"who": {"aa": "user", "bb": "target"}}
    rule = correlation("temporal_ordered", ["aa", "bb"], by=["who"], aliases=alias)
    target = ["-", "-", "x", "y", "x"]
    assert alerts("ax@1 ay@2 b-@3 b-@4 b-@5", rule, target=target) == [(1, 3), (2, 4)]
    # The latest first event, and each first event once.
    target = ["-", "-", "x", "x"]
    assert alerts("ax@1 ax@2 b-@3 b-@4", rule, target=target) == [(2, 3)]
    rule = correlation("temporal", ["aa", "bb"], by=["who"], aliases=alias)
    assert alerts("b-@1 b-@2 ax@3", rule, target=["x", "y", "-"]) == [(1, 3)]


def test_groups_by_fields_of_structs():
    mapping = {"fields": {"user": "who.name"}}
    who = [{"name": "x"}, {"name": "y"}, {"name": "x"}]
    assert alerts("a-@1 a-@2 b-@3", TEMPORAL, mapping=mapping, who=who) == [(1, 3)]


def test_groups_are_mapped():
    mapping = {"fields": {"user": "account name"}}
    who = ["x", "y", "x"]
    assert alerts("a-@1 a-@2 b-@3", TEMPORAL, mapping=mapping, **{"account name": who}) == [(1, 3)]


def test_a_count_inside_of_a_correlation():
    many = correlation("event_count", ["aa"], {"gte": 3}, name="many", span="5s")
    rule = correlation("temporal_ordered", ["many", "bb"])
    assert alerts("ax@1 ax@2 ax@3 bx@8", many, rule) == [(1, 8)]
    assert alerts("ax@1 ax@2 bx@8", many, rule) == []
    assert alerts("ax@1 ax@2 ax@7 bx@8", many, rule) == []  # not within 5 seconds
    assert alerts("ax@1 ax@5 ax@7 ax@8 bx@9", many, rule) == [(5, 9)]
    assert alerts("bx@1 ax@2 ax@3 ax@4", many, rule) == []
    rule = correlation("temporal", ["many", "bb"])
    assert alerts("bx@1 ax@2 ax@3 ax@4", many, rule) == [(1, 4)]
    values = correlation("value_count", ["aa"], {"gte": 2, "field": "ip"}, name="many", span="20s")
    rule = correlation("temporal_ordered", ["many", "bb"])
    assert alerts("ax@1 ax@2 bx@3", values, rule, ip=["1", "2", "0"]) == [(1, 3)]
    assert alerts("ax@1 ax@2 bx@3", values, rule, ip=["1", "1", "0"]) == []


def test_rules_of_a_correlation_run_alone_only_if_it_says_so():
    assert list(rules_of(COUNT)) == ["bb", "cc", "other", "it"]
    shown = correlation("event_count", ["aa"], {"gte": 3}, generate=True)
    assert list(rules_of(shown)) == ["aa", "bb", "cc", "other", "it"]


def test_an_alert_comes_with_its_last_event():
    session = rules_of(COUNT).session(time_unit="s")
    batch = {"ts": [1], "type": ["log"], "what": ["a"], "user": ["x"]}
    assert len(session.feed(batch)) == 0
    assert len(session.feed(batch | {"ts": [2]})) == 0
    assert [each.end for each in session.feed(batch | {"ts": [3]})] == [3]


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (correlation("event_count", ["aa"], {"eq": 3}), "the condition 'eq: 3' of a count"),
        (correlation("event_count", ["aa"], {"lt": 3}), "the condition 'lt: 3' of a count"),
        (correlation("event_count", ["aa"], {"gte": 0}), "a count of 0 is always reached"),
        (correlation("event_count", ["nope"], {"gte": 3}), "Rule 'nope' not found"),
        (correlation("event_count", ["x"], {"gte": 3}), "it refers to 'x', which cannot be read"),
        (correlation("event_count", ["n"], {"gte": 3}), "matches of a correlation cannot be"),
        (correlation("value_avg", ["aa"], {"gte": 3, "field": "f"}), "value_avg is not supported"),
        (
            correlation("value_percentile", ["aa"], {"gte": 3, "field": "f", "percentile": 9}),
            "value_percentile is not supported",
        ),
        (correlation("value_median", ["aa"], {"gte": 3, "field": "f"}), "value_median is not"),
        (correlation("value_count", ["aa"], {"gte": 99, "field": "f"}), "at most 20 are supported"),
        (correlation("temporal", ["aa", "bb"], "aa and not bb"), "'not' in the condition"),
        (correlation("temporal", ["aa", "bb"], {"lt": 2}), "asks for rules that do not match"),
        (correlation("temporal", ["aa", "bb"], {"gte": 3}), "it asks for 3 rules and has 2"),
        (correlation("temporal", ["aa", "t"]), "temporal inside of another is not supported"),
        (correlation("temporal", ["aa", "n"], by=["host"]), "groups by other fields"),
        (
            correlation("event_count", ["aa"], {"gte": 3}, by=["a.b"]),
            "groups by one column of all events, and 'a.b' is none",
        ),
        (
            correlation("temporal", ["aa", "n"], by=["q"], aliases={"q": {"aa": "f"}}),
            "groups by other fields",
        ),
    ],
)
def test_what_a_stream_cannot_say_is_refused_with_the_reason(rule, why):
    others = [
        {"title": "x", "name": "x", "logsource": {"category": "log"}, "detection": {}},
        correlation("event_count", ["bb"], {"gte": 2}, name="n"),
        correlation("temporal", ["aa", "bb"], name="t"),
    ]
    with pytest.warns(UserWarning, match="cannot run"):
        rules = sigma.rules(yaml.safe_dump_all([*BASE, *others, rule]))
    assert why in {fault.rule: fault.message for fault in rules.faults}["it"]


@pytest.mark.filterwarnings("ignore::cepheid.errors.CepheidWarning")
@pytest.mark.parametrize(
    "wrong",
    [
        correlation("event_count", ["aa"], {"gte": 3, "lte": 9}),  # pySigma reads one condition
        correlation("event_count", ["aa"], {"eq": 3}),
        correlation("temporal", ["aa", "nobody"]),
        correlation("nonsense", "aa"),
    ],
)
def test_rules_of_a_correlation_that_cannot_run_do_not_run_alone(wrong):
    rules = sigma.rules(yaml.safe_dump_all([*BASE, wrong]))
    assert sorted(rules) == ["bb", "cc", "other"]
    assert [fault.rule for fault in rules.faults] == ["it"]
