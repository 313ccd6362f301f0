"""How long a stream in Spark takes to answer a single event, beside streams that do less.

``python -m benchmarks.spark_latency [--events 20]`` writes one event at a time to a folder, and
waits until the sink has it. Four streams read such folders: one that passes events on, one with a
bare stateful operator, and a query with ``lateness="0 seconds"`` and with ``in_order=True``. They
run one after another in one session, and what else the machine does slows all of them down:
compare the ratios. ``end to end`` is the time from the file to the sink, ``trigger`` the time of a
micro-batch with data; both are medians without the first five events.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from time import monotonic, sleep
from typing import Any

from benchmarks.timing import print_table, write_results

SCHEMA = "ts timestamp, type string, id long"
QUERY = "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 1 hour RETURN b.id AS id"
START = datetime(2024, 1, 1, tzinfo=UTC)
CORES = 2
COLD = 5
"""The first events, which warm the workers up, are not counted."""
MOST_SECONDS = 120

Way = Callable[[Any], Any]


def passed_on(events: Any) -> Any:
    """Nothing but the source and the sink."""
    return events.where("type = 'B'").select("id")


def bare_operator(events: Any) -> Any:
    """A stateful operator that counts."""
    from pyspark.sql import Row
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    class Counting(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.count = handle.getValueState("count", "n long")

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: ARG002, N802, N803
            before = self.count.get()
            types = [row.type for row in rows]
            self.count.update(((before[0] if before else 0) + len(types),))
            if "B" in types:
                yield Row(id=key[0])

        def close(self) -> None:
            pass

    return events.groupBy("id").transformWithState(Counting(), "id long", "Append", "None")


def with_query(**keywords: Any) -> Way:
    """The matches of a query."""
    import cepheid as cep

    return lambda events: cep.query(QUERY).match(events, **keywords)


WAYS: dict[str, Callable[[], Way]] = {
    "source and sink": lambda: passed_on,
    "bare operator": lambda: bare_operator,
    "query, lateness 0": lambda: with_query(lateness="0 seconds"),
    "query, in order": lambda: with_query(in_order=True),
}


def measure(spark: Any, way: Way, folder: Path, events: int) -> dict[str, float]:
    """Milliseconds from a file to the sink, and of a micro-batch, in the median."""
    incoming, beside = folder / "events", folder / "beside"
    incoming.mkdir(parents=True)
    beside.mkdir()
    came = Event()

    def sink(batch: Any, _: int) -> None:
        if batch.collect():
            came.set()

    running = (
        way(spark.readStream.schema(SCHEMA).json(str(incoming)))
        .writeStream.foreachBatch(sink)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .start()
    )
    seconds = []
    try:
        # Each event after the first, an A of the key, ends a match.
        for number in range(events + 1):
            row = {
                "ts": (START + timedelta(seconds=number)).isoformat(),
                "type": "B" if number else "A",
                "id": 1,
            }
            (beside / f"{number}.json").write_text(json.dumps(row))
            came.clear()
            begun = monotonic()
            (beside / f"{number}.json").rename(incoming / f"{number}.json")
            if not number:
                running.processAllAvailable()
                continue
            if not came.wait(MOST_SECONDS):
                raise TimeoutError(f"event {number} was not answered")
            seconds.append(monotonic() - begun)
            sleep(0.7)  # until the micro-batch, and an empty one after it, are done
        triggers = [
            each.durationMs["triggerExecution"]
            for each in running.recentProgress
            if each.numInputRows
        ]
    finally:
        running.stop()
    return {
        "end_to_end_ms": 1_000 * statistics.median(seconds[COLD:]),
        "trigger_ms": statistics.median(triggers[COLD + 1 :]),
    }


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=20)
    parser.add_argument("--output", type=Path, default=Path("build/benchmarks"))
    given = parser.parse_args()

    from benchmarks.spark_streaming import session

    spark = session(CORES)
    spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "true")
    spark.conf.set("spark.sql.streaming.pollingDelay", "10ms")
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, make) in enumerate(WAYS.items()):
            found[name] = measure(spark, make(), Path(folder) / str(number), given.events + COLD)
    spark.stop()
    plain, bare = found["source and sink"], found["bare operator"]
    rows = [
        {
            "stream": name,
            **{unit: round(value) for unit, value in each.items()},
            "end to end / source and sink": round(
                each["end_to_end_ms"] / plain["end_to_end_ms"], 2
            ),
            "trigger / bare operator": round(each["trigger_ms"] / bare["trigger_ms"], 2),
        }
        for name, each in found.items()
    ]
    print_table("Milliseconds to answer one event", rows)
    write_results(given.output, "spark_latency", rows, {"events": given.events, "cores": CORES})


if __name__ == "__main__":
    main()
