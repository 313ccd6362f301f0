"""The questions for cepheid: ``python cepheid_peer.py EVENTS.csv WORKLOAD WINDOW``."""

import json
import sys

from pyarrow import csv

import cepheid as cep

RETURN = "RETURN a.ts AS a, b.ts AS b, c.ts AS c"
QUESTIONS = {
    "sequence": "PATTERN SEQ(A a, B b, C c) WHERE skip_till_next_match {{ [id] }} "
    "WITHIN {window} " + RETURN,
    "any_match": "PATTERN SEQ(A a, B b, C c) WHERE [id] WITHIN {window} " + RETURN,
    "negation": "PATTERN SEQ(A a, ~(B b), C c) WHERE skip_till_next_match {{ [id] }} "
    "WITHIN {window} RETURN a.ts AS a, a.ts AS b, c.ts AS c",
    "contiguous": "PATTERN SEQ(A a, B+ b[], C c) WHERE partition_contiguity {{ [id] }} "
    "RETURN a.ts AS a, b[1].ts AS b, c.ts AS c",
}


def main(file: str, workload: str, window: str) -> None:
    """Print the answer as JSON."""
    events = csv.read_csv(file, csv.ReadOptions(column_names=["ts", "type", "id"]))
    query = cep.query(QUESTIONS[workload].format(window=int(window)))
    found = query.match(events).to_arrow()
    a, b, c = (found.column(name).to_numpy() for name in "abc")
    mixed = (a * 31 + b * 7 + c) % 1_000_003
    print(json.dumps({"answer": [len(found), int(mixed.sum())]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
