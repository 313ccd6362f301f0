"""The sequence in Flink SQL: run by a Python that has PyFlink, which need not have cepheid.

``python job.py EVENTS.csv WINDOW PARALLELISM ROUNDS`` prints a line of JSON: how many matches
there are, sums that depend on all of them, and the seconds of each round.
"""

import json
import sys
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
SUMS = "SELECT COUNT(*), SUM(a), SUM(b), SUM(c), SUM(MOD(a * 31 + b * 7 + c, 1000003)) FROM found"


def main(file: str, window: int, parallelism: int, rounds: int) -> None:
    """Find the matches once to compare them, and then again to be timed."""
    tables = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    tables.get_config().set("parallelism.default", str(parallelism))
    tables.execute_sql(EVENTS.format(file=file))
    tables.execute_sql(MATCHES.format(seconds=f"{window / 1000:.3f}"))
    tables.execute_sql(NOWHERE)
    with tables.execute_sql(SUMS).collect() as rows:
        answer = [0 if value is None else int(value) for value in next(iter(rows))]
    seconds = []
    for _ in range(rounds):
        begun = perf_counter()
        tables.execute_sql("INSERT INTO nowhere SELECT * FROM found").wait()
        seconds.append(perf_counter() - begun)
    print(json.dumps({"answer": answer, "seconds": seconds}))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:5]))
