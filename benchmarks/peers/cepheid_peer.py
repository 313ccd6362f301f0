"""The questions for cepheid: ``python cepheid_peer.py EVENTS.csv WORKLOAD WINDOW``."""

import json
import sys
from itertools import islice, permutations
from typing import Any

import pyarrow as pa
from pyarrow import csv

import cepheid as cep

RETURN = "RETURN a.ts AS a, b.ts AS b, c.ts AS c"
SEQUENCE = (
    "PATTERN SEQ({} a, {} b, {} c) WHERE skip_till_next_match {{{{ [id] }}}} WITHIN {} " + RETURN
)
QUESTIONS = {
    "sequence": SEQUENCE.format("A", "B", "C", "{window}"),
    "any_match": "PATTERN SEQ(A a, B b, C c) WHERE [id] WITHIN {window} " + RETURN,
    "negation": "PATTERN SEQ(A a, ~(B b), C c) WHERE skip_till_next_match {{ [id] }} "
    "WITHIN {window} RETURN a.ts AS a, a.ts AS b, c.ts AS c",
    "contiguous": "PATTERN SEQ(A a, B+ b[], C c) WHERE partition_contiguity {{ [id] }} "
    "RETURN a.ts AS a, b[1].ts AS b, c.ts AS c",
    "relaxed": "PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_next_match {{ [id] }} "
    "WITHIN {window} RETURN a.ts AS a, b[b.LEN].ts AS b, c.ts AS c OUTPUT FIRST",
    "subsets": "PATTERN SEQ(A a, B+ b[], C c) WHERE [id] WITHIN {window}",
    "absence": "PATTERN SEQ(A a, ~(B b) WITHIN {quarter}) WHERE [id] "
    "RETURN a.ts AS a, a.ts AS b, a.ts AS c",
}


def answer(found: pa.Table) -> list[int]:
    """The number of matches, and the sum that depends on all of them."""
    a, b, c = (found.column(name).to_numpy() for name in "abc")
    return [len(found), int(((a * 31 + b * 7 + c) % 1_000_003).sum())]


def of_rules(events: Any, count: int, window: int) -> list[int]:
    """The answer of a set of rules: sequences of three of the six types."""
    triples = islice(permutations("ABCDEF", 3), count)
    rules = {"".join(each): SEQUENCE.format(*each, window).format() for each in triples}
    found = cep.rules(rules).match(events)
    answers = [answer(found[name].to_arrow()) for name in rules]
    return [sum(column) for column in zip(*answers, strict=True)]


def main(file: str, workload: str, window: str) -> None:
    """Print the answer as JSON."""
    events = csv.read_csv(file, csv.ReadOptions(column_names=["ts", "type", "id"]))
    name, _, count = workload.partition("_")
    if name == "rules":
        said = of_rules(events, int(count), int(window))
    else:
        question = QUESTIONS[workload].format(window=int(window), quarter=int(window) // 4)
        query = cep.query(question)
        if workload == "subsets":
            found = query.match(events, output="compressed")
            said = [found.count(), found.aggregate("sum", "c.ts") or 0]
        else:
            said = answer(query.match(events).to_arrow())
    print(json.dumps({"answer": said}))


if __name__ == "__main__":
    main(*sys.argv[1:])
