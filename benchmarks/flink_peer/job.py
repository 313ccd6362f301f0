"""The sequence in Flink SQL: run by a Python that has PyFlink, which need not have cepheid.

``python job.py EVENTS.csv WINDOW PARALLELISM ROUNDS`` prints a line of JSON: how many matches
there are, sums that depend on all of them, and of each round the seconds, and those of all
processors, of which Linux tells.
"""

import json
import os
import sys
from pathlib import Path
from time import perf_counter

from pyflink.table import EnvironmentSettings, TableEnvironment

EVENTS = """
CREATE TABLE events (
    ts BIGINT, type STRING, id BIGINT, x DOUBLE, y BIGINT,
    moment AS TO_TIMESTAMP_LTZ(ts, 3),
    WATERMARK FOR moment AS moment
) WITH ('connector' = 'filesystem', 'path' = '{file}', 'format' = 'csv')
"""
# An event is skipped where it is not the one that is waited for, so that there is one way to go on.
MATCHES = """
CREATE VIEW found AS SELECT a, b, c
FROM (SELECT * FROM events WHERE type IN ('A', 'B', 'C'))
MATCH_RECOGNIZE (
    PARTITION BY id
    ORDER BY moment
    MEASURES A.ts AS a, B.ts AS b, C.ts AS c
    ONE ROW PER MATCH
    AFTER MATCH SKIP TO NEXT ROW
    PATTERN (A X* B Y* C) WITHIN INTERVAL '{seconds}' SECOND(9, 3)
    DEFINE A AS A.type = 'A', X AS X.type <> 'B', B AS B.type = 'B',
        Y AS Y.type <> 'C', C AS C.type = 'C'
)
"""
NOWHERE = "CREATE TABLE nowhere (a BIGINT, b BIGINT, c BIGINT) WITH ('connector' = 'blackhole')"
MIXED = "CAST(MOD(a * 31 + b * 7 + c, 1000003) AS BIGINT)"
SUMS = f"SELECT COUNT(*), SUM(a), SUM(b), SUM(c), SUM({MIXED}) FROM found"


def processor_seconds() -> float:
    """What the processes that this one has started have used so far: Flink is one of them."""
    started, ticks = [os.getpid()], 0
    for process in started:
        for children in Path(f"/proc/{process}/task").glob("*/children"):
            started += map(int, children.read_text().split())
        if process != started[0]:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def main(file: str, window: int, parallelism: int, rounds: int) -> None:
    """Find the matches once to compare them, and then again to be timed."""
    tables = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    tables.get_config().set("parallelism.default", str(parallelism))
    tables.execute_sql(EVENTS.format(file=file))
    tables.execute_sql(MATCHES.format(seconds=f"{window / 1000:.3f}"))
    tables.execute_sql(NOWHERE)
    with tables.execute_sql(SUMS).collect() as rows:
        answer = [0 if value is None else int(value) for value in next(iter(rows))]
    seconds, of_processor = [], []
    for _ in range(rounds):
        begun, used = perf_counter(), processor_seconds()
        tables.execute_sql("INSERT INTO nowhere SELECT * FROM found").wait()
        seconds.append(perf_counter() - begun)
        of_processor.append(processor_seconds() - used)
    print(json.dumps({"answer": answer, "seconds": seconds, "of_processor": of_processor}))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:5]))
