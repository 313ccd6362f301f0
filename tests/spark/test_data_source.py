"""The format ``cepheid``: matches over Parquet files as a source of Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from spark.rows import local_rows, spark_rows

import cepheid as cep
from cepheid.spark import fault_of, register_source
from cepheid.spark.files.data_source import MatchSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERY = "PATTERN SEQ(A a, B b) WHERE [id] AND a.x < b.x WITHIN 30 RETURN a.x AS low, b.x AS high"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files of events in time order, in several row groups."""
    for number in range(2):
        rows = range(500 * number, 500 * number + 500)
        table = pa.table(
            {
                "ts": pa.array(rows, pa.int64()),
                "type": ["AB"[row * 7 % 2] for row in rows],
                "id": [row % 5 for row in rows],
                "x": [row * 11 % 13 for row in rows],
            }
        )
        pq.write_table(table, tmp_path / f"{number}.parquet", row_group_size=100)
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "_temporary").mkdir()
    (tmp_path / "_temporary" / "part.parquet").write_text("of a writer that has failed")
    return tmp_path


def test_the_slices_have_the_matches_of_a_local_run(folder: Path) -> None:
    source = MatchSource({"path": str(folder), "query": QUERY, "slices": "4"})
    reader = source.reader(source.schema())
    parts = reader.partitions()
    assert len(parts) == 4
    found = pa.Table.from_batches([batch for part in parts for batch in reader.read(part)])
    assert found.schema == to_arrow_schema(source.schema(), timezone="UTC")  # as Spark compares
    assert local_rows(found) == local_rows(
        cep.query(QUERY).match(str(folder / "*.parquet")).to_arrow()
    )


def test_matches_are_read_like_a_table(spark: SparkSession, folder: Path) -> None:
    register_source(spark)
    expected = local_rows(cep.query(QUERY).match(str(folder / "*.parquet")).to_arrow())
    reader = spark.read.format("cepheid").option("query", QUERY)
    found = reader.option("slices", 4).load(str(folder))
    assert spark_rows(found) == expected
    assert found.rdd.getNumPartitions() == 4
    with_ids = reader.option("match_id", "true").load(str(folder))
    assert with_ids.select("match_id").distinct().count() == sum(expected.values())
    spark.sql(
        f"CREATE TEMPORARY VIEW rises USING cepheid OPTIONS (path '{folder}', query '{QUERY}')"
    )
    assert spark.sql("SELECT count(*) FROM rises").first() == (sum(expected.values()),)
    with pytest.raises(Exception, match="needs the option 'query'") as raised:
        spark.read.format("cepheid").load(str(folder))
    assert str(fault_of(raised.value)) == "the format 'cepheid' needs the option 'query'"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"qurey": QUERY}, "has no option 'qurey'; it has"),
        ({"query": QUERY.replace("WITHIN 30", "")}, "the query has no window"),
        ({"query": QUERY, "match_id": "yes"}, "match_id is 'true' or 'false', not 'yes'"),
        ({"query": QUERY, "slices": "many"}, "slices is a positive integer, not 'many'"),
        ({"query": QUERY, "path": "/nowhere/at/all"}, "there are no files in"),
    ],
)
def test_what_cannot_be_is_refused(folder: Path, options: dict[str, str], message: str) -> None:
    source = MatchSource({"path": str(folder), **options})
    with pytest.raises(cep.OptionError, match=message):
        source.reader(source.schema())


@pytest.mark.parametrize("name", ["a b", "%41"])
def test_a_path_may_need_quotes_in_a_uri(folder: Path, name: str) -> None:
    moved = folder.rename(folder.with_name(name))
    source = MatchSource({"path": str(moved), "query": QUERY, "slices": "1"})
    reader = source.reader(source.schema())
    (part,) = reader.partitions()
    assert sum(len(batch) for batch in reader.read(part)) > 0


def test_a_file_that_is_not_parquet_is_named(folder: Path) -> None:
    (folder / "zebra.csv").write_text("ts,type")
    source = MatchSource({"path": str(folder), "query": QUERY})
    with pytest.raises(cep.OptionError, match=r"cannot read 'file://.*/zebra.csv': Parquet"):
        source.reader(source.schema())
