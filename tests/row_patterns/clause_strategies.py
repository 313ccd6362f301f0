"""Random clauses over a small table, for the ways of running them that must agree."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

LEAVES = st.sampled_from(["A", "A", "B", "B", "C", "()", "^", "$"])
SIGNS = st.sampled_from(["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{,2}?"])
CONDITIONS = st.sampled_from(
    [
        "x > 1", "x < PREV(x)", "x > PREV(x, 2)", "k = 'a'", "k <> 'b'", "x >= FIRST(x)",
        "LAST(x, 1) < x", "count(*) < 4", "sum(A.x) < 5", "NEXT(x) IS NULL OR NEXT(x) > x",
        "B.x = 1", "MATCH_NUMBER() < 3", "CLASSIFIER() = 'A' OR x = 2", "NEXT(FIRST(x)) < x",
        "x > 0 AND NEXT(x, 2) > x", "NOT (k = 'a' OR NEXT(k) = 'b')",
        "CASE WHEN x > 1 THEN NEXT(x) ELSE 1 END > 0",
    ]
)  # fmt: skip
MEASURES = [
    "CLASSIFIER()", "MATCH_NUMBER()", "count(*)", "FINAL count(B.*)", "sum(x)", "FINAL avg(A.x)",
    "FIRST(A.t)", "FINAL LAST(k)", "PREV(x)", "NEXT(LAST(A.x), 2)", "max(k)", "x + 1",
    "NEXT(FIRST(t))", "PREV(FIRST(x), 2)", "LAST(t) - FIRST(t)", "count(DISTINCT k)",
    "LAST(A.x, 1)", "FIRST(f)", "k || '!'",
]  # fmt: skip
PARTITIONS = st.sampled_from(["", "g", "g", "f", "k, g"])
ORDERS = st.sampled_from(
    ["", "t", "t", "t DESC", "x NULLS FIRST, t", "f DESC NULLS LAST, t DESC", "k, x"]
)
STREAM_ORDERS = st.sampled_from(["t", "t", "t, x", "t, x NULLS FIRST"])
SKIPS = st.sampled_from(
    ["", "", "PAST LAST ROW", "TO NEXT ROW", "TO FIRST B", "TO LAST A", "TO LAST B"]
)
ROWS = st.sampled_from(
    [
        "", "ONE ROW PER MATCH", "ALL ROWS PER MATCH", "ALL ROWS PER MATCH OMIT EMPTY MATCHES",
        "ALL ROWS PER MATCH WITH UNMATCHED ROWS",
    ]
)  # fmt: skip


def _grouped(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("({} {})".format, parts, parts),
        st.builds("({} | {})".format, parts, parts),
        st.builds("({}){}".format, parts, SIGNS),
        st.builds("PERMUTE({}, {})".format, parts, parts),
        st.builds("{{- {} -}}".format, parts),
    )


@st.composite
def clauses(draw: st.DrawFn, *, streamed: bool = False) -> str:
    """The text of a clause over :func:`tables`; one that a stream can run if ``streamed``."""
    pattern = draw(st.recursive(LEAVES, _grouped, max_leaves=5))
    rows, skip = draw(ROWS), draw(SKIPS)
    order = draw(STREAM_ORDERS if streamed else ORDERS)
    # A variable of the clauses around the pattern must be in it.
    pattern = f"{pattern} (A | B)" if draw(st.booleans()) else f"(A | B)? {pattern} C?"
    pattern = pattern.replace("$", "()") if streamed else pattern
    if "UNMATCHED" in rows:
        pattern = pattern.replace("{-", "(").replace("-}", ")")
    measures = draw(st.lists(st.sampled_from(MEASURES), min_size=1, max_size=4, unique=True))
    defined = {name: draw(st.none() | CONDITIONS) for name in "AB"} | {"C": draw(CONDITIONS)}
    definitions = [
        f"{name} AS {each}" for name, each in defined.items() if each and name in pattern
    ]
    partition = draw(PARTITIONS)
    parts = [
        f"PARTITION BY {partition}" if partition else "",
        f"ORDER BY {order}" if order else "",
        "MEASURES " + ", ".join(f"{each} AS m{ix}" for ix, each in enumerate(measures)),
        rows,
        f"AFTER MATCH SKIP {skip}" if skip else "",
        f"PATTERN ({pattern})",
        "WITHIN INTERVAL '3' SECOND" if order == "t" and draw(st.booleans()) else "",
        "DEFINE " + ", ".join(definitions) if definitions else "",
    ]
    return f"MATCH_RECOGNIZE ({' '.join(part for part in parts if part)})"


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Rows with a unique ``seq``, in its order."""
    size = draw(st.integers(0, 12))

    def column(values: list[Any]) -> list[Any]:
        return draw(st.lists(st.sampled_from(values), min_size=size, max_size=size))

    return pa.table(
        {
            "seq": pa.array(range(size), pa.int64()),
            "g": pa.array(column([1, 2, None]), pa.int64()),
            "t": pa.array(sorted(column(list(range(9)))), pa.int64()),
            "x": pa.array(column([0, 1, 2, 3, None]), pa.int64()),
            "f": pa.array(column([0.0, -0.0, 1.5, float("nan"), None]), pa.float64()),
            "k": pa.array(column(["a", "b", "c"]), pa.string()),
        }
    )
