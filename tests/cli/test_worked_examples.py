"""The examples that define the language, through the command line."""

import pytest

TREND = """
PATTERN SEQ(Stock+ a[], Stock b)
WHERE skip_till_next_match(a[], b) {
    [symbol] AND a[1].volume > 1000 AND a[i].price > avg(a[..i-1].price)
    AND b.volume < 80% * a[a.LEN].volume
}
WITHIN 1 hour
"""
PRICES = [100, 120, 120, 121, 120, 125, 120, 120]
VOLUMES = [1010, 990, 1005, 999, 999, 750, 950, 700]


def test_volumes_that_plummet_after_a_rise(run, folder):
    """[Agrawal08 Figure 3]"""
    rows = "".join(
        f"{ts},Stock,X,{price},{volume}\n"
        for ts, (price, volume) in enumerate(zip(PRICES, VOLUMES, strict=True))
    )
    (folder / "ticks.csv").write_text("ts,type,symbol,price,volume\n" + rows)
    outcome = run("match", "-q", TREND, "ticks.csv", "--time-unit", "s")
    assert sorted(map(str, outcome.bindings)) == sorted(
        [
            "{'a': [0, 1, 2, 3, 4], 'b': 5}",
            "{'a': [2, 3], 'b': 5}",
            "{'a': [0, 1, 2, 3, 4, 5, 6], 'b': 7}",
        ]
    )


def bound(run, folder, query, stream):
    """The bindings as sorted lists of events, for a stream such as ``a1@1 b@2``."""
    events = [word.partition("@") for word in stream.split()]
    rows = [
        f"{time or number},{name[0].upper()}\n" for number, (name, _, time) in enumerate(events, 1)
    ]
    (folder / "stream.csv").write_text("ts,type\n" + "".join(rows))
    outcome = run("match", "-q", query, "stream.csv")
    words = stream.split()

    def label(value):
        return [words[row] for row in value] if isinstance(value, list) else words[value]

    found = [[label(value) for value in binding.values()] for binding in outcome.bindings]
    return sorted(found, key=str), outcome


def test_a_sequence_takes_every_combination(run, folder):
    found, _ = bound(run, folder, "PATTERN SEQ(A a, B b, C c)", "a1 a2 b1 b2 c")
    assert found == [
        ["a1", "b1", "c"],
        ["a1", "b2", "c"],
        ["a2", "b1", "c"],
        ["a2", "b2", "c"],
    ]


ALL = ["b1", "b2", "b3"]
SUBSETS = [["b1"], ["b2"], ["b3"], ["b1", "b2"], ["b1", "b3"], ["b2", "b3"], ALL]


@pytest.mark.parametrize(
    ("strategy", "lists"),
    [
        ("skip_till_any_match", SUBSETS),
        ("skip_till_next_match", [ALL]),
        ("strict_contiguity", [ALL]),
    ],
)
def test_a_kleene_plus_under_each_strategy(run, folder, strategy, lists):
    query = f"PATTERN SEQ(A a, B+ b[], C c) WHERE {strategy}(a, b[], c)"
    found, _ = bound(run, folder, query, "a b1 b2 b3 c")
    assert found == sorted((["a", each, "c"] for each in lists), key=str)


def test_a_negation_between_two_events(run, folder):
    query = "PATTERN SEQ(A a, ~(B b), C c) WITHIN 10"
    found, _ = bound(run, folder, query, "a@1 b@2 a@3 c@4")
    assert found == [["a@3", "c@4"]]


def test_a_negation_at_the_end_is_known_when_the_window_ends(run, folder):
    found, outcome = bound(run, folder, "PATTERN SEQ(A a, ~(B b)) WITHIN 5", "a@1 a@3 b@7")
    assert found == [["a@1"]]
    assert outcome.lines == [{"start": 1, "end": 6, "bindings": {"a": 0}}]
