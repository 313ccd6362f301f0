"""Events from one topic of Kafka, matches to another, with a real broker on this machine.

``make test-kafka`` fetches the broker and Spark's connector with Maven, and runs this. Without
CEPHEID_KAFKA, the folder that they are in, it is not run.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

import pyarrow as pa
import pytest

import cepheid as cep

JARS = os.environ.get("CEPHEID_KAFKA")
QUERY = (
    "PATTERN SEQ(A a, B b) WHERE [id] AND a.x < b.x WITHIN 10 seconds RETURN a.id AS id, b.x AS x"
)
COLUMNS = "ts timestamp, type string, id long, x long"
PATIENCE_SECONDS = 600

pytestmark = pytest.mark.skipif(
    not JARS, reason="make test-kafka fetches a broker, and sets CEPHEID_KAFKA to where it is"
)


@contextmanager
def ended(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    """A process that is gone in the end, with all that it started."""
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[str]:
    """The address of a broker that is its own controller."""
    ports = []
    for _ in range(2):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            ports.append(probe.getsockname()[1])
    address = f"127.0.0.1:{ports[0]}"
    properties = tmp_path / "server.properties"
    properties.write_text(
        f"""
        process.roles=broker,controller
        node.id=1
        controller.quorum.voters=1@127.0.0.1:{ports[1]}
        listeners=PLAINTEXT://{address},CONTROLLER://127.0.0.1:{ports[1]}
        advertised.listeners=PLAINTEXT://{address}
        controller.listener.names=CONTROLLER
        log.dirs={tmp_path / "broker"}
        offsets.topic.replication.factor=1
        transaction.state.log.replication.factor=1
        transaction.state.log.min.isr=1
        num.partitions=2
        """
    )
    java = ["java", "-Xmx512m", "-cp", f"{JARS}/broker/*"]
    cluster = "4L6g3nShT-eMCtK--X86sw"
    format_ = ["kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(properties)]
    subprocess.run([*java, *format_], check=True, capture_output=True, timeout=PATIENCE_SECONDS)
    with (tmp_path / "broker.log").open("w") as log:
        process = subprocess.Popen(
            [*java, "kafka.Kafka", str(properties)],
            stdout=log,
            stderr=log,
            text=True,
            start_new_session=True,
        )
        with ended(process):
            until = monotonic() + PATIENCE_SECONDS
            while not _answers(ports[0]):
                assert process.poll() is None, (tmp_path / "broker.log").read_text()[-2_000:]
                assert monotonic() < until
                sleep(0.2)
            yield address


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def events() -> pa.Table:
    rows = [(second, "AB"[second % 2], second % 3, second * 7 % 10) for second in range(60)]
    seconds, types, ids, xs = zip(*rows, strict=True)
    times = [(1_704_067_200 + second) * 1_000_000 for second in seconds]
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "type": types,
            "id": pa.array(ids, pa.int64()),
            "x": pa.array(xs, pa.int64()),
        }
    )


def test_events_come_from_a_topic_and_matches_go_to_one(broker: str, tmp_path: Path) -> None:
    """The command is started twice: what it has read and written once it does not again."""
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F  # noqa: N812

    os.environ["PYSPARK_PYTHON"] = sys.executable
    jars = ",".join(map(str, sorted(Path(str(JARS), "connector").glob("*.jar"))))
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", jars)
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    table = events()
    end = table.slice(0, 1).set_column(
        0, "ts", pa.array([1_704_070_800_000_000], pa.timestamp("us", "UTC"))
    )
    said = []
    try:
        for part in (table.slice(0, 30), pa.concat_tables([table.slice(30), end])):
            frame = spark.createDataFrame(part)
            (
                frame.select(F.to_json(F.struct("*")).alias("value"))
                .write.format("kafka")
                .option("kafka.bootstrap.servers", broker)
                .option("topic", "readings")
                .save()
            )
            said.append(_stream(broker, jars, tmp_path))
        found = (
            spark.read.format("kafka")
            .option("kafka.bootstrap.servers", broker)
            .option("subscribe", "rises")
            .load()
            .selectExpr("cast(key as string) key", "cast(value as string) value")
            .collect()
        )
    finally:
        spark.stop()
    rows = [json.loads(row["value"]) for row in found]
    expected = cep.query(QUERY).match(table).to_arrow().to_pylist()
    assert sorted((row["id"], row["x"]) for row in rows) == sorted(
        (row["id"], row["x"]) for row in expected
    )
    assert len({row["key"] for row in found}) == len(found) == len(expected) > 10
    assert "30 events" in said[0]
    assert "31 events" in said[1]


def _stream(broker: str, jars: str, folder: Path) -> str:
    """Run ``cepheid stream`` over what is there; what it says."""
    command = [
        *(sys.executable, "-W", "ignore", "-c", "from cepheid.cli import main; main()", "stream"),
        *("-q", QUERY, f"kafka://{broker}/readings", "-o", f"kafka://{broker}/rises"),
        *("--columns", COLUMNS, "--lateness", "0 seconds", "--once"),
        *("--checkpoint", str(folder / "checkpoint"), "--spark", "local[2]"),
        *("--conf", f"spark.jars={jars}", "--conf", "spark.sql.shuffle.partitions=2"),
        *("--conf", "spark.driver.bindAddress=127.0.0.1", "--conf", "spark.driver.host=127.0.0.1"),
    ]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    with ended(process):
        said, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0, said[-3_000:]
    return said
