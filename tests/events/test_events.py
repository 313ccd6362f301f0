"""Stream order is (time, tie-breaks, row) however the events came, and types are named."""

from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.errors import EventError, OptionError
from cepheid.events.events import order_events
from cepheid.events.read_options import ReadOptions
from cepheid.schema import Kind, Schema


def order(source, **options):
    return order_events(source, ReadOptions.of(options))


def types_of(events):
    return [events.type_names[code] for code in events.type_codes]


def addresses(table):
    return [
        buffer and buffer.address
        for column in table.columns
        for buffer in column.chunk(0).buffers()
    ]


TIES = st.tuples(st.integers(0, 2), st.sampled_from(["", "a", "b", "é"]))
TIMES = {
    "integer": st.integers(-3, 3),
    "float": st.sampled_from([-1.5, 0.0, 0.25, 1e6]),
    "timestamp": st.datetimes(min_value=datetime(2024, 1, 1), max_value=datetime(2024, 1, 2)),
}


@st.composite
def streams(draw):
    """Columns of events with many ties, and where to cut them into chunks."""
    times = TIMES[draw(st.sampled_from(list(TIMES)))]
    rows = draw(st.lists(st.tuples(times, st.sampled_from("AB"), TIES), min_size=1, max_size=20))
    if draw(st.booleans()):
        rows.sort(key=lambda row: row[0])
    columns = {
        "ts": [row[0] for row in rows],
        "type": [row[1] for row in rows],
        "offset": [row[2][0] for row in rows],
        "host": [row[2][1] for row in rows],
    }
    return columns, draw(st.integers(0, len(rows)))


@given(streams(), st.sampled_from([(), ("offset",), ("host",), ("host", "offset")]))
@example(({"ts": [1, 1], "type": ["A", "B"], "offset": [2, 1], "host": ["", ""]}, 1), ("offset",))
def test_stream_order_is_that_of_a_plain_stable_sort(stream, ties):
    columns, cut = stream
    whole = pa.table(columns)
    table = pa.concat_tables([whole[:cut], whole[cut:]])
    keys = [columns["ts"], *(columns[tie] for tie in ties)]
    expected = sorted(range(len(table)), key=lambda row: [key[row] for key in keys])
    events = order(table, tie_break=ties)
    assert events.rows.tolist() == expected
    assert events.table.equals(whole.take(expected))
    assert all(column.num_chunks == 1 for column in events.table.columns)
    assert types_of(events) == [columns["type"][row] for row in expected]
    assert events.time_axis.decode(events.ticks).equals(events.table["ts"].combine_chunks())
    assert (np.diff(events.ticks) >= 0).all()
    for array in (events.rows, events.ticks, events.type_codes):
        assert array.flags.c_contiguous
        assert array.flags.writeable
    assert (events.rows.dtype, events.ticks.dtype) == (np.int64, np.int64)
    assert events.type_codes.dtype == np.int32


@given(streams())
def test_a_table_per_type_is_the_one_table_in_another_row_order(stream):
    columns, _ = stream
    table = pa.table(columns)
    tables = {name: table.filter(pa.compute.equal(table["type"], name)) for name in "BA"}
    events = order(tables, type=None)
    joined = pa.concat_tables(tables.values())
    assert events.table.equals(joined.take(events.rows).combine_chunks())
    assert types_of(events) == events.table["type"].to_pylist()
    assert events.rows.tolist() == order(joined).rows.tolist()
    assert events.type_names == ("B", "A")


@pytest.mark.parametrize("tie_break", [None, "n", ["n", "type"]])
def test_sorted_columns_are_not_copied(tie_break):
    table = pa.table(
        {"ts": [1, 1, 2], "type": ["A", "B", "A"], "n": [1, 2, 0], "x": [None, 0.5, 1]}
    )
    events = order(table, tie_break=tie_break)
    assert addresses(events.table) == addresses(table)
    assert events.rows.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "tie",
    [
        pa.array([3, 1, 2], pa.uint8()),
        pa.array([0.5, -1.0, 0.0], pa.float16()),
        pa.array(["c", "a", "b"], pa.large_string()),
        pa.array(["c", "a", "b"]).dictionary_encode(),
        pa.array([3, 1, 2], pa.timestamp("ns", "UTC")),
        pa.array([3, 1, 2], pa.time64("us")),
        pa.array([3, 1, 2]).cast(pa.decimal128(22, 2)),
        pa.array([b"c", b"a", b"b"]),
    ],
    ids=lambda array: str(array.type),
)
def test_tie_breaks_of_any_type_that_has_an_order(tie):
    table = pa.table({"ts": [0, 0, 0], "type": ["A"] * 3, "tie": tie})
    assert order(table, tie_break="tie").rows.tolist() == [1, 2, 0]


@pytest.mark.parametrize(
    ("column", "names"),
    [
        (pa.array(["B", "A", "B"]), ["B", "A", "B"]),
        (pa.array(["B", "A", "B"], pa.string_view()), ["B", "A", "B"]),
        (pa.array([7, 8, 7], pa.int16()), ["7", "8", "7"]),
        (pa.array([True, False, True]), ["true", "false", "true"]),
        (pa.array([7, 8, 7]).dictionary_encode(), ["7", "8", "7"]),
        (
            pa.DictionaryArray.from_arrays(
                pa.array([3, 1, 0], pa.uint32()), pa.array(["B", "A", None, "B"])
            ),
            ["B", "A", "B"],
        ),
        (
            pa.chunked_array(
                [pa.array(["B"]).dictionary_encode()] * 2 + [pa.array(["C"]).dictionary_encode()]
            ),
            ["B", "B", "C"],
        ),
    ],
    ids=lambda value: str(getattr(value, "type", "")),
)
def test_names_of_types(column, names):
    events = order(pa.table({"ts": [1, 2, 3], "type": column}))
    assert types_of(events) == names
    assert len(set(events.type_names)) == len(events.type_names)


@pytest.mark.parametrize(
    "source",
    [
        {"ts": [], "type": []},
        pa.table({"ts": pa.array([], pa.timestamp("s")), "type": pa.array([], pa.string())}),
        pa.schema(
            [("ts", pa.int64()), ("type", pa.dictionary(pa.int8(), pa.string()))]
        ).empty_table(),
        pd.DataFrame({"ts": [], "type": []}),
        pl.DataFrame({"ts": [], "type": []}),
        {"A": {"ts": []}, "B": {"ts": [], "x": []}},
    ],
    ids=lambda source: type(source).__name__,
)
def test_no_events(source):
    events = order(source, tie_break="ts")
    assert (len(events), events.ticks.tolist(), events.type_codes.tolist()) == (0, [], [])
    assert events.table.num_rows == 0


SHELF = pa.table({"ts": [1, 4], "tag": [10, 11]})
EXIT = pa.table({"ts": [3, 1], "tag": [10.5, 11], "door": ["n", "s"], "type": [0, 0]})


def test_a_table_per_type_makes_a_closed_schema():
    events = order({"Shelf": SHELF, "Exit": EXIT})
    assert events.rows.tolist() == [0, 3, 2, 1]
    assert types_of(events) == ["Shelf", "Exit", "Exit", "Shelf"]
    assert events.table["tag"].to_pylist() == [10.0, 11.0, 10.5, 11.0]
    assert events.table["type"].to_pylist() == [None, 0, 0, None]
    assert events.schema.has_attribute("Exit", "door")
    assert not events.schema.has_attribute("Shelf", "door")
    assert not events.schema.has_type("Counter")
    assert events.schema.kind("tag") is Kind.FLOAT


@pytest.mark.parametrize(
    ("left", "right", "ticks"),
    [
        ([1, 3], [2.5], [1_000_000, 2_500_000, 3_000_000]),
        (pa.array([1], pa.timestamp("s")), pa.array([5], pa.timestamp("ns")), [5, 10**9]),
        (pa.array([1], pa.date32()), pa.array([5], pa.timestamp("us")), [5, 86_400_000_000]),
        (
            pa.array([1], pa.timestamp("us", "Europe/Berlin")),
            pa.array([0], pa.timestamp("us", "UTC")),
            [0, 1],
        ),
        ([], pa.array([5], pa.timestamp("us")), [5]),
    ],
)
def test_times_of_several_tables_that_go_together(left, right, ticks):
    assert order({"A": {"ts": left}, "B": {"ts": right}}).ticks.tolist() == ticks


EVENTS = {"ts": [2, 1], "type": ["Exit", "Shelf"], "tag": [1, 2], "door": ["n", None]}


def test_one_table_makes_an_open_schema():
    schema = order(EVENTS).schema
    assert schema.types is None
    assert schema.attributes == {
        "ts": Kind.INTEGER,
        "type": Kind.STRING,
        "tag": Kind.INTEGER,
        "door": Kind.STRING,
    }


@pytest.mark.parametrize("as_object", [False, True])
def test_a_declaration_makes_a_closed_schema(as_object):
    declaration = {"Shelf": ["tag"], "Exit": ["tag", "door"], "Counter": []}
    schema = Schema.declared(declaration) if as_object else declaration
    found = order(EVENTS, schema=schema).schema
    assert found.types == {
        "Shelf": {"tag", "ts", "type"},
        "Exit": {"tag", "door", "ts", "type"},
        "Counter": {"ts", "type"},
    }
    assert found.kind("tag") is Kind.INTEGER


def test_a_declaration_may_leave_out_columns_of_a_table_per_type():
    schema = {"Shelf": ["tag"], "Exit": ["door"]}
    found = order({"Shelf": SHELF, "Exit": EXIT}, schema=schema).schema
    assert found.types == {"Shelf": {"tag", "ts"}, "Exit": {"door", "ts"}}


def test_columns_take_the_kind_that_is_declared_when_nothing_is_lost():
    declared = {"A": {"x": "float", "y": "string", "z": "timestamp"}}
    table = {"ts": [1], "type": ["A"], "x": [3], "y": [None], "z": [None]}
    types = order(table, schema=declared).table.schema
    assert types.field("x").type == pa.float64()
    assert types.field("y").type == pa.string()
    assert types.field("z").type == pa.timestamp("us")


def test_an_open_schema_may_name_some_columns():
    found = order(EVENTS, schema=Schema({"tag": Kind.UNKNOWN})).schema
    assert found.attributes == {
        "ts": Kind.INTEGER,
        "type": Kind.STRING,
        "tag": Kind.INTEGER,
    }


NAN = float("nan")
MANY = pa.table({f"c{index}": [1] for index in range(30)})


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (
            {"time": [1], "type": ["A"], "price": [2]},
            {"time": "tiem"},
            "the events have no time column 'tiem'; the columns are time, type and price. "
            "Did you mean 'time'?",
        ),
        (
            {"ts": [1], "kind": ["A"]},
            {},
            "the events have no type column 'type'; the columns are ts and kind. Name the column "
            "with the type, type='column' (--type COLUMN), or give a table for each type: "
            "{'Shelf': table} (Shelf=FILE)",
        ),
        (
            {"ts": [1], "type": ["A"]},
            {"tie_break": ["ts", "typ"]},
            "the events have no tie-break column 'typ'; the columns are ts and type. "
            "Did you mean 'type'?",
        ),
        (
            MANY,
            {},
            "the events have no time column 'ts'; the columns are "
            + ", ".join(f"c{index}" for index in range(20))
            + " and 10 more. Name the column with the time: time='column' (--time COLUMN)",
        ),
        (
            [],
            {},
            "the events have no columns at all, so no time column 'ts'; an empty list has no "
            "columns: give an empty table that has them",
        ),
        (
            {"Shelf": SHELF, "Exit": EXIT.drop_columns("ts")},
            {},
            "table 'Exit' has no time column 'ts'; the columns are tag, door and type. Name the "
            "column with the time: time='column' (--time COLUMN)",
        ),
        (
            {"Shelf": SHELF, "Exit": EXIT},
            {"tie_break": "door"},
            "table 'Shelf' has no tie-break column 'door'; the columns are ts and tag",
        ),
        (
            {"ts": [1, 2, None], "type": ["A"] * 3},
            {},
            "time column 'ts' is null in 1 of 3 events, first in row 2 (counting from 0); an event "
            "needs a time: drop such rows or fill it in",
        ),
        (
            {"Shelf": SHELF, "Exit": {"ts": [1.0, NAN, None]}},
            {},
            "time column 'ts' is null in 2 of 5 events, first in row 1 of table 'Exit' (counting "
            "from 0); an event needs a time: drop such rows or fill it in",
        ),
        (
            {"ts": [1, 2, 3], "type": ["A", None, None]},
            {},
            "type column 'type' is null in 2 of 3 events, first in row 1 (counting from 0); an "
            "event needs a type: drop such rows or fill it in",
        ),
        (
            {"ts": [1], "type": [None]},
            {},
            "type column 'type' is null in 1 of 1 events, first in row 0 (counting from 0); an "
            "event needs a type: drop such rows or fill it in",
        ),
        (
            {"ts": [1], "type": [0.5]},
            {},
            "type column 'type' is double; the name of a type is a string, an integer or a boolean",
        ),
        (
            {"ts": ["yesterday"], "type": ["A"]},
            {},
            "time column 'ts' is string, and 'yesterday' in row 0 (counting from 0) cannot be read "
            "as a time; correct or drop such rows, or give the format of the column: "
            "time_format='%d/%m/%Y %H:%M:%S' (--time-format)",
        ),
        (
            {"ts": [1, 1], "type": ["A", "A"], "n": [0.5, NAN]},
            {"tie_break": "n"},
            "tie-break column 'n' is null in 1 of 2 events, first in row 1 (counting from 0), "
            "so events of equal time have no order",
        ),
        (
            {"ts": [1, 1], "type": ["A", "A"], "n": [[1], [2]]},
            {"tie_break": "n"},
            "tie-break column 'n' is list<item: int64>, a type without an order",
        ),
        (
            {"ts": [1, 1], "type": ["A", "A"], "n": [{"f": 1}, {"f": 2}]},
            {"tie_break": "n"},
            "tie-break column 'n' is struct<f: int64>, a type without an order",
        ),
        (
            {"ts": [-(2**63), 2**63 - 1], "type": ["A", "A"]},
            {},
            "time column 'ts' runs from -9223372036854775808 to 9223372036854775807, a range "
            "that does not fit into 64 bits; is one of them a placeholder?",
        ),
        (
            {"Shelf": SHELF, "Exit": {"ts": pa.array([1], pa.timestamp("us"))}},
            {},
            "mixed time types: column 'ts' is int64 in table 'Shelf' (number) but timestamp[us] in "
            "table 'Exit' (timestamp without a time zone); convert one of them, so that the events "
            "can be ordered together",
        ),
        (
            {
                "Shelf": {"ts": pa.array([1], pa.timestamp("s"))},
                "Exit": {"ts": pa.array([1], pa.timestamp("s", "UTC"))},
            },
            {},
            "mixed time types: column 'ts' is timestamp[s] in table 'Shelf' (timestamp without a "
            "time zone) but timestamp[s, tz=UTC] in table 'Exit' (timestamp with a time zone); "
            "convert one of them, so that the events can be ordered together",
        ),
        (
            {"Shelf": SHELF, "Exit": {"ts": [1], "tag": ["a"]}},
            {},
            "attribute 'tag' is int64 in table 'Shelf' and string in table 'Exit', which have "
            "no common type; cast the columns to one type or give them different names",
        ),
        ({7: SHELF}, {}, "the name of an event type is a string, not 7"),
        (
            {"Shelf": [{"ts": 1}, {"ts": "a"}]},
            {},
            "table 'Shelf': column 'ts' cannot be read: Could not convert 'a' with type str: tried "
            "to convert to int64",
        ),
        (
            EVENTS,
            {"schema": {"Shelf": ["tags"]}},
            "Shelf declares attribute 'tags', for which there is no column. Did you mean 'tag'?",
        ),
        (
            {"Shelf": SHELF, "Exit": EXIT},
            {"schema": {"Shelf": ["tag", "door"]}},
            "Shelf declares attribute 'door', for which there is no column",
        ),
        (
            EVENTS,
            {"schema": Schema({"size": Kind.FLOAT})},
            "the schema declares attribute 'size', for which there is no column",
        ),
        (
            EVENTS,
            {"schema": {"Shelf": {"tag": "string"}}},
            "attribute 'tag' is declared as string, but its column is integer (int64)",
        ),
        (
            pa.table(
                {
                    "ts": [2, 1],
                    "type": ["A", "A"],
                    "x": pa.array([{"s": "a"}, None], pa.struct([("s", pa.string_view())])),
                }
            ),
            {},
            "the events are not in time order, and one column cannot be reordered; leave it out: "
            "Function 'array_take' has no kernel matching input "
            "types (string_view, int64)",
        ),
    ],
)
def test_events_that_cannot_be_used(source, options, message):
    with pytest.raises(EventError) as raised:
        order(source, **options)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"type": "ts"},
            "the time and the type of an event cannot both be in column 'ts'; name one column for "
            "each",
        ),
        (
            {"type": None},
            "name the column that holds the event type, or give a table for each type: "
            "{'Shelf': table, 'Exit': table}",
        ),
        (
            {"time_unit": "ticks"},
            "'ticks' is no unit of time; use ns, us, ms, s, min, h or d, or a long name such as "
            "milliseconds",
        ),
    ],
)
def test_options_that_cannot_be_used(options, message):
    with pytest.raises(OptionError) as raised:
        order(EVENTS, **options)
    assert str(raised.value) == message


def test_texts_that_are_times_are_computed_with_as_times() -> None:
    events = {
        "ts": ["2024-03-01T09:00:00.123Z", "2024-03-01T09:01:30.123Z"],
        "type": ["A", "B"],
    }
    text = "PATTERN SEQ(A a, B b) WHERE b.ts - a.ts < 2 minutes RETURN b.ts - a.ts AS took"
    for evaluation in ("auto", "reference"):
        (match,) = cep.query(text).match(events, evaluation=evaluation)
        assert match["took"] == timedelta(seconds=90)


def message_of(source, **keywords) -> str:
    with pytest.raises(EventError) as raised:
        order_events(source, ReadOptions.of(keywords))
    return str(raised.value)


def test_a_column_that_is_the_index_of_a_frame():
    frame = pd.DataFrame({"ts": [1, 2], "type": ["A", "B"], "x": [3, 4]})
    assert message_of(frame.set_index("ts")) == (
        "the events have no time column 'ts'; the columns are type and x. It is the index: "
        "frame.reset_index() makes it a column"
    )
    assert "type and ts" not in message_of(frame.set_index(["type", "ts"]))
    assert "the index: frame.reset_index()" in message_of(frame.set_index(["type", "ts"]))
    assert "the index" not in message_of(frame.drop(columns="ts"))
    assert message_of({"A": frame.set_index("ts")}) == (
        "table 'A' has no time column 'ts'; the columns are type and x. It is the index: "
        "frame.reset_index() makes it a column"
    )


def test_a_file_with_another_separator(tmp_path):
    path = tmp_path / "events.csv"
    path.write_text("ts;type;x\n1;A;2.5\n")
    assert message_of(path) == (
        "the events have no time column 'ts'; the columns are ts;type;x. The file seems to be "
        "separated by ';', not by ',' as its suffix says; give sep=';' (--sep ';')"
    )
    path.rename(tmp_path / "events.tsv")
    assert "by ';', not by '\\t' as its suffix" in message_of(str(tmp_path / "events.tsv"))


@pytest.mark.parametrize("text", ["ts,type\n1,Gerät\n", "ts,type,Gerät\n1,A,1\n"])
def test_a_file_that_is_not_utf_8(tmp_path, text):
    path = tmp_path / "events.csv"
    path.write_bytes(text.encode("latin1"))
    assert message_of(path).endswith(
        "is not UTF-8; convert the file first. If it is Latin-1: "
        f"iconv -f latin1 -t utf-8 {path} > utf8.csv"
    )


@pytest.mark.parametrize(
    ("times", "bad"),
    [
        (["2024-01-01 00:00:00", "2024-01-01 00:00:01", "nonsense", "x"], "'nonsense' in row 2"),
        (["2024-01-01T00:00:00Z", "2024-01-01T00:00:01+01:00", "?"], "'?' in row 2"),
        (["nonsense", "2024-01-01"], "'nonsense' in row 0"),
        ([None, "2024-01-01", "nonsense"], "'nonsense' in row 2"),
        (["1", "2.5", "nonsense"], "'nonsense' in row 2"),
        (["01.02.2024", "02.02.2024"], "'01.02.2024' in row 0"),
    ],
)
def test_a_text_among_times_that_is_no_time(times, bad):
    assert message_of({"ts": times, "type": ["A"] * len(times)}) == (
        f"time column 'ts' is string, and {bad} (counting from 0) cannot be read as a "
        "time; correct or drop such rows, or give the format of the column: "
        "time_format='%d/%m/%Y %H:%M:%S' (--time-format)"
    )


@pytest.mark.parametrize(
    "times",
    [
        ["2024-01-01T00:00:00+01:00", "2024-01-01 00:00:01"],
        ["2024-01-01 00:00:01", "2024-01-01T00:00:00Z"],
    ],
)
def test_texts_with_and_without_a_time_zone(times):
    assert message_of({"ts": times, "type": ["A", "A"]}) == (
        "time column 'ts' has both times with a time zone and times without one: "
        f"{times[1]!r} in row 1 (counting from 0) is unlike those before it; "
        "write all of them in one way, such as '2024-05-01T09:30:00Z' for UTC"
    )


def test_numbers_as_text_are_no_times():
    said = message_of({"ts": ["1", "2"], "type": ["A", "B"]})
    assert said.startswith("time column 'ts' is string; a time is an integer, a float")
