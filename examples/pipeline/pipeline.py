"""Alerts from card events: a stream, the backfill of a past period, and a report.

python pipeline.py demo                         # generate events, and run all that follows
spark-submit pipeline.py stream --config prod.toml
spark-submit pipeline.py backfill 2024-05-01 2024-06-01 --config prod.toml
python pipeline.py report
"""

from __future__ import annotations

import argparse
import os
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used
from pyspark.sql.streaming.query import StreamingQuery

sys.path.insert(0, str(Path(__file__).parent))  # spark-submit --py-files card_events.py,… elsewhere

import card_events
import card_report
from card_generator import generate

import cepheid as cep
import cepheid.spark

TIES = "event_id"
"""The column that orders events of equal time."""


@dataclass(frozen=True)
class Pipeline:
    """The pipeline of a configuration."""

    spark: SparkSession
    config: dict[str, Any]
    home: Path

    @classmethod
    def of(cls, path: Path, spark: SparkSession | None = None) -> Pipeline:
        """The pipeline of a file; with a session that exists, or one of its settings."""
        config = tomllib.loads(path.read_text())
        if spark is None:
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            builder = SparkSession.builder.appName("card alerts")
            for name, value in config["spark"].items():
                builder = builder.config(name, value)
            spark = builder.getOrCreate()
        return cls(spark, config, path.parent.resolve())

    def place(self, name: str) -> str:
        """A folder or a file of the configuration."""
        given: str = self.config["folders"][name]
        return given if "://" in given else str(self.home / given)

    @property
    def rules(self) -> cep.RuleSet:
        """The rules: one file each."""
        return cep.rules(self.place("rules"))

    def lines(self, reader: Any) -> DataFrame:
        """The raw lines, with the reason why one is no event. ``reader`` is a stream's or not."""
        raw = reader.text(self.place("raw"))
        known = raw.select("value", F.col("_metadata.file_modification_time").alias("arrived"))
        return card_events.parsed(known, self.config["events"]["types"])

    # -- the stream ---------------------------------------------------------------------------

    def start_clean(self, **trigger: Any) -> list[StreamingQuery]:
        """Start the streams that read raw lines: typed events, and what is rejected."""
        count = self.config["events"]["files_per_micro_batch"]
        lines = self.lines(self.spark.readStream.option("maxFilesPerTrigger", count))
        within = self.config["events"]["same_event_within"]
        made = {"clean": card_events.clean(lines, within), "rejected": card_events.rejected(lines)}
        return [
            frame.writeStream.queryName(name)
            .option("checkpointLocation", f"{self.place('checkpoints')}/{name}")
            .trigger(**trigger)
            .format("parquet")  # Spark's log of the folder: each micro-batch is in it once
            .start(self.place(name))
            for name, frame in made.items()
        ]

    def start_alerts(self, **trigger: Any) -> StreamingQuery:
        """Start the stream of the rules. It is refused if the checkpoint is of other rules."""
        said = self.config["events"]
        typed = self.spark.readStream.option("maxFilesPerTrigger", said["files_per_micro_batch"])
        found = self.rules.match(
            typed.schema(card_events.SCHEMA).parquet(self.place("clean")),
            lateness=said["lateness"],
            late="emit",
            tie_break=TIES,
            metrics="rules",
        )
        return cepheid.spark.start(
            found,
            f"{self.place('checkpoints')}/alerts",
            self._write,
            trigger=trigger,
            name="alerts",
        )

    def _write(self, batch: DataFrame, number: int) -> None:
        """Write the alerts and the late events of a micro-batch.

        A micro-batch that runs again finds the same, and replaces its own folder. A table format
        would merge by ``match_id`` instead.
        """
        batch.persist()
        parts = {
            "alerts": batch.where("late_event IS NULL").drop("late_event"),
            "late": batch.where("late_event IS NOT NULL").select("late_event.*"),
        }
        for name, part in parts.items():
            part.write.mode("overwrite").parquet(f"{self.place(name)}/batch={number}")
        batch.unpersist()

    def stream(self, *, once: bool = False) -> None:
        """Run all streams: until they are stopped, or with ``once`` over what is there."""
        listener = cepheid.spark.MetricsListener(self.place("metrics"), self.place("prometheus"))
        self.spark.streams.addListener(listener)
        try:
            Path(self.place("clean")).mkdir(parents=True, exist_ok=True)
            if once:
                for running in self.start_clean(availableNow=True):
                    running.awaitTermination()
                self.start_alerts(availableNow=True).awaitTermination()
            else:
                self.start_clean(processingTime="10 seconds")
                self.start_alerts(processingTime="1 second")
                self.spark.streams.awaitAnyTermination()
        except Exception as error:
            raise cepheid.spark.fault_of(error) or error from None
        finally:
            self.spark.streams.removeListener(listener)

    # -- the past -----------------------------------------------------------------------------

    def backfill(self, begin: str, end: str, *, as_streamed: bool = False) -> DataFrame:
        """Find the alerts that ended in a past period again, from the raw lines.

        With ``as_streamed``, events that came too late for the stream are left out: the alerts are
        those of the stream. Without, the difference is what the late events changed.
        """
        found = card_events.clean(self.lines(self.spark.read), "")
        if as_streamed:
            late = self.table("late").select("event_id")
            found = found.join(late, "event_id", "left_anti").select(*card_events.COLUMNS)
        margin = F.expr("INTERVAL 1 DAY")  # longer than any window of the rules
        first, last = F.lit(begin).cast("timestamp"), F.lit(end).cast("timestamp")
        near = found.where((F.col("ts") >= first - margin) & (F.col("ts") < last + margin))
        alerts = self.rules.match(near, tie_break=TIES)
        alerts = alerts.where((F.col("end") >= first) & (F.col("end") < last))
        alerts.write.mode("overwrite").parquet(self.place("backfill"))
        return self.table("backfill")

    def table(self, name: str) -> DataFrame:
        """A table that the pipeline has written; an empty one if there is none yet."""
        if name == "late" and not list(Path(self.place(name)).glob("batch=*/*.parquet")):
            return self.spark.createDataFrame([], "event_id string, ts timestamp")
        return self.spark.read.parquet(self.place(name))

    def report(self) -> Path:
        """Write the page with what was found, rejected and late."""
        tables = {name: self.table(name) for name in ("clean", "alerts", "rejected", "late")}
        return card_report.write(Path(self.place("report")), tables, Path(self.place("metrics")))


def main(arguments: list[str] | None = None) -> None:
    """Run a command of the pipeline."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, default=Path(__file__).with_name("config.toml"))
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("demo", help="generate events, stream them, backfill, report")
    commands.add_parser("generate", help="write raw events")
    stream = commands.add_parser("stream", help="run the streams")
    stream.add_argument("--once", action="store_true", help="stop when all is read")
    backfill = commands.add_parser("backfill", help="find the alerts of a past period again")
    backfill.add_argument("begin")
    backfill.add_argument("end")
    backfill.add_argument("--as-streamed", action="store_true", help="leave out late events")
    commands.add_parser("report", help="write the report page")
    said = parser.parse_args(arguments)
    pipeline = Pipeline.of(said.config)
    if said.command in ("demo", "generate"):
        count = generate(Path(pipeline.place("raw")))
        print(f"{count} lines in {pipeline.place('raw')}")
    if said.command in ("demo", "stream"):
        pipeline.stream(once=said.command == "demo" or said.once)
        print(f"{pipeline.table('alerts').count()} alerts in {pipeline.place('alerts')}")
    if said.command == "backfill":
        found = pipeline.backfill(said.begin, said.end, as_streamed=said.as_streamed)
        print(f"{found.count()} alerts in {pipeline.place('backfill')}")
    if said.command == "demo":
        again = pipeline.backfill("2024-05-01", "2024-05-02", as_streamed=True)
        ids = [
            sorted(row[0] for row in each.select("match_id").collect())
            for each in (pipeline.table("alerts"), again)
        ]
        print("the backfill finds the same alerts" if ids[0] == ids[1] else "the backfill DIFFERS")
    if said.command in ("demo", "report"):
        print(f"report: {pipeline.report()}")
    pipeline.spark.stop()


if __name__ == "__main__":
    main()
