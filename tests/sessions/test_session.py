"""Sessions: what they refuse, what they report, and what a snapshot is."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.events.columns.encoding import EncodedColumn
from cepheid.events.partition_numbers import PartitionNumbers

QUERY = "PATTERN SEQ(A a, B+ b[], C c) WHERE b[i].x > a.x WITHIN 10"


def core(session: Any) -> Any:
    """The session of the engine, inside the one that users hold."""
    return session._nodes[0].session


def events(text: str, start: int = 0) -> dict[str, list]:
    """One event a letter, one tick apart; x counts them."""
    times = list(range(start, start + len(text)))
    return {"ts": times, "type": list(text), "x": times}


def test_rows_are_counted_over_all_batches() -> None:
    session = cep.query(QUERY).session()
    assert session.feed(events("AB")).bindings() == []
    found = session.feed(events("BC", 2)).bindings()
    assert sorted(found, key=str) == [
        {"a": 0, "b": [1, 2], "c": 3},
        {"a": 0, "b": [1], "c": 3},
        {"a": 0, "b": [2], "c": 3},
    ]


def test_matches_of_a_batch_have_columns_of_earlier_batches() -> None:
    query = cep.query("PATTERN SEQ(A a, B b) WITHIN 5 RETURN a.x AS first, b.x AS second")
    session = query.session()
    session.feed(events("A"))
    assert session.feed(events("B", 3)).to_arrow().to_pylist() == [
        {"start": 0, "end": 3, "first": 0, "second": 3}
    ]


def test_a_batch_must_not_go_back_in_time() -> None:
    session = cep.query(QUERY).session()
    session.feed(events("AB", 5))
    with pytest.raises(cep.EventError, match="before the time that the session has reached"):
        session.feed(events("B", 2))


def test_advance_ends_windows() -> None:
    session = cep.query("PATTERN SEQ(A a, ~(B b)) WITHIN 5").session()
    session.feed(events("A"))
    assert len(session.advance(4)) == 0
    assert session.advance(5).bindings() == [{"a": 0}]
    assert len(session.advance()) == 0


def test_advance_takes_a_time_of_the_column() -> None:
    session = cep.query("PATTERN SEQ(A a, ~(B b)) WITHIN 5 minutes").session()
    session.feed({"ts": [datetime(2024, 1, 1, 12)], "type": ["A"]})
    assert len(session.advance(datetime(2024, 1, 1, 12, 4))) == 0
    assert len(session.advance(datetime(2024, 1, 1, 12, 5))) == 1
    with pytest.raises(cep.OptionError, match="'soon' is not a time of the column 'ts'"):
        session.advance("soon")


def test_a_session_that_was_never_fed_says_so() -> None:
    session = cep.query(QUERY).session()
    with pytest.raises(cep.EventError, match="must be fed"):
        session.advance()
    with pytest.raises(cep.EventError, match="must be fed"):
        session.snapshot()


def test_a_query_that_every_engine_refuses_has_a_session() -> None:
    session = cep.query("PATTERN SEQ(A a, B b) WHERE concat(a.s, b.s) = 'pq' WITHIN 5").session()
    with pytest.warns(cep.CepheidWarning, match="no fast evaluation runs this query"):
        found = session.feed({"ts": [1, 2], "type": ["A", "B"], "s": ["p", "q"]})
    assert found.bindings() == [{"a": 0, "b": 1}]


class TestSnapshot:
    def made(self) -> bytes:
        session = cep.query(QUERY).session()
        session.feed(events("AB"))
        return session.snapshot()

    def test_goes_on_where_it_was_made(self) -> None:
        session = cep.query(QUERY).restore(self.made())
        assert session.feed(events("C", 2)).bindings() == [{"a": 0, "b": [1], "c": 2}]

    def test_is_small(self) -> None:
        assert len(self.made()) < 400_000

    def test_of_another_query_is_refused(self) -> None:
        other = cep.query("PATTERN SEQ(A a, C c) WITHIN 10")
        with pytest.raises(cep.SnapshotError, match="of another query"):
            other.restore(self.made())

    def test_of_another_version_is_refused(self) -> None:
        made = bytearray(self.made())
        made[len(b"cepheid-snapshot")] = 99
        with pytest.raises(cep.SnapshotError, match="has version 99"):
            cep.query(QUERY).restore(bytes(made))

    def test_that_is_damaged_is_refused(self) -> None:
        made = bytearray(self.made())
        made[-100] ^= 1
        with pytest.raises(cep.SnapshotError, match="damaged"):
            cep.query(QUERY).restore(bytes(made))

    def test_that_is_none_is_refused(self) -> None:
        with pytest.raises(cep.SnapshotError, match="not a snapshot"):
            cep.query(QUERY).restore(b"hello")


class TestNewKeys:
    """A stream whose keys are ever new ones needs no more memory than its window does."""

    @pytest.mark.parametrize(
        "where",
        [
            "[key]",
            "[key, other]",
            "a.key = b.key",
            "skip_till_next_match { [key] }",
            "strict_contiguity { a.key = b.key }",
        ],
    )
    @pytest.mark.parametrize("output", ["all", "non_overlapping"])
    def test_are_forgotten_with_their_events(self, where: str, output: str) -> None:
        query = cep.query(f"PATTERN SEQ(A a, B b) WHERE {where} WITHIN 100")
        session = query.session(output=output, evaluation="nfa_b")
        found, sizes = 0, []
        for batch in range(40):
            numbers = [batch * 500 + n // 2 for n in range(1_000)]
            found += len(
                session.feed(
                    {
                        "ts": [batch * 1_000 + n for n in range(1_000)],
                        "type": ["A", "B"] * 500,
                        "key": [f"key {n}" for n in numbers],
                        "other": numbers,
                    }
                )
            )
            sizes.append(len(session.snapshot()))
        assert found == 20_000
        assert max(sizes[10:]) <= 1.2 * max(sizes[:10])
        inner = core(session)
        assert len(inner._strings) < 6_000
        assert inner._window.partitions.count < 15_000

    @pytest.mark.parametrize("evaluation", ["nfa_b", "instance_stacks"])
    @pytest.mark.parametrize(
        "pattern", ["A a, ~(C c), B b", "A a, B b, ~(C c)", "~(C c), A a, B b"]
    )
    @pytest.mark.parametrize("where", ["[key]", "a.key = b.key AND c.key = a.key"])
    def test_are_forgotten_where_something_is_negated(
        self, evaluation: str, pattern: str, where: str
    ) -> None:
        query = cep.query(f"PATTERN SEQ({pattern}) WHERE {where} WITHIN 100")
        session = query.session(evaluation=evaluation)
        found, sizes = 0, []
        for batch in range(40):
            numbers = [batch * 500 + n // 2 for n in range(1_000)]
            kinds = ["A", "B"] * 500
            # One of the keys is violated before, between and after.
            for place, moved in ((600, 602), (602, 602), (604, 602)):
                kinds[place], numbers[place] = "C", batch * 500 + moved // 2
            found += len(
                session.feed(
                    {
                        "ts": [batch * 1_000 + n for n in range(1_000)],
                        "type": kinds,
                        "key": [f"key {n}" for n in numbers],
                    }
                )
            )
            sizes.append(len(session.snapshot()))
        found += len(session.advance())
        assert 19_000 < found < 20_000
        assert max(sizes[10:]) <= 1.2 * max(sizes[:10])
        assert len(core(session)._strings) < 6_000

    def test_keep_their_number_while_they_are_needed(self) -> None:
        query = cep.query("PATTERN SEQ(A a, B b) WHERE [key] WITHIN 1000000")
        session = query.session(evaluation="nfa_b")
        session.feed({"ts": [0], "type": ["A"], "key": ["kept"]})
        for batch in range(1, 11):
            keys = [f"key {batch} {n}" for n in range(1_000)]
            session.feed({"ts": [batch] * 1_000, "type": ["A"] * 1_000, "key": keys})
        assert session.feed({"ts": [11], "type": ["B"], "key": ["kept"]}).bindings() == [
            {"a": 0, "b": 10_001}
        ]


class TestLimits:
    def test_too_many_matches_names_what_multiplies_them(self) -> None:
        with pytest.raises(cep.LimitError, match=r"more than 50 matches.*'B\+ b\[\]'"):
            cep.query("PATTERN SEQ(A a, B+ b[], C c)").match(events("ABBBBBBBBC"), max_matches=50)

    def test_what_makes_matches_fewer_is_not_what_the_query_says_already(self) -> None:
        query = cep.query("PATTERN SEQ(A a, B+ b[]) WHERE skip_till_next_match")
        with pytest.raises(cep.LimitError) as raised:
            query.match(events("ABBBBBBBBC"), max_matches=5)
        assert str(raised.value) == (
            "there are more than 5 matches: every place where 'B+ b[]' can begin or end makes a "
            "match of its own; a shorter window, an equivalence test such as [id], another "
            "condition or output='non_overlapping' makes them fewer, and max_matches allows more"
        )

    def test_too_many_runs_names_the_component(self) -> None:
        many = events("A" + "B" * 16)
        with pytest.raises(cep.LimitError, match=r"more than 2000 runs, most of them at 'B\+ b"):
            cep.query("PATTERN SEQ(A a, B+ b[], C c)").match(
                many, options={"algorithm": "basic"}, max_runs=2_000
            )

    def test_merging_needs_few_runs_for_the_same(self) -> None:
        many = events("A" + "B" * 16 + "C")
        query = cep.query("PATTERN SEQ(A a, B+ b[], C c)")
        matches = query.match(many, options={"algorithm": "merging"}, max_runs=1_024)
        assert len(matches) == 2**16 - 1
        assert matches.metrics.runs_peak < 10

    def test_runs_are_limited_exactly(self) -> None:
        query = cep.query("PATTERN SEQ(A a, B b) WITHIN 10")
        options = {"evaluation": "nfa_b", "options": {"algorithm": "basic"}}
        assert len(query.match(events("AAAB"), max_runs=3, **options)) == 3
        with pytest.raises(cep.LimitError, match="more than 2 runs, most of them at 'B b'"):
            query.match(events("AAAB"), max_runs=2, **options)

    def test_runs_that_have_left_the_window_are_not_counted(self) -> None:
        query = cep.query("PATTERN SEQ(A a, B b) WITHIN 3")
        options = {"evaluation": "nfa_b", "options": {"algorithm": "basic"}}
        assert len(query.match(events("A" * 50 + "B"), max_runs=3, **options)) == 2


class TestNonOverlapping:
    def test_a_match_ends_the_other_runs_of_its_partition(self) -> None:
        query = cep.query("PATTERN SEQ(A a, B+ b[], C c)")
        matches = query.match(events("A" + "AB" * 5 + "CC" + "ABC"), output="non_overlapping")
        assert matches.bindings() == [
            {"a": 9, "b": [10], "c": 11},
            {"a": 13, "b": [14], "c": 15},
        ]
        everything = query.match(events("A" + "AB" * 5 + "CC" + "ABC")).metrics
        assert matches.metrics.matches < everything.matches / 2


class TestMetrics:
    def test_tell_what_the_runs_did(self) -> None:
        metrics = cep.query(QUERY).match(events("ABBC"), options={"algorithm": "basic"}).metrics
        assert metrics.events == 4
        assert metrics.matches == 3
        assert metrics.mean_match_length == pytest.approx(10 / 3)
        assert metrics.runs_created == 4  # the A, and the B's that were taken in three ways
        assert metrics.evaluations == {"b_begin": 2, "b_take": 1}

    def test_are_plain_values(self) -> None:
        metrics = cep.query(QUERY).match(events("ABBC")).metrics.to_dict()
        assert metrics["runs_merged"] > 0
        assert set(metrics) >= {"seconds_matching", "seconds_construction", "buffer_nodes"}


class TestCompressed:
    def test_counts_what_nobody_could_list(self) -> None:
        query = cep.query("PATTERN SEQ(A a, B+ b[], C c)")
        compressed = query.match(events("A" + "B" * 300 + "C"), output="compressed")
        assert compressed.count() == 2**300 - 1

    def test_leaves_out_what_has_left_the_window(self) -> None:
        query = cep.query("PATTERN SEQ(A a, B b) WITHIN 3")
        compressed = query.match(events("AAAAB"), output="compressed")
        assert compressed.count() == 2
        assert [match.bindings for match in compressed] == [{"a": 3, "b": 4}, {"a": 2, "b": 4}]

    def test_sample_is_drawn_evenly(self) -> None:
        query = cep.query("PATTERN SEQ(A a, B+ b[], C c)")
        compressed = query.match(events("ABBBC"), output="compressed")
        drawn = [str(binding["b"]) for binding in compressed.sample(7_000, seed=1).bindings()]
        counts = {text: drawn.count(text) for text in set(drawn)}
        assert len(counts) == 7
        assert all(800 < count < 1_200 for count in counts.values())

    def test_is_refused_where_there_is_none(self) -> None:
        compared = cep.query("PATTERN SEQ(A+ a[], ~(B b), C c) WHERE b.x < a[1].x WITHIN 3")
        with pytest.raises(cep.OptionError, match="compares the negated b with events of a"):
            compared.match(events("AC"), output="compressed")
        with pytest.raises(cep.OptionError, match="only nfa_b has it"):
            cep.query("PATTERN AND(A a, C c)").match(events("AC"), output="compressed")


class TestCount:
    def test_is_exact_however_many(self) -> None:
        query = cep.query("PATTERN SEQ(A a, B+ b[], C c)")
        assert query.count(events("A" + "B" * 300 + "C")) == 2**300 - 1

    def test_makes_no_match_and_no_chain(self) -> None:
        """What counting keeps does not grow with the length of matches."""
        query = cep.query("PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_next_match WITHIN 5000")
        assert query.count(events("A" + "B" * 4_000 + "C"), options={"algorithm": "basic"}) == 1

    def test_looks_at_matches_that_a_negation_may_remove(self) -> None:
        query = cep.query("PATTERN SEQ(A a, ~(D d), C c) WITHIN 100")
        assert query.count(events("ACDACC")) == 3
        assert query.count(events("ACDACC"), output="non_overlapping") == 2

    def test_obeys_the_limit(self) -> None:
        with pytest.raises(cep.LimitError, match="more than 5 matches"):
            cep.query("PATTERN SEQ(A a, B+ b[], C c)").count(events("ABBBC"), max_matches=5)


class TestMatchStream:
    def test_gives_what_match_gives(self) -> None:
        query = cep.query("PATTERN SEQ(A a, B+ b[], C c) RETURN a.x AS x, count(b[]) AS n")
        stream = query.match_stream(events("A" + "B" * 12 + "C"))
        batches = list(stream.to_batches(1_000))
        assert [batch.num_rows for batch in batches] == [1_000] * 4 + [95]
        table = query.match(events("A" + "B" * 12 + "C")).to_arrow()
        assert pa.Table.from_batches(batches, stream.arrow_schema).equals(table)
        assert stream.found == stream.metrics.matches == 2**12 - 1

    def test_has_columns_without_matches(self) -> None:
        stream = cep.query("PATTERN SEQ(A a, C c) RETURN a.x AS x").match_stream(events("A"))
        assert list(stream.to_batches()) == []
        assert stream.arrow_schema.names == ["start", "end", "x"]


def test_matches_come_in_batches() -> None:
    matches = cep.query("PATTERN SEQ(A a, B+ b[], C c)").match(events("A" + "B" * 12 + "C"))
    batches = list(matches.to_batches(1_000))
    assert sum(batch.num_rows for batch in batches) == len(matches) == 2**12 - 1
    assert pa.Table.from_batches(batches).equals(matches.to_arrow())


def test_an_unknown_option_says_which_there_are() -> None:
    with pytest.raises(cep.OptionError, match="Did you mean 'max_matches'"):
        cep.query(QUERY).match(events("A"), max_match=3)
    with pytest.raises(cep.OptionError, match="there is no algorithm 'merge'"):
        cep.query(QUERY).match(events("A"), options={"algorithm": "merge"})


def test_keys_and_texts_of_the_past_are_forgotten() -> None:
    query = cep.query("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 10")
    session = query.session()
    sizes = []
    for start in range(0, 40_000, 2_000):
        moments = range(start, start + 2_000)
        kinds = ["AB"[moment % 2] for moment in moments]
        found = session.feed(
            {"ts": moments, "type": kinds, "id": [f"tag {moment // 2}" for moment in moments]}
        )
        assert len(found) == 1_000
        sizes.append(len(session.snapshot()))
    assert max(sizes) < 3 * min(sizes)
    assert session.evicted_from == 40_009
    assert session.next_completion is None


def test_a_session_tells_when_time_alone_completes_a_match() -> None:
    session = cep.query("PATTERN SEQ(A a, ~(B b)) WITHIN 10").session()
    session.feed({"ts": [3, 5], "type": ["A", "A"]})
    assert session.next_completion == 13
    assert session.evicted_from == 15
    session.advance(13)
    assert session.next_completion == 15


def test_a_versioned_buffer_is_refused_where_there_is_none() -> None:
    query = cep.query(QUERY)
    with pytest.raises(cep.OptionError, match="Did you mean 'versioned'"):
        query.match(events("A"), options={"buffer": "version"})
    with pytest.raises(cep.OptionError, match="backtrack reads with one run at a time"):
        query.match(events("A"), options={"algorithm": "backtrack", "buffer": "versioned"})
    for options in ({"buffer": "versioned"}, {"algorithm": "backtrack"}):
        with pytest.raises(cep.OptionError, match="compressed output is a buffer of unions"):
            query.match(events("A"), output="compressed", options=options)


def test_a_snapshot_is_restored_with_the_same_buffer() -> None:
    query = cep.query(QUERY)
    session = query.session(options={"buffer": "versioned"})
    session.feed(events("AB"))
    snapshot = session.snapshot()
    with pytest.raises(cep.SnapshotError, match="buffer='versioned'"):
        query.restore(snapshot)
    restored = query.restore(snapshot, options={"buffer": "versioned"})
    more = {"ts": [5], "type": ["C"], "x": [3]}
    assert len(restored.feed(more)) == len(session.feed(more)) == 1


@pytest.mark.parametrize(
    "options",
    [
        {"algorithm": "basic", "buffer": "versioned"},
        {"algorithm": "merging", "buffer": "versioned"},
        {"algorithm": "backtrack"},
    ],
    ids=str,
)
@pytest.mark.parametrize("window", ["WITHIN 20", "WITHIN 20 EVENTS PER PARTITION", ""])
def test_memory_does_not_grow_with_the_stream(window: str, options: dict[str, str]) -> None:
    # Without a window the runs end because what follows is not contiguous.
    strategy = "skip_till_next_match" if window else "partition_contiguity"
    query = cep.query(f"PATTERN SEQ(A a, B+ b[], C c) WHERE {strategy} {{ [x] }} {window}")
    session = query.session(options=options)
    sizes = []
    for batch in range(40):
        types = "ABABBABC" * 25
        times = range(batch * len(types), (batch + 1) * len(types))
        session.feed({"ts": list(times), "type": list(types), "x": [t % 3 for t in times]})
        engine = core(session).engines[0]
        sizes.append(sum(array.nbytes for array in engine.state().values()))
    assert max(sizes) < 1.2 * max(sizes[:4])
    assert session.metrics.matches > 100


def test_partitions_are_forgotten_after_several_chunks(tune: Callable[..., None]) -> None:
    """Partitions that were looked at are in one piece, and places in them in several."""
    tune(chunk_events=3)
    query = cep.query(
        "PATTERN OR(SEQ(A a), SEQ(C c, A d)) WHERE skip_till_any_match { [k] } "
        "WITHIN 1 EVENTS PER PARTITION"
    )
    running = query.session(output="non_overlapping")
    for low in range(0, 30, 10):
        batch = {"ts": range(low, low + 10), "type": ["A"] * 10, "k": [1] * 10}
        assert len(running.feed(pa.table({name: list(values) for name, values in batch.items()})))


def test_nothing_follows_the_end_of_a_stream() -> None:
    running = cep.query("PATTERN SEQ(A a, B b)").session()
    running.feed({"ts": [1], "type": ["A"]})
    running.advance(5)
    assert len(running.feed({"ts": [6], "type": ["B"]})) == 1
    running.advance()
    with pytest.raises(cep.EventError, match="the stream has ended"):
        running.feed({"ts": [7], "type": ["B"]})


def test_a_versioned_buffer_follows_partitions_that_have_other_numbers() -> None:
    """The first fifty keys are given up, and the others have other numbers from then on."""
    query = cep.query("PATTERN SEQ(A a, B b, C c) WHERE [k] WITHIN 400")
    options = {
        "evaluation": "nfa_b",
        "options": {"algorithm": "basic", "buffer": "versioned"},
    }
    running = query.session(**options)
    running.feed({"ts": [0] * 50, "type": ["A"] * 50, "k": list(range(50))})
    keys = list(range(50, 300))
    running.feed({"ts": [300] * 250, "type": ["A"] * 250, "k": keys})
    running.feed({"ts": [450] * 250, "type": ["B"] * 250, "k": keys})
    for _ in range(2):
        running = query.restore(running.snapshot(), **options)
        running.feed({"ts": [460], "type": ["B"], "k": [1_000]})
    assert len(running.feed({"ts": [470] * 250, "type": ["C"] * 250, "k": keys})) == 250


def test_what_has_left_the_window_is_not_stored() -> None:
    query = cep.query("PATTERN SEQ(A a, B b) WHERE [id] AND a.x < b.x WITHIN 10")
    sizes = []
    for count in (1_000, 10_000):
        session = query.session()
        rows = range(count)
        events = {"ts": rows, "type": ["A"] * count, "id": [1] * count, "x": rows}
        session.feed(pa.table({name: list(values) for name, values in events.items()}))
        sizes.append(len(session.snapshot()))
    assert sizes[0] == pytest.approx(sizes[1], rel=0.05)


def test_a_restored_session_forgets_keys_when_the_first_one_would_have() -> None:
    numbers = PartitionNumbers()
    numbers.number([EncodedColumn(np.arange(600))], 600)
    assert numbers.are_many(to_store=True)
    numbers.keep(np.ones(600, dtype=np.int64))
    restored = PartitionNumbers()
    restored.load(numbers.state())
    assert not numbers.are_many(to_store=True)
    assert not restored.are_many(to_store=True)


@pytest.mark.parametrize("evaluation", ["auto", "nfa_b", "lazy_chain", "lazy_tree"])
@pytest.mark.parametrize("values", [[None], [None, 1], [None, 1, 1], [None, None, 1], [1, None]])
def test_a_kind_that_is_known_late_does_not_matter_to_a_snapshot(
    evaluation: str, values: list[int | None]
) -> None:
    text = "PATTERN SEQ(B b, A a) WHERE a.v > 5 WITHIN 50"
    query = cep.query(text)
    session = query.session(evaluation=evaluation)
    for time, value in enumerate(values):
        session.feed({"ts": [time], "type": ["B"], "v": [value]})
    session = query.restore(session.snapshot(), evaluation=evaluation)
    found = session.feed({"ts": [9], "type": ["A"], "v": [9]}).bindings()
    assert {match["b"] for match in found} == {*range(len(values))}


def test_a_kind_that_nothing_tells_is_asked_for() -> None:
    query = cep.query("PATTERN SEQ(A a, B b) WHERE a.v < b.v WITHIN 9")
    with pytest.raises(cep.EvaluationError, match="the kind of 'v' is not known"):
        query.session().feed({"ts": [1], "type": ["A"], "v": [None]})
    session = query.session(schema={"A": {"v": "integer"}, "B": {"v": "integer"}})
    session.feed({"ts": [1], "type": ["A"], "v": [None]})
    assert not len(session.feed({"ts": [2], "type": ["B"], "v": [1]}))


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN SEQ(A a, B b, C c) WHERE [k] WITHIN 4 EVENTS",
        "PATTERN SEQ(A a, B b, C c) WHERE a.x < c.x WITHIN 4",
        "PATTERN SEQ(A a, B+ b[], C c) WITHIN 4 EVENTS",
        "PATTERN SEQ(A a, ~(B b), C c) WITHIN 4",
        "PATTERN SEQ(A a, B+ b[], ~(A z), C c) WITHIN 4",
        "PATTERN SEQ(A a, B b) WHERE [k] WITHIN 3 EVENTS PER PARTITION",
    ],
)
def test_a_stream_has_more_events_than_four_bytes_count(text: str) -> None:
    types = "ABCACBCABC"
    table = pa.table({**events(types), "k": [1, 1, 1, 2, 1, 1, 1, 1, 1, 2]})
    found: list[list[dict]] = []
    for earlier in (0, 2**31 - 5):
        running = cep.query(text).session()
        running.feed(table[:0])
        core(running)._retained.next_number = earlier
        batches = [table[low : low + 2] for low in range(0, len(table), 2)]
        matches = [*(running.feed(batch) for batch in batches), running.advance()]
        found.append([row for each in matches for row in each.to_arrow().to_pylist()])
    assert found[0] == found[1] != []


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("strategy", ["strict_contiguity", "skip_till_any_match"])
def test_the_events_of_a_key_are_counted_on_when_it_was_forgotten(
    strategy: str, size: int, tune: Callable[..., None]
) -> None:
    tune(few_partitions=0)
    query = cep.query(
        f"PATTERN SEQ(A a, A b) WHERE {strategy} {{ [k] }} WITHIN {size} EVENTS PER PARTITION"
    )
    running = query.session(evaluation="nfa_b")
    found = [
        match
        for at in range(12)
        for match in running.feed({"ts": [at], "type": ["A"], "k": [at // 3 % 2]}).bindings()
    ]
    table = {"ts": [*range(12)], "type": ["A"] * 12, "k": [at // 3 % 2 for at in range(12)]}
    assert found == query.match(table, evaluation="reference").bindings()


@pytest.mark.parametrize("buffer", ["unions", "versioned"])
def test_runs_that_merge_for_ever_have_room_for_a_window_only(
    buffer: str, tune: Callable[..., None]
) -> None:
    tune(first_nodes=64, versioned_rows=64, output_ids=64)
    text = "PATTERN SEQ(S+ a[], S b) WHERE skip_till_next_match { a[1].x = 0 AND b.y = 0 }"
    query = cep.query(f"{text} WITHIN 6 EVENTS")
    running = query.session(evaluation="nfa_b", options={"algorithm": "merging", "buffer": buffer})
    for low in range(0, 4_000, 50):
        times = np.arange(low, low + 50)
        batch = {"ts": times, "type": ["S"] * 50, "x": times % 3, "y": times % 10}
        assert 6 <= len(running.feed(batch)) <= 9
    engine = core(running).engines[0]
    room = len(engine._ids) if buffer == "versioned" else len(engine._lister._path)
    assert running.metrics.runs_merged > 1_000
    assert room < 1_000


def test_stacks_of_keys_that_were_forgotten_are_not_looked_at() -> None:
    query = cep.query("PATTERN SEQ(A a, B b, C c) WHERE [k] WITHIN 4")
    running = query.session(evaluation="instance_stacks")
    assert not len(running.feed({"ts": [1], "type": ["A"], "k": pa.array([None], pa.int64())}))
    for start in (10, 20):
        running.feed({"ts": [start], "type": ["A"], "k": [7]})
        engine = core(running).engines[0]
        engine._pool.instances["stack"][engine._state.control[0]["used"] :] = 2**40
    later = {"ts": [21, 22, 23, 24], "type": [*"ABCA"], "k": [7, 7, 7, 8]}
    found = sorted(running.feed(later).bindings(), key=str)
    assert found == [{"a": 2, "b": 4, "c": 5}, {"a": 3, "b": 4, "c": 5}]


def test_a_session_goes_on_after_many_keys_were_forgotten() -> None:
    count = 60_000
    running = cep.query("PATTERN SEQ(A a, B b) WHERE [k] WITHIN 10").session()
    types = pa.array(["A"] * count)
    running.feed(pa.table({"ts": np.arange(count) // 100, "type": types, "k": np.arange(count)}))
    engine = core(running).engines[0]
    instances, tops = engine._pool.instances, engine._state.tops
    in_use = instances["start"] > np.iinfo(np.int64).min
    assert instances["stack"][in_use].max(initial=0) < len(tops) < count
    running.feed({"ts": [1_000], "type": ["A"], "k": [5]})
    assert len(running.feed({"ts": [1_001], "type": ["B"], "k": [5]})) == 1
