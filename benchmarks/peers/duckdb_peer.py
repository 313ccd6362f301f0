"""The questions in DuckDB's SQL: ``python duckdb_peer.py EVENTS.csv WORKLOAD WINDOW``.

DuckDB has no MATCH_RECOGNIZE, so they are joins and window functions.
"""

import json
import sys
from itertools import islice, permutations

import duckdb

SEQUENCE = """
        SELECT a.ts AS a, b.ts AS b, c.ts AS c
        FROM of_{} a ASOF JOIN of_{} b ON a.id = b.id AND a.ts < b.ts
        ASOF JOIN of_{} c ON b.id = c.id AND b.ts < c.ts
        WHERE c.ts < a.ts + {}
"""
SUMS = "SELECT count(*), coalesce(sum((a * 31 + b * 7 + c) % 1000003), 0) FROM ({})"
QUESTIONS = {
    "sequence": SEQUENCE.format("a", "b", "c", "{window}"),
    "any_match": """
        SELECT a.ts AS a, b.ts AS b, c.ts AS c
        FROM of_a a JOIN of_b b ON a.id = b.id AND a.ts < b.ts AND b.ts < a.ts + {window}
        JOIN of_c c ON b.id = c.id AND b.ts < c.ts AND c.ts < a.ts + {window}
    """,
    "negation": """
        SELECT a.ts AS a, a.ts AS b, c.ts AS c
        FROM of_a a ASOF JOIN of_c c ON a.id = c.id AND a.ts < c.ts
        ASOF LEFT JOIN of_b b ON a.id = b.id AND a.ts < b.ts
        WHERE c.ts < a.ts + {window} AND (b.ts IS NULL OR b.ts > c.ts)
    """,
    "contiguous": """
        SELECT last_other.ts AS a, last_other.next AS b, ts AS c FROM (
            SELECT *, lag(type) OVER by_id AS previous,
                last_value(other IGNORE NULLS) OVER (
                    PARTITION BY id ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                ) AS last_other
            FROM (
                SELECT *, CASE WHEN type <> 'B' THEN
                    {{'type': type, 'ts': ts, 'next': lead(ts) OVER by_id}} END AS other
                FROM events WINDOW by_id AS (PARTITION BY id ORDER BY ts)
            ) WINDOW by_id AS (PARTITION BY id ORDER BY ts)
        ) WHERE type = 'C' AND previous = 'B' AND last_other.type = 'A'
    """,
    "relaxed": """
        SELECT a.ts AS a, last.ts AS b, c.ts AS c
        FROM of_a a ASOF JOIN of_b b ON a.id = b.id AND a.ts < b.ts
        ASOF JOIN of_c c ON b.id = c.id AND b.ts < c.ts
        ASOF JOIN of_b last ON c.id = last.id AND c.ts > last.ts
        WHERE c.ts < a.ts + {window}
    """,
    "absence": """
        SELECT a.ts AS a, a.ts AS b, a.ts AS c
        FROM of_a a ASOF LEFT JOIN of_b b ON a.id = b.id AND a.ts < b.ts
        WHERE b.ts IS NULL OR b.ts >= a.ts + {window} // 4
    """,
}
SUBSETS = """
    SELECT sum(2 ** n - 1), sum((2 ** n - 1) * c) FROM (
        SELECT a.ts AS a, c.ts AS c, count(*) AS n
        FROM of_a a JOIN of_c c ON a.id = c.id AND a.ts < c.ts AND c.ts < a.ts + {window}
        JOIN of_b b ON a.id = b.id AND a.ts < b.ts AND b.ts < c.ts
        GROUP BY ALL
    )
"""


def question(workload: str, window: int) -> str:
    """The number of matches and the sum that depends on all of them, as SQL."""
    name, _, count = workload.partition("_")
    if name == "rules":
        triples = islice(permutations("ABCDEF", 3), int(count))
        return SUMS.format(" UNION ALL ".join(SEQUENCE.format(*each, window) for each in triples))
    if name == "subsets":
        return SUBSETS.format(window=window)
    return SUMS.format(QUESTIONS[workload].format(window=window))


def main(file: str, workload: str, window: str) -> None:
    """Print the answer as JSON."""
    database = duckdb.connect()
    database.execute("SET threads = 1")
    database.execute(
        "CREATE TABLE events AS FROM read_csv(?, header = false, "
        "columns = {'ts': 'BIGINT', 'type': 'VARCHAR', 'id': 'BIGINT'})",
        [file],
    )
    for name in "ABCDEF":
        database.execute(
            f"CREATE VIEW of_{name} AS SELECT ts, id FROM events WHERE type = '{name}'"
        )
    row = database.execute(question(workload, int(window))).fetchone()
    assert row is not None
    print(json.dumps({"answer": [int(value) for value in row]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
