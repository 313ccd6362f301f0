"""A set of rules finds what its rules find alone, in one result."""

import pyarrow as pa
import pyarrow.parquet
import pytest

import cepheid as cep

EVENTS = {
    "ts": [1, 2, 3, 4, 5],
    "type": ["A", "B", "A", "B", "C"],
    "id": [7, 7, 8, 8, 7],
    "x": [5.0, 6.0, 1.5, 0.5, 9.0],
    "s": ["p", "q", "p", None, "r"],
}
RULES = {
    "pair": {
        "query": "PATTERN SEQ(A a, B b) WHERE [id] RETURN b.x AS x, a.s AS s",
        "severity": "high",
        "tags": ["one", "two"],
    },
    "whole": "PATTERN SEQ(A a, C c) WHERE [id]",
    "rows": "MATCH_RECOGNIZE (PARTITION BY id ORDER BY ts MEASURES LAST(D.x) AS x PATTERN (U D) "
    "DEFINE D AS x < PREV(x))",
    "off": {"query": "PATTERN A a", "enabled": False},
    "none": "PATTERN SEQ(C c, A a)",
}


def test_the_matches_of_each_rule_are_those_of_its_query():
    found = cep.rules(RULES).match(EVENTS)
    assert found.rules == ("pair", "whole", "rows", "none")
    for name in ("pair", "whole", "none"):
        text = RULES[name]["query"] if name == "pair" else RULES[name]
        assert found[name].to_arrow().equals(cep.query(text).match(EVENTS).to_arrow())
    assert found["rows"].to_dicts() == cep.query(RULES["rows"]).match(EVENTS).to_dicts()
    assert found.counts == {"pair": 2, "whole": 1, "rows": 1, "none": 0}
    assert len(found) == 4
    assert "off" not in found
    with pytest.raises(KeyError, match="no rule 'of' ran"):
        found["of"]


def test_one_table_has_all_matches_in_the_order_of_their_ends():
    table = cep.rules(RULES).match(EVENTS).to_arrow()
    assert table.column_names == [
        "rule", "match_id", "start", "end", "key", "values", "severity", "tags",
    ]  # fmt: skip
    assert table["rule"].to_pylist() == ["pair", "pair", "rows", "whole"]
    assert table["start"].to_pylist() == [1, 3, 3, 1]
    assert table["end"].to_pylist() == [2, 4, 4, 5]
    assert table["key"].to_pylist() == [{"id": 7}, {"id": 8}, {"id": 8}, {"id": 7}]
    assert table["severity"].to_pylist() == ["high", "high", None, None]
    assert table["tags"].to_pylist() == [["one", "two"], ["one", "two"], [], []]
    assert len(set(table["match_id"].to_pylist())) == 4
    values = table["values"].type
    assert values.field("pair").type == pa.struct({"x": pa.float64(), "s": pa.string()})
    assert table["values"].to_pylist()[0] == {
        "pair": {"x": 6.0, "s": "p"}, "whole": None, "rows": None,
    }  # fmt: skip


def test_the_rows_have_the_values_of_their_own_rule():
    found = cep.rules(RULES).match(EVENTS)
    rows = found.to_dicts()
    assert [row["values"] for row in rows[:3]] == [
        {"x": 6.0, "s": "p"}, {"x": 0.5, "s": "p"}, {"id": 8, "x": 0.5},
    ]  # fmt: skip
    assert rows[3]["values"]["a"]["ts"] == 1
    assert found.to_pandas()["values"].tolist() == [row["values"] for row in rows]
    assert found.to_pandas().columns.tolist() == found.to_arrow().column_names
    assert found.to_polars().height == 4


def test_ids_are_the_same_in_every_run_and_differ_between_rules():
    twice = cep.rules({"p": "PATTERN A a", "q": "PATTERN A a"})
    first, second = (twice.match(EVENTS).to_arrow()["match_id"].to_pylist() for _ in range(2))
    assert first == second
    assert len(set(first)) == 4


def test_a_result_without_matches_has_the_columns():
    found = cep.rules({"none": RULES["none"]}).match(EVENTS)
    assert found.to_arrow().num_rows == 0
    assert found.to_arrow().schema.field("start").type == pa.int64()
    assert found.to_dicts() == list(found) == []
    assert found.to_pandas().empty
    assert repr(found) == "0 matches"
    assert len(cep.rules({}).match(EVENTS)) == 0


def test_a_rule_that_does_not_fit_the_events_is_a_fault_and_the_others_run():
    rules = cep.rules({"bad": "PATTERN A a WHERE a.nope = 1", "good": "PATTERN A a"})
    with pytest.warns(cep.CepheidWarning, match="1 rule cannot run\nrule bad:"):
        found = rules.match(EVENTS)
    assert [fault.rule for fault in found.faults] == ["bad"]
    assert found.counts == {"good": 2}
    assert [fault.rule for fault in rules.check({"A": ["x"]})] == ["bad"]


def test_a_rule_that_exceeds_a_limit_is_a_fault_and_the_others_run():
    rules = cep.rules({"many": "PATTERN SEQ(A a, B b)", "few": "PATTERN C c"})
    with pytest.warns(cep.CepheidWarning, match="more than 2 matches"):
        found = rules.match(EVENTS, max_matches=2)
    assert found.counts == {"few": 1}


def test_rules_of_other_times_are_faults():
    rules = cep.rules(
        {
            "x": "MATCH_RECOGNIZE (ORDER BY x PATTERN (A))",
            "down": "MATCH_RECOGNIZE (ORDER BY ts DESC PATTERN (A))",
            "unordered": "MATCH_RECOGNIZE (PATTERN (A))",
            "sase": "PATTERN A a",
        }
    )
    with pytest.warns(cep.CepheidWarning, match="one time column, 'ts'"):
        found = rules.match(EVENTS)
    assert [fault.rule for fault in found.faults] == ["x", "down", "unordered"]


def test_row_patterns_need_no_types():
    rules = cep.rules({"r": 'SELECT * FROM t MATCH_RECOGNIZE (ORDER BY "ts" PATTERN (A B))'})
    found = rules.match({"ts": [1, 2, 3], "x": [1, 2, 3]})
    assert [(match.start, match.end, match.key) for match in found] == [(1, 2, {})]


def test_all_rows_of_a_match_have_its_id_and_rows_in_no_match_are_left_out():
    text = (
        "MATCH_RECOGNIZE (ORDER BY ts ALL ROWS PER MATCH WITH UNMATCHED ROWS "
        "PATTERN (U D) DEFINE D AS x < PREV(x))"
    )
    found = cep.rules({"r": text}).match({"ts": [1, 2, 3, 4], "x": [1, 5, 4, 9]})
    assert [(match.start, match.end) for match in found] == [(2, 3), (2, 3)]
    assert len({match.match_id for match in found}) == 1


def test_times_are_those_of_the_column():
    times = pa.array(["2024-05-01 09:00:00", "2024-05-01 09:01:00"])
    rules = cep.rules(
        {
            "s": "PATTERN SEQ(A a, B b) WITHIN 5 minutes",
            "r": "MATCH_RECOGNIZE (ORDER BY ts PATTERN (X Y))",
        }
    )
    table = rules.match({"ts": times, "type": ["A", "B"]}).to_arrow()
    assert table.schema.field("start").type == pa.timestamp("us")
    assert len(set(table["start"].to_pylist())) == 1
    assert table.num_rows == 2


def test_only_the_columns_that_rules_need_are_read_from_parquet(tmp_path):
    path = tmp_path / "events.parquet"
    pyarrow.parquet.write_table(pa.table(EVENTS), path)
    rules = cep.rules({"a": "PATTERN A a WHERE a.x > 2 RETURN a.x", "b": "PATTERN B b RETURN b.id"})
    found = rules.match(str(path))
    events, _ = found["a"].parts()
    assert events.column_names == ["ts", "type", "id", "x"]
    assert found.counts == {"a": 1, "b": 2}


@pytest.mark.parametrize("name", ["output", "at_most_once_per"])
def test_fields_of_rules_are_no_keywords_of_the_set(name):
    with pytest.raises(cep.OptionError, match=f"{name} is a field of a rule"):
        cep.rules({}).match(EVENTS, **{name: "first"})


def test_output_and_throttle_are_those_of_the_rule():
    rules = cep.rules(
        {
            "first": {"query": "PATTERN SEQ(A a, B b)", "output": "first"},
            "rare": {"query": "PATTERN SEQ(A a, B b)", "at_most_once_per": 10},
            "all": "PATTERN SEQ(A a, B b)",
        }
    )
    assert rules.match(EVENTS).counts == {"first": 2, "rare": 1, "all": 3}


def test_rules_are_explained_together():
    text = cep.rules(RULES).explain()
    for heading in ("--- pair (severity high; tags one, two)", "--- rows", "--- off (disabled)"):
        assert heading in text


def test_partial_matches_are_reported_if_the_rule_says_so():
    rule = {"query": "PATTERN SEQ(A a, C c) WHERE [id] WITHIN 2 RETURN a.x AS x", "timed_out": True}
    rules = cep.rules({"late": rule})
    assert [match.values for match in rules.match(EVENTS)] == [
        {"x": 5.0, "timed_out": True},
        {"x": 1.5, "timed_out": True},
    ]
    session = rules.session()
    found = [*session.feed(EVENTS), *session.advance()]
    assert sorted(match.values["x"] for match in found) == [1.5, 5.0]


def test_a_value_that_cannot_be_kept_is_a_fault_of_the_rules_that_read_it() -> None:
    large = pa.array([2**64 - 1, 2**64 - 1], pa.uint64())
    events = pa.table({"ts": [1, 2], "type": ["A", "B"], "k": large})
    texts = {"key": "PATTERN SEQ(A a, B b) WHERE [k]", "other": "PATTERN SEQ(A a, B b)"}
    rules = cep.rules(texts)
    with pytest.warns(cep.CepheidWarning, match="rule key"):
        found = rules.match(events)
    assert found.counts == {"other": 1}
    assert len({match.match_id for match in found}) == 1
    with pytest.warns(cep.CepheidWarning, match="rule key"):
        assert rules.session().feed(events).counts == {"other": 1}
