"""Functions that a program adds: what can be registered, and what a query gets from them."""

import math
import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import numba
import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.analysis.analyse import analyse
from cepheid.codegen.fingerprints import PASSING, fingerprint
from cepheid.engines.base.query_session import SessionTask
from cepheid.events.events import order_events
from cepheid.functions import REGISTERED
from cepheid.sessions.plan import open_session
from cepheid.sessions.session import Session
from cepheid.snapshots import unpack

EVALUATIONS = ("nfa_b", "reference")


def pearson(a, b):
    n = min(len(a), len(b))
    if n < 2:
        return None
    x, y = a[-n:] - a[-n:].mean(), b[-n:] - b[-n:].mean()
    return (x * y).sum() / math.sqrt((x * x).sum() * (y * y).sum())


def matched(query: str, events: object, **options: object) -> list[dict]:
    """The bindings, on which all evaluations agree."""
    answers = [
        sorted(cep.query(query).match(events, evaluation=name, **options).bindings(), key=str)
        for name in EVALUATIONS
    ]
    assert answers[0] == answers[1]
    return answers[0]


def returned(item: str, **columns: list) -> list[object]:
    """The item of RETURN for each of some events of type A."""
    count = len(next(iter(columns.values())))
    events = {"ts": list(range(count)), "type": ["A"] * count, **columns}
    table = cep.query(f"EVENT A a RETURN {item} AS r").match(events).to_arrow()
    return table.column("r").to_pylist()


# --- what a query gets


def test_lists_of_two_events_are_correlated():
    cep.register_function("corr", pearson)
    histories = [[1, 2, 3, 4], [2, 4, 6, 9], [4, 3, 2, 1], None, [1], [5.0, 5.0, 5.0]]
    stocks = {
        "ts": range(6),
        "type": ["Stock"] * 6,
        "symbol": ["A", "B", "C", "D", "E", "F"],
        "history": histories,
    }
    query = "PATTERN SEQ(Stock a, Stock b) WHERE corr(a.history, b.history) > 0.8"
    assert matched(query, stocks) == [{"a": 0, "b": 1}]
    opposite = "PATTERN SEQ(Stock a, Stock b) WHERE corr(a.history, b.history) < -0.8"
    assert matched(opposite, stocks) == [{"a": 0, "b": 2}, {"a": 1, "b": 2}]
    matches = cep.query(f"{query} RETURN b.symbol, corr(a.history, b.history) AS r").match(stocks)
    [row] = matches.to_arrow().to_pylist()
    assert row["r"] == pytest.approx(np.corrcoef(histories[0], histories[1])[0, 1])


def test_a_function_of_numbers_is_called_in_conditions_and_in_return():
    @cep.register_function("distance")
    def distance(x, y, u, v):
        return math.hypot(x - u, y - v)

    cars = {"ts": [1, 2, 3], "type": ["Car"] * 3, "x": [0, 3, 9], "y": [0.0, 4.0, 9.5]}
    near = "PATTERN SEQ(Car a, Car b) WHERE distance(a.x, a.y, b.x, b.y) < 6"
    assert matched(near, cars) == [{"a": 0, "b": 1}]
    rows = cep.query(f"{near} RETURN distance(a.x, a.y, b.x, b.y) AS d").match(cars).to_arrow()
    assert rows.column("d").to_pylist() == [5.0]
    assert distance(0, 0, 3, 4) == 5


def test_the_kind_of_the_result_is_that_of_the_function():
    cep.register_function("twice", lambda x: 2 * x)
    cep.register_function("is_odd", lambda x: x % 2 == 1)
    events = {"ts": [1, 2], "type": ["A", "A"], "x": [1, 2], "y": [0.5, None]}
    text = "EVENT A a RETURN twice(a.x) AS i, twice(a.y) AS f, is_odd(a.x) AS b"
    table = cep.query(text).match(events).to_arrow().drop_columns(["start", "end"])
    assert table.schema.types == [pa.int64(), pa.float64(), pa.bool_()]
    assert table.to_pylist() == [{"i": 2, "f": 1.0, "b": True}, {"i": 4, "f": None, "b": False}]
    none = cep.query(f"{text.replace('EVENT A a', 'EVENT A a WHERE a.x > 9')}").match(events)
    assert none.to_arrow().schema.types[2:] == [pa.int64(), pa.float64(), pa.bool_()]
    assert matched("EVENT A a WHERE is_odd(a.x)", events) == [{"a": 0}]
    assert matched("EVENT A a WHERE NOT is_odd(a.x) AND twice(a.x) = 4", events) == [{"a": 1}]


def test_texts_can_be_compared_with_each_other():
    cep.register_function("same", lambda s, t: s == t)
    events = {"ts": [1, 2, 3], "type": ["A"] * 3, "s": ["p", "q", "p"], "u": ["p", "p", None]}
    assert matched("PATTERN SEQ(A a, A b) WHERE same(a.s, b.s)", events) == [{"a": 0, "b": 2}]
    assert matched("EVENT A a WHERE same(a.s, a.u)", events) == [{"a": 0}]
    assert matched("EVENT A a WHERE same(a.s, 'q')", events) == [{"a": 1}]
    assert matched("EVENT A a WHERE NOT same(a.u, 'other')", events) == [{"a": 0}, {"a": 1}]
    assert returned("same(a.s, 'p')", s=["p", "q", None]) == [True, False, None]


def test_points_in_time_and_durations_are_microseconds():
    cep.register_function("seconds", lambda t: t / 1_000_000)
    moment = datetime(2024, 5, 1, 9, 30)
    for kind in ("s", "us", "ns"):
        times = pa.array([moment, None], pa.timestamp(kind))
        events = pa.table({"ts": [1, 2], "type": ["A", "A"], "t": times})
        epoch = int((moment - datetime(1970, 1, 1)).total_seconds())
        assert matched(f"EVENT A a WHERE seconds(a.t) = {epoch}", events) == [{"a": 0}]
        assert returned("seconds(a.t)", t=times) == [epoch, None]
    days = {"ts": [1], "type": ["A"], "t": pa.array([1], pa.date32())}
    assert matched("EVENT A a WHERE seconds(a.t) = 86400", days) == [{"a": 0}]
    waits = {"ts": [datetime(2024, 1, 1, 0, 0, s) for s in (0, 1, 5)], "type": ["A"] * 3}
    query = "PATTERN SEQ(A a, A b) WHERE seconds(b.ts - a.ts) = 4"
    assert matched(query, waits) == [{"a": 1, "b": 2}]


def test_what_has_no_answer_is_null():
    @cep.register_function("answer")
    def answer(x):
        if x == 0:
            return 1 / x
        if x == 1:
            raise ValueError("no")
        if x == 2:
            return None
        if x == 3:
            return math.nan
        if x == 4:
            return math.inf
        return 7.5

    numbers = [0, 1, 2, 3, 4, 5, None]
    events = {"ts": range(7), "type": ["A"] * 7, "x": numbers}
    assert returned("answer(a.x)", x=numbers) == [None] * 5 + [7.5, None]
    assert matched("EVENT A a WHERE answer(a.x) > 0", events) == [{"a": 5}]
    assert matched("EVENT A a WHERE NOT answer(a.x) > 0", events) == []
    assert len(matched("EVENT A a WHERE answer(a.x) IS NULL", events)) == 6


def test_an_index_out_of_range_is_null_and_reads_nothing_else():
    cep.register_function("third", lambda h: h[2])
    lists = [[1.0, 2.0, 3.0], [1.0], [], None, [1.0, 2.0, None]]
    events = {"ts": range(5), "type": ["A"] * 5, "h": lists}
    assert matched("EVENT A a WHERE third(a.h) = 3", events) == [{"a": 0}]
    assert len(matched("EVENT A a WHERE third(a.h) IS NULL", events)) == 4
    assert returned("third(a.h)", h=lists) == [3.0, None, None, None, None]


def test_a_function_that_changes_its_list_changes_no_event():
    @cep.register_function("smallest")
    def smallest(h):
        h.sort()
        return h[0]

    cep.register_function("head", lambda h: h[0])
    lists = [[3.0, 1.0], [2.0, 1.5]]
    events = {"ts": [1, 2], "type": ["A", "A"], "h": lists}
    query = (
        "PATTERN SEQ(A a, A b) "
        "WHERE smallest(a.h) < smallest(b.h) AND head(a.h) = 3 AND head(b.h) = 2"
    )
    assert matched(query, events) == [{"a": 0, "b": 1}]
    assert returned("smallest(a.h) + head(a.h)", h=lists) == [4.0, 3.5]


@pytest.mark.parametrize(
    ("kind", "lists"),
    [
        (pa.list_(pa.int32()), [[1, 2], [3]]),
        (pa.large_list(pa.float32()), [[1, 2], [3]]),
        (pa.list_(pa.int64(), 2), [[1, 2], [3, 0]]),
        (pa.list_(pa.bool_()), [[True, True, True], [True]]),
        (pa.list_(pa.string()), [["p"], ["p", "q"]]),
    ],
    ids=str,
)
def test_lists_of_all_kinds_are_arrays_of_floats(kind, lists):
    cep.register_function("alike", lambda g, h: g[0] == g[-1] and g[0] == h[0])
    cep.register_function("total", lambda h: h.sum())
    events = pa.table({"ts": [1, 2], "type": ["A", "B"], "h": pa.array(lists, kind)})
    if pa.types.is_string(kind.value_type):
        assert matched("PATTERN SEQ(A a, B b) WHERE alike(a.h, b.h)", events) == [{"a": 0, "b": 1}]
    else:
        query = "PATTERN SEQ(A a, B b) WHERE total(a.h) = 3 AND total(b.h) < total(a.h) + 1"
        assert matched(query, events) == [{"a": 0, "b": 1}]


def test_left_out_arguments_have_their_defaults():
    @cep.register_function("near")
    def near(x, y=2, most=0.5):
        return abs(x - y) <= most

    assert returned("near(a.x)", x=[1, 2, 3]) == [False, True, False]
    assert returned("near(a.x, 1)", x=[1, 2, 3]) == [True, False, False]
    assert returned("near(a.x, 1, 1)", x=[1, 2, 3]) == [True, True, False]
    events = {"ts": [1, 2], "type": ["A"] * 2, "x": [1, 2]}
    assert matched("PATTERN SEQ(A a, A b) WHERE near(b.x) AND near(a.x, b.x, 1)", events)


def test_a_compiled_function_can_call_another():
    @numba.njit
    def square(x):
        return x * x

    @cep.register_function("fourth")
    @numba.njit
    def fourth(x):
        return square(square(x))

    assert returned("fourth(a.x)", x=[2]) == [16]
    assert matched("EVENT A a WHERE fourth(a.x) = 16", {"ts": [1], "type": ["A"], "x": [2]})


def test_a_negated_component_may_have_conditions_on_lists():
    cep.register_function("corr", pearson)
    events = {
        "ts": [1, 2, 3],
        "type": ["A", "B", "C"],
        "h": [[1.0, 2.0, 3.0], [1.0, 2.0, 4.0], [3.0, 2.0, 1.0]],
    }
    pattern = "PATTERN SEQ(A a, ~(B b), C c) WHERE "
    assert matched(f"{pattern} corr(a.h, b.h) > 0 WITHIN 9", events) == []
    assert matched(f"{pattern} corr(b.h, c.h) > 0 WITHIN 9", events) == [{"a": 0, "c": 2}]
    assert matched(f"{pattern} corr(b.h, b.h) > 0 WITHIN 9", events) == []


def test_a_type_without_the_attribute_passes():
    cep.register_function("top", lambda h: h[0])
    tables = {"A": {"ts": [1], "h": [[1.0]]}, "B": {"ts": [2]}}
    query = "PATTERN SEQ(ANY(A, B) a) WHERE top(a.h) > 5"
    bindings = cep.query(query).match(tables, type=None).bindings()
    assert bindings == cep.query(query).match(tables, type=None, evaluation="reference").bindings()
    assert len(bindings) == 1


def test_lists_of_events_that_are_not_in_the_chunk_any_more(tune):
    tune(chunk_events=4)
    cep.register_function("total", lambda g, h: g.sum() + h.sum())
    count = 40
    events = {
        "ts": list(range(count)),
        "type": ["A" if ix % 10 == 0 else "B" if ix % 10 == 9 else "Z" for ix in range(count)],
        "h": [[float(ix)] * (ix % 3) for ix in range(count)],
    }
    # 10 + 2 × 29 and 2 × 20 + 2 × 29, and so on; 0, 30, 9 and 39 have empty lists.
    query = "PATTERN SEQ(A a, B b) WHERE total(a.h, b.h) = {}"
    assert matched(query.format(68), events) == [{"a": 10, "b": 29}]
    assert matched(query.format(98), events) == [{"a": 20, "b": 29}]
    assert matched(query.format(40), events) == [{"a": 20, "b": 39}]
    assert matched(query.format(19), events) == [{"a": 0, "b": 19}]


def test_what_is_kept_of_a_partition_need_not_follow_each_other():
    cep.register_function("same_list", lambda g, h: len(g) == len(h) and (g == h).all())
    rows = 60
    table = pa.table(
        {
            "ts": list(range(rows)),
            "type": ["A"] * rows,
            # Partition 0 is rare, so that its events are kept while those around them go.
            "k": [0 if ix % 20 == 0 else 1 for ix in range(rows)],
            "h": [[float(ix // 20 % 2), float(ix % 20)] for ix in range(rows)],
        }
    )
    text = (
        "PATTERN SEQ(A a, A b) WHERE [k] AND same_list(a.h, b.h) AND a.k = 0 "
        "WITHIN 3 EVENTS PER PARTITION"
    )
    query = cep.query(text)
    events = order_events(table)
    analysed = analyse(query.tree, events.schema)
    running = Session(analysed, 3)
    found = []
    for low in range(0, rows, 5):
        found += running.feed(events.slice(low, low + 5)).bindings()
        running = open_session(SessionTask(analysed, 3), unpack(running.snapshot()))
    assert found == [{"a": 0, "b": 40}]
    assert found == query.match(table, evaluation="reference").bindings()


# --- what can be registered


def test_a_name_that_is_registered_again_is_replaced():
    cep.register_function("f", lambda x: x + 1)
    query = cep.query("EVENT A a WHERE f(a.x) = 3")
    events = {"ts": [1, 2], "type": ["A"] * 2, "x": [2, 1]}
    assert query.match(events).bindings() == [{"a": 0}]
    cep.register_function("f", lambda x: x + 2)
    assert query.match(events).bindings() == [{"a": 1}]


def _varying(*values):
    return values[0]


def _named(x, *, by):
    return x * by


async def _later(x):
    return x


def _helper(x):
    return x


@pytest.mark.parametrize(
    ("name", "function", "message"),
    [
        (
            "a b",
            abs,
            "'a b' cannot be the name of a function: a name is a word of letters, digits and "
            "underscores",
        ),
        (
            3,
            abs,
            "3 cannot be the name of a function: a name is a word of letters, digits and "
            "underscores",
        ),
        ("ABS", len, "'ABS' is a built-in function already; register the function as another name"),
        ("avg", len, "'avg' is an aggregate already; register the function as another name"),
        ("Within", len, "'Within' is a word of the language already; register the function as "
         "another name"),
        ("f", 5, "'f' is registered as 5, which is not a function"),
        (
            "f",
            len,
            "'f' is registered as <built-in function len>; numba compiles functions that are "
            "written in Python, with def or lambda; such a function may call others if they have "
            "@numba.njit",
        ),
        (
            "f",
            _varying,
            "'f' takes any number of arguments, or keyword arguments; a function of a query has "
            "a fixed list of arguments",
        ),
        (
            "f",
            _named,
            "'f' takes any number of arguments, or keyword arguments; a function of a query has "
            "a fixed list of arguments",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_registered_is_refused(name, function, message):
    with pytest.raises(cep.OptionError) as caught:
        cep.register_function(name, function)
    assert str(caught.value) == message
    assert REGISTERED == {}


def _line(function) -> int:
    return function.__code__.co_firstlineno + 1


def _calls_python(x):
    return _helper(x)


def _makes_string(x):
    return f"{x:.2f}"


def _wants_string(x):
    return x.upper() == "A"


def _gives_string(x):
    return "yes" if x else "no"


def _opens(x):
    with open("x") as file:
        return file.read(x)


def test_numbas_reason_is_one_line():
    def refusal(function) -> str:
        with pytest.raises(cep.OptionError) as caught:
            cep.register_function("f", function)
        return str(caught.value)

    assert refusal(_calls_python) == (
        "'f' cannot be compiled: numba says \"Untyped global name '_helper': Cannot determine "
        f"Numba type of <class 'function'>\" (line {_line(_calls_python)})"
    )
    assert refusal(_makes_string) == (
        "'f' cannot be compiled: numba says \"format spec in f-strings not supported yet\" "
        f"(line {_line(_makes_string)})"
    )
    line = _line(_wants_string)
    assert refusal(_wants_string) == (
        "'f' cannot be compiled\n"
        f"for numbers: numba says \"Unknown attribute 'upper' of type float64\" (line {line})\n"
        f"for lists: numba says \"Unknown attribute 'upper' of type list\" (line {line})"
    )
    assert refusal(_gives_string) == (
        "'f' cannot be compiled: it returns a string, not a number or a boolean"
    )
    assert "'with (context manager) as (variable):' construct is not supported" in refusal(_opens)
    assert "is registered as <function _later" in refusal(_later)


def test_a_function_of_a_list_and_a_number_can_be_registered():
    cep.register_function("at", lambda h, ix: h[ix])
    assert returned("at(a.h, a.ix)", h=[[1.0, 2.0], [3.0]], ix=[1, 5]) == [2.0, None]


def test_a_wrong_call_is_an_error_that_points_at_it():
    cep.register_function("near", lambda x, y, most=1: abs(x - y) <= most)
    cep.register_function("corr", pearson)
    with pytest.raises(cep.QuerySemanticError) as caught:
        cep.query("EVENT A a WHERE near(a.x)")
    assert caught.value.faults[0].message == "near takes 2 or 3 arguments, not 1"
    events = {"ts": [1], "type": ["A"], "x": [1], "h": [[1.0]]}
    with pytest.raises(cep.QuerySemanticError) as caught:
        cep.query("EVENT A a WHERE corr(a.h, a.x) > 0.8").match(events)
    assert str(caught.value) == (
        "query:1:17: corr does not take a list and an integer\n"
        "  1 | EVENT A a WHERE corr(a.h, a.x) > 0.8\n"
        "    |                 ^^^^^^^^^^^^^^\n"
        f'numba says "there is no len(int64)" (line {_line(pearson)}).'
    )
    with pytest.raises(cep.QuerySemanticError, match="this is a float, not a condition"):
        cep.query("EVENT A a WHERE corr(a.h, a.h)").match(events)
    with pytest.raises(cep.QuerySemanticError, match="there is no function 'corl'") as caught:
        cep.query("EVENT A a WHERE corl(a.h, a.h) > 0")
    assert "Did you mean 'corr'?" in str(caught.value)


def test_a_column_without_any_value_makes_the_result_null():
    cep.register_function("near", lambda x, y: abs(x - y) <= 1)
    events = {"ts": [1, 2], "type": ["A"] * 2, "x": [1, 2], "n": [None, None]}
    for query in ("EVENT A a WHERE near(a.x, a.n)", "PATTERN SEQ(A a, A b) WHERE near(a.x, b.n)"):
        assert cep.query(query).match(events).bindings() == []
        assert len(cep.query(query.replace("n)", "n) IS NULL")).match(events)) > 0
    assert returned("near(a.x, a.n)", x=[1, 2], n=[None, None]) == [None, None]


# --- compiled code that is kept


def test_whatever_changes_what_a_function_does_changes_its_fingerprint():
    def made(factor, table=(1, 2)):
        def function(x, by=1):
            return x * factor + table[0] * by

        return function

    names = {
        fingerprint(made(1)),
        fingerprint(made(2)),
        fingerprint(made(1.0)),
        fingerprint(made(1, (2, 2))),
        fingerprint(made(1, np.array([1, 2]))),
        fingerprint(made(1, np.array([1, 3]))),
        fingerprint(lambda x: x + 1),
        fingerprint(lambda x: x + 1.0),
        fingerprint(lambda x: x - 1),
        fingerprint(lambda x: math.sin(x)),
        fingerprint(lambda x: math.cos(x)),
        fingerprint(lambda x: x in (1, 2)),
    }
    assert len(names) == 12
    assert not any(name.startswith(PASSING) for name in names)
    assert fingerprint(made(1)) == fingerprint(made(1))


def test_globals_and_callees_are_part_of_the_fingerprint():
    space = {"njit": numba.njit}
    exec("LIMIT = 1\ndef f(x): return x < LIMIT", space)
    before = fingerprint(space["f"])
    space["LIMIT"] = 2
    assert fingerprint(space["f"]) != before
    exec("def g(x): return h(x)", space)
    exec("@njit\ndef h(x): return x", space)
    before = fingerprint(space["g"])
    exec("@njit\ndef h(x): return x + 1", space)
    assert fingerprint(space["g"]) != before
    assert not before.startswith(PASSING)
    assert fingerprint(_calls_python).startswith(PASSING)  # who knows what numba makes of it


def test_a_changed_global_is_seen_by_the_next_run():
    space: dict = {}
    exec("LIMIT = 1\ndef below(x): return x < LIMIT", space)
    cep.register_function("below", space["below"])
    query, events = cep.query("EVENT A a WHERE below(a.x)"), {"ts": [1], "type": ["A"], "x": [1]}
    assert query.match(events).bindings() == []
    space["LIMIT"] = 2
    assert query.match(events).bindings() == [{"a": 0}]


PROGRAM = """
import ctypes, sys
import numpy as np
import cepheid as cep
from cepheid.analysis.analyse import analyse
from cepheid.codegen.generated import predicate_address
from cepheid.codegen.sequences import compile_nfa_b
from cepheid.events.columns.encoding import EncodedColumn
from cepheid.events.columns.string_codes import StringCodes
from cepheid.engines.base.registers import Registers

space = {}
exec(sys.argv[1], space)
cep.register_function("f", space["f"])
analysed = analyse(cep.query("EVENT A a WHERE f(a.x, 3)").tree, cep.Schema({"x": cep.Kind.INTEGER}))
automaton = compile_nfa_b(analysed, analysed.alternatives[0])
registers = Registers(automaton, 1)
registers.point_at([EncodedColumn(np.array([2]))], StringCodes())
integer = ctypes.c_int64
predicate = ctypes.CFUNCTYPE(integer, *[integer] * 4)(predicate_address(automaton.source))
print(predicate(0, registers.context.ctypes.data, 0, 0))
"""


def test_code_from_the_disk_is_never_that_of_another_version(tmp_path):
    def run(source: str) -> int:
        folders = {"CEPHEID_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, source],
            env={**os.environ, **folders},
            capture_output=True,
            text=True,
            check=True,
        )
        return int(done.stdout)

    def modules() -> set[Path]:
        return set(tmp_path.rglob("q_*.py"))

    assert run("def f(x, y): return x < y") == 1
    first = modules()
    assert len(first) == 1
    assert run("def f(x, y): return x < y") == 1
    assert modules() == first
    assert run("def f(x, y): return x > y") == 0
    assert len(modules()) == 2
    # What may be something else in another process, as a name of an unknown thing, is not kept.
    assert run("real = object()\ndef f(x, y): return x.real < y.real") == 1
    assert len(modules()) == 2
