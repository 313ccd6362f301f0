"""Of Parquet files only the columns are read that a query needs, and answers stay the same."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cepheid as cep
from cepheid.errors import EventError, QueryError
from cepheid.events.sources.tables import read_columns

EVENTS = pa.table(
    {
        "ts": [3, 1, 2, 4],
        "type": ["B", "A", "B", "B"],
        "id": [7, 7, 8, 7],
        "x": [1.5, None, 2.5, 3.5],
        "x.y": ["p", "q", "r", "s"],
        "parts": pa.array([[1], [], None, [2, 3]], pa.list_(pa.field("element", pa.int64()))),
    }
)
QUERIES = (
    "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 10",
    "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 10 RETURN b.x AS x",
    "PATTERN SEQ(A a, ~(B c), B b) WHERE c.x > 3 AND b.id = a.id WITHIN 10 RETURN b.ts AS at",
    "PATTERN SEQ(A a, B+ b[]) WHERE b[i].id = a.id WITHIN 10 RETURN b[].x AS all, a",
)


@pytest.fixture(params=["file", "directory", "glob"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    pq.write_table(EVENTS, tmp_path / "events.parquet", row_group_size=2)
    names = {"file": "events.parquet", "directory": ".", "glob": "*.parquet"}
    return str(tmp_path / names[request.param])


@pytest.mark.parametrize("text", QUERIES)
def test_answers_are_those_over_all_columns(text: str, path: str) -> None:
    query = cep.query(text)
    expected = query.match(EVENTS)
    found = query.match(path)
    assert found.bindings() == expected.bindings()
    assert found.to_arrow().equals(expected.to_arrow())
    assert found.schema == expected.schema
    assert query.count(path) == len(expected)
    streamed = pa.Table.from_batches(query.match_stream(path).to_batches())
    assert streamed.equals(expected.to_arrow().combine_chunks())


def test_only_needed_columns_are_read(path: str) -> None:
    table, columns = read_columns(path, lambda names: [name for name in names if name == "x"])
    assert table.equals(EVENTS.select(["x"]))
    assert columns == EVENTS.schema


def test_a_mapping_of_types_has_only_needed_columns(tmp_path: Path) -> None:
    tables = {"A": EVENTS.select(["ts", "id", "x"]), "B": EVENTS.select(["ts", "id", "parts"])}
    for name, table in tables.items():
        pq.write_table(table, tmp_path / f"{name}.parquet")
    paths = {name: str(tmp_path / f"{name}.parquet") for name in tables}
    for text in QUERIES[:2]:
        query = cep.query(text.replace("b.x", "a.x"))
        assert query.match(paths).to_arrow().equals(query.match(tables).to_arrow())


def test_whole_events_are_read_when_asked_for(path: str) -> None:
    query = cep.query(QUERIES[1])
    whole = query.match(path, whole_events=True).with_events().to_arrow()
    assert whole.equals(query.match(EVENTS).with_events().to_arrow())
    few = query.match(path, whole_events=False).with_events().to_arrow()
    assert [field.name for field in few.schema.field("a").type] == ["ts", "type", "id", "x"]


@pytest.mark.parametrize(
    ("text", "keywords"),
    [
        ("PATTERN SEQ(A a, B b) WHERE [idd] WITHIN 10 RETURN b.x", {}),
        ("PATTERN SEQ(A a, B b) WHERE a.parts = 1 WITHIN 10 RETURN b.x", {}),
        ("PATTERN SEQ(A a, B b) WITHIN 10 RETURN b.x", {"time": "when"}),
        ("PATTERN SEQ(A a, B b) WITHIN 10 RETURN b.x", {"tie_break": "pats"}),
        ("PATTERN SEQ(A a, B b) WITHIN 10 RETURN b.x", {"schema": {"A": {"parts": "string"}}}),
    ],
)
def test_mistakes_are_told_as_over_all_columns(
    text: str, keywords: dict[str, object], path: str
) -> None:
    query = cep.query(text)
    with pytest.raises((EventError, QueryError)) as expected:
        query.match(EVENTS, **keywords)
    with pytest.raises(type(expected.value)) as found:
        query.match(path, **keywords)
    assert str(found.value) == str(expected.value)
