"""What a person reads of a plan, whole."""

from textwrap import dedent

import cepheid
from cepheid.analysis.analyse import analyse
from cepheid.engines.base.evaluation import Evaluation
from cepheid.explain.explain import explain
from cepheid.language.parser import parse
from cepheid.planning.choice import Choice
from cepheid.schema import Schema

SOME = Evaluation("some", "runs everything", lambda _: None)


def explained(text: str, schema: Schema | None = None, refusals: tuple[str, ...] = ()) -> str:
    return explain(Choice(analyse(parse(text), schema), SOME, refusals)) + "\n"


def pattern_of(text: str, schema: Schema | None = None) -> str:
    """What stands below the evaluation, without warnings."""
    return explained(text, schema).split("  some: runs everything\n")[1].split("warnings:\n")[0]


def test_query_3_of_agrawal08() -> None:
    query = """
        PATTERN SEQ(Stock+ a[], Stock b)
        WHERE skip_till_next_match(a[], b) {
            [symbol] AND a[1].volume > 1000 AND a[i].price > avg(a[..i-1].price)
            AND b.volume < 80% * a[a.LEN].volume }
        WITHIN 1 hour
    """
    _, plan = explained(query, refusals=("not other: it has a window",)).split("\n\n")
    assert plan == dedent("""\
        evaluation:
          some: runs everything
          not other: it has a window
        selection strategy:
          skip_till_next_match
        pattern:
          Stock+ a[]
          Stock b
          in order: a, b
          partition key: a[i].symbol = b.symbol (equivalence test)
          condition: a[1].volume > 1000, at the first event of a
          condition: a[i].price > avg(a[..i-1].price), at each event of a from the second on
          condition: b.volume < 0.8 * a[LEN].volume, when b is bound
        """)


def test_query_1_of_agrawal08() -> None:
    query = """
        PATTERN SEQ(Shelf a, ~(Register b), Exit c)
        WHERE skip_till_next_match(a, b, c) { a.tag_id = b.tag_id AND a.tag_id = c.tag_id }
        WITHIN 12 hours
    """
    assert pattern_of(query) == dedent("""\
        selection strategy:
          skip_till_next_match
        pattern:
          Shelf a
          Exit c
          in order: a, c
          partition key: a.tag_id = c.tag_id (found in the conditions)
          condition: a.tag_id = c.tag_id, when c is bound
          no Register b between a and c
            where a.tag_id = b.tag_id
        """)


def test_a_query_without_an_order_and_with_alternatives() -> None:
    query = """
        PATTERN AND(SEQ(A a, B b, C c), OR(D d, E* e[]), ~(N n))
        WHERE [id] AND e[i].x > a.x AND e.LEN > 2 AND 1 < 2 AND d.x = e[1].x AND n.x = a.x
        WITHIN 5
    """
    assert pattern_of(query) == dedent("""\
        selection strategy:
          skip_till_any_match
        alternative 1:
          A a
          B b
          C c
          D d
          in order: a before b, b before c
          partition key: a.id = b.id = c.id = d.id (equivalence test)
          condition: 1 < 2, before any event
          no N n anywhere in the window, known when the window ends
            where [id]
            where n.x = a.x
        alternative 2:
          A a
          B b
          C c
          in order: a, b, c
          partition key: a.id = b.id = c.id (equivalence test)
          condition: 1 < 2, before any event
          no N n anywhere in the window, known when the window ends
            where [id]
            where n.x = a.x
        alternative 3:
          A a
          B b
          C c
          E+ e[]
          in order: a before b, b before c
          partition key: a.id = b.id = c.id = e[i].id (equivalence test)
          condition: 1 < 2, before any event
          condition: e[i].x > a.x, when a and e are bound
          condition: e.LEN > 2, when e is complete
          no N n anywhere in the window, known when the window ends
            where [id]
            where n.x = a.x
        never tested:
          d.x = e[1].x (no alternative has d and e)
        """)


def test_where_the_events_of_a_list_are_tested() -> None:
    query = """
        PATTERN SEQ(A a, B+ b[], C c)
        WHERE c.x = 1 AND b[i].x < c.x AND b[3].x > a.x AND b[i].y > b[3].y AND b[i].z = 1
    """
    assert pattern_of(query) == dedent("""\
        selection strategy:
          skip_till_any_match
        pattern:
          A a
          B+ b[]
          C c
          in order: a, b, c
          condition: b[3].x > a.x, at event 3 of b
          condition: b[i].y > b[3].y, at each event of b from event 3 on
          condition: b[i].z = 1, at each event of b
          condition: c.x = 1, when c is bound
          condition: b[i].x < c.x, when c is bound
        """)


def test_where_negated_events_stand() -> None:
    query = """
        PATTERN SEQ(~(L l), AND(A a, B b), ~(M m), C c, ~(N n))
        WHERE m.x = a.x AND n.x = 1
        WITHIN 10
    """
    assert pattern_of(query) == dedent("""\
        selection strategy:
          skip_till_any_match
        pattern:
          A a
          B b
          C c
          in order: a before c, b before c
          no L l before a and b
          no M m after a and b, before c
            where m.x = a.x
          no N n after c, known when the window ends
            where n.x = 1
        """)


def test_a_test_that_not_all_types_can_take() -> None:
    closed = Schema.declared({"Shelf": ["tag"], "Alarm": ["zone"], "Exit": ["tag", "zone"]})
    query = "PATTERN SEQ(ANY(Shelf, Alarm) a, Exit c) WHERE [tag] AND [zone = 3]"
    assert pattern_of(query, closed) == dedent("""\
        selection strategy:
          skip_till_any_match
        pattern:
          ANY(Shelf, Alarm) a
          Exit c
          in order: a, c
          condition: [tag], for events of types with tag
          condition: [zone = 3], for events of types with zone
        """)


def test_the_value_of_an_equivalence_test_is_part_of_the_key() -> None:
    assert "  partition key: a.k = b.k = 'v' (equivalence test)\n" in explained(
        "PATTERN SEQ(A a, B b) WHERE [k = 'v']"
    )


def test_a_part_of_a_condition_says_what_it_has_from_the_whole() -> None:
    query = "PATTERN SEQ(B+ b[], C c) WHERE (b[i].x > b[i-1].x AND c.y = 3) OR c.z = 1"
    assert pattern_of(query) == dedent("""\
        selection strategy:
          skip_till_any_match
        pattern:
          B+ b[]
          C c
          in order: b, c
          condition: b[i].x > b[i-1].x OR c.z = 1, when c is bound
          condition: c.y = 3 OR c.z = 1 where b has two events or more, when c is bound
        """)
    assert "  condition: c.x = 1 and b has at least 3 events, when c is bound\n" in explained(
        "PATTERN SEQ(B+ b[], C c) WHERE c.x = 1 OR (c.x = 1 AND b[3].x = 2)"
    )


def test_a_partition_that_nothing_defines_is_the_whole_stream() -> None:
    assert pattern_of("PATTERN A a WHERE partition_contiguity") == dedent("""\
        selection strategy:
          partition_contiguity
          without an equivalence test, the whole stream is one partition
        pattern:
          A a
        """)
    assert "one partition" in explained("PATTERN A a WITHIN 3 EVENTS PER PARTITION")
    assert "one partition" not in explained("PATTERN A a WHERE partition_contiguity { [id] }")


def test_only_the_first_of_many_alternatives_are_shown() -> None:
    shown = explained("PATTERN SEQ(A* a[], B* b[], C* c[], D* d[])")
    assert "alternative 10:" in shown
    assert "alternative 11:" not in shown
    assert "and 5 more alternatives\n" in shown


def test_an_unknown_kind_is_that_of_a_column() -> None:
    asked = cepheid.query("PATTERN SEQ(A a, B b) WHERE abs(a.x) > b.n AND least(a.x, a.y) = b.n")
    text = asked.explain({"A": ["x", "y"], "B": {"n": "integer"}})
    assert "the kind of 'x' is not known" in text
    assert "Call(" not in text
