"""Queries over tables of Delta Lake and Apache Iceberg, and streams from and to them.

``make test-tables`` fetches both with Maven, and runs this with a version of Spark for which they
exist. Without CEPHEID_TABLES, the folder that they are in, it is not run.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import cepheid as cep

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

JARS = os.environ.get("CEPHEID_TABLES")
FORMATS = ("delta", "iceberg")
QUERY = (
    "PATTERN SEQ(A a, B b) WHERE [id] AND a.x < b.x WITHIN 10 seconds RETURN a.id AS id, b.x AS x"
)
KILLS = 1
PATIENCE_SECONDS = 600

pytestmark = [
    pytest.mark.skipif(
        not JARS, reason="make test-tables fetches Delta and Iceberg, and sets CEPHEID_TABLES"
    ),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]


def settings(folder: Path) -> dict[str, str]:
    """What both formats ask for; the tables are in a folder."""
    extensions = (
        "io.delta.sql.DeltaSparkSessionExtension",
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    )
    jars = [*Path(str(JARS)).glob("*.jar")]
    needed = [str(jar) for jar in jars if jar.name.startswith(("delta", "iceberg", "unity"))]
    return {
        "spark.jars": ",".join(needed),
        "spark.sql.extensions": ",".join(extensions),
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": str(folder / "ice"),
        "spark.sql.warehouse.dir": str(folder / "delta"),
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.adaptive.enabled": "false",
    }


def session(folder: Path) -> SparkSession:
    """A session with both formats."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings(folder).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    spark.sql("CREATE NAMESPACE IF NOT EXISTS ice.db")
    return spark


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    spark = session(tmp_path_factory.mktemp("tables"))
    yield spark
    spark.stop()


def name_of(format: str, table: str) -> str:
    return f"ice.db.{table}" if format == "iceberg" else f"default.{table}"


def events(spark: SparkSession, low: int, high: int) -> DataFrame:
    """Events of a range of seconds."""
    return spark.range(low, high).selectExpr(
        "timestamp_seconds(1704067200 + id) AS ts",
        "if(id % 2 = 0, 'A', 'B') AS type",
        "id % 3 AS id",
        "id * 7 % 10 AS x",
    )


def rows(frame: DataFrame) -> list[Any]:
    return values(frame.toArrow())


def local(frame: DataFrame) -> list[Any]:
    """The matches of a local run over the rows that Spark reads."""
    return values(cep.query(QUERY).match(frame.toArrow()).to_arrow())


def values(matches: pa.Table) -> list[Any]:
    found = matches.to_pylist()
    return sorted((each["start"], each["end"], each["id"], each["x"]) for each in found)


@pytest.mark.parametrize("format", FORMATS)
def test_deleted_rows_and_older_versions_are_those_of_the_table(
    spark: SparkSession, format: str
) -> None:
    """Deleted rows are still in the Parquet files, which workers must not read directly."""
    from pyspark.sql import functions as F  # noqa: N812

    table = name_of(format, "deleted")
    options = {"delta": "'delta.enableDeletionVectors'='true'"}
    options["iceberg"] = "'format-version'='2', 'write.delete.mode'='merge-on-read'"
    spark.sql(f"DROP TABLE IF EXISTS {table}")
    spark.sql(
        f"CREATE TABLE {table} (ts timestamp, type string, id bigint, x bigint) USING {format} "
        f"TBLPROPERTIES ({options[format]})"
    )
    events(spark, 0, 300).coalesce(1).sortWithinPartitions("ts").writeTo(table).append()
    whole = spark.table(table)
    query = cep.query(QUERY)
    before = rows(query.match(whole))
    assert before == local(whole)
    version = 1
    if format == "iceberg":
        newest = spark.table(f"{table}.snapshots").orderBy(F.desc("committed_at")).first()
        assert newest is not None
        version = newest["snapshot_id"]
    spark.sql(f"DELETE FROM {table} WHERE x = 7")
    fewer = spark.table(table)
    assert fewer.count() < 300
    after = rows(query.match(fewer))
    assert after == local(fewer)
    assert len(after) < len(before)
    older = spark.sql(f"SELECT * FROM {table} VERSION AS OF {version}")
    assert rows(query.match(older)) == before
    assert rows(query.match(fewer, reduce=True)) == after
    for frame in (fewer, older):
        plan = query.match(frame)._jdf.queryExecution().executedPlan().toString()
        assert "Scan" in plan  # Spark reads the table: no worker reads its files


@pytest.mark.parametrize("format", FORMATS)
def test_a_killed_stream_between_tables_writes_each_match_once(
    spark: SparkSession, format: str, tmp_path: Path
) -> None:
    """Another process streams from table to table, merging by match_id; it is killed on the way."""
    source, target = name_of(format, "source"), name_of(format, "found")
    folder = Path(spark.conf.get("spark.sql.warehouse.dir").removeprefix("file:")).parent
    spark.sql(f"DROP TABLE IF EXISTS {source}")
    spark.sql(f"DROP TABLE IF EXISTS {target}")
    spark.sql(
        f"CREATE TABLE {source} (ts timestamp, type string, id bigint, x bigint) USING {format}"
    )
    spark.sql(
        f"CREATE TABLE {target} (start timestamp, end timestamp, id bigint, x bigint, "
        f"match_id string) USING {format}"
    )
    for low in range(0, 160, 40):
        events(spark, low, low + 40).coalesce(1).writeTo(source).append()
    paths = [location(spark, table) for table in (source, target)]
    command = [sys.executable, __file__, str(folder), format, *paths, str(tmp_path / "checkpoint")]
    generator = random.Random(3)
    for kill in range(KILLS + 1):
        with (tmp_path / "said").open("a") as said:
            running = subprocess.Popen(command, stdout=said, stderr=said, start_new_session=True)
        until = monotonic() + PATIENCE_SECONDS
        batches = tmp_path / "checkpoint" / "commits"
        seen = len(list(batches.glob("*"))) if batches.exists() else 0
        try:
            while running.poll() is None and monotonic() < until:
                done = len(list(batches.glob("*"))) if batches.exists() else 0
                if kill < KILLS and done > seen:
                    sleep(generator.random())
                    break
                sleep(0.1)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
            running.wait()
    assert running.returncode == 0, (tmp_path / "said").read_text()[-3_000:]
    found = spark.read.format(format).load(paths[1])
    assert found.select("match_id").distinct().count() == found.count() > 10
    assert rows(found) == local(spark.read.format(format).load(paths[0]))


def location(spark: SparkSession, table: str) -> str:
    """The folder of a table."""
    described = spark.sql(f"DESCRIBE EXTENDED {table}").collect()
    place: str = next(row[1] for row in described if row[0] == "Location")
    return place.removeprefix("file:")


def stream(folder: str, format: str, source: str, target: str, checkpoint: str) -> None:
    """Stream from one table to another, in a process of its own."""
    spark = session(Path(folder))
    limits = {"delta": "maxFilesPerTrigger", "iceberg": "streaming-max-files-per-micro-batch"}
    reader = spark.readStream.format(format).option(limits[format], 1)
    matches = cep.query(QUERY).match(reader.load(source), lateness="0 seconds")

    def merge(batch: DataFrame, _: int) -> None:
        name = f"delta.`{target}`" if format == "delta" else name_of(format, "found")
        batch.createOrReplaceTempView("fresh")
        batch.sparkSession.sql(
            f"MERGE INTO {name} AS old USING fresh AS new ON old.match_id = new.match_id "
            "WHEN NOT MATCHED THEN INSERT *"
        )

    from cepheid.spark import start

    start(matches, checkpoint, merge, trigger={"availableNow": True}).awaitTermination()
    spark.stop()


if __name__ == "__main__":
    stream(*sys.argv[1:])
