"""What becomes of a stream whose processes are killed: nothing is missing, nothing is doubled.

``python -m benchmarks.stream_faults --kills 12`` streams files to Parquet in a process of its own,
and kills that and its Java machine with SIGKILL at random points, as often as said; each time the
same program is started again with the same checkpoint. ``--executors`` kills executors of a
cluster of two workers on this machine instead, and the driver goes on. In the end the ids of the
matches that the stream wrote are compared with those of a batch run over all the files.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SCHEMA = "ts timestamp, type string, id long, x long"
QUERY = """
    PATTERN SEQ(A a, B b, ~(C c))
    WHERE [id] AND a.x < b.x
    WITHIN 20 seconds
"""
CLAUSE = """MATCH_RECOGNIZE (
    PARTITION BY id ORDER BY ts
    MEASURES FIRST(ts) AS since, LAST(B.x) AS x
    PATTERN (A B+) WITHIN INTERVAL '20' SECOND
    DEFINE A AS type = 'A', B AS type <> 'A'
)"""
START_US = 1_704_067_200_000_000
LATENESS = "5 seconds"
PATIENCE_SECONDS = 600


def write_files(folder: Path, files: int, events: int = 400, keys: int = 12) -> None:
    """Files of events that come up to five seconds late, and one that ends all windows."""
    generator = np.random.default_rng(11)
    folder.mkdir(parents=True)
    times = np.sort(generator.integers(0, 10 * files, files * events)) * 1_000_000 + START_US
    arrival = np.argsort(times + generator.integers(0, 5_000_000, len(times)), kind="stable")
    table = pa.table(
        {
            "ts": pa.array(times[arrival], pa.timestamp("us", "UTC")),
            "type": pa.array(["A", "B", "C", "D"]).take(
                pa.array(generator.integers(0, 4, len(times)))
            ),
            "id": generator.integers(0, keys, len(times)),
            "x": generator.integers(0, 100, len(times)),
        }
    )
    last = table.slice(0, 1).set_column(
        0, "ts", pa.array([int(times[-1]) + 10**10], pa.timestamp("us", "UTC"))
    )
    for number in range(files + 1):
        path = folder / f"{number:05}.parquet"
        pq.write_table(last if number == files else table.slice(number * events, events), path)
        os.utime(path, (1e9 + number, 1e9 + number))


def session(master: str) -> Any:
    """A Spark session whose executors find this package."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master)
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "1g",
        "spark.executor.cores": "1",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(sys.path),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def run(folder: Path, master: str) -> None:
    """Stream all files to the end, then write down what is in the output and what should be."""
    import cepheid as cep
    from cepheid.tuning import tuned

    spark = session(master)
    rules = folder / "rules.json"
    if rules.exists():
        expected = _run_rules(spark, folder, json.loads(rules.read_text()))
    else:
        query = cep.query((folder / "query").read_text())
        with tuned(logged_bucket_bytes=0):  # What is done with large buckets is done with these.
            matches = query.match(_events(spark, folder), lateness=LATENESS)
        _write(matches, folder, "")
        whole = query.match(spark.read.parquet(str(folder / "events")), match_id=True)
        expected = [row.match_id for row in whole.collect()]
    found = [row.match_id for row in spark.read.parquet(str(folder / "matches")).collect()]
    spark.stop()
    outcome = folder / "outcome.part"
    outcome.write_text(json.dumps({"found": found, "expected": expected}))
    outcome.rename(folder / "outcome.json")


def _run_rules(spark: Any, folder: Path, given: dict[str, str]) -> list[str]:
    """Stream rules, which change on the way; then again without faults, for what should be."""
    import cepheid as cep
    from cepheid.tuning import tuned

    for suffix in ("", ".expected"):
        changes = spark.readStream.option("maxFilesPerTrigger", 1).text(str(folder / "changes"))
        with tuned(logged_bucket_bytes=0):
            alerts = cep.rules(given).match(
                _events(spark, folder), changes=changes, keys=["id", "type", []], lateness=LATENESS
            )
        _write(alerts, folder, suffix)
    return [row.match_id for row in spark.read.parquet(str(folder / "matches.expected")).collect()]


def _events(spark: Any, folder: Path) -> Any:
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder / "events"))


def _write(matches: Any, folder: Path, suffix: str) -> None:
    """Stream all that is there to a folder of Parquet files."""
    (
        matches.writeStream.format("parquet")
        .option("path", str(folder / f"matches{suffix}"))
        .option("checkpointLocation", str(folder / f"checkpoint{suffix}"))
        .trigger(availableNow=True)
        .start()
        .awaitTermination()
    )


@dataclass(frozen=True)
class Outcome:
    """How a stream with faults ended: all counts are of matches."""

    kills: int
    expected: int
    found: int
    missing: int
    wrong: int
    doubled: int
    written_again: int
    """Found in files of an attempt that was killed, which a reader of the sink does not see."""

    @property
    def is_right(self) -> bool:
        """Whether every match is there once, and nothing else."""
        return not (self.missing or self.wrong or self.doubled)


def outcome(folder: Path, kills: int) -> Outcome:
    """What is in the output of a stream that has come to its end."""
    ids = json.loads((folder / "outcome.json").read_text())
    found, expected = ids["found"], set(ids["expected"])
    written = sum(map(_rows, (folder / "matches").glob("*.parquet")))
    return Outcome(
        kills,
        len(expected),
        len(found),
        len(expected - set(found)),
        len(set(found) - expected),
        len(found) - len(set(found)),
        written - len(found),
    )


def _rows(path: Path) -> int:
    """How many rows a file has; none where its writer was killed in the middle."""
    try:
        return int(pq.read_metadata(path).num_rows)
    except pa.ArrowInvalid:
        return 0


@contextmanager
def program(folder: Path, master: str) -> Iterator[subprocess.Popen[bytes]]:
    """The program that streams, in a session of its own, which is gone in the end."""
    arguments = [sys.executable, "-W", "ignore", "-m", __spec__.name]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            [*arguments, "--run", str(folder), "--master", master],
            stdout=log,
            stderr=log,
            start_new_session=True,
            env=environment,
        )
        try:
            yield process
        finally:
            _kill_group(process)


def kill_drivers(folder: Path, kills: int, generator: random.Random) -> Outcome:
    """Kill the program at random points and start it again, until it comes to its end."""
    done = 0
    while True:
        before = _progress(folder)
        with program(folder, "local[2]") as process:
            if done == kills:
                if process.wait(PATIENCE_SECONDS):
                    raise RuntimeError(_tail(folder))
                return outcome(folder, done)
            _wait_for_progress(folder, before, process)
            sleep(generator.uniform(0, 3))
            if process.poll() is not None:
                if process.returncode:
                    raise RuntimeError(_tail(folder))
                return outcome(folder, done)
        done += 1


def kill_executors(folder: Path, kills: int, generator: random.Random) -> Outcome:
    """Kill executors of a cluster at random points, while the driver goes on."""
    done = 0
    with cluster(folder) as (master, workers), program(folder, master) as process:
        before = 0
        while process.poll() is None and done < kills:
            _wait_for_progress(folder, before, process)
            sleep(generator.uniform(0, 2))
            executors = [pid for worker in workers for pid in _executors(worker)]
            if executors and process.poll() is None:
                os.kill(generator.choice(executors), signal.SIGKILL)
                done += 1
            before = _progress(folder) + 1
        if process.wait(PATIENCE_SECONDS):
            raise RuntimeError(_tail(folder))
        return outcome(folder, done)


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, list[int]]]:
    """A standalone master and two workers on this machine: its address, and their processes."""
    import pyspark

    home = Path(pyspark.__file__).parent
    launcher = str(home / "bin" / "spark-class")
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
    environment["SPARK_NO_DAEMONIZE"] = "1"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"spark://127.0.0.1:{port}"
    master = ["master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
    worker = ["worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "1500m"]
    worker += ["--webui-port", "0", address]
    started: list[subprocess.Popen[bytes]] = []
    try:
        for number, (role, *arguments) in enumerate([master, worker, worker]):
            own = folder / f"node{number}"
            own.mkdir()
            if role.startswith("worker"):
                arguments = ["--work-dir", str(own), *arguments]
            with (own / "log").open("ab") as log:
                started.append(
                    subprocess.Popen(
                        [launcher, f"org.apache.spark.deploy.{role}", *arguments],
                        stdout=log,
                        stderr=log,
                        start_new_session=True,
                        env=environment,
                    )
                )
            sleep(2)
        yield address, [process.pid for process in started[1:]]
    finally:
        for process in reversed(started):
            for pid in _executors(process.pid):
                _kill(pid)
            _kill_group(process)


def _executors(worker: int) -> list[int]:
    """The executors that a worker has started."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rsplit(")", 1)[1].split()[1])
            command = (path / "cmdline").read_bytes()
        except OSError:
            continue
        if parent == worker and b"CoarseGrainedExecutorBackend" in command:
            found.append(int(path.name))
    return found


def _progress(folder: Path) -> int:
    """How many micro-batches have begun."""
    offsets = folder / "checkpoint" / "offsets"
    return len(list(offsets.glob("[0-9]*"))) if offsets.is_dir() else 0


def _wait_for_progress(folder: Path, before: int, process: subprocess.Popen[bytes]) -> None:
    until = monotonic() + PATIENCE_SECONDS
    while _progress(folder) <= before and process.poll() is None:
        if monotonic() > until:
            raise RuntimeError(f"no progress in {PATIENCE_SECONDS} seconds\n{_tail(folder)}")
        sleep(0.05)


def _tail(folder: Path) -> str:
    return (folder / "log").read_text(errors="replace")[-3_000:]


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the campaign, or the program that is killed in it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=12)
    parser.add_argument("--files", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--executors", action="store_true")
    parser.add_argument("--rows", action="store_true", help="a MATCH_RECOGNIZE clause")
    parser.add_argument("--run", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--master", help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.run:
        run(chosen.run, chosen.master)
        return
    generator = random.Random(chosen.seed)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_files(folder / "events", chosen.files)
        (folder / "query").write_text(CLAUSE if chosen.rows else QUERY)
        faulty = kill_executors if chosen.executors else kill_drivers
        result = faulty(folder, chosen.kills, generator)
    print(result)
    sys.exit(not result.is_right)


if __name__ == "__main__":
    main()
