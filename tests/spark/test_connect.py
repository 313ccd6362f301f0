"""Queries over DataFrames of Spark Connect, in a process of its own: a process has one kind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import cepheid

SCRIPT = """
import json, warnings
warnings.simplefilter("ignore")
from pyspark.sql import SparkSession
import cepheid as cep
import cepheid.spark
builder = SparkSession.builder.remote("local[2]")
spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
events = spark.range(300).selectExpr(
    "id AS ts", "if(id % 3 = 0, 'A', 'B') AS type", "id % 5 AS k", "double(id * 7 % 11) AS x"
)
answers = []
for text, slices in (("WHERE [k] AND a.x < b.x WITHIN 20", None), ("WHERE a.x < b.x WITHIN 4", 3)):
    query = cep.query(f"PATTERN SEQ(A a, B b) {text} RETURN a.ts AS t, b.x AS x")
    found = query.match(events, slices=slices).toArrow().to_pylist()
    local = query.match(events.toArrow()).to_arrow().to_pylist()
    answers.append([len(found), sorted(map(repr, found)) == sorted(map(repr, local))])
events.createOrReplaceTempView("events")
clause = (
    "MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.ts AS t, LAST(B.x) AS x PATTERN (A B+) "
    "DEFINE B AS x > PREV(x))"
)
text = f"SELECT m.* FROM (SELECT * FROM events) {clause} AS m JOIN events {clause} n USING (k, t)"
cepheid.spark.sql(spark, f"CREATE TEMP VIEW found AS {text}")
found = spark.table("found").toArrow().to_pylist()
local = cep.query(clause).match(events.toArrow()).to_arrow().to_pylist()
answers.append([len(found), sorted(map(repr, found)) == sorted(map(repr, local))])
direct = cepheid.spark.sql(spark, text).toArrow().num_rows
assert direct == len(local) == cep.query(clause).count(events)
print(json.dumps(answers))
spark.stop()
"""


def test_the_matches_are_those_of_a_local_run() -> None:
    pytest.importorskip("grpc_status", reason="Spark Connect needs pip install pyspark[connect]")
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    environment["PYTHONPATH"] = str(Path(cepheid.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
    )
    answers = json.loads(done.stdout.splitlines()[-1])
    assert [same for _, same in answers] == [True, True, True]
    assert all(count > 10 for count, _ in answers)
