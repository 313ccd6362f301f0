"""RETURN over columns agrees with RETURN by the definition, expression by expression."""

import math
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.engines.reference import python_events
from cepheid.events.events import order_events
from cepheid.events.read_options import ReadOptions
from cepheid.reference import definition as reference

PATTERN = "PATTERN SEQ(A a, OR(B b, C c), ANY(D, E)* d[])"
ATTRIBUTES = {"x": "integer", "y": "float", "s": "string", "f": "boolean", "t": "timestamp"}
# B and E lack some attributes; D has those that E lacks, so that a query may name them for d.
TYPES = {
    "A": ATTRIBUTES,
    "B": {name: ATTRIBUTES[name] for name in ("x", "s", "t")},
    "C": ATTRIBUTES,
    "D": ATTRIBUTES,
    "E": {name: ATTRIBUTES[name] for name in ("x", "f", "t")},
}
NOON = datetime(2024, 5, 1, 12)
SCHEMA = pa.schema(
    [
        ("ts", pa.int64()),
        ("type", pa.string()),
        ("x", pa.int64()),
        ("y", pa.float64()),
        ("s", pa.string()),
        ("f", pa.bool_()),
        ("t", pa.timestamp("us")),
    ]
)

VALUES = {
    "x": st.integers(-4, 4),
    "y": st.sampled_from([-2.5, -1.0, -0.0, 0.5, 1.5, 2.0, math.nan]),
    "s": st.sampled_from(["", "a", "ab", "A%", "b_\n", "ß", "İ", "a\\"]),
    "f": st.booleans(),
    "t": st.integers(-90, 90).map(lambda minutes: NOON + timedelta(minutes=minutes)),
}


@st.composite
def streams(draw: st.DrawFn) -> pa.Table:
    """An A, one or more of B and C, and up to three of D and E, with values or nulls."""
    kinds = ["A", *draw(st.lists(st.sampled_from("BC"), min_size=1, max_size=2))]
    kinds += draw(st.lists(st.sampled_from("DE"), max_size=3))
    rows = []
    for ts, kind in enumerate(kinds):
        # Also what a type does not have: the declaration counts, not the column.
        values = {name: draw(st.none() | VALUES[name]) for name in ATTRIBUTES}
        rows.append({"ts": ts, "type": kind, **values})
    return pa.Table.from_pylist(rows, SCHEMA)


def places(attribute: str) -> st.SearchStrategy[str]:
    """The ways to name one value of an attribute."""
    names = [f"a.{attribute}", f"c.{attribute}"]
    names += [f"d[{index}].{attribute}" for index in ("1", "2", "d.LEN")]
    names += [f"first(d[].{attribute})", f"last(d[].{attribute})"]
    if attribute in TYPES["B"]:
        names.append(f"b.{attribute}")
    return st.sampled_from(names)


AGGREGATES = st.sampled_from(
    ["d.LEN", "count(d[])", "count(d[].s)"]
    + [f"{name}(d[].{x})" for name in ("min", "max", "sum", "avg", "count") for x in "xy"]
)
NUMBER_LEAVES = (
    places("x")
    | places("y")
    | AGGREGATES
    | st.sampled_from(["0", "1", "3", "-2", "0.5", "-1.5", "80%"])
)


def larger_numbers(smaller: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    plain = ["abs", "sign", "floor", "ceil", "round", "sqrt", "ln", "log10", "exp"]
    one = st.sampled_from(
        ["-({})", "round({}, 1)", "power({}, -1)", *(f"{name}({{}})" for name in plain)]
    )
    two = st.sampled_from(["({} + {})", "({} - {})", "({} * {})", "({} / {})", "({} % {})"])
    more = st.sampled_from(["least({}, {})", "greatest({}, {})", "power({}, {})"])
    return st.builds(str.format, one, smaller) | st.builds(str.format, two | more, smaller, smaller)


NUMBERS = st.recursive(NUMBER_LEAVES, larger_numbers, max_leaves=5)
STRINGS = st.builds(
    str.format, st.sampled_from(["{}", "lower({})", "upper({})"]), places("s")
) | st.sampled_from(["'a'", "'AB'", "''"])
TIMES = places("t") | st.builds(
    "{} {} minutes".format, places("t"), st.sampled_from("+-").map(lambda sign: f"{sign} 30")
)
PLAIN_DURATIONS = st.builds("({} - {})".format, TIMES, TIMES) | st.just("45 minutes")
DURATIONS = PLAIN_DURATIONS | st.one_of(
    st.builds("({} * {})".format, PLAIN_DURATIONS, NUMBER_LEAVES),
    st.builds("({} * {})".format, NUMBER_LEAVES, PLAIN_DURATIONS),
    st.builds("({} / {})".format, PLAIN_DURATIONS, NUMBER_LEAVES),
)
COMPARISONS = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])


def compared(operands: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("{} {} {}".format, operands, COMPARISONS, operands),
        st.builds("{} BETWEEN {} AND {}".format, operands, operands, operands),
        st.builds("{} IN ({}, {})".format, operands, operands, operands),
        st.builds("{} NOT IN ({}, {})".format, operands, operands, operands),
        st.builds("{} IS NULL".format, operands),
        st.builds("{} IS NOT NULL".format, operands),
    )


LIKE_PATTERNS = st.sampled_from(["'a%'", "'_'", "'%\n'", "'A%'", "'_\\'", "'.'", "''"])
PREDICATES = st.one_of(
    compared(NUMBERS),
    compared(STRINGS),
    compared(TIMES),
    compared(DURATIONS),
    st.builds("{} {} '2024-05-01 12:00:00'".format, TIMES, COMPARISONS),
    st.builds("{} LIKE {}".format, STRINGS, LIKE_PATTERNS),
    places("f"),
)
CONDITIONS = st.recursive(
    PREDICATES,
    lambda smaller: st.one_of(
        st.builds("NOT ({})".format, smaller),
        st.builds("({} AND {})".format, smaller, smaller),
        st.builds("({} OR {})".format, smaller, smaller),
    ),
    max_leaves=4,
)
WHOLE = st.sampled_from(["a", "b", "d[]", "d[].x", "d[].y", "d[].s", "d[].t"])
ITEMS = NUMBERS | STRINGS | TIMES | DURATIONS | CONDITIONS | WHOLE


@given(streams(), st.lists(ITEMS, min_size=1, max_size=4))
def test_columns_have_the_values_of_the_definition(events: pa.Table, items: list[str]) -> None:
    check(events, items)


INFINITE = pa.Table.from_pylist(
    [
        {"ts": 0, "type": "A", "x": 3, "y": math.inf},
        {"ts": 1, "type": "C", "x": 0, "y": -math.inf},
        {"ts": 2, "type": "D", "x": 1, "y": math.inf},
        {"ts": 3, "type": "D", "x": 2, "y": 1e300},
    ],
    SCHEMA,
)


@pytest.mark.parametrize(
    "item",
    ["a.y > 0", "a.y + 1", "-a.y", "c.y", "a.y / 0", "1 / a.y", "a.y = d[1].y", "a.y IS NULL"]
    + [f"{name}(d[].y)" for name in ("min", "max", "sum", "avg", "first", "count")]
    + [f"{name}(a.y)" for name in ("abs", "sign", "exp", "ln", "sqrt", "floor", "ceil", "round")]
    + ["ln(c.x)", "exp(d[2].y)", "power(c.x, -1)", "power(a.y, 2)", "d[2].y * d[2].y"]
    + ["least(a.y, 3)", "greatest(c.y, 3)", "d[2].y * d[2].y > 0"],
)
def test_infinity_is_a_number_and_an_impossible_result_is_null(item: str) -> None:
    check(INFINITE, [item])


def test_durations_are_multiplied_by_fractions() -> None:
    events = INFINITE.set_column(6, "t", pa.array([NOON] * 4, pa.timestamp("us")))
    [match] = cep.query("""
        PATTERN A a WHERE a.t - 0.5 * 1 hour > '2024-05-01' AND 3 ms / 2 < 1.6 ms
        RETURN 1.5 * 2 hours AS long, a.t + 1 hour * 80% AS later, 1 hour * a.y AS endless
    """).match(events)
    assert match["long"] == timedelta(hours=3)
    assert match["later"] == NOON + timedelta(minutes=48)
    assert match["endless"] is None


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_far_times_go_with_durations(unit: str) -> None:
    far = datetime(9999, 12, 31)
    column = pa.array([NOON, far], pa.timestamp(unit))
    events = pa.table({"ts": [1, 2], "type": ["A", "C"], "t": column})
    [match] = cep.query("""
        PATTERN SEQ(A a, C c)
        WHERE c.t - 1 day > '2024-05-02' AND (c.t - c.t) + 300000 days > 1 day
        RETURN c.t + 1 hour AS later, c.t - 1 day - a.t AS away, 400000 days AS long
    """).match(events)
    assert match["later"] == far + timedelta(hours=1)
    assert match["away"] == far - timedelta(days=1) - NOON
    assert match["long"] == timedelta(days=400_000)


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_times_that_nanoseconds_do_not_reach_are_compared_with_nanoseconds(
    zone: str | None,
) -> None:
    moment = pa.array([datetime(2024, 5, 1)] * 2, pa.timestamp("ns", zone))
    far = pa.array([datetime(9999, 12, 31)] * 2, pa.timestamp("us"))
    events = pa.table({"ts": [1, 2], "type": ["A", "B"], "t": moment, "until": far})
    query = cep.query("PATTERN A a WHERE a.t < '9999-12-31' RETURN a.t < a.until AS before")
    [match] = query.match(events)
    assert match["before"] is True


def test_times_with_a_zone_and_without_one_are_subtracted_in_utc() -> None:
    zoned = pa.array([datetime(2024, 5, 1, 10)] * 2, pa.timestamp("us", "Europe/Berlin"))
    plain = pa.array([datetime(2024, 5, 1, 9)] * 2, pa.timestamp("ms"))
    events = pa.table({"ts": [1, 2], "type": ["A", "B"], "z": zoned, "t": plain})
    query = cep.query("""
        PATTERN SEQ(A a, B b) WHERE a.z - b.t = 1 hour AND (a.z - a.t) * 0.5 = 30 minutes
        RETURN a.z - b.t AS apart, b.t - a.z AS back
    """)
    [match] = query.match(events)
    assert match["apart"] == -match["back"]
    assert match["apart"].total_seconds() == 3600


def check(events: pa.Table, items: list[str]) -> None:
    text = ", ".join(f"{item} AS item{number}" for number, item in enumerate(items))
    query = cep.query(f"{PATTERN} RETURN {text}")
    table = query.match(events, schema=TYPES, evaluation="reference").to_arrow()

    ordered = order_events(events, ReadOptions.of({"schema": TYPES}))
    stream = python_events(ordered, set(events.column_names))
    found = reference.evaluate(query.tree, stream)
    for number, item in enumerate(items):
        expected = [reference.returned(query.tree, match)[number] for match in found]
        actual = table.column(f"item{number}").to_pylist()
        assert list(map(comparable, actual)) == list(map(comparable, expected)), item


def comparable(value: Any) -> Any:
    """Equal for values that differ only by rounding, or by nulls for what a type does not have."""
    match value:
        case bool() | str() | None:
            return value
        case float() if math.isnan(value):
            return None
        case int() | float():
            return float(f"{value:.9g}") + 0.0
        case dict():
            items = {name: comparable(item) for name, item in value.items()}
            return {name: item for name, item in items.items() if item is not None}
        case list():
            return list(map(comparable, value))
    return value


def test_a_duration_is_added_to_times_of_any_year():
    until = pa.array([datetime(9999, 12, 31), None], pa.timestamp("us"))
    events = {"ts": [1, 2], "type": ["A", "A"], "until": until}
    query = cep.query("EVENT A a RETURN a.until - 1 day AS last, a.until + 7 ms AS more")
    found = query.match(events).to_arrow()
    assert found["last"].to_pylist() == [datetime(9999, 12, 30), None]
    assert found["more"].to_pylist() == [datetime(9999, 12, 31, 0, 0, 0, 7_000), None]
    assert found.schema.field("last").type == pa.timestamp("us")


def test_a_time_in_nanoseconds_is_taken_from_one_that_they_do_not_reach():
    late, early = datetime(9999, 1, 1), datetime(9998, 1, 1)
    table = pa.table(
        {
            "ts": [1, 2],
            "type": ["A", "B"],
            "far": pa.array([late, late], pa.timestamp("us")),
            "near": pa.array([datetime(2020, 1, 1)] * 2, pa.timestamp("ns")),
            "other": pa.array([early, early], pa.timestamp("us")),
        }
    )
    query = cep.query(
        "PATTERN SEQ(A a, B b) RETURN a.far - b.near AS long, a.far - b.other AS year"
    )
    [row] = query.match(table).to_arrow().select(["long", "year"]).to_pylist()
    assert row == {"long": late - datetime(2020, 1, 1), "year": late - early}


@pytest.mark.parametrize(
    ("item", "kind"),
    [
        ("CASE WHEN a.x < 0 THEN a.s END", pa.string()),
        ("CASE WHEN a.x < 0 THEN a.s END != 'u'", pa.bool_()),
        ("coalesce(NULL, a.s)", pa.string()),
        ("nullif(coalesce(NULL, a.s), 'u')", pa.string()),
        ("coalesce(a.x, 1.5)", pa.float64()),
        ("greatest(a.y, 1)", pa.float64()),
        ("CASE WHEN a.x < 0 THEN a.t END", pa.timestamp("us")),
        ("CASE WHEN a.x < 0 THEN a.t END + 1 hour", pa.timestamp("us")),
        ("CASE WHEN a.x < 0 THEN a.t END - a.t", pa.duration("us")),
    ],
)
def test_the_type_of_a_column_does_not_depend_on_its_values(item, kind):
    columns = {
        "x": pa.array([1, None], pa.int64()),
        "y": pa.array([None, 1.0], pa.float64()),
        "s": pa.array([None, "u"], pa.string()),
        "t": pa.array([None, 0], pa.timestamp("us")),
    }
    events = pa.table({"ts": [1, 2], "type": ["A", "A"], **columns})
    query = cep.query(f"PATTERN A a RETURN {item} AS r")
    for some in (events, events[:1], events[1:], events[:0]):
        assert query.match(some).to_arrow().schema.field("r").type == kind
