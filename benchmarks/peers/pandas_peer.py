"""The questions for pandas-match-recognize: ``python pandas_peer.py EVENTS.csv WORKLOAD WINDOW``.

Its WITHIN is not in the standard, so the window is tested on the result.
"""

import json
import sys

import pandas as pd
from pandas_match_recognize import match_recognize

CLAUSE = """
SELECT id, a, b, c FROM events MATCH_RECOGNIZE (
    PARTITION BY id ORDER BY ts
    MEASURES A.ts AS a, {b} AS b, C.ts AS c
    ONE ROW PER MATCH AFTER MATCH SKIP TO NEXT ROW
    PATTERN ({pattern})
    DEFINE A AS A.type = 'A', {define}, C AS C.type = 'C'
)
"""
QUESTIONS = {
    "sequence": CLAUSE.format(
        b="B.ts", pattern="A X* B Y* C",
        define="X AS X.type <> 'B', B AS B.type = 'B', Y AS Y.type <> 'C'",
    ),
    "negation": CLAUSE.format(b="A.ts", pattern="A X* C", define="X AS X.type = 'A'"),
    "contiguous": CLAUSE.format(b="FIRST(B.ts)", pattern="A B+ C", define="B AS B.type = 'B'"),
}  # fmt: skip


def main(file: str, workload: str, window: str) -> None:
    """Print the answer as JSON."""
    if workload not in QUESTIONS:
        print(json.dumps({"cannot": "has no such pattern"}))
        return
    events = pd.read_csv(file, names=["ts", "type", "id"])
    if workload != "contiguous":
        events = events[events["type"].isin(["A", "B", "C"])]
    found = match_recognize(QUESTIONS[workload], events.reset_index(drop=True))
    if workload != "contiguous":
        found = found[found["c"] < found["a"] + int(window)]
    mixed = (found["a"] * 31 + found["b"] * 7 + found["c"]) % 1_000_003
    print(json.dumps({"answer": [len(found), int(mixed.sum())]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
