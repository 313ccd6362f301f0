"""Functions of strings are the same on one event, over columns, and across events."""

from __future__ import annotations

import pytest

import cepheid as cep

EVENTS = {
    "ts": list(range(8)),
    "type": list("ABABABAB"),
    "s": ["ab", "AB", "Straße", "STRASSE", "", None, "İx", "ab"],
    "y": [1, 2, 3, 1, 2, 3, 1, 2],
}


@pytest.mark.parametrize(
    "where",
    [
        "lower(a.s) = 'ab'",
        "lower(a.s) = 'ab' OR upper(b.s) = 'STRASSE'",
        "upper(a.s) = upper(b.s)",
        "lower(a.s) IN ('ab', 'straße') AND length(b.s) > a.y",
        # Conditions on one event that are tested with another one, as parts of a disjunction.
        "(lower(a.s) = 'ab' AND b.y = 2) OR (upper(a.s) = 'STRASSE' AND b.y < a.y)",
        "(lower(a.s) = 'ab' AND upper(b.s) != 'X') OR (length(a.s) > 2 AND b.y < a.y)",
        "contains(lower(a.s), 'a') AND NOT starts_with(b.s, 'A')",
        "ends_with(lower(a.s), 'x') OR contains(a.s, '') AND lower(a.s) < lower(b.s)",
        "lower(a.s) > 'a' AND NOT contains(upper(b.s), 'SS')",
    ],
)
@pytest.mark.parametrize("strategy", ["skip_till_any_match", "skip_till_next_match"])
def test_every_evaluation_finds_the_same(where, strategy):
    query = cep.query(f"PATTERN SEQ(A a, B b) WHERE {strategy} {{ {where} }}")
    wanted = query.match(EVENTS, evaluation="reference").bindings()
    names = ["auto", "nfa_b"] + (
        ["instance_stacks", "lazy_chain"] if strategy == "skip_till_any_match" else []
    )
    for name in names:
        found = query.match(EVENTS, evaluation=name).bindings()
        assert sorted(map(str, found)) == sorted(map(str, wanted)), name
