"""CSV and JSON Lines: several files, other separators and times, and columns of several types."""

import gzip
import json
from datetime import datetime

import pandas as pd
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.events.events import order_events
from cepheid.events.read_options import ReadOptions
from cepheid.events.sources.tables import read_source

PAIRS = cep.query("PATTERN SEQ(A a, B b) WITHIN 1 hour RETURN a.x AS x")
ISO = ["2024-03-01T09:00:00", "2024-03-01T09:30:00.5"]


def lines(*rows: dict) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def rows():
    return [{"ts": at, "type": kind, "x": x} for at, kind, x in zip(ISO, "AB", (1, 2), strict=True)]


def test_iso_strings_are_times_in_every_source(tmp_path, rows):
    frame = pd.DataFrame(rows)
    sources = [
        rows,
        frame,
        pa.Table.from_pylist(rows),
        {"ts": ISO, "type": ["A", "B"], "x": [1, 2]},
    ]
    (tmp_path / "log.jsonl").write_text(lines(*rows))
    frame.to_csv(tmp_path / "log.csv", index=False)
    sources += [tmp_path / "log.jsonl", tmp_path / "log.csv"]
    for source in sources:
        assert PAIRS.match(source).to_pandas()["x"].tolist() == [1]
    apart = [frame[frame["type"] == kind].drop(columns="type") for kind in "AB"]
    found = PAIRS.match(dict(zip("AB", apart, strict=True)))
    assert found.to_dicts()[0]["end"] == datetime(2024, 3, 1, 9, 30, 0, 500_000)
    (tmp_path / "a.jsonl").write_text(lines(rows[0]))
    (tmp_path / "b.jsonl").write_text(lines(rows[1]))
    assert len(PAIRS.match({"A": tmp_path / "a.jsonl", "B": tmp_path / "b.jsonl"})) == 1
    assert len(PAIRS.match({"A": tmp_path / "a.jsonl", "B": frame[frame["type"] == "B"]})) == 1


def test_a_type_without_events_may_have_a_time_column_of_strings():
    none = pd.DataFrame({"ts": pd.Series([], dtype=str), "x": []})
    events = {"A": none, "B": pd.DataFrame({"ts": ISO, "x": [1, 2]})}
    assert len(cep.query("PATTERN B b WITHIN 1 hour").match(events)) == 2


def test_a_time_that_cannot_be_read_is_named_with_its_table():
    events = {"A": pd.DataFrame({"ts": [ISO[0], "soon"]})}
    with pytest.raises(cep.EventError, match=r"'soon' in row 1 of table 'A'"):
        cep.query("EVENT A").match(events)


@pytest.mark.parametrize(
    ("time_format", "texts"),
    [
        ("%d/%m/%Y %H:%M:%S", ["01/03/2024 09:00:00", "01/03/2024 09:30:01"]),
        ("%d/%m/%Y %H:%M:%S,%f", ["01/03/2024 09:00:00,25", "01/03/2024 09:30:01"]),
        ("%Y%m%d%H%M%S", ["20240301090000", "20240301093001"]),
    ],
)
def test_times_are_parsed_in_a_given_format(tmp_path, time_format, texts):
    file = tmp_path / "log.csv"
    file.write_text('ts;type;x\n"{}";A;1\n"{}";B;2\n'.format(*texts))
    found = PAIRS.match(file, sep=";", time_format=time_format)
    (match,) = found
    assert match.end == datetime(2024, 3, 1, 9, 30, 1)
    assert match.start.microsecond == (250_000 if "%f" in time_format else 0)
    events = {"ts": texts, "type": ["A", "B"], "x": [1, 2]}
    assert len(PAIRS.match(events, time_format=time_format)) == 1


def test_a_wrong_time_format_is_refused():
    events = {"ts": ["01/03/2024", "x"], "type": ["A", "B"], "x": [1, 2]}
    with pytest.raises(cep.EventError, match=r"'x' in row 1 .* not in the format '%d/%m/%Y'"):
        PAIRS.match(events, time_format="%d/%m/%Y")
    with pytest.raises(cep.OptionError, match="must be last"):
        PAIRS.match(events, time_format="%f %d")
    with pytest.raises(cep.OptionError, match="leave time_format out"):
        PAIRS.match({"ts": [datetime(2024, 1, 1)], "type": ["A"]}, time_format="%Y")


def test_the_separator_is_one_character(tmp_path):
    (tmp_path / "log.csv").write_text("ts;type\n1;A\n")
    with pytest.raises(cep.OptionError, match="sep is the one character"):
        PAIRS.match(tmp_path / "log.csv", sep=";;")
    with pytest.raises(cep.EventError, match=r"sep=';' \(--sep ';'\)"):
        PAIRS.match(tmp_path / "log.csv")


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "jsonl.gz"])
def test_several_text_files_are_one_table(tmp_path, rows, suffix):
    for name, row in zip("ab", rows, strict=True):
        file = tmp_path / f"{name}.{suffix}"
        if suffix == "csv":
            pd.DataFrame([row]).to_csv(file, index=False)
        else:
            packed = gzip.compress if suffix.endswith("gz") else bytes
            file.write_bytes(packed(lines(row).encode()))
    for source in (tmp_path, f"{tmp_path}/*.{suffix}", sorted(tmp_path.iterdir())):
        assert PAIRS.match(source).to_pandas()["x"].tolist() == [1]


def test_columns_of_several_csv_files_have_the_types_of_one_file(tmp_path):
    (tmp_path / "a.csv").write_text("ts,code\n1,007\n")
    (tmp_path / "b.csv").write_text("ts,code\n2.5,x\n")
    table = read_source(tmp_path)
    assert table.to_pydict() == {"ts": [1.0, 2.5], "code": ["007", "x"]}


def test_files_of_different_formats_are_not_read_together(tmp_path, rows):
    (tmp_path / "a.csv").write_text("ts,type\n1,A\n")
    (tmp_path / "b.jsonl").write_text(lines(*rows))
    with pytest.raises(cep.EventError, match="CSV and JSON Lines files; read them separately"):
        read_source(tmp_path)


MIXED = [
    {"ts": 1, "type": "A", "x": 1, "note": 5, "extra": {"a": 1}},
    {"ts": 2, "type": "B", "x": 2.5, "note": "late", "extra": [1]},
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("parts", [1, 2])
def test_columns_of_several_types_matter_only_if_the_query_needs_them(tmp_path, parts):
    if parts == 1:
        (tmp_path / "a.jsonl").write_text(lines(*MIXED))
    else:
        for name, row in zip("ab", MIXED, strict=True):
            (tmp_path / f"{name}.jsonl").write_text(lines(row))
    query = cep.query("PATTERN SEQ(A a, B b) WHERE a.x < b.x RETURN b.x AS x")
    assert query.match(tmp_path).to_dicts() == [{"start": 1, "end": 2, "x": 2.5}]


def test_columns_of_several_types_that_are_needed_become_strings(tmp_path):
    (tmp_path / "a.jsonl").write_text(lines(*MIXED))
    with (
        pytest.warns(cep.CepheidWarning, match="'note' of .* has integers and strings"),
        pytest.warns(cep.CepheidWarning, match="'extra' of .* has objects and lists"),
    ):
        found = cep.query("PATTERN B b WHERE b.note = 'late'").match(tmp_path / "a.jsonl")
    assert found[0].values["b"]["extra"] == "[1]"


def test_times_of_the_latest_column_are_parsed_too():
    events = {"low": ["01/03/2024"], "high": ["02/03/2024"], "type": ["A"]}
    read = ReadOptions.of({"time": ("low", "high"), "time_format": "%d/%m/%Y"})
    assert order_events(events, read).table["high"][0].as_py() == datetime(2024, 3, 2)


@pytest.mark.parametrize("source", ["events.jsonl", "events.parquet", "table", "frames"])
def test_a_separator_is_for_csv_files_only(tmp_path, source):
    events = {"ts": [1], "type": ["A"]}
    given = {"table": events, "frames": {"A": [{"ts": 1}], "B": [{"ts": 2}]}}.get(source)
    if given is None:
        given = tmp_path / source
        given.write_text('{"ts": 1, "type": "A"}\n')
    with pytest.raises(cep.OptionError, match="sep=';' is the character between the columns"):
        PAIRS.match(given, sep=";")
