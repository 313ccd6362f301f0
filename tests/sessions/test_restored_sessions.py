"""A session that is stored and restored after every batch finds what an uninterrupted one finds."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

import pytest

import cepheid as cep
from cepheid.tuning import tuned

KLEENE = "PATTERN SEQ(A a, B+ b[], C c) WHERE {} {{ [id] AND b[i].x >= a.x }}"
NEGATED = "PATTERN SEQ(A a, ~(D d), B b, ~(C c)) WHERE [id] AND c.x > a.x"
KEYS = "PATTERN SEQ(A a, B b, C c) WHERE [id] AND [s]"
JOINED = "PATTERN SEQ(A a, B b, C c) WHERE a.id = b.id AND b.s = c.s"
LISTS = "PATTERN SEQ(A a, B+ b[], C c) WHERE a.id = c.id AND b[i].x > b[i-1].x"
EITHER = "PATTERN OR(SEQ(A a, B b, ~(D d)), AND(B b, C c)) WHERE [id]"
WINDOWS = ("WITHIN 7", "WITHIN 12", "WITHIN 5 EVENTS", "WITHIN 4 EVENTS PER PARTITION")
NFA_B: Any = {"evaluation": "nfa_b"}
STACKS: Any = {"evaluation": "instance_stacks"}
RUNS: list[tuple[str, dict[str, Any]]] = [
    *(
        (KLEENE.format(strategy), {**NFA_B, "options": options})
        for strategy in ("skip_till_any_match", "skip_till_next_match", "partition_contiguity")
        for options in ({}, {"algorithm": "basic"}, {"buffer": "versioned"})
    ),
    (KLEENE.format("skip_till_next_match"), {**NFA_B, "options": {"algorithm": "backtrack"}}),
    (KLEENE.format("skip_till_any_match"), {"output": "non_overlapping"}),
    *(
        (KEYS, {**STACKS, "options": {"equivalence": equivalence}})
        for equivalence in ("dynamic", "pais", "multi_pais", "selection")
    ),
    (KEYS, {**STACKS, "options": {"construction": "basic"}}),
    ("PATTERN SEQ(A a, B b, C c) WHERE [id]", STACKS),
    *(
        (text, {"evaluation": evaluation})
        for text in (NEGATED, JOINED, LISTS)
        for evaluation in ("lazy_chain", "lazy_tree")
    ),
    (NEGATED, NFA_B),
    (EITHER, {}),
]


def batches(random: Random) -> list[dict[str, list[Any]]]:
    """Events in batches of random sizes."""
    rows, ts = [], random.choice((0, -40))
    for _ in range(50):
        ts += random.choice((0, 1, 1, 2, 3))
        row = (ts, random.choice("AABBCD"), random.choice("kmné"), random.randint(0, 9))
        rows.append((*row, random.choice(("p", "q", None))))
    rows[0] = (*rows[0][:4], "p")
    cuts = [0, *sorted(random.sample(range(1, 50), 9)), 50]
    columns = ("ts", "type", "id", "x", "s")
    return [
        {name: [row[ix] for row in rows[low:high]] for ix, name in enumerate(columns)}
        for low, high in pairwise(cuts)
    ]


@pytest.mark.parametrize("number", range(len(RUNS)))
def test_a_session_that_is_restored_finds_the_same(number: int) -> None:
    text, keywords = RUNS[number]
    for window in WINDOWS:
        query, random = cep.query(f"{text} {window}"), Random(f"{number} {window}")
        parts = batches(random)
        found: list[list[Any]] = [[], []]
        with tuned(few_strings=0, few_events=0, few_partitions=0, few_stored_partitions=0):
            for restores, matches in enumerate(found):
                session = query.session(**keywords)
                for part in parts:
                    matches.extend(session.feed(part).bindings())
                    if restores:
                        session = query.restore(session.snapshot(), **keywords)
                matches.extend(session.advance().bindings())
        assert sorted(map(str, found[0])) == sorted(map(str, found[1]))
