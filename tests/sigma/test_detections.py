"""A detection of a Sigma rule finds the events that Sigma says."""

from __future__ import annotations

import base64
from datetime import datetime

import pyarrow as pa
import pytest
import yaml

from cepheid import sigma

STRINGS = ["abc", "ABC", "xabcx", "abcx", "xabc", "a*c", "a?c", r"a\c", "", None]


def rule_of(detection, **more):
    given = {"title": "t", "logsource": {"category": "log"}, "detection": detection}
    return yaml.safe_dump({**given, **more})


def found(detection, columns, mapping=None):
    """The numbers of the events that a rule with this detection finds."""
    rules = sigma.rules(rule_of(detection), mapping, strict=True)
    rows = len(next(iter(columns.values())))
    events = {"ts": list(range(rows)), "type": ["log"] * rows, **columns}
    return [match.start for match in rules.match(events)]


def values(selection, given, condition="selection", mapping=None):
    """The values of the field x for which a rule matches."""
    detection = {"selection": selection, "condition": condition}
    column = pa.array(given) if any(each is not None for each in given) else pa.nulls(len(given))
    return [given[row] for row in found(detection, {"x": column}, mapping)]


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        ({"x": "abc"}, ["abc", "ABC"]),
        ({"x|cased": "abc"}, ["abc"]),
        ({"x": ["ABC", "a\\\\c"]}, ["abc", "ABC", r"a\c"]),
        ({"x|contains": "BC"}, ["abc", "ABC", "xabcx", "abcx", "xabc"]),
        ({"x|contains|cased": "BC"}, ["ABC"]),
        ({"x|startswith": "ab"}, ["abc", "ABC", "abcx"]),
        ({"x|endswith": "BC"}, ["abc", "ABC", "xabc"]),
        ({"x|contains|all": ["xa", "cx"]}, ["xabcx"]),
        ({"x": "a*c"}, ["abc", "ABC", "a*c", "a?c", r"a\c"]),
        ({"x": "a?c"}, ["abc", "ABC", "a*c", "a?c", r"a\c"]),
        ({"x": r"a\*c"}, ["a*c"]),
        ({"x": r"a\?c"}, ["a?c"]),
        ({"x": r"a\c"}, [r"a\c"]),
        ({"x": r"a\\*"}, [r"a\c"]),
        ({"x": "?abc*"}, ["xabcx", "xabc"]),
        ({"x": "*"}, STRINGS[:-1]),
        ({"x": ""}, [""]),
        ({"x": None}, [None]),
        ({"x": [None, ""]}, ["", None]),
        ({"x|exists": True}, STRINGS[:-1]),
        ({"x|exists": False}, [None]),
        ({"x|re": "^a.c$"}, ["abc", "a*c", "a?c", r"a\c"]),
        ({"x|re": "b"}, ["abc", "xabcx", "abcx", "xabc"]),
        ({"x|re|i": "^A.C$"}, ["abc", "ABC", "a*c", "a?c", r"a\c"]),
        ({"x|neq": "abc"}, [each for each in STRINGS if each not in ("abc", "ABC")]),
        ({"x|contains|neq": ["b", "B"]}, ["a*c", "a?c", r"a\c", "", None]),
    ],
)
def test_strings(selection, expected):
    assert values(selection, STRINGS) == expected
    rest = [each for each in STRINGS if each not in expected]
    assert values(selection, STRINGS, "not selection") == rest


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        ({"x": 5}, [5]),
        ({"x": [5, 7]}, [5, 7]),
        ({"x|lt": 5}, [-1]),
        ({"x|lte": 5}, [-1, 5]),
        ({"x|gt": 5}, [7]),
        ({"x|gte": 5}, [5, 7]),
        ({"x|gte": -0.5}, [5, 7]),
        ({"x|neq": 5}, [-1, 7, None]),
        ({"x": None}, [None]),
        ({"x": "*"}, [-1, 5, 7]),
    ],
)
def test_numbers(selection, expected):
    given = [-1, 5, 7, None]
    assert values(selection, given) == expected
    rest = [each for each in given if each not in expected]
    assert values(selection, given, "not selection") == rest


def test_booleans():
    assert values({"x": True}, [True, False, None]) == [True]
    assert values({"x": True}, [True, False, None], "not selection") == [False, None]


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        ("10.0.0.0/8", ["10.1.2.3"]),
        ("192.168.0.0/20", ["192.168.15.1"]),
        ("fe80::/10", ["fe80::1", "FE80:0:0:0:0:0:0:9"]),
    ],
)
def test_networks(network, expected):
    given = [
        "10.1.2.3", "10.evil.com", "192.168.15.1", "192.168.16.1", "fe80::1",
        "FE80:0:0:0:0:0:0:9", "2001:db8::1", "", None,
    ]  # fmt: skip
    assert values({"x|cidr": network}, given) == expected
    rest = [each for each in given if each not in expected]
    assert values({"x|cidr": network}, given, "not selection") == rest


def test_base64():
    encoded = base64.b64encode(b"secret").decode()
    assert values({"x|base64": "secret"}, [encoded, "secret"]) == [encoded]
    hidden = [base64.b64encode(begin + b"whoami /all").decode() for begin in (b"", b"a", b"ab")]
    assert values({"x|base64offset|contains": "whoami"}, [*hidden, "whoami"]) == hidden
    wide = base64.b64encode("x whoami".encode("utf-16le")).decode()
    assert values({"x|wide|base64offset|contains": "whoami"}, [wide, "whoami"]) == [wide]


def test_windash():
    given = ["p -f x", "p /f x", "p –f x", "p f x", "p-f x"]
    assert values({"x|windash|contains": " -f"}, given) == given[:3]
    assert values({"x|windash|contains|all": [" -f", "x"]}, given) == given[:3]


def test_flags_of_regular_expressions():
    given = ["a\nb", "ab"]
    assert values({"x|re": "a.b"}, given) == []
    assert values({"x|re|s": "a.b"}, given) == ["a\nb"]
    assert values({"x|re|m": "^b$"}, given) == ["a\nb"]
    assert values({"x": "a?b"}, given) == ["a\nb"]


def test_parts_of_times():
    given = [datetime(2024, 3, 1, 9, 30), datetime(2024, 12, 24, 23), None]
    assert values({"x|hour": 9}, given) == given[:1]
    assert values({"x|hour|gte": 22}, given) == given[1:2]
    assert values({"x|month": 12}, given, "not selection") == [given[0], None]


def test_references_to_fields():
    columns = {"x": ["ab", "AB", "abc", "zab", None], "y": ["AB", "ab", "ab", "ab", "ab"]}
    for modifiers, expected in [
        ("fieldref", [0, 1]),
        ("fieldref|startswith", [0, 1, 2]),
        ("fieldref|endswith", [0, 1, 3]),
        ("fieldref|contains", [0, 1, 2, 3]),
    ]:
        selection = {f"x|{modifiers}": "y"}
        assert found({"s": selection, "condition": "s"}, columns) == expected
        rest = [row for row in range(5) if row not in expected]
        assert found({"s": selection, "condition": "not s"}, columns) == rest


def test_strings_with_quotes_and_line_breaks():
    given = ["it's", 'say "hi"', "a\nb", "-- no comment", "/* none */", "tab\t", "😀", "'"]
    for each in given:
        assert values({"x": each}, given) == [each]


CONDITIONS = [
    ("sel_a and sel_b", [0]),
    ("sel_a or sel_b", [0, 1, 2]),
    ("sel_a and not sel_b", [1]),
    ("not (sel_a or sel_b)", [3]),
    ("not sel_a and not sel_b", [3]),
    ("not not sel_a", [0, 1]),
    ("1 of sel_*", [0, 1, 2]),
    ("all of sel_*", [0]),
    ("not 1 of sel_*", [3]),
    ("not all of sel_*", [1, 2, 3]),
    ("1 of them", [0, 1, 2, 4]),
    ("all of them", []),
    ("other or sel_a and sel_b", [0, 4]),
    ("(other or sel_a) and sel_b", [0]),
]


@pytest.mark.parametrize(("condition", "expected"), CONDITIONS)
def test_conditions(condition, expected):
    columns = {"x": ["a", "a", "z", None, "o"], "y": ["b", None, "b", None, "q"]}
    detection = {"sel_a": {"x": "a"}, "sel_b": {"y": "b"}, "other": {"x": "o"}}
    rows = found({**detection, "condition": condition}, columns)
    if condition.startswith("not"):  # the last event is of neither selection
        expected = sorted({*expected, 4} - ({4} if "not not" in condition else set()))
    assert rows == expected


def test_several_conditions_are_alternatives():
    detection = {"a": {"x": "a"}, "b": {"x": "b"}, "condition": ["a", "b"]}
    assert found(detection, {"x": ["a", "b", "c"]}) == [0, 1]


def test_a_mapping_is_a_conjunction_and_a_list_of_mappings_a_disjunction():
    columns = {"x": ["a", "a", "c"], "y": [1, 2, 2]}
    assert found({"s": {"x": "a", "y": 2}, "condition": "s"}, columns) == [1]
    assert found({"s": [{"x": "a"}, {"y": 2}], "condition": "s"}, columns) == [0, 1, 2]


def test_keywords_are_looked_for_in_columns_of_the_mapping():
    columns = {"msg": ["an ERROR x", "fine", None, "7"], "raw": [None, "error", "b", None]}
    mapping = {"keywords": ["msg", "raw"]}
    assert found({"k": ["error", 7], "condition": "k"}, columns, mapping) == [0, 1, 3]
    assert found({"k": ["error"], "condition": "not k"}, columns, mapping) == [2, 3]
    assert found({"k": {"|all": ["err", "x"]}, "condition": "k"}, columns, mapping) == [0]
    assert found({"k": {"|re": "^fi"}, "condition": "k"}, columns, mapping) == [1]


def test_fields_that_no_event_has_are_null():
    mapping = {"fields": {"gone": None}}
    columns = {"x": ["a", "b"]}
    detection = {"s": {"x": "a"}, "f": {"gone": "z"}, "n": {"gone": None}}
    for condition, expected in [
        ("s and not f", [0]), ("s or f", [0]), ("n", [0, 1]), ("s and n", [0]), ("not f", [0, 1]),
    ]:  # fmt: skip
        assert found({**detection, "condition": condition}, columns, mapping) == expected
    rules = sigma.rules
    with pytest.warns(UserWarning, match="it never matches"):
        rules(rule_of({**detection, "condition": "s and f"}), mapping)


def test_fields_are_columns_or_fields_of_structs():
    mapping = {"fields": {"Image": "process.path", "User": "user name", "D": "`a.b`"}}
    columns = {
        "process": [{"path": "X.exe"}, {"path": "y"}, None],
        "user name": ["eve", "eve", "bob"],
        "a.b": [1, 2, 3],
    }
    selection = {"Image|endswith": ".exe", "User": "eve", "D": 1}
    assert found({"s": selection, "condition": "s"}, columns, mapping) == [0]
    assert found({"s": {"process.path": "y"}, "condition": "s"}, columns, mapping) == [1]
    assert found({"s": {"process.path": "y"}, "condition": "not s"}, columns, mapping) == [0, 2]


def test_declared_types_convert_values():
    kinds = {"fields": {"x": {"column": "x", "type": "integer"}}}
    assert values({"x": ["3", 5]}, [3, 5, 7], mapping=kinds) == [3, 5]
    kinds = {"fields": {"x": {"column": "x", "type": "string"}}}
    assert values({"x": [3, True]}, ["3", "true", "x"], mapping=kinds) == ["3", "true"]
    kinds = {"fields": {"x": {"column": "x", "type": "boolean"}}}
    assert values({"x": "True"}, [True, False], mapping=kinds) == [True]


def test_log_sources_are_types_of_events():
    events = {
        "ts": [1, 2, 3],
        "type": ["windows-process_creation", "Sysmon", "Sysmon"],
        "x": ["a", "a", "a"],
        "EventID": [1, 1, 3],
    }
    text = rule_of(
        {"s": {"x": "a"}, "condition": "s"},
        logsource={"product": "windows", "category": "process_creation", "definition": "any"},
    )
    assert [each.start for each in sigma.rules(text).match(events)] == [1]
    entry = {"category": "process_creation", "type": "Sysmon", "where": {"EventID": 1}}
    mapping = {"logsources": [{"product": "linux", "type": "No"}, entry]}
    assert [each.start for each in sigma.rules(text, mapping).match(events)] == [2]
    entry = {"product": "Windows", "type": ["Sysmon", "windows-process_creation"]}
    mapping = {"logsources": [entry]}
    assert [each.start for each in sigma.rules(text, mapping).match(events)] == [1, 2, 3]


@pytest.mark.parametrize(
    ("selection", "mapping", "why"),
    [
        (["word"], {}, "the keyword 'word' has no field"),
        ({"x|expand": "%users%"}, {}, "the placeholder %users% has no value"),
        ({"x|re": "(?<=a)b"}, {}, "invalid perl operator: (?<="),
        ({"x|week": 3}, {}, "there is no function for the week of a time"),
        ({"x|gt": 3}, {"fields": {"x": {"column": "x", "type": "string"}}}, "is no number"),
        ({"x": "a"}, {"fields": {"x": {"column": "x", "type": "integer"}}}, "declared as integer"),
        ({"x|nope": 3}, {}, "Unknown modifier 'nope'"),
        ({"x`": 3}, {}, "cannot be the name of a column"),
    ],
)
def test_what_has_no_condition_is_refused_with_the_reason(selection, mapping, why):
    text = rule_of({"s": selection, "condition": "s"})
    with pytest.warns(UserWarning, match="1 rule cannot run"):
        rules = sigma.rules(text, mapping)
    assert why in rules.faults[0].message
    assert not rules


def test_a_global_document_is_part_of_those_after_it():
    text = """
        action: global
        title: Same
        level: high
        logsource: {category: log}
        ---
        detection: {s: {x: a}, condition: s}
        ---
        detection: {s: {x: b}, condition: s}
    """
    rules = sigma.rules(text, strict=True)
    assert list(rules) == ["Same", "Same (2)"]
    assert rules["Same (2)"].severity == "high"


def test_filters_are_added_to_rules():
    text = """
        title: It
        name: it
        logsource: {category: log}
        detection: {s: {x: [a, b]}, condition: s}
        ---
        title: Not b
        logsource: {category: log}
        filter: {rules: [it], selection: {x: b}, condition: not selection}
    """
    rules = sigma.rules(text, strict=True)
    events = {"ts": [1, 2], "type": ["log"] * 2, "x": ["a", "b"]}
    assert [each.start for each in rules.match(events)] == [1]


def test_a_collection_of_pysigma_is_taken_with_its_pipeline():
    from sigma.collection import SigmaCollection
    from sigma.processing.pipeline import ProcessingItem, ProcessingPipeline
    from sigma.processing.transformations import FieldMappingTransformation

    collection = SigmaCollection.from_yaml(rule_of({"s": {"Field": "a"}, "condition": "s"}))
    item = ProcessingItem(FieldMappingTransformation({"Field": "x"}))
    ProcessingPipeline([item]).apply(collection.rules[0])
    assert "lower(e.x) = 'a'" in sigma.rules(collection)["t"].query
