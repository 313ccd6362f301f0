"""Queries that explode end with an error that names the component, within their memory limit.

Each runs in its own process, because a process has only one peak.
"""

import json
import subprocess
import sys

import pytest
from peak_memory import PEAK_KIB

import cepheid as cep

LIMIT = 300  # MiB
RISING = "WHERE avg(a[..i-1].x) < a[i].x"

CASES = {
    "one list": ("PATTERN A+ a[]", 40, "A", {}, "A+ a[]"),
    "the list of two types": ("PATTERN SEQ(A a, B+ b[])", 80, "AB", {}, "B+ b[]"),
    "two lists": ("PATTERN SEQ(A+ a[], B+ b[])", 80, "AB", {}, "[]"),
    "at least three": ("PATTERN A{3,} a[]", 60, "A", {}, "A{3,} a[]"),
    "a star": ("PATTERN SEQ(A a, B* b[])", 80, "AB", {}, "B* b[]"),
    "a window that is long": ("PATTERN A+ a[] WITHIN 90", 200, "A", {}, "A+ a[]"),
    "runs with values": (f"PATTERN SEQ(A+ a[], B b) {RISING}", 200, "A", {}, "A+ a[]"),
    "runs that are not merged": (
        "PATTERN SEQ(A+ a[], B b)",
        60,
        "A",
        {"options": {"algorithm": "basic"}},
        "A+ a[]",
    ),
    "a versioned buffer": (
        f"PATTERN SEQ(A+ a[], B b) {RISING}",
        200,
        "A",
        {"options": {"buffer": "versioned"}},
        "A+ a[]",
    ),
    "backtracking": ("PATTERN A+ a[]", 60, "A", {"options": {"algorithm": "backtrack"}}, "A+ a[]"),
    "a sequence": ("PATTERN SEQ(A a, B b, C c)", 9_000, "ABC", {}, "'"),
    "a sequence with a test": (
        "PATTERN SEQ(A a, B b, C c) WHERE a.x < c.x",
        9_000,
        "ABC",
        {},
        "'",
    ),
    "next match": (
        "PATTERN SEQ(A a, B+ b[]) WHERE skip_till_next_match",
        20_000,
        "ABBB",
        {},
        "B+ b[]",
    ),
    "a negation": ("PATTERN SEQ(A a, ~(B b), C+ c[])", 90, "AC", {}, "C+ c[]"),
    "alternatives": ("PATTERN OR(A+ a[], B+ b[])", 90, "AB", {}, "[]"),
    "a conjunction": ("PATTERN AND(A+ a[], B b)", 80, "AB", {}, "A+ a[]"),
    "lazy instances": (
        "PATTERN SEQ(A a, B b, C c, D d)",
        3_000,
        "ABC",
        {
            "evaluation": "lazy_chain",
            "statistics": {"A": 0.1, "B": 0.1, "C": 0.1, "D": 1_000},
        },
        "D d",
    ),
    "a lazy list": ("PATTERN SEQ(A+ a[], B b)", 80, "AB", {"evaluation": "lazy_chain"}, "A+ a[]"),
    "a lazy tree": (
        "PATTERN SEQ(A a, B b, C c) WHERE a.x + b.x < c.x",
        9_000,
        "ABC",
        {"evaluation": "lazy_tree"},
        "'",
    ),
    "the reference": ("PATTERN A+ a[]", 40, "A", {"evaluation": "reference"}, "A+ a[]"),
    "uncertain times": ("PATTERN A+ a[]", 60, "A", {"uncertainty": 1}, "A+ a[]"),
    "non-overlapping after all": (
        "PATTERN SEQ(A a, ~(D d), B+ b[], C c)",
        90,
        "ABBBC",
        {"output": "non_overlapping"},
        "B+ b[]",
    ),
}

RUN = (
    PEAK_KIB
    + """
import json, sys
import cepheid as cep

text, count, types, options, how, limit = json.loads(sys.argv[1])
query = cep.query(text)

def run(count, **limits):
    events = {"ts": list(range(count)), "type": [types[i % len(types)] for i in range(count)],
              "x": [i * 7919 % 101 for i in range(count)]}
    if how == "session":
        query.session(**options, **limits).feed(events)
    elif how != "match":
        getattr(query.match(events, **options, **limits), how)()
    else:
        query.match(events, **options, **limits)

run(2 * len(types))
base = peak_kib()
try:
    run(count, max_memory=f"{limit} MiB")
    said = ""
except cep.LimitError as error:
    said = str(error)
print(json.dumps([(peak_kib() - base) // 1024, said]))
"""
)


def peak_and_error(*case: object) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(case)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    used, said = json.loads(done.stdout.splitlines()[-1])
    return used, said


@pytest.mark.parametrize("name", CASES)
def test_a_query_that_explodes_stays_within_its_limit(name: str) -> None:
    text, count, types, options, component = CASES[name]
    used, said = peak_and_error(text, count, types, options, "match", LIMIT)
    assert "memory limit of 300 MiB" in said, said
    assert component in said
    assert "max_memory" in said
    assert used <= 1.2 * LIMIT, said


@pytest.mark.parametrize(
    ("how", "count"), [("session", 40), ("to_arrow", 20), ("to_pandas", 18), ("to_polars", 20)]
)
def test_sessions_and_tables_have_the_limit_too(how: str, count: int) -> None:
    used, said = peak_and_error("PATTERN A+ a[]", count, "A", {}, how, 200)
    assert "memory limit of 200 MiB" in said
    assert used <= 1.2 * 200


def test_a_frame_that_fits_is_built() -> None:
    for how in ("to_pandas", "to_polars"):
        used, said = peak_and_error("PATTERN A+ a[]", 14, "A", {}, how, 200)
        assert (used <= 200, said) == (True, "")


def test_a_session_is_charged_only_for_what_it_has_not_reported() -> None:
    session = cep.query("PATTERN A+ a[] WITHIN 12").session(max_memory="20 MiB")
    for begin in range(0, 600, 12):
        session.feed({"ts": list(range(begin, begin + 12)), "type": ["A"] * 12})


def test_counting_and_compressed_output_need_little() -> None:
    events = {"ts": list(range(70)), "type": ["A"] * 70}
    query = cep.query("PATTERN A+ a[]")
    assert query.count(events, max_memory="20 MiB") == 2**70 - 1
    assert query.match(events, output="compressed", max_memory="20 MiB").count() == 2**70 - 1


def test_expanding_a_compressed_result_has_the_limit() -> None:
    events = {"ts": list(range(40)), "type": ["A"] * 40}
    found = cep.query("PATTERN A+ a[]").match(events, output="compressed", max_memory="40 MiB")
    with pytest.raises(cep.LimitError, match="memory limit of 40 MiB"):
        found.expand()
