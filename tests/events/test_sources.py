"""Every way to hand over events gives the same table, and what cannot be read says why."""

import gzip
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from cepheid.errors import EventError
from cepheid.events.sources.tables import concat_tables, is_type_mapping, read_source

COLUMNS = {"ts": [1, 2, 3], "type": ["A", "B", None], "x": [1.5, None, 2.0]}
TABLE = pa.table(COLUMNS)
ROWS = TABLE.to_pylist()
JSON_LINES = '{"ts":1,"type":"A","x":1.5}\n{"ts":2,"type":"B"}\n{"ts":3,"x":2.0}\n'
CSV = "ts,type,x\n1,A,1.5\n2,B,\n3,,2.0\n"


class Stream:
    """Any other library's table: all that is known is that it exports an Arrow stream."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return TABLE.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "source",
    [
        TABLE,
        TABLE.to_batches()[0],
        TABLE.to_reader(),
        [batch for half in (TABLE[:1], TABLE[1:]) for batch in half.to_batches()],
        pd.DataFrame(COLUMNS, index=[7, 8, 9]),
        pl.DataFrame(COLUMNS),
        pl.DataFrame(COLUMNS).lazy(),
        Stream(),
        ROWS,
        tuple(ROWS),
        COLUMNS,
        {**COLUMNS, "ts": np.array([1, 2, 3]), "x": pa.chunked_array([[1.5], [None, 2.0]])},
        {**COLUMNS, "ts": pd.Series([1, 2, 3]), "x": pl.Series([1.5, None, 2.0])},
    ],
    ids=lambda source: type(source).__name__,
)
def test_objects_that_hold_the_same_events(source):
    table = read_source(source)
    assert table.to_pydict() == COLUMNS
    assert table.schema.metadata is None


def write(path: Path, name: str) -> Path:
    file = path / name
    opened = gzip.open if name.endswith(".gz") else open
    if name.endswith((".parquet", ".pq")):
        pq.write_table(TABLE, file)
    elif ".csv" in name or ".tsv" in name:
        with opened(file, "wt") as out:
            out.write(CSV.replace(",", "\t") if ".tsv" in name else CSV)
    else:
        with opened(file, "wt") as out:
            out.write(JSON_LINES)
    return file


@pytest.mark.parametrize(
    "name",
    [
        "e.parquet",
        "e.pq",
        "e.csv",
        "E.CSV",
        "e.v2.csv",
        "e.csv.gz",
        "e.tsv",
        "e.tsv.gz",
        "e.jsonl",
        "e.ndjson",
        "e.json",
        "e.jsonl.gz",
    ],
)
def test_files_that_hold_the_same_events(tmp_path, name):
    file = tmp_path / name
    write(tmp_path, name.lower()).rename(file)
    assert read_source(file).to_pydict() == COLUMNS
    assert read_source(str(file)).to_pydict() == COLUMNS


def test_a_file_below_key_value_directories_has_its_own_columns_only(tmp_path):
    folder = tmp_path / "year=2024"
    folder.mkdir()
    assert read_source(write(folder, "e.parquet")).to_pydict() == COLUMNS


def test_csv_tells_a_missing_string_from_an_empty_one_and_reads_times(tmp_path):
    file = tmp_path / "e.csv"
    file.write_text(
        'ts,s\n2024-01-01 10:00:00,\n2024-01-01 10:00:01,""\n2024-01-02 00:00:00,"a\nb"'
    )
    table = read_source(file)
    assert table["s"].to_pylist() == [None, "", "a\nb"]
    assert table.schema.field("ts").type == pa.timestamp("s")


@pytest.fixture
def folder(tmp_path):
    """What Spark writes: a directory per type, a marker file, and files that differ in columns."""
    for name, table in {
        "type=Shelf/b": pa.table({"ts": [3], "x": [1]}),
        "type=Shelf/a": pa.table({"ts": [1, 2], "x": [1, 2]}),
        "type=Exit/a": pa.table({"ts": [4], "x": [0.5], "door": ["north"]}),
        "_temporary/a": pa.table({"other": [1]}),
    }.items():
        file = tmp_path / "events" / f"{name}.parquet"
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, file)
    (tmp_path / "events" / "_SUCCESS").touch()
    return tmp_path / "events"


@pytest.mark.parametrize("below", ["", "type=*/*.parquet", "[s-t]*/*"])
def test_directories_and_globs_of_parquet_files(folder, below):
    table = read_source(f"{folder}/{below}" if below else folder)
    assert table.to_pydict() == {
        "ts": [4, 1, 2, 3],
        "x": [0.5, 1.0, 2.0, 1.0],
        "door": ["north", None, None, None],
        "type": ["Exit", "Shelf", "Shelf", "Shelf"],
    }


@pytest.mark.parametrize("make", [list, lambda texts: np.array(texts, object)])
def test_a_text_that_pandas_has_as_nan_is_null(make):
    for texts in (["a", float("nan"), None, "b"], [float("nan"), "a"]):
        expected = [text if isinstance(text, str) else None for text in texts]
        assert read_source({"s": make(texts)}).to_pydict() == {"s": expected}
    assert read_source([{"s": "a"}, {"s": float("nan")}]).to_pydict() == {"s": ["a", None]}


def test_a_folder_of_csv_files_is_one_table(tmp_path):
    write(tmp_path, "e.csv")
    assert read_source(tmp_path).to_pydict() == COLUMNS


def test_layouts_that_arrow_cannot_sort_are_made_plain():
    view = pa.array(["a", None, "a"], pa.string_view())
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array([7, 8]))
    table = pa.table({"view": view, "dictionary": view.dictionary_encode(), "runs": runs})
    read = read_source(table)
    dictionary = pa.dictionary(pa.int32(), pa.large_string())
    assert read.schema.types == [pa.large_string(), dictionary, pa.int64()]
    assert read.to_pydict() == table.to_pydict()


@pytest.mark.parametrize("source", [[], {}, pa.table({})])
def test_nothing_at_all_is_a_table_without_columns(source):
    assert read_source(source).shape == (0, 0)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"A": TABLE, "B": pd.DataFrame()}, True),
        ({"A": "a.csv", "B": Path("b.csv")}, True),
        ({"A": ROWS, "B": []}, True),
        ({"A": COLUMNS, "B": pl.DataFrame()}, True),
        ({"A": TABLE.to_batches(), "B": TABLE.to_reader()}, True),
        (COLUMNS, False),
        ({"ts": [], "type": []}, False),
        ({"A": TABLE, "B": [1, 2]}, False),
        ({"ts": np.array([1]), "type": pa.array(["A"])}, False),
        ({}, False),
        (TABLE, False),
        (ROWS, False),
    ],
)
def test_a_mapping_is_of_types_when_every_value_is_a_table(source, expected):
    assert is_type_mapping(source) is expected


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            42,
            "events cannot be read from a int; give an Arrow table, batch or reader, "
            "a pandas or Polars frame, a list of dicts, a mapping from column to values, or a path",
        ),
        ([1, "a"], "events cannot be read from a list of int and str;"),
        ([{"ts": 1}, None], "events cannot be read from a list of NoneType and dict;"),
        ({"A": TABLE}, "a table per event type cannot be read as one table"),
        ({"ts": [1, 2], "x": [1]}, "the columns differ in length: 'ts' has 2 and 'x' has 1"),
        ({"ts": [1], "x": "abc"}, "column 'x' is a str, not a list or array of values"),
        ({"ts": [1], "x": 5}, "column 'x' is a int, not a list or array of values"),
        ({"ts": [1, "a"]}, "column 'ts' cannot be read: Could not convert 'a' with type str:"),
        ([{"ts": 1}, {"ts": "a"}], "column 'ts' cannot be read: Could not convert 'a'"),
        ({"x": np.zeros((2, 2))}, "column 'x' cannot be read: only handle 1-dimensional arrays"),
        (
            pd.DataFrame({"x": ["a", 1]}, dtype=object),
            "the pandas frame cannot be read: Expected bytes, got a 'int' object. "
            "Conversion failed for column x with type object",
        ),
        (
            pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["x", "x"]),
            "there is more than one column 'x'; give each column a name of its own",
        ),
        (
            [*TABLE.to_batches(), *TABLE.select(["ts"]).to_batches()],
            "the list of record batches cannot be read: Schema at index 1 was different: ",
        ),
    ],
)
def test_objects_that_cannot_be_read(source, message):
    with pytest.raises(EventError) as raised:
        read_source(source)
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "events.xlsx",
            "",
            "file '{}' has no suffix that says what it holds; supported are .parquet, ",
        ),
        ("events", "", "file '{}' has no suffix that says what it holds; supported are .parquet, "),
        ("e.parquet.gz", "", "file '{}' has no suffix that says what it holds; "),
        ("e.parquet", "text", "'{}' cannot be read: "),
        ("e.csv", "", "'{}' cannot be read: Empty CSV file"),
        ("e.csv", "a,b\n1\n", "'{}' cannot be read: CSV parse error: Expected 2 columns, got 1: 1"),
        ("e.csv.gz", "text", "'{}' cannot be read: "),
        ("e.jsonl", '{"a":', "'{}' cannot be read: JSON parse error"),
        ("e.json", ' [{"a":1}]', "'{}' holds a JSON array; write one object per line, "),
    ],
)
def test_files_that_cannot_be_read(tmp_path, name, content, message):
    file = tmp_path / name
    file.write_text(content)
    with pytest.raises(EventError) as raised:
        read_source(file)
    assert str(raised.value).startswith(message.format(file))
    assert "\n" not in str(raised.value)


@pytest.mark.usefixtures("folder")
def test_paths_that_lead_nowhere(tmp_path):
    write(tmp_path, "shelf.csv")
    (tmp_path / "shelf.txt").write_text("")
    for path, message in {
        "shelv.csv": "there is no file '{}'. Did you mean 'shelf.csv'?",
        "no/such.csv": "there is no file '{}'",
        "*.parquet": "no file fits '{}'",
        "*.txt": "'{}' matches '" + str(tmp_path) + "/shelf.txt', which is not a file of events; "
        "a glob may match only files that end in .parquet, .pq, .csv, .tsv, .jsonl, .ndjson or "
        ".json",
        "events/_temporary": None,
        "empty": "'{}' holds no file of events: none ends in .parquet, .pq, .csv, .tsv, .jsonl, "
        ".ndjson or .json",
    }.items():
        (tmp_path / "empty").mkdir(exist_ok=True)
        whole = f"{tmp_path}/{path}"
        if message is None:
            assert read_source(whole).column_names == ["other"]
            continue
        with pytest.raises(EventError) as raised:
            read_source(whole)
        assert str(raised.value) == message.format(whole)


def test_numbers_of_parquet_files_are_as_wide_as_the_widest(tmp_path):
    for name, width in (("a", pa.int32()), ("b", pa.int64()), ("c", pa.int16())):
        below = tmp_path / f"day={ord(name)}"
        below.mkdir()
        table = pa.table({"ts": pa.array([ord(name)], width), "x": [name]})
        pq.write_table(table, below / f"{name}.parquet")
    found = read_source(tmp_path)
    assert found.schema.field("ts").type == pa.int64()
    assert found.column("ts").to_pylist() == found.column("day").to_pylist() == [97, 98, 99]


def test_parquet_files_that_do_not_go_together(folder):
    other = folder / "type=Exit" / "c.parquet"
    pq.write_table(pa.table({"ts": ["yesterday"]}), other)
    pq.write_table(pa.table({"ts": [None]}), folder / "type=Exit" / "0.parquet")
    with pytest.raises(EventError) as raised:
        read_source(folder)
    first = folder / "type=Exit" / "a.parquet"
    assert str(raised.value) == (
        f"{str(folder)!r} cannot be read: column 'ts' is int64 in {str(first)!r} and string in "
        f"{str(other)!r}, which have no common type; rewrite one of them with the type of the "
        "others"
    )


ZONED = pa.timestamp("us", "UTC")


@pytest.mark.parametrize(
    ("left", "right", "common"),
    [
        (pa.int32(), pa.float64(), pa.float64()),
        (pa.int8(), pa.int64(), pa.int64()),
        (pa.string(), pa.large_string(), pa.large_string()),
        (pa.string(), pa.dictionary(pa.int8(), pa.string()), pa.string()),
        (pa.timestamp("s"), pa.timestamp("ns"), pa.timestamp("ns")),
        (pa.timestamp("s"), pa.date32(), pa.timestamp("us")),
        (pa.timestamp("s", "Europe/Berlin"), ZONED, ZONED),
        (pa.timestamp("s", "Europe/Berlin"), pa.null(), pa.timestamp("s", "Europe/Berlin")),
        (pa.date32(), pa.date64(), pa.date64()),
        (pa.null(), pa.string(), pa.string()),
        (pa.list_(pa.int64()), pa.list_(pa.float64()), pa.list_(pa.float64())),
        (pa.decimal128(5, 2), pa.float64(), pa.float64()),
        (pa.decimal128(5, 2), pa.int64(), pa.decimal128(21, 2)),
        (pa.decimal128(5, 0), pa.uint64(), pa.decimal128(20, 0)),
        (pa.decimal128(38, 30), pa.int8(), pa.decimal128(38, 30)),
        (pa.int64(), pa.string(), None),
        (pa.bool_(), pa.int64(), None),
        (pa.string(), pa.binary(), None),
        (pa.timestamp("us"), ZONED, None),
        (pa.timestamp("us"), pa.int64(), None),
        (ZONED, pa.date32(), None),
    ],
)
@pytest.mark.parametrize("swapped", [False, True])
def test_one_type_for_an_attribute_of_several_tables(left, right, common, swapped):
    left, right = (right, left) if swapped else (left, right)
    tables = {
        "A": pa.table({"x": pa.nulls(1, left)}),
        "B": pa.table({"x": pa.nulls(1, right)}),
        "C": pa.table({"y": [1]}),
    }
    if common is not None:
        joined = concat_tables(tables)
        assert joined.schema.types == [common, pa.int64()]
        assert joined.to_pydict() == {"x": [None] * 3, "y": [None, None, 1]}
        return
    with pytest.raises(EventError) as raised:
        concat_tables(tables)
    assert str(raised.value) == (
        f"attribute 'x' is {left} in table 'A' and {right} in table 'B', which have no common "
        "type; cast the columns to one type or give them different names"
    )


@pytest.mark.parametrize("width", [pa.int8(), pa.int32(), pa.int64(), pa.uint8(), pa.uint64()])
@pytest.mark.parametrize("decimal", [pa.decimal128(4, 1), pa.decimal128(38, 30)])
def test_whole_numbers_go_together_with_decimals(width, decimal):
    bits = width.bit_width - pa.types.is_signed_integer(width)
    largest, half = 2**bits - 1, Decimal("0.5")
    tables = {
        "A": pa.table({"x": pa.array([largest], width)}),
        "B": pa.table({"x": pa.array([half], decimal)}),
    }
    assert concat_tables(tables).column("x").to_pylist() == [largest, half]


def test_a_value_that_the_common_type_cannot_hold():
    tables = {"A": pa.table({"x": [2**60 + 1]}), "B": pa.table({"x": [0.5]})}
    with pytest.raises(
        EventError, match="attribute 'x' of table 'A' cannot be read: Integer value"
    ):
        concat_tables(tables)


def test_neither_pandas_nor_polars_is_imported():
    program = (
        "import sys, cepheid.events.events; sys.exit(len({'pandas', 'polars'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


def test_a_pipe_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "events.csv")
    with pytest.raises(EventError, match="is a pipe or a device, not a file"):
        read_source(str(tmp_path / "events.csv"))
