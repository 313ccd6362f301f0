"""[Wu06 §2]: the example queries, and the formal semantics of SEQ_WITHOUT and WITHIN_."""

import pytest
from streams import answers, completions, matches

HOUR = 60


def test_q1_filters_one_type_by_its_attributes() -> None:
    query = "EVENT SHELF-READING WHERE category = ‘food’ ∧ manufacturer_id = ‘1’"
    events = """
        SHELF-READING1(category='food',manufacturer_id='1')
        SHELF-READING2(category='food',manufacturer_id='2')
        SHELF-READING3(category='toys',manufacturer_id='1')
        EXIT-READING(category='food',manufacturer_id='1')
    """
    assert matches(query, events) == {"SHELF-READING1"}


@pytest.mark.parametrize("where", ["x.id = y.id ∧ x.id = z.id", "[id]"])
def test_q2_detects_shoplifting(where: str) -> None:
    query = f"""
        EVENT SEQ(SHELF-READING x, ! (COUNTER-READING y), EXIT-READING z)
        WHERE {where}
        WITHIN 12 hours
    """
    events = """
        SHELF-READING1(id=1)@0 SHELF-READING2(id=2)@1 COUNTER-READING(id=1)@2
        EXIT-READING1(id=1)@3 EXIT-READING2(id=2)@4 SHELF-READING3(id=3)@5
        EXIT-READING3(id=3)@725
    """
    assert matches(query, events, window=12 * HOUR) == {"SHELF-READING2 EXIT-READING2"}


MISPLACED = """
EVENT SEQ(SHELF-READING x, SHELF-READING y, ! (ANY(COUNTER-READING, SHELF-READING) z) )
WHERE [id] ∧ x.shelf_id ≠ y.shelf_id ∧ x.shelf_id = z.shelf_id
WITHIN 1 hour
"""


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ("SHELF-READING1(id=7,shelf_id=1)@0 SHELF-READING2(id=7,shelf_id=2)@10",
         "SHELF-READING1 SHELF-READING2"),
        # Back at the first shelf, within the hour and after it.
        ("SHELF-READING1(id=7,shelf_id=1)@0 SHELF-READING2(id=7,shelf_id=2)@10"
         " SHELF-READING3(id=7,shelf_id=1)@59", "SHELF-READING2 SHELF-READING3"),
        ("SHELF-READING1(id=7,shelf_id=1)@0 SHELF-READING2(id=7,shelf_id=2)@10"
         " SHELF-READING3(id=7,shelf_id=1)@60",
         "SHELF-READING1 SHELF-READING2 | SHELF-READING2 SHELF-READING3"),
        # A counter has no shelf_id, so that the condition on it is true.
        ("SHELF-READING1(id=7,shelf_id=1)@0 SHELF-READING2(id=7,shelf_id=2)@10"
         " COUNTER-READING(id=7)@20", ""),
        # Another item, and a third shelf.
        ("SHELF-READING1(id=7,shelf_id=1)@0 SHELF-READING2(id=7,shelf_id=2)@10"
         " COUNTER-READING(id=8)@20", "SHELF-READING1 SHELF-READING2"),
        ("SHELF-READING1(id=7,shelf_id=1)@0 SHELF-READING2(id=7,shelf_id=1)@10", ""),
    ],
)  # fmt: skip
def test_misplaced_inventory(events: str, expected: str) -> None:
    assert matches(MISPLACED, events, window=HOUR) == answers(expected)


def test_misplaced_inventory_is_reported_when_the_hour_is_over() -> None:
    events = "SHELF-READING1(id=7,shelf_id=1)@5 SHELF-READING2(id=7,shelf_id=2)@10"
    assert [at for _, at in completions(MISPLACED, events, window=HOUR)] == [(65, 1)]


def test_an_overdose_of_antibiotics() -> None:
    query = """
        EVENT SEQ(MEDICINE-TAKEN x, MEDICINE-TAKEN y)
        WHERE [name=‘John’] ∧ [medicine=‘Antibiotics’] ∧ (x.amount + y.amount) > 1000
        WITHIN 4 hours
    """
    events = """
        MEDICINE-TAKEN1(name='John',medicine='Antibiotics',amount=600)@0
        MEDICINE-TAKEN2(name='Mary',medicine='Antibiotics',amount=600)@10
        MEDICINE-TAKEN3(name='John',medicine='Aspirin',amount=600)@20
        MEDICINE-TAKEN4(name='John',medicine='Antibiotics',amount=400)@30
        MEDICINE-TAKEN5(name='John',medicine='Antibiotics',amount=601)@40
        MEDICINE-TAKEN6(name='John',medicine='Antibiotics',amount=900)@280
    """
    expected = """
        MEDICINE-TAKEN1 MEDICINE-TAKEN5 | MEDICINE-TAKEN4 MEDICINE-TAKEN5
    """
    assert matches(query, events, window=4 * HOUR) == answers(expected)


# --- §2.2.2, formal semantics, with T = 5


@pytest.mark.parametrize(
    ("query", "events", "expected"),
    [
        # ANY and SEQ_
        ("ANY(A, B) x", "a b c", "a | b"),
        ("SEQ(A x, B y, C z)", "a1 b a2 c", "a1 b c"),
        # SEQ_WITHOUT(S1, {B}, S2): no b in (t_1m, t_21)
        ("SEQ(A x, ! (B b), C y) WITHIN 5", "a@1 b@2 c@3", ""),
        ("SEQ(A x, D d, ! (B b), C y) WITHIN 5", "a@1 b@2 d@3 c@4", "a d c"),
        # negated start: no b in (t - T, t_21)
        ("SEQ(! (B b), A x, C y) WITHIN 5", "b@1 a@4 c@5", ""),
        ("SEQ(! (B b), A x, C y) WITHIN 5", "b@1 a@4 c@6", "a c"),
        # negated end: no b in (t_1m, t], where t - T + 1 is the time of the first event
        ("SEQ(A x, C y, ! (B b)) WITHIN 5", "a@1 c@2 b@5", ""),
        ("SEQ(A x, C y, ! (B b)) WITHIN 5", "a@1 c@2 b@6", "a c"),
        # WITHIN_: t - T < t_1
        ("SEQ(A x, C y) WITHIN 5", "a@1 c@5", "a c"),
        ("SEQ(A x, C y) WITHIN 5", "a@1 c@6", ""),
        # interleaved negative components
        ("SEQ(A x, ! (B b), C y, ! (D d), E z)", "a c d e", ""),
        ("SEQ(A x, ! (B b), C y, ! (D d), E z)", "d1 a c b e d2", "a c e"),
    ],
)
def test_the_operators_of_the_formal_semantics(query: str, events: str, expected: str) -> None:
    assert matches(f"EVENT {query}", events) == answers(expected)


def test_a_predicate_on_an_attribute_that_an_event_lacks_is_true() -> None:
    query = "EVENT SEQ(A x, ANY(B, C) y) WHERE y.weight > x.weight"
    assert matches(query, "a(weight=3) b1(weight=2) b2(weight=4) c") == answers("a b2 | a c")


def test_predicates_on_negative_components_select_what_is_forbidden() -> None:
    query = "EVENT SEQ(A x, ! (B b), C y) WHERE x.v < y.v ∧ (b.v = x.v ∨ b.v = y.v)"
    events = "a1(v=1) b1(v=1) a2(v=2) b2(v=9) c1(v=3) c2(v=9)"
    assert matches(query, events) == {"a2 c1"}
