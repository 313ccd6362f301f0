"""At which row of a stream each match is given, and what sessions refuse."""

import warnings
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from row_patterns.row_cases import defined, table

import cepheid as cep
from cepheid.errors import (
    CepheidWarning,
    EvaluationError,
    EventError,
    LimitError,
    OptionError,
    QuerySemanticError,
    SnapshotError,
)
from cepheid.row_patterns.streams.matching import KnownRows
from cepheid.tuning import tuned

pytestmark = pytest.mark.filterwarnings("ignore:the pattern has no longest match")
END = "end"


def given(
    pattern: str, letters: str, clauses: str = "", define: str = "", **columns: list[Any]
) -> dict[int | str, list[str]]:
    """The matches by the row at which they are given: where each begins and its variables."""
    text = f"""MATCH_RECOGNIZE (ORDER BY t
        MEASURES CLASSIFIER() AS v, MATCH_NUMBER() AS n, FIRST(t) AS first
        ALL ROWS PER MATCH {clauses} PATTERN ({pattern}) {defined(pattern, define)})"""
    source = pa.table(table(letters, **columns))
    session = cep.query(text).session(time_unit="s")
    parts = {row: session.feed(source.slice(row, 1)) for row in range(len(letters))}
    parts[END] = session.advance()
    return {row: _shown(found) for row, found in parts.items() if len(found)}


def _shown(found: Any) -> list[str]:
    matches: dict[Any, str] = {}
    for row in found:
        start = row["t"] if row["first"] is None else row["first"]
        key = row["n"] or f"unmatched {row['t']}"
        matches.setdefault(key, f"{start}:")
        matches[key] += (row["v"] or "") if row["n"] else "-"
    return list(matches.values())


@pytest.mark.parametrize(
    ("pattern", "letters", "expected"),
    [
        ("A B*", "abbab", {3: ["0:ABB"], END: ["3:AB"]}),  # greedy: another B could follow
        ("A B*?", "abb", {0: ["0:A"]}),  # reluctant: none is needed
        ("A B+?", "abb", {1: ["0:AB"]}),
        ("A B{2}", "abbb", {2: ["0:ABB"]}),
        ("A B{1,2}", "abbb", {2: ["0:ABB"]}),
        ("A B{1,2}", "abab", {2: ["0:AB"], END: ["2:AB"]}),
        ("A B{1,2}?", "abbb", {1: ["0:AB"]}),
        ("A B?", "aab", {1: ["0:A"], 2: ["1:AB"]}),
        ("A B* C", "abbcabc", {3: ["0:ABBC"], 6: ["4:ABC"]}),
        ("A B* C", "abb", {}),
        ("A | A B", "ab", {0: ["0:A"]}),  # the first alternative is preferred
        ("A B | A", "aab", {1: ["0:A"], 2: ["1:AB"]}),
        ("A B | A", "aa", {1: ["0:A"], END: ["1:A"]}),
        ("(A B)* C", "ababc", {4: ["0:ABABC"]}),
        ("(A B)*", "abac", {3: ["0:AB", "2:", "3:"]}),
        ("(A B)*", "aba", {END: ["0:AB", "2:"]}),  # another A B could follow the first
        ("A*", "baab", {0: ["0:"], 3: ["1:AA", "3:"]}),  # an empty match is known at its row
        ("A*?", "aa", {0: ["0:"], 1: ["1:"]}),
        ("()", "ab", {0: ["0:"], 1: ["1:"]}),
        ("^ A B", "abab", {1: ["0:AB"]}),
        ("^ A* B", "aab", {2: ["0:AAB"]}),
        ("(^ A)? B", "abb", {1: ["0:AB"], 2: ["2:B"]}),
        ("PERMUTE(A, B)", "baab", {1: ["0:BA"], 3: ["2:AB"]}),
        ("PERMUTE(A, B?)", "ab", {1: ["0:AB"]}),
        ("PERMUTE(A, B?)", "aa", {1: ["0:A"], END: ["1:A"]}),
        ("{- A -} B*", "abbab", {3: ["0:BB"], END: ["3:B"]}),  # only the rows of B are shown
        ("(A | B)+? C", "abbc", {3: ["0:ABBC"]}),
    ],
)
def test_a_match_is_given_when_no_row_to_come_can_change_it(pattern, letters, expected):
    assert given(pattern, letters) == expected


def test_to_next_row_gives_overlapping_matches_one_by_one():
    clauses = "AFTER MATCH SKIP TO NEXT ROW"
    assert given("A+ B", "aaab", clauses) == {3: ["0:AAAB", "1:AAB", "2:AB"]}
    assert given("A A", "aaa", clauses) == {1: ["0:AA"], 2: ["1:AA"]}
    assert given("A+", "aaab", clauses) == {3: ["0:AAA", "1:AA", "2:A"]}


def test_skipping_to_a_variable():
    assert given("A B+", "abab", "AFTER MATCH SKIP TO LAST B") == {2: ["0:AB"], END: ["2:AB"]}
    assert given("A B A", "ababa", "AFTER MATCH SKIP TO LAST A") == {2: ["0:ABA"], 4: ["2:ABA"]}


def test_unmatched_rows_are_given_once_they_are_decided():
    clauses = "WITH UNMATCHED ROWS"
    assert given("A B", "cabac", clauses) == {0: ["0:-"], 2: ["1:AB"], 4: ["3:-", "4:-"]}
    assert given("A B+ C", "abba", clauses) == {3: ["0:-", "1:-", "2:-"], END: ["3:-"]}
    # Rows that a later start covers are not unmatched.
    assert given("A B+ | B C", "abbc", clauses) == {3: ["0:ABB", "3:-"]}
    over = "WITH UNMATCHED ROWS AFTER MATCH SKIP TO NEXT ROW"
    assert given("A B C", "abcb", over) == {2: ["0:ABC"], 3: ["3:-"]}


def test_empty_matches_can_be_left_out():
    assert given("A*", "bab", "OMIT EMPTY MATCHES") == {2: ["1:A"]}


def test_next_waits_for_that_row():
    define = "A AS k = 'a' AND NEXT(k) = 'b'"
    assert given("A", "aab", define=define) == {2: ["1:A"]}
    # Whatever comes next, a row that is no 'a' is not A.
    unmatched = given("A", "cab", "WITH UNMATCHED ROWS", define)
    assert unmatched == {0: ["0:-"], 2: ["1:A", "2:-"]}
    either = "A AS k = 'a' OR NEXT(k) = 'b'"
    assert given("A", "acb", define=either) == {0: ["0:A"], 2: ["1:A"]}
    # At the end of the stream there is no next row.
    last = "A AS NEXT(k) IS NULL"
    assert given("A", "ab", define=last) == {END: ["1:A"]}


def test_next_of_an_unknown_condition():
    # Unknown AND anything is never true: the first row decides.
    define = "A AS x > 1 AND NEXT(x) > 1"
    x = [None, 2, 2, 2]
    assert given("A", "aaaa", "WITH UNMATCHED ROWS", define, x=x) == {
        0: ["0:-"], 2: ["1:A"], 3: ["2:A"], END: ["3:-"],
    }  # fmt: skip


def test_next_in_a_measure_waits_too():
    text = """MATCH_RECOGNIZE (ORDER BY t MEASURES NEXT(LAST(A.k), 2) AS k PATTERN (A))"""
    session = cep.query(text).session()
    source = pa.table(table("abcd"))
    found = [session.feed(source.slice(row, 1)).to_dicts() for row in range(4)]
    assert found == [[], [], [{"k": "c"}], [{"k": "d"}]]
    assert session.advance().to_dicts() == [{"k": None}, {"k": None}]


def test_next_of_the_first_row_does_not_wait_for_the_last():
    text = """MATCH_RECOGNIZE (ORDER BY t MEASURES NEXT(FIRST(A.k)) AS k PATTERN (A A))"""
    session = cep.query(text).session()
    assert session.feed(table("ab")).to_dicts() == [{"k": "b"}]


# --- time


WITHIN = """MATCH_RECOGNIZE (PARTITION BY p ORDER BY t
    MEASURES FIRST(t) AS since, LAST(t) AS until, MATCH_NUMBER() AS n
    PATTERN (A B*) WITHIN INTERVAL '5' SECOND DEFINE A AS k = 'a', B AS k = 'b')"""


def rows(found: Any) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in found]


def test_within_lets_time_decide():
    session = cep.query(WITHIN).session(time_unit="s")
    assert not session.feed({"t": [1, 2], "k": ["a", "b"], "p": [1, 1]})
    assert not session.advance(5)
    assert session.next_completion == 6
    assert rows(session.advance(6)) == [(1, 1, 2, 1)]
    assert session.next_completion is None


def test_a_row_of_another_partition_lets_time_decide():
    session = cep.query(WITHIN).session(time_unit="s")
    session.feed({"t": [1, 2], "k": ["a", "b"], "p": [1, 1]})
    assert rows(session.feed({"t": [6], "k": ["c"], "p": [2]})) == [(1, 1, 2, 1)]


def test_a_row_outside_within_decides():
    session = cep.query(WITHIN).session(time_unit="s")
    assert rows(session.feed({"t": [1, 6], "k": ["a", "b"], "p": [1, 1]})) == [(1, 1, 1, 1)]


def test_times_and_dates_advance():
    start = datetime(2024, 5, 1, 9, 30)
    session = cep.query(WITHIN).session()
    session.feed({"t": [start], "k": ["a"], "p": [1]})
    assert not session.advance(start + timedelta(seconds=4))
    assert len(session.advance("2024-05-01 09:30:05")) == 1
    with pytest.raises(OptionError, match="3 is not a time of the column 't'"):
        session.advance(3)


def test_match_numbers_and_row_numbers_go_on():
    session = cep.query(WITHIN).session(time_unit="s")
    for at in range(3):
        session.feed({"t": [10 * at], "k": ["a"], "p": [at % 2]})
    assert rows(session.advance()) == [(0, 20, 20, 2)]


def test_a_skip_error_names_the_match_and_the_row_of_the_stream():
    text = """MATCH_RECOGNIZE (ORDER BY t AFTER MATCH SKIP TO LAST B PATTERN (A B?)
        DEFINE A AS k = 'a', B AS k = 'b')"""
    session = cep.query(text).session()
    session.feed({"t": [1, 2, 3], "k": ["a", "b", "c"]})
    with pytest.raises(EvaluationError, match="match 2 of its partition, from row 3 to row 3"):
        session.feed({"t": [4, 5], "k": ["a", "a"]})
    # The batch was not taken.
    assert not session.feed({"t": [4, 5], "k": ["c", "c"]})


# --- what is refused


@pytest.mark.parametrize(
    ("clause", "message"),
    [
        ("PATTERN (A)", "a stream needs ORDER BY"),
        ("ORDER BY t DESC PATTERN (A)", "DESC cannot be used in a stream"),
        ("ORDER BY t PATTERN (A B $)", "'\\$' cannot be used in a stream"),
    ],
)
def test_what_a_stream_cannot_answer_is_refused(clause, message):
    query = cep.query(f"MATCH_RECOGNIZE ({clause})")
    with pytest.raises(QuerySemanticError, match=message):
        query.session()
    assert "does not run: " in query.explain()


def test_all_faults_of_a_stream_are_shown_with_their_places():
    with pytest.raises(QuerySemanticError) as caught:
        cep.query("MATCH_RECOGNIZE (ORDER BY t DESC PATTERN (A $))").session()
    assert str(caught.value).splitlines() == [
        "query:1:27: DESC cannot be used in a stream",
        "  1 | MATCH_RECOGNIZE (ORDER BY t DESC PATTERN (A $))",
        "    |                           ^^^^^^",
        "Rows arrive in ascending order: leave it out.",
        "",
        "query:1:45: '$' cannot be used in a stream",
        "  1 | MATCH_RECOGNIZE (ORDER BY t DESC PATTERN (A $))",
        "    |                                             ^",
        "No row of a stream is known to be the last one of its partition: leave it out.",
    ]


def test_faults_of_the_columns_have_places():
    session = cep.query("MATCH_RECOGNIZE (ORDER BY t PATTERN (A) DEFINE A AS prise > 1)").session()
    with pytest.raises(QuerySemanticError, match="query:1:53: the table has no column 'prise'"):
        session.feed({"t": [1], "price": [2]})
    with pytest.raises(EventError, match="a session must be fed, if only with no rows, before"):
        session.advance()
    assert not session.feed({"t": [1], "prise": [0]})


PAIR = "MATCH_RECOGNIZE (ORDER BY t, s PATTERN (A B))"


def test_late_rows_are_refused():
    session = cep.query(PAIR).session()
    session.feed({"t": [3, 5], "s": [1, 2]})
    with pytest.raises(EventError, match="a batch begins before the time that the session has"):
        session.feed({"t": [4], "s": [1]})
    with pytest.raises(EventError, match="before the last row of the batch before it, in the ord"):
        session.feed({"t": [5], "s": [1]})
    session.feed({"t": [5], "s": [2]})
    session.advance(9)
    with pytest.raises(EventError, match="a batch begins before the time that the session has"):
        session.feed({"t": [8], "s": [1]})
    session.advance()
    with pytest.raises(EventError, match="the stream has ended"):
        session.feed({"t": [9], "s": [1]})


def test_a_row_needs_a_time():
    session = cep.query(PAIR).session()
    with pytest.raises(EventError, match="time column 't' is null in 1 of 1 events"):
        session.feed({"t": pa.array([None], pa.int64()), "s": [1]})
    with pytest.raises(EvaluationError, match="ORDER BY begins with 't', which is string"):
        session.feed({"t": ["x"], "s": [1]})


def test_batches_have_the_columns_of_the_first():
    session = cep.query("MATCH_RECOGNIZE (ORDER BY t ALL ROWS PER MATCH PATTERN (A A))").session()
    session.feed({"t": [1], "x": [None], "y": [1.5]})
    with pytest.raises(EventError, match="the batch has no column 'x'"):
        session.feed({"t": [1], "y": [1]})
    found = session.feed({"y": [2], "t": [1], "x": ["late"], "z": [0]})
    assert rows(found) == [(1, None, 1.5), (1, "late", 2.0)]
    assert found.columns == ["t", "x", "y"]
    with pytest.raises(EventError, match="column 'x' is int64 in this batch, and was string"):
        session.feed({"t": [1], "x": [5], "y": [1]})
    assert not session.feed([])


def test_a_clause_without_a_bound_warns():
    with pytest.warns(CepheidWarning, match="the pattern has no longest match and no WITHIN"):
        cep.query("MATCH_RECOGNIZE (ORDER BY t PATTERN (A B*))").session()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for pattern in ("A B*?", "A (B | C){2,3}", "PERMUTE(A, B)"):
            cep.query(f"MATCH_RECOGNIZE (ORDER BY t PATTERN ({pattern}))").session()
        cep.query(WITHIN).session()


def test_explain_says_what_a_stream_waits_for():
    text = """MATCH_RECOGNIZE (ORDER BY t MEASURES MATCH_NUMBER() AS n
        PATTERN (A B{,3}) WITHIN INTERVAL '5' MINUTE
        DEFINE A AS x > PREV(x, 2), B AS x > NEXT(x))"""
    assert cep.query(text).explain().split("stream:\n")[1].splitlines() == [
        "  a match is returned when no later row can change it; NEXT waits for 1 row of the "
        "partition",
        "  WITHIN decides when its time has passed, with or without more rows",
        "  retained rows of each partition: those of INTERVAL '5' MINUTE (WITHIN), and at most 4 "
        "(the length of the pattern)",
        "  and 2 rows before them, for PREV",
        "  every partition is remembered, for the number of its rows and matches",
    ]


def test_a_step_limit_leaves_the_session_as_it_was():
    session = cep.query(
        "MATCH_RECOGNIZE (ORDER BY t PATTERN ((A | A)* B) DEFINE B AS x = 1)"
    ).session(max_steps=50, evaluation="reference")
    with pytest.raises(LimitError, match="more than 50 steps"):
        session.feed({"t": list(range(30)), "x": [0] * 30})
    session.feed({"t": [0], "x": [1]})
    assert len(session.advance()) == 1
    with pytest.raises(OptionError, match="MATCH_RECOGNIZE has no option 'max_step'"):
        cep.query(PAIR).session(max_step=3)


# --- state


def retained(session: Any) -> int:
    return len(session._state.retained.ticks)


def test_decided_rows_are_dropped():
    session = cep.query("MATCH_RECOGNIZE (ORDER BY t PATTERN (A B{2,3} C))").session()
    for at in range(50):
        session.feed({"t": [at]})
        assert retained(session) <= 4
    session = cep.query(WITHIN).session(time_unit="s")
    for at in range(50):
        session.feed({"t": [at], "k": ["a" if at % 5 == 0 else "b"], "p": [1]})
        assert retained(session) <= 5


def test_prev_reads_rows_before_the_first_undecided_one():
    text = "MATCH_RECOGNIZE (ORDER BY t MEASURES PREV(A.t, 2) AS p PATTERN (A B))"
    session = cep.query(text).session()
    assert [rows(session.feed({"t": [at]})) for at in range(6)] == [
        [], [(None,)], [], [(0,)], [], [(2,)],
    ]  # fmt: skip
    assert retained(session) == 2


def test_partitions_that_no_answer_needs_are_dropped(tune):
    tune(few_row_partitions=4)
    clause = (
        "MATCH_RECOGNIZE (PARTITION BY p ORDER BY t {} PATTERN (A B?) WITHIN INTERVAL '2' SECOND)"
    )
    for measures, kept in (("", 5), ("MEASURES MATCH_NUMBER() AS n", 40)):
        session = cep.query(clause.format(measures)).session(time_unit="s")
        for at in range(40):
            session.feed({"t": [at], "p": [f"p{at}"]})
        assert len(session._state.retained.places.start) <= kept
    assert session.evicted_from is None
    session = cep.query(clause.format("")).session(time_unit="s")
    session.feed({"t": [1], "p": ["x"]})
    assert session.evicted_from == 3


def test_a_table_is_matched_in_parts(tune):
    tune(matched_rows=4)
    text = """MATCH_RECOGNIZE (PARTITION BY p ORDER BY t MEASURES LAST(t) AS t
        AFTER MATCH SKIP TO LAST B PATTERN (A {}))"""
    source = {"p": [1, 2, 3] * 4, "t": list(range(12))}
    query = cep.query(text.format("B"))
    stream = query.match_stream(source)
    found = [batch.to_pylist() for batch in stream.to_batches()]
    assert len(found) == 3
    whole = query.match(source)
    assert [row for part in found for row in part] == whole.to_dicts()
    assert stream.found == whole.count
    with pytest.raises(EvaluationError, match="match 4 of its partition, from row 9 to row 9"):
        list(cep.query(text.format("B?")).match_stream(source))
    with pytest.raises(QuerySemanticError, match="query:1:31: the table has no column 'p'"):
        query.match_stream({"t": [1]})


IDS = """MATCH_RECOGNIZE (PARTITION BY p ORDER BY t {} PATTERN (A B?)
    WITHIN INTERVAL '2' SECOND DEFINE A AS x > 0, B AS x > 1)"""
ID_ROWS = {"t": [1, 1, 1, 1, 2, 2, 9], "p": list("aaabbac"), "x": [1, 1, 1, 1, 2, 2, 1]}


def ids_by_batch(text: str, *sizes: int) -> list[Any]:
    table, session, found = (
        pa.table(ID_ROWS),
        cep.query(text).session(time_unit="s", match_id=True),
        [],
    )
    for size in sizes:
        batch, table = table.slice(0, size), table.slice(size)
        session = (
            cep.query(text).restore(session.snapshot(), time_unit="s", match_id=True)
            if found
            else session
        )
        found.append(session.feed(batch))
    return sorted(map(repr, (row for part in (*found, session.advance()) for row in part)))


def test_ids_name_matches_however_they_are_found(tune):
    text = IDS.format("MEASURES FIRST(t) AS s, LAST(t) AS e")
    whole = ids_by_batch(text, 7)
    assert len({row.split("match_id")[1] for row in whole}) == len(whole) == 5
    for evaluation in ("row_pattern", "reference"):
        keywords = {"time_unit": "s", "match_id": True, "evaluation": evaluation}
        assert sorted(map(repr, cep.query(text).match(ID_ROWS, **keywords))) == whole
    tune(few_row_partitions=0)
    for sizes in ([1] * 7, [2, 3, 2], [4, 3]):
        assert ids_by_batch(text, *sizes) == whole


def test_all_rows_of_a_match_have_its_id():
    rows_found = cep.query(IDS.format("ALL ROWS PER MATCH WITH UNMATCHED ROWS")).session(
        time_unit="s", match_id=True
    )
    found = [
        rows_found.feed({"t": [1, 2, 3], "p": ["a"] * 3, "x": [1, 2, 0]}),
        rows_found.advance(),
    ]
    first, second, third = (row["match_id"] for part in found for row in part)
    assert first == second is not None
    assert third is None
    whole = cep.query(IDS.format("ALL ROWS PER MATCH WITH UNMATCHED ROWS")).match(
        {"t": [1, 2, 3], "p": ["a"] * 3, "x": [1, 2, 0]}, time_unit="s", match_id=True
    )
    assert [row["match_id"] for row in whole] == [first, second, None]
    with pytest.raises(OptionError, match="the result has a column 'match_id' of its own"):
        cep.query(IDS.format("MEASURES A.t AS Match_Id")).session(
            time_unit="s", match_id=True
        ).feed(ID_ROWS)


@pytest.mark.parametrize("order", ["", "ORDER BY k", "ORDER BY f DESC", "ORDER BY s"])
def test_ids_need_no_time(order):
    source = pa.table(
        {
            "k": ["b", "a", None, "a", "b"],
            "f": pa.array([0.5, None, 0.5, float("nan"), 2.0]),
            "s": pa.array([1, 2, 2, 2, 10**18], pa.timestamp("ns")),
        }
    )
    query = cep.query(f"MATCH_RECOGNIZE ({order} PATTERN (A))")
    ids = [row["match_id"] for row in query.match(source, match_id=True)]
    assert len(set(ids)) == 5
    again = query.match(source, match_id=True, evaluation="reference")
    assert [row["match_id"] for row in again] == ids


def test_a_snapshot_is_checked():
    session = cep.query(WITHIN).session(time_unit="s")
    with pytest.raises(EventError, match="before it is stored"):
        session.snapshot()
    session.feed({"t": [1, 2], "k": ["a", "b"], "p": [1, 1]})
    stored = session.snapshot()
    restored = cep.query(WITHIN).restore(stored, time_unit="s")
    assert restored.snapshot() == stored
    with pytest.raises(SnapshotError, match="the snapshot is of another query"):
        cep.query(PAIR).restore(stored)
    with pytest.raises(SnapshotError, match="made with time_unit='seconds'"):
        cep.query(WITHIN).restore(stored, time_unit="ms")
    sase = cep.query("PATTERN SEQ(A a, B b)").session()
    sase.feed({"ts": [1], "type": ["A"]})
    with pytest.raises(SnapshotError, match="the snapshot is not of a MATCH_RECOGNIZE clause"):
        cep.query(WITHIN).restore(sase.snapshot())
    with pytest.raises(SnapshotError, match="checksum"):
        cep.query(WITHIN).restore(stored[:-1] + bytes([stored[-1] ^ 1]), time_unit="s")
    with pytest.raises(SnapshotError, match="a snapshot is bytes"):
        cep.query(WITHIN).restore(None)


def test_a_snapshot_keeps_rows_that_a_batch_had_in_another_order():
    query = cep.query("""MATCH_RECOGNIZE (ORDER BY t, s NULLS FIRST
        MEASURES CLASSIFIER() AS v ALL ROWS PER MATCH PATTERN (A B+) DEFINE B AS t >= PREV(t))""")
    session = query.session()
    session.feed({"t": [3, 1, 1], "s": [1, 2, None]})
    session = query.restore(session.snapshot())
    session.feed({"t": [5, 4], "s": [1, 1]})
    rows = query.restore(session.snapshot()).advance().to_dicts()
    assert [(row["t"], row["s"], row["v"]) for row in rows] == [
        (1, None, "A"), (1, 2, "B"), (3, 1, "B"), (4, 1, "B"), (5, 1, "B"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "define", "last"),
    [
        ("A B*", "B AS x >= 0", -1),
        ("A B*", "B AS x >= PREV(x) - 5", -9),
        ("A Z* B", "B AS x < 0", None),
        ("A Z*? B", "B AS x < 0", -1),
    ],
)
def test_rows_that_decide_nothing_are_not_searched(pattern, define, last, monkeypatch):
    """The number of searches does not grow with the number of batches."""
    searches = []
    answer = KnownRows.answer
    monkeypatch.setattr(
        KnownRows, "answer", lambda self, rows: searches.append(1) or answer(self, rows)
    )
    clause = f"""MATCH_RECOGNIZE (PARTITION BY g ORDER BY t MEASURES count(*) AS n
        PATTERN ({pattern}) DEFINE {define})"""
    query = cep.query(clause)
    table = pa.table({"t": range(400), "g": [0, 1] * 200, "x": [n % 4 for n in range(400)]})
    with tuned(waiting_rows=20):
        session, given = query.session(), []
        for at in range(0, 400, 10):
            given += session.feed(table.slice(at, 10)).to_dicts()
            session.advance(at + 9)
            if at == 200:
                session = query.restore(session.snapshot())
                assert session.feed([]).to_dicts() == []
        assert given == []
        assert len(searches) <= 14
        if last is not None:  # One row ends the wait.
            ended = session.feed({"t": [400], "g": [1], "x": [last]}).to_dicts()
            assert ended == [{"g": 1, "n": 200 if pattern == "A B*" else 201}]
        assert session.snapshot()
        session.advance()
