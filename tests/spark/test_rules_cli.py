"""``cepheid rules match`` and ``stream`` on Spark give what a run without Spark gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet
import pytest
from spark.test_cli import folder, invoke
from spark.test_stream_command import COLUMNS, put

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RULES = {
    "theft.sase": """+++
severity = "high"
tags = ["loss"]
+++
PATTERN SEQ(Shelf a, ~(Register b), Exit c) WHERE [tag_id] WITHIN 12 hours
RETURN a.tag_id AS item, c.ts - a.ts AS after
""",
    "exits.sase": "PATTERN Exit c RETURN c.zone AS zone",
    "column.sase": "PATTERN Exit c WHERE c.door = 1",
}
__all__ = ["folder"]
pytestmark = pytest.mark.usefixtures("batch_command")


@pytest.mark.usefixtures("stream_command")
def test_a_folder_is_a_stream_with_changes(rocksdb: SparkSession, folder: Path) -> None:
    rocksdb.conf.unset("spark.sql.timestampType")
    for name in ("rules", "incoming", "changes"):
        (folder / name).mkdir()
    (folder / "rules" / "pair.sase").write_text(
        "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 10 seconds"
    )
    change = {"name": "b", "query": "PATTERN B b RETURN b.id AS id", "severity": "low"}
    (folder / "changes" / "one.txt").write_text(f"{json.dumps(change)}\nnonsense")
    put(folder / "incoming", "one.jsonl", (0, "A", 7), (3, "B", 7), (59, "A", 8))
    incoming, changes, state = (str(folder / name) for name in ("incoming", "changes", "state"))
    command = ["rules", "stream", "rules", incoming, "--columns", COLUMNS, "--once"]
    more = ["--changes", changes, "--key", "id", "--checkpoint", state, "--spark", "local[2]"]
    result = invoke(*command, *more)
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert sorted(row["rule"] for row in rows if "fault" not in row) == ["b", "pair"]
    assert [row["values"] for row in rows if row.get("rule") == "b"] == [{"id": 7}]
    assert [row["key"] for row in rows if row.get("rule") == "pair"] == [{"id": 7}]
    assert ["not JSON" in row["fault"] for row in rows if "fault" in row] == [True]
    assert "all events have been read" in result.stderr
    result = invoke("rules", "stream", "rules", "incoming", "--columns", COLUMNS)
    assert "name a folder for the state" in result.stderr
    result = invoke("rules", "stream", "rules", "-", "--checkpoint", "state")
    assert "not for stdin" in result.stderr


def test_the_matches_are_those_of_a_run_without_spark(folder: Path) -> None:
    (folder / "rules").mkdir()
    for name, text in RULES.items():
        (folder / "rules" / name).write_text(text)
    command = ("rules", "match", "rules", "events.csv")
    local, found = invoke(*command), invoke(*command, "--spark", "local[2]")
    rows = [json.loads(line) for line in found.stdout.splitlines()]
    assert all(row.pop("fault") is None for row in rows)
    assert sorted(map(str, rows)) == sorted(
        str(json.loads(line)) for line in local.stdout.splitlines()
    )
    assert len(rows) == 3
    written = invoke(*command, "--spark", "local[2]", "-o", "alerts", "--format", "parquet")
    assert "3 rows written" in written.stderr
    assert "no attribute 'door'" in written.stderr
    assert pyarrow.parquet.read_table("alerts").num_rows == 3
    written = invoke(*command, "--spark", "local[2]", "-o", "lines", "--format", "jsonl")
    lines = [
        line for path in Path("lines").glob("*.json") for line in path.read_text().splitlines()
    ]
    assert {json.loads(line)["values"].get("zone") for line in lines} >= {"north door"}
    shown = invoke(*command, "--spark", "local[2]", "--format", "table")
    assert "theft" in shown.stdout
