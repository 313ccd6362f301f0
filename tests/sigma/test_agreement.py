"""Random detections find the events that a direct evaluation of Sigma finds."""

from __future__ import annotations

import fnmatch
import ipaddress
import re
from itertools import accumulate

import pyarrow as pa
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid import sigma

WORDS = ["ab", "AB", "aBc", "b", "", "a.c", "10.0.0.1", "-a /b"]
NUMBERS = [-1, 0, 2, 3]
EVENTS = st.lists(
    st.fixed_dictionaries(
        {
            "s": st.sampled_from([None, *WORDS]),
            "t": st.sampled_from([None, *WORDS]),
            "n": st.sampled_from([None, *NUMBERS]),
        }
    ),
    min_size=1,
    max_size=8,
)


def values_of(strings):
    one = st.sampled_from(strings)
    return st.one_of(one, st.lists(one, min_size=1, max_size=3))


ITEMS = st.one_of(
    st.tuples(
        st.sampled_from(["s", "t"]),
        st.sampled_from(["", "|cased", "|contains", "|startswith", "|endswith", "|contains|all"]),
        values_of(["a", "AB", "b", "B.", "a*c", "?b", "*", "-a", "0.0"]),
    ),
    st.tuples(st.sampled_from(["s", "t"]), st.just("|re"), values_of(["^a", "B", "[.]"])),
    st.tuples(st.sampled_from(["s", "t"]), st.just("|cidr"), st.just("10.0.0.0/8")),
    st.tuples(st.sampled_from(["s", "t"]), st.just(""), values_of(["", None, "ab"])),
    st.tuples(st.sampled_from(["s", "n"]), st.just("|exists"), st.booleans()),
    st.tuples(
        st.just("n"), st.sampled_from(["", "|lt", "|lte", "|gt", "|gte"]), values_of(NUMBERS)
    ),
    st.tuples(st.just("n"), st.just(""), values_of([0, None])),
    st.tuples(st.just("s"), st.just("|fieldref"), st.just("t")),
)
SELECTIONS = st.one_of(
    st.lists(ITEMS, min_size=1, max_size=3),
    st.lists(st.lists(ITEMS, min_size=1, max_size=2), min_size=1, max_size=2).map(tuple),
)
NAMES = ["sel_a", "sel_b", "filter"]
TERMS = st.recursive(
    st.one_of(
        st.sampled_from(NAMES),
        st.sampled_from(["1 of them", "all of them", "1 of sel_*", "all of sel_*"]),
    ),
    lambda inner: st.one_of(
        st.tuples(st.just("not"), inner),
        st.tuples(st.sampled_from(["and", "or"]), inner, inner),
    ),
    max_leaves=4,
)


def item_holds(field, modifiers, values, event):
    values = values if isinstance(values, list) else [values]
    quantifier = all if "all" in modifiers else any
    return quantifier(value_holds(modifiers, each, event[field], event) for each in values)


def value_holds(modifiers, wanted, found, event):
    if "exists" in modifiers:
        return (found is not None) == wanted
    if wanted is None:
        return found is None
    if found is None:
        return False
    compared = {"lt": "__lt__", "lte": "__le__", "gt": "__gt__", "gte": "__ge__"}
    for name, method in compared.items():
        if name in modifiers:
            return getattr(found, method)(wanted)
    if isinstance(wanted, int):
        return found == wanted
    if "re" in modifiers:
        return re.search(wanted, found) is not None
    if "cidr" in modifiers:
        try:
            return ipaddress.ip_address(found) in ipaddress.ip_network(wanted)
        except ValueError:
            return False
    if "fieldref" in modifiers:
        other = event[wanted]
        return other is not None and found.lower() == other.lower()
    before = "*" if {"contains", "endswith"} & modifiers else ""
    after = "*" if {"contains", "startswith"} & modifiers else ""
    pattern = f"{before}{wanted}{after}"
    if "cased" not in modifiers:
        pattern, found = pattern.lower(), found.lower()
    return fnmatch.fnmatchcase(found, pattern)


def selection_holds(selection, event):
    if isinstance(selection, tuple):
        return any(selection_holds(each, event) for each in selection)
    return all(
        item_holds(field, set(modifiers.split("|")[1:]), values, event)
        for field, modifiers, values in selection
    )


def term_holds(term, truths):
    match term:
        case "not", inner:
            return not term_holds(inner, truths)
        case "and", left, right:
            return term_holds(left, truths) and term_holds(right, truths)
        case "or", left, right:
            return term_holds(left, truths) or term_holds(right, truths)
    if " of " not in term:
        return truths[term]
    quantifier, pattern = (all if term.startswith("all") else any), term.split()[-1]
    return quantifier(
        truth for name, truth in truths.items() if pattern == "them" or name.startswith("sel_")
    )


def as_text(term):
    match term:
        case "not", inner:
            return f"not {as_text(inner)}"
        case word, left, right:
            return f"({as_text(left)} {word} {as_text(right)})"
    return term


def as_definition(selection):
    if isinstance(selection, tuple):
        return [as_definition(each) for each in selection]
    return {f"{field}{modifiers}": values for field, modifiers, values in selection}


@settings(max_examples=settings.default.max_examples * 4 // 10)
@given(st.fixed_dictionaries(dict.fromkeys(NAMES, SELECTIONS)), TERMS, EVENTS)
def test_detections_find_what_a_direct_evaluation_finds(selections, term, events):
    def without_repetition(selection):  # a mapping has each key once; the last value counts
        if isinstance(selection, tuple):
            return tuple(map(without_repetition, selection))
        return [(*key, value) for key, value in {s[:2]: s[2] for s in selection}.items()]

    selections = {name: without_repetition(each) for name, each in selections.items()}
    rule = {
        "title": "random",
        "logsource": {"category": "log"},
        "detection": {
            **{name: as_definition(each) for name, each in selections.items()},
            "condition": as_text(term),
        },
    }
    expected = [
        row
        for row, event in enumerate(events)
        if term_holds(term, {name: selection_holds(s, event) for name, s in selections.items()})
    ]
    table = {
        "ts": list(range(len(events))),
        "type": ["log"] * len(events),
        "s": pa.array([each["s"] for each in events], pa.string()),
        "t": pa.array([each["t"] for each in events], pa.string()),
        "n": pa.array([each["n"] for each in events], pa.int64()),
    }
    rules = sigma.rules(yaml.safe_dump(rule), strict=True)
    found = rules.match(table, evaluation="reference")
    assert [each.start for each in found] == expected


GROUPED = st.lists(
    st.tuples(
        st.integers(0, 3),  # seconds since the event before
        st.sampled_from("abc"),
        st.sampled_from(["x", "y"]),
        st.sampled_from(["1", "2", "3", None]),
    ),
    max_size=14,
)
SPAN = 6
CORRELATIONS = {
    "event_count": {"rules": ["a"], "condition": {"gte": 3}},
    "value_count": {"rules": ["a", "b"], "condition": {"gte": 3, "field": "ip"}},
    "temporal": {"rules": ["a", "b", "c"]},
    "temporal_ordered": {"rules": ["a", "b", "c"]},
}


def is_reached(kind, window):
    """Whether the events of a window, in order, have what a correlation asks for."""
    letters = [letter for _, letter, _, _ in window]
    if kind == "event_count":
        return letters.count("a") >= 3
    if kind == "value_count":
        return len({ip for _, letter, _, ip in window if letter in "ab"} - {None}) >= 3
    if kind == "temporal":
        return set(letters) == set("abc")
    rest = iter(letters)
    return all(letter in rest for letter in "abc")


@settings(max_examples=settings.default.max_examples * 4 // 10)
@given(st.sampled_from(sorted(CORRELATIONS)), GROUPED)
def test_correlations_alert_first_when_a_window_has_what_they_ask_for(kind, steps):
    times = accumulate(step for step, *_ in steps)
    events = [(time, *rest) for time, (_, *rest) in zip(times, steps, strict=True)]
    documents = [
        {
            "title": letter,
            "name": letter,
            "logsource": {"category": "log"},
            "detection": {"s": {"what": letter}, "condition": "s"},
        }
        for letter in "abc"
    ]
    inside = {"type": kind, "timespan": f"{SPAN}s", "group-by": ["user"], **CORRELATIONS[kind]}
    rules = sigma.rules(yaml.safe_dump_all([*documents, {"title": "it", "correlation": inside}]))
    first = {}
    for number, (time, _, user, _) in enumerate(events):
        window = [
            each for each in events[: number + 1] if each[2] == user and time - each[0] < SPAN
        ]
        if user not in first and is_reached(kind, window):
            first[user] = time
    table = {
        "ts": pa.array([time for time, *_ in events], pa.int64()),
        "type": pa.array(["log"] * len(events), pa.string()),
        "what": pa.array([letter for _, letter, _, _ in events], pa.string()),
        "user": pa.array([user for *_, user, _ in events], pa.string()),
        "ip": pa.array([ip for *_, ip in events], pa.string()),
    }
    alerts = [each for each in rules.match(table, time_unit="s") if each.rule == "it"]
    found = {}
    for each in sorted(alerts, key=lambda match: match.end):
        user = each.key["user"]
        if user in found:
            assert each.end - found[user][-1] >= SPAN
        found.setdefault(user, []).append(each.end)
    assert {user: ends[0] for user, ends in found.items()} == first
