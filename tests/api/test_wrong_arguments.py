"""Arguments of a wrong kind are refused with a message that says what is expected."""

from __future__ import annotations

import inspect
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.engines.base.options import READING

EVENTS = {"ts": [1, 2], "type": ["A", "B"]}


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"time": 5}, "time is the name of a column"),
        ({"type": ["type"]}, r"type is the name of a column, not \['type'\]"),
        ({"tie_break": 5}, "tie_break is the name of a column"),
        ({"tie_break": ["ts", 5]}, "tie_break is the name of a column"),
        ({"evaluation": 3}, "there is no evaluation 3"),
        ({"output": 5}, "there is no output mode 5"),
        ({"output": "compresed"}, "Did you mean 'compressed'"),
        ({"uncertainty": 1e30}, "does not fit into 64 bits"),
        ({"group_by": {"b": "x"}}, "give it to query()"),
    ],
)
def test_keywords(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(cep.OptionError, match=message):
        cep.query("PATTERN SEQ(A a, B b)").match(EVENTS, **keywords)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("tiebreak", "there is no option 'tiebreak'. Did you mean 'tie_break'?"),
        ("tie_braek", "there is no option 'tie_braek'. Did you mean 'tie_break'?"),
        ("time_units", "there is no option 'time_units'. Did you mean 'time_unit'?"),
        ("evaluaton", "there is no option 'evaluaton'. Did you mean 'evaluation'?"),
        ("algoritm", "there is no option 'algoritm'. Did you mean 'algorithm'?"),
        (
            "slice",
            "there is no option 'slice'. Did you mean 'slices'? That is for a query over a Spark "
            "DataFrame that is not streaming",
        ),
        ("slices", "'slices' is for a query over a Spark DataFrame that is not streaming"),
        ("in_place", "'in_place' is for a query over a Spark DataFrame that is not streaming"),
        ("match_id", "'match_id' is for a Spark DataFrame"),
        ("lateness", "'lateness' is for a streaming Spark DataFrame"),
        ("idle_timeout", "'idle_timeout' is for a streaming Spark DataFrame"),
    ],
)
@pytest.mark.parametrize("method", ["match", "count", "match_stream", "diagnose"])
def test_keywords_that_there_are_not(method: str, given: str, message: str) -> None:
    with pytest.raises(cep.OptionError) as raised:
        getattr(cep.query("PATTERN SEQ(A a, B b)"), method)(EVENTS, **{given: "x"})
    assert str(raised.value) == message


@pytest.mark.parametrize("given", [None, "abc", 5])
def test_only_bytes_are_restored(given: Any) -> None:
    for each in (cep.query("PATTERN SEQ(A a, B b)"), cep.script("EVENT A; EVENT B")):
        with pytest.raises(cep.SnapshotError, match="a snapshot is bytes, not "):
            each.restore(given)


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_a_number_is_not_a_point_in_time_to_advance_to(zone: str | None) -> None:
    session = cep.query("PATTERN SEQ(A a, ~(B b)) WITHIN 10 seconds").session()
    moments = pa.array([0], pa.timestamp("us", zone))
    assert len(session.feed({"ts": moments, "type": ["A"]})) == 0
    for wrong in (1_700_000_000, 1.7e9, np.int64(3), "noon"):
        with pytest.raises(cep.OptionError, match=r"is not a time of .*; give a datetime"):
            session.advance(wrong)
    assert len(session.advance("1970-01-01 00:00:09" + ("Z" if zone else ""))) == 0
    assert len(session.advance(datetime(1970, 1, 1, 0, 0, 10))) == 1


def test_the_keywords_that_are_suggested_are_those_of_match() -> None:
    parameters = inspect.signature(cep.CompiledQuery.match).parameters.values()
    assert tuple(each.name for each in parameters if each.kind is each.KEYWORD_ONLY) == READING


def test_keywords_that_sessions_and_scripts_do_not_have() -> None:
    two = cep.script("EVENT A RETURN X(v = A.ts); PATTERN SEQ(X x, X y)")
    for session in (cep.query("PATTERN SEQ(A a, B b)").session, two.session):
        with pytest.raises(cep.OptionError, match=r"Did you mean 'time_unit'\?$"):
            session(timeunit="ms")
    with pytest.raises(cep.OptionError, match=r"Did you mean 'tie_break'\?$"):
        two.match(EVENTS, tiebreak="ts")


def test_keywords_of_match_that_another_method_does_not_have() -> None:
    query = cep.query("PATTERN SEQ(A a, B b)")
    with pytest.raises(cep.OptionError, match=r"^match has a keyword 'output', but here"):
        query.diagnose(EVENTS, output="all")
    with pytest.raises(cep.OptionError, match=r"^match has a keyword 'tie_break', but here"):
        query.explain(tie_break="ts")
    with pytest.raises(
        cep.OptionError, match=r"no option 'volume'; there are .* top_k and workers,"
    ):
        query.match(EVENTS, volume=3)


@pytest.mark.parametrize("parameters", [5, None, ["T"], {"T": 2**70}])
def test_parameters(parameters: Any) -> None:
    with pytest.raises(cep.OptionError, match="parameter"):
        cep.query("PATTERN A a WHERE a.ts > T", parameters=parameters)


@pytest.mark.parametrize(
    ("group_by", "message"),
    [
        ("x", "group_by must be a mapping of variables to an attribute"),
        ({"c": "x"}, "'c', which is not a variable of the pattern; it has a and b"),
        ({"a": "x"}, r"'a', which is a single event; it needs a list, such as A\+ a\[\]"),
        ({"b": 5}, r"group_by needs an attribute for b\[\]"),
        ({"b": []}, "or a list of them, not"),
        ({"b": ["x", ""]}, "'' is not a name"),
        ({"b": [["x"]]}, "is not a name"),
    ],
)
def test_groups(group_by: Any, message: str) -> None:
    with pytest.raises(cep.OptionError, match=message):
        cep.query("PATTERN SEQ(A a, B+ b[])", group_by=group_by)


def test_a_variable_that_is_misspelt_in_groups() -> None:
    with pytest.raises(cep.OptionError, match="Did you mean 'buys'"):
        cep.query("PATTERN SEQ(A a, B+ buys[])", group_by={"bys": "x"})


def test_groups_by_an_attribute_that_is_not_there() -> None:
    query = cep.query("PATTERN SEQ(A a, B+ b[])", group_by={"b": "tss"})
    with pytest.raises(cep.QuerySemanticError, match="tss"):
        query.match(EVENTS)


@pytest.mark.parametrize("value", [np.int64(0), np.float32(0.5), Fraction(1, 2), np.uint8(0)])
def test_numbers_of_other_libraries_are_parameters(value: Any) -> None:
    query = cep.query("PATTERN A a WHERE a.ts > T", parameters={"T": value})
    assert query.match(EVENTS).bindings() == [{"a": 0}]


def test_a_parameter_that_is_not_a_number_is_null() -> None:
    query = cep.query("PATTERN A a WHERE T IS NULL", parameters={"T": float("nan")})
    assert len(query.match(EVENTS)) == 1


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "query.sase"
    path.write_text("PATTERN SEQ(A a, B b)", encoding="utf-8-sig")
    assert len(cep.read_query(path).match(EVENTS)) == 1


def test_a_variant_as_a_keyword_of_its_own_works_and_warns() -> None:
    query = cep.query("PATTERN SEQ(A a, B b)")
    events = {"ts": [1, 2], "type": ["A", "B"]}
    with pytest.warns(FutureWarning, match="use options={'algorithm': 'basic'}"):
        old = query.match(events, evaluation="nfa_b", algorithm="basic")
    new = query.match(events, evaluation="nfa_b", options={"algorithm": "basic"})
    assert old.bindings() == new.bindings() == [{"a": 0, "b": 1}]


def test_options_that_are_no_options_are_refused() -> None:
    query = cep.query("PATTERN SEQ(A a, B b)")
    events = {"ts": [1, 2], "type": ["A", "B"]}
    with pytest.raises(cep.OptionError, match="options is a mapping"):
        query.match(events, options=["basic"])
    with pytest.raises(cep.OptionError, match="Did you mean 'algorithm'"):
        query.match(events, options={"algoritm": "basic"})
    with pytest.raises(cep.OptionError, match="max_runs is given twice"):
        query.match(events, options={"max_runs": 3}, max_runs=2)


def test_a_script_has_no_uncertain_times() -> None:
    script = cep.script("EVENT A; EVENT B")
    with pytest.raises(cep.OptionError, match="'uncertainty' is for a single query"):
        script.match(EVENTS, uncertainty=1)
    with pytest.raises(cep.OptionError, match="a script needs one time for each event"):
        script.session(time=("ts", "upper"))


def test_a_deprecated_keyword_names_the_line_that_uses_it() -> None:
    with pytest.warns(FutureWarning, match="algorithm is deprecated") as caught:
        cep.query("PATTERN SEQ(A a, B+ b[])").match(EVENTS, algorithm="basic")
    assert [Path(each.filename).name for each in caught] == [Path(__file__).name]
