"""Sessions over the reference evaluation: what it needs is bounded, and it says that it is slow."""

from __future__ import annotations

import random
import warnings

import pytest

import cepheid as cep

LACKING = {"A": ["k", "x"], "B": ["k", "x"], "C": ["x"]}
"""Events of type C belong to every partition."""
QUERY = "PATTERN SEQ(A a, C c, B b) WHERE [k] AND a.x <= b.x WITHIN 6 EVENTS PER PARTITION"


def rows(count: int, seed: int = 1) -> list[dict]:
    chance = random.Random(seed)
    return [
        {"ts": ix, "type": chance.choice("AABC"), "k": chance.choice((1, 2)), "x": ix % 5}
        for ix in range(count)
    ]


def test_it_warns_and_says_why() -> None:
    with pytest.warns(cep.CepheidWarning, match="no fast evaluation .* C has no attribute 'k'"):
        cep.query(QUERY).session(schema=LACKING).feed(rows(1))


def test_explain_names_the_reasons() -> None:
    explained = cep.query(QUERY).explain(schema=LACKING)
    assert "reference: the definition" in explained
    assert "C has no attribute 'k'" in explained


@pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")
@pytest.mark.parametrize("window", ["6", "6 EVENTS", "3 EVENTS PER PARTITION"])
@pytest.mark.parametrize("clause", ["", "OUTPUT LEFTMOST", "OUTPUT FIRST AT MOST ONCE PER 5"])
def test_memory_is_bounded_by_the_window(window: str, clause: str) -> None:
    query = cep.query(f"PATTERN SEQ(A a, ~(C c), B b) WHERE [k] WITHIN {window} {clause}")
    session, found, sizes = query.session(evaluation="reference"), 0, []
    for row in rows(200):
        found += len(session.feed([row]))
        sizes.append(len(session.snapshot()))
    found += len(session.advance())
    assert found == len(query.match(rows(200), evaluation="reference")) > 0
    assert max(sizes[100:]) < 1.2 * max(sizes[:100])


@pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")
def test_a_script_feeds_its_composite_events_to_such_a_query() -> None:
    script = cep.script(
        """
        PATTERN SEQ(A a, C c, B b) WHERE [k] AND a.x <= b.x WITHIN 6 EVENTS PER PARTITION
        RETURN Found(k = a.k);
        PATTERN SEQ(Found f, Found g) WHERE [k] WITHIN 20
        """
    )
    whole = script.match(rows(40), schema=LACKING)
    session = script.session(schema=LACKING)
    counts = dict.fromkeys(whole, 0)
    for row in rows(40):
        for name, matches in session.feed([row]).items():
            counts[name] += len(matches)
        session = script.restore(session.snapshot(), schema=LACKING)
    for name, matches in session.advance().items():
        counts[name] += len(matches)
    assert counts == {name: len(matches) for name, matches in whole.items()}
    assert all(counts.values())


@pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")
def test_match_stream_runs_it() -> None:
    query = cep.query(QUERY)
    found = sum(1 for _ in query.match_stream(rows(60), schema=LACKING))
    assert found == len(query.match(rows(60), schema=LACKING)) > 0


def test_more_components_than_native_code_can_number() -> None:
    parts = ", ".join(f"A a{ix}" for ix in range(40))
    query = cep.query(
        f"PATTERN SEQ({parts}) WHERE strict_contiguity {{ }} WITHIN 45 OUTPUT LONGEST"
    )
    events = [{"ts": ix, "type": "A"} for ix in range(45)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cep.CepheidWarning)
        expected = query.match(events).bindings()
        session, found = query.session(), []
        for low in range(0, 45, 9):
            found += session.feed(events[low : low + 9]).bindings()
            session = query.restore(session.snapshot())
        found += session.advance().bindings()
    assert found == expected
    assert len(found) == 6
