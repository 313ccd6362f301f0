"""What a Python program that uses cepheid sees."""

import json
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import cepheid as cep

EVENTS = {
    "ts": [1, 2, 3, 4, 5],
    "type": ["A", "B", "B", "C", "A"],
    "x": [10, 20, None, 40, 50],
    "s": ["one", "two", "three", None, "five"],
}
EITHER = "PATTERN SEQ(A a, OR(B b, C c), A* d[])"


def test_matches_are_counted_from_both_ends_and_sliced():
    events = {"ts": [1, 2, 3, 4], "type": ["A", "B", "C", "B"]}
    for text in ("PATTERN SEQ(A a, B b)", "PATTERN OR(SEQ(A a, B b), SEQ(A a, C b))"):
        found = cep.query(text).match(events)
        listed = list(found)
        assert len(listed) == len(found) > 1
        assert [found[place] for place in range(-len(found), len(found))] == [*listed, *listed]
        for part in (slice(None, None, -1), slice(1, None), slice(0, 0), slice(-1, 9, 2)):
            assert list(found[part]) == listed[part]
        with pytest.raises(IndexError, match=f"there is no match 9: there are {len(found)}"):
            found[9]
    unsure = cep.query("PATTERN SEQ(A a, B b)").match(events, uncertainty=1)
    assert [match.confidence for match in unsure[::-1]] == [
        match.confidence for match in reversed(list(unsure))
    ]


def test_a_binding_has_the_row_of_each_variable_that_a_match_has():
    found = cep.query("PATTERN SEQ(A a, B+ b[], C c)").match(EVENTS).bindings()
    assert {tuple(binding["b"]) for binding in found} == {(1,), (2,), (1, 2)}
    assert all(binding["a"] == 0 and binding["c"] == 3 for binding in found)
    either = cep.query(EITHER).match(EVENTS).bindings()
    assert {frozenset(binding) for binding in either} == {
        frozenset("ab"),
        frozenset("ac"),
        frozenset("abd"),
        frozenset("acd"),
    }


def test_rows_are_those_of_the_input_whatever_its_order():
    events = {name: values[::-1] for name, values in EVENTS.items()}
    found = cep.query("PATTERN SEQ(A a, C c)").match(events).bindings()
    assert found == [{"a": 4, "c": 1}]


def test_rows_of_a_table_per_type_count_on_in_the_order_of_the_tables():
    tables = {"B": {"ts": [2, 4]}, "A": {"ts": [1, 3]}}
    found = cep.query("PATTERN SEQ(A a, B b)").match(tables).bindings()
    assert {(each["a"], each["b"]) for each in found} == {(2, 0), (2, 1), (3, 1)}


def test_variables_become_columns_of_structs_and_lists():
    table = cep.query(EITHER).match(EVENTS).to_arrow()
    assert table.column_names == ["start", "end", "a", "b", "c", "d"]
    rows = {(row["b"] is None, row["d"] is None): row for row in table.to_pylist()}
    assert rows[False, True]["a"] == {"ts": 1, "type": "A", "x": 10, "s": "one"}
    assert rows[True, False]["d"] == [{"ts": 5, "type": "A", "x": 50, "s": "five"}]
    assert rows[True, False]["c"]["s"] is None


def test_a_variable_has_only_the_columns_of_its_types():
    tables = {"A": {"ts": [1], "x": [1]}, "B": {"ts": [2], "y": [2]}}
    table = cep.query("PATTERN SEQ(A a, B b)").match(tables).to_arrow()
    assert table.to_pylist() == [
        {"start": 1, "end": 2, "a": {"ts": 1, "x": 1}, "b": {"ts": 2, "y": 2}}
    ]


def test_items_of_return_become_columns_named_by_as_or_by_their_text():
    query = cep.query(
        "PATTERN SEQ(A a, B+ b[], C c) WHERE strict_contiguity "
        "RETURN a.x, c.x - a.x AS rise, last = b[b.LEN].s, b[].x, count(b[].x), avg(b[].x)"
    )
    matches = query.match(EVENTS)
    assert matches.columns == [
        "start", "end", "a.x", "rise", "last", "b[].x", "count(b[].x)", "avg(b[].x)",
    ]  # fmt: skip
    assert matches.to_arrow().to_pylist() == [
        {
            "start": 1,
            "end": 4,
            "a.x": 10,
            "rise": 30,
            "last": "three",
            "b[].x": [20, None],
            "count(b[].x)": 1,
            "avg(b[].x)": 20.0,
        }
    ]


def test_an_item_may_be_called_start():
    query = cep.query("PATTERN SEQ(A a, C c) RETURN a.s AS start, c")
    [row] = query.match(EVENTS).to_arrow().to_pylist()
    assert (row["start"], row["end"], row["c"]["x"]) == ("one", 4, 40)


def test_a_match_is_a_value_with_times_bindings_and_columns():
    matches = cep.query("PATTERN SEQ(A a, C c) RETURN c.x / a.x AS ratio").match(EVENTS)
    [match] = matches
    assert (match.start, match.end) == (1, 4)
    assert match.bindings == {"a": 0, "c": 3}
    assert match["ratio"] == 4.0
    assert len(matches) == 1
    assert list(matches) == list(matches)


def test_times_are_what_they_were_in_the_column():
    at = [datetime(2024, 5, 1, 9), datetime(2024, 5, 1, 9, 0, 1)]
    events = pa.table({"ts": pa.array(at, pa.timestamp("ns", "UTC")), "type": ["A", "B"]})
    [match] = cep.query("PATTERN SEQ(A a, B b) RETURN b.ts - a.ts AS after").match(events)
    assert match.start.utcoffset() == timedelta(0)
    assert type(match.start) is datetime
    assert match["after"] == timedelta(seconds=1)
    assert type(match["after"]) is timedelta


def test_a_match_that_waits_ends_with_its_window():
    query = cep.query("PATTERN SEQ(A a, ~(B b)) WITHIN 5")
    [row] = query.match({"ts": [1, 3, 7], "type": ["A", "A", "B"]}).to_arrow().to_pylist()
    assert (row["start"], row["end"]) == (1, 6)


def test_pandas_and_polars_frames_go_in_and_come_out():
    query = cep.query("PATTERN SEQ(A a, C c) RETURN a.s AS s, c.x AS x")
    for frame in (pd.DataFrame(EVENTS), pl.DataFrame(EVENTS), pl.LazyFrame(EVENTS)):
        matches = query.match(frame)
        assert matches.to_pandas().to_dict("records") == [
            {"start": 1, "end": 4, "s": "one", "x": 40}
        ]
        assert matches.to_polars().to_dicts() == [{"start": 1, "end": 4, "s": "one", "x": 40}]


def test_files_and_tables_give_the_same_matches(tmp_path):
    table = pa.table(EVENTS)
    pyarrow.parquet.write_table(table, tmp_path / "events.parquet")
    pyarrow.csv.write_csv(table, tmp_path / "events.csv")
    (tmp_path / "events.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in table.to_pylist())
    )
    query = cep.query("PATTERN SEQ(A a, B b) WHERE b.x > a.x")
    sources = [table, table.to_batches(), EVENTS, table.to_pylist(), *tmp_path.iterdir()]
    assert len(sources) == 7
    for source in sources:
        assert query.match(source).bindings() == [{"a": 0, "b": 1}]


def test_batches_are_the_table_in_parts():
    matches = cep.query("PATTERN ANY(A, B, C) a RETURN a.x, a").match(EVENTS)
    batches = list(matches.to_batches(size=2))
    assert [batch.num_rows for batch in batches] == [2, 2, 1]
    assert pa.Table.from_batches(batches).equals(matches.to_arrow())
    assert list(cep.query("PATTERN D d").match(EVENTS).to_batches()) == []


def test_no_match_is_an_empty_result_with_columns():
    matches = cep.query("PATTERN SEQ(C c, B+ b[]) RETURN c.s, b[].x, avg(b[].x)").match(EVENTS)
    assert len(matches) == 0
    assert list(matches) == matches.bindings() == []
    table = matches.to_arrow()
    assert table.num_rows == 0
    assert table.schema.field("b[].x").type == pa.list_(pa.int64())
    assert repr(matches) == "0 matches"


def test_no_event_is_no_match():
    empty = pa.schema([("ts", pa.int64()), ("type", pa.string()), ("x", pa.int64())]).empty_table()
    assert len(cep.query("PATTERN SEQ(A a, B b) WHERE a.x < b.x RETURN a.x").match(empty)) == 0


def test_the_text_of_a_result_shows_the_first_matches():
    many = {"ts": list(range(12)), "type": ["A"] * 12}
    shown = repr(cep.query("PATTERN A a").match(many)).splitlines()
    assert shown[0] == "12 matches"
    assert shown[1] == "{'a': 0}"
    assert shown[-1] == "… and 2 more"


def test_one_match_is_not_many():
    one = cep.query("PATTERN SEQ(A a, B b)").match({"ts": [1, 2], "type": ["A", "B"]})
    assert repr(one) == "1 match\n{'a': 0, 'b': 1}"


def test_parameters_give_values_to_bare_names():
    text = "PATTERN SEQ(A a, B b) WHERE b.x > T AND [s = S] WITHIN W"
    query = cep.query(text, parameters={"T": 15, "S": "one", "W": "5 minutes"})
    assert str(query).splitlines()[1:] == ["WHERE b.x > 15 AND [s = 'one']", "WITHIN 5 minutes"]
    with pytest.raises(cep.QuerySemanticError, match="the name 'T' has no value"):
        cep.query("PATTERN SEQ(A a, B b) WHERE a.x > T")


def test_the_text_of_a_query_is_a_query():
    query = cep.query("event a x where x.y%2==0")
    assert cep.query(str(query)).tree == query.tree
    assert repr(query).startswith("cepheid.query('PATTERN a x")
    assert str(cep.query(query.tree)) == str(query)


def test_a_query_is_read_from_a_file(tmp_path):
    file = tmp_path / "a.sase"
    file.write_text("PATTERN SEQ(A a, C c)")
    assert cep.read_query(file).match(EVENTS).bindings() == [{"a": 0, "c": 3}]
    file.write_text("PATTERN SEQ(A a, C c")
    with pytest.raises(cep.QuerySyntaxError, match=r"a\.sase:1:"):
        cep.read_query(file)
    with pytest.raises(cep.OptionError, match="cannot read the query"):
        cep.read_query(tmp_path / "nothing.sase")
    file.write_bytes(b"\xff")
    with pytest.raises(cep.OptionError, match="not UTF-8"):
        cep.read_query(file)


def test_all_faults_of_a_query_are_in_one_error():
    with pytest.raises(cep.QuerySemanticError) as caught:
        cep.query("PATTERN SEQ(A a, B b) WHERE c.x = 1 AND nothing(a.x) = 2 RETURN d.x")
    assert len(caught.value.faults) == 3
    assert [fault.span.start for fault in caught.value.faults] == sorted(
        fault.span.start for fault in caught.value.faults
    )
    assert isinstance(caught.value, cep.QueryError)
    assert isinstance(caught.value, cep.CepheidError)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"output": "al"}, cep.OptionError, "Did you mean 'all'?"),
        ({"evaluation": "referense"}, cep.OptionError, "Did you mean 'reference'?"),
        ({"time_unit": "fortnight"}, cep.OptionError, "is no unit of time"),
        ({"time": "type"}, cep.OptionError, "cannot both be in column 'type'"),
        ({"type": None}, cep.OptionError, "name the column that holds the event type"),
        ({"time": "t"}, cep.EventError, "no time column 't'"),
        ({"tie_break": ["x"]}, cep.EventError, "tie-break column 'x' is null"),
        ({"schema": {"A": "x"}}, cep.OptionError, "given as a list"),
        ({"schema": 5}, cep.OptionError, "a schema is"),
        ({"schema": {"A": ["z"]}}, cep.EventError, "'z', for which there is no column"),
    ],
)
def test_wrong_options_are_refused(options, error, message):
    with pytest.raises(error) as caught:
        cep.query("PATTERN A a").match(EVENTS, **options)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "events", [5, None, "nothing.csv", [1, 2], {"ts": [1], "type": ["A", "B"]}]
)
def test_what_holds_no_events_is_refused(events):
    with pytest.raises(cep.EventError):
        cep.query("PATTERN A a").match(events)


def test_only_a_text_or_a_pattern_is_a_query():
    with pytest.raises(cep.OptionError, match="a query is a string or a built pattern, not int"):
        cep.query(5)


def test_a_plain_window_is_refused_on_timestamps_and_a_unit_on_plain_numbers():
    times = {"ts": [datetime(2024, 5, 1)], "type": ["A"]}
    with pytest.raises(cep.OptionError, match="write the window with a unit"):
        cep.query("PATTERN A a WITHIN 10").match(times)
    with pytest.raises(cep.OptionError, match='time_unit="ms"'):
        cep.query("PATTERN A a WITHIN 10 minutes").match(EVENTS)


def test_non_overlapping_matches_follow_one_another():
    events = {"ts": [1, 2, 3, 4], "type": ["A", "A", "B", "B"]}
    query = cep.query("PATTERN SEQ(A a, B b)")
    assert len(query.match(events)) == 4
    assert query.match(events, output="non_overlapping").bindings() == [{"a": 1, "b": 2}]


def test_a_type_that_is_probably_misspelt_is_warned_of_at_the_caller():
    with pytest.warns(cep.CepheidWarning, match="Did you mean 'Shelf'") as caught:
        cep.query("PATTERN Shelv a").match({"ts": [1], "type": ["Shelf"]})
    assert Path(caught[0].filename).name == "test_api.py"
    with pytest.warns(cep.CepheidWarning, match="no event has type 'Register'"):
        cep.query("PATTERN Register a").match({"ts": [1], "type": ["Shelf"]})


def test_explain_checks_what_it_is_told_of_the_events():
    query = cep.query("PATTERN SEQ(A a, B b) WHERE a.x < b.x")
    assert query.explain().startswith("PATTERN SEQ(A a, B b)\nWHERE a.x < b.x\n")
    assert query.explain(pa.table(EVENTS).schema) == query.explain(
        cep.Schema({"x": cep.Kind.FLOAT})
    )
    with pytest.raises(cep.QuerySemanticError, match="no attribute 'x'"):
        query.explain({"A": ["y"], "B": ["x"]})
    assert "reference: " in query.explain(evaluation="reference")


def loaded(program: str) -> list[str]:
    """Which heavy modules a program has loaded."""
    heavy = ("numba", "pyspark", "pyarrow", "pandas", "polars", "typer", "rich")
    program += f"; import sys; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True
    )
    found: list[str] = json.loads(done.stdout.replace("'", '"'))
    return found


def test_matches_are_found_and_shown_without_pandas():
    program = (
        "import cepheid as cep; "
        "matches = cep.query('PATTERN SEQ(A a, B+ b[])').match("
        "{'ts': [1, 2], 'type': ['A', 'B'], 'x': [1.5, 2.5], 's': ['u', None]}); "
        "assert matches.to_arrow().num_rows == 1"
    )
    assert "pandas" not in loaded(program)


def test_a_program_that_ends_with_a_session_says_nothing():
    program = (
        "import cepheid as cep; cep.register_function('dbl', lambda x: x * 2); "
        "session = cep.query('PATTERN SEQ(A a, B b)').session(); "
        "session.feed({'ts': [1, 2], 'type': ['A', 'B'], 'x': [1, 2]})"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stderr == ""


def test_importing_cepheid_loads_nothing_heavy():
    assert loaded("import cepheid") == []


def test_explaining_a_query_loads_nothing_heavy():
    query = "PATTERN SEQ(A a, B+ b[]) WHERE [id] AND b[i].x > a.x WITHIN 5 EVENTS"
    assert loaded(f"import cepheid; cepheid.query({query!r}).explain()") == []


def test_a_slow_evaluation_of_many_events_is_told() -> None:
    query = cep.query("PATTERN SEQ(A a, B b) WHERE concat(a.s, b.s) = 'x' WITHIN 1")
    table = pa.table({"ts": range(20_001), "type": ["A"] * 20_001, "s": ["y"] * 20_001})
    table = table.append_column("x", pa.array([0] * 20_001))
    with pytest.warns(cep.CepheidWarning, match="reference evaluation may take long over 20,001"):
        assert len(query.match(table)) == 0


def test_an_option_of_another_evaluation_is_told() -> None:
    query = cep.query("PATTERN SEQ(A a, B b)")
    told = "algorithm has no effect: it is an option of nfa_b, and instance_stacks runs"
    with pytest.warns(cep.CepheidWarning, match=told):
        assert (
            len(query.match({"ts": [1, 2], "type": ["A", "B"]}, options={"algorithm": "basic"}))
            == 1
        )
