"""The questions for pandas-match-recognize: ``python pandas_peer.py EVENTS.csv WORKLOAD WINDOW``.

Its WITHIN is not in the standard, so the window is tested on the result.
"""

import json
import sys
from itertools import islice, permutations

import pandas as pd
from pandas_match_recognize import match_recognize

CLAUSE = """
SELECT id, a, b, c FROM events MATCH_RECOGNIZE (
    PARTITION BY id ORDER BY ts
    MEASURES A.ts AS a, {b} AS b, C.ts AS c
    ONE ROW PER MATCH AFTER MATCH SKIP TO NEXT ROW
    PATTERN ({pattern})
    DEFINE A AS A.type = '{types[0]}', {define}, C AS C.type = '{types[2]}'
)
"""


def sequence(types: str, b: str = "FIRST(B.ts)") -> str:
    """The next event of the second type after one of the first, and then of the third.

    The rows are of these types only. A row belongs to one variable here.
    """
    define = f"B AS B.type = '{types[1]}'"
    text = CLAUSE.format(b=b, pattern="A (A|C)* B (A|B)* C", define=define, types=types)
    return text.replace("A.ts AS a", "FIRST(A.ts) AS a").replace("C.ts AS c", "LAST(C.ts) AS c")


def over_abc(define: str, pattern: str, b: str) -> str:
    """A clause over the types A, B and C."""
    return CLAUSE.format(b=b, pattern=pattern, define=define, types="ABC")


QUESTIONS = {
    "sequence": sequence("ABC"),
    "negation": over_abc("X AS X.type = 'A'", "A X* C", "A.ts"),
    "contiguous": over_abc("B AS B.type = 'B'", "A B+ C", "FIRST(B.ts)"),
    "relaxed": sequence("ABC", "LAST(B.ts)"),
}


def clauses(workload: str) -> list[tuple[str, str]]:
    """The clauses that answer a question, and their types; none if it is no row pattern."""
    name, _, count = workload.partition("_")
    if name == "rules":
        triples = islice(permutations("ABCDEF", 3), int(count))
        return [(sequence("".join(each)), "".join(each)) for each in triples]
    types = "ABCDEF" if workload == "contiguous" else "ABC"
    return [(QUESTIONS[workload], types)] if workload in QUESTIONS else []


def main(file: str, workload: str, window: str) -> None:
    """Print the answer as JSON."""
    texts = clauses(workload)
    if not texts:
        print(json.dumps({"cannot": "has no such pattern"}))
        return
    events = pd.read_csv(file, names=["ts", "type", "id"])
    answers = []
    for text, types in texts:
        found = match_recognize(text, events[events["type"].isin([*types])].reset_index(drop=True))
        if workload != "contiguous":
            found = found[found["c"] < found["a"] + int(window)]
        mixed = (found["a"] * 31 + found["b"] * 7 + found["c"]) % 1_000_003
        answers.append((len(found), int(mixed.sum())))
    print(json.dumps({"answer": [sum(column) for column in zip(*answers, strict=True)]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
