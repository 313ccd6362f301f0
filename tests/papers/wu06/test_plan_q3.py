"""[Wu06 §3 and §4]: the query Q3 of the operator plan.

The figures are not printed in the text. The stream is one that has what the text tells of
them: event sequences of (A, B, D) are seven in all and three for d9, the most recent a before
b6 is a4, and a4, b6 and d9 are in partition 2 of attr1.
"""

import pytest
from streams import answers, matches

STREAM = """
    a1(attr1=1,attr2=1,attr3='1',attr4=5)@1 b3(attr1=1,attr2=1)@3
    a4(attr1=2,attr2=1,attr3='1',attr4=5)@4 d5(attr1=1,attr2=1,attr4=9)@5
    b6(attr1=2,attr2=1)@6 d7(attr1=1,attr2=1,attr4=9)@7 c8(attr1=2,attr2=1)@8
    d9(attr1=2,attr2=1,attr4=9)@9
"""

SEVEN = """
    a1 b3 d5
    | a1 b3 d7 | a1 b6 d7 | a4 b6 d7
    | a1 b3 d9 | a1 b6 d9 | a4 b6 d9
"""


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        # Sequence scan and construction
        ("SEQ(A x1, B x2, D x4)", SEVEN),
        # Selection, one test after the other
        ("SEQ(A x1, B x2, D x4) WHERE [attr1]", "a1 b3 d5 | a1 b3 d7 | a4 b6 d9"),
        ("SEQ(A x1, B x2, D x4) WHERE [attr1, attr2] ∧ x1.attr3 = ‘1’ ∧ x1.attr4 < x4.attr4",
         "a1 b3 d5 | a1 b3 d7 | a4 b6 d9"),
        # Window: d7 is six after a1
        ("SEQ(A x1, B x2, D x4) WHERE [attr1, attr2] WITHIN 6", "a1 b3 d5 | a4 b6 d9"),
        # Negation: c8 is of the partition of a4, b6 and d9, and between b6 and d9
        ("SEQ(A x1, B x2, ! (C x3), D x4) WHERE [attr1, attr2] WITHIN 6", "a1 b3 d5"),
        ("SEQ(A x1, B x2, ! (C x3), D x4) WHERE [attr1, attr2] ∧ x1.attr3 = ‘1’"
         " ∧ x1.attr4 < x4.attr4 WITHIN 6", "a1 b3 d5"),
        ("SEQ(A x1, ! (C x3), B x2, D x4) WHERE [attr1, attr2] WITHIN 6", "a1 b3 d5 | a4 b6 d9"),
    ],
)  # fmt: skip
def test_each_operator_of_the_plan_removes_sequences(query: str, expected: str) -> None:
    assert matches(f"EVENT {query}", STREAM) == answers(expected)


def test_d9_completes_three_sequences_and_one_in_its_partition() -> None:
    # [§4.1, Figure 3] and [§4.2.1, Figure 4]
    all_of_them = matches("EVENT SEQ(A x1, B x2, D x4)", STREAM)
    assert {match for match in all_of_them if "d9" in match} == answers(
        "a1 b3 d9 | a1 b6 d9 | a4 b6 d9"
    )
    partitioned = matches("EVENT SEQ(A x1, B x2, D x4) WHERE [attr1]", STREAM)
    assert {match for match in partitioned if "d9" in match} == {"a4 b6 d9"}


def test_only_a3_agrees_with_b6_on_both_attributes() -> None:
    # [§4.2.2, Figure 5]: b5 shares a value with some a for each attribute, but with none for both.
    events = """
        a1(attr1=1,attr2=2)@1 a2(attr1=2,attr2=3)@2 a3(attr1=1,attr2=3)@3
        b5(attr1=2,attr2=2)@5 b6(attr1=1,attr2=3)@6
    """
    one, other = "EVENT SEQ(A x, B y) WHERE [attr1]", "EVENT SEQ(A x, B y) WHERE [attr2]"
    assert matches(one, events) == answers("a2 b5 | a1 b6 | a3 b6")
    assert matches(other, events) == answers("a1 b5 | a2 b6 | a3 b6")
    assert matches("EVENT SEQ(A x, B y) WHERE [attr1, attr2]", events) == {"a3 b6"}


def test_a_window_may_be_a_number_of_events() -> None:
    # [§5.1]: the size of the window of the experiments is a number of events.
    assert matches("EVENT SEQ(A x, B y) WITHIN 3 EVENTS", "a1 c b1 b2") == {"a1 b1"}
