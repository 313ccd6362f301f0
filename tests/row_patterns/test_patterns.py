"""Which rows a pattern matches: preference order, quantifiers, anchors, and where it goes on.

A case is derived by hand: ``1:AB`` is a match that begins at row 1, whose rows are A and B.
"""

import pytest
from row_patterns.row_cases import labels


@pytest.mark.parametrize(
    ("pattern", "letters", "expected"),
    [
        # single variables and concatenation
        ("A", "a", ["0:A"]),
        ("A", "b", []),
        ("A", "", []),
        ("A", "aba", ["0:A", "2:A"]),
        ("A B", "ab", ["0:AB"]),
        ("A B", "aab", ["1:AB"]),
        ("A B", "a", []),
        ("A B", "abab", ["0:AB", "2:AB"]),
        ("A B C", "abcabdabc", ["0:ABC", "6:ABC"]),
        ("(A B) C", "abc", ["0:ABC"]),
        ("A (B C)", "abc", ["0:ABC"]),
        ("X Y", "abc", ["0:XY"]),
        # alternation: the first that leads to a match
        ("A | B", "ab", ["0:A", "1:B"]),
        ("A | A B", "ab", ["0:A"]),
        ("A B | A", "ab", ["0:AB"]),
        ("A B | A", "aab", ["0:A", "1:AB"]),
        ("(A | A B) C", "abc", ["0:ABC"]),
        ("(A | B) (A | B)", "ba", ["0:BA"]),
        ("X | A", "a", ["0:X"]),
        ("A | X", "b", ["0:X"]),
        ("A | B | C", "cba", ["0:C", "1:B", "2:A"]),
        ("(A | B)+ C", "ababc", ["0:ABABC"]),
        # greedy quantifiers
        ("A*", "aab", ["0:AA", "2:"]),
        ("A*", "b", ["0:"]),
        ("A+", "aab", ["0:AA"]),
        ("A+", "aabaa", ["0:AA", "3:AA"]),
        ("A?", "ab", ["0:A", "1:"]),
        ("A{2}", "aaa", ["0:AA"]),
        ("A{2}", "aaaa", ["0:AA", "2:AA"]),
        ("A{2,}", "aaab", ["0:AAA"]),
        ("A{2,}", "ab", []),
        ("A{,2}", "aaab", ["0:AA", "2:A", "3:"]),
        ("A{1,2}", "aaa", ["0:AA", "2:A"]),
        ("A{3,3}", "aaaa", ["0:AAA"]),
        ("A{1}", "aa", ["0:A", "1:A"]),
        ("A* B", "aab", ["0:AAB"]),
        ("A* A B", "aab", ["0:AAB"]),
        ("A+ X", "aab", ["0:AAX"]),
        ("A+ X", "aaa", ["0:AAX"]),
        ("X* A", "bab", ["0:XA"]),
        ("X* A", "baab", ["0:XXA"]),
        ("A+ B+", "aabb", ["0:AABB"]),
        ("(A B)+", "ababa", ["0:ABAB"]),
        ("(A B){2}", "ababab", ["0:ABAB"]),
        ("(A B?)+", "aaba", ["0:AABA"]),
        ("(A | B){2,3}", "abab", ["0:ABA"]),
        ("(A+ B)*", "aabab", ["0:AABAB"]),
        ("(A*)*", "aa", ["0:AA"]),
        ("(A*)+", "b", ["0:"]),
        ("(A?){3}", "aa", ["0:AA"]),
        ("(A?){2,4}", "aaaaa", ["0:AAAA", "4:A"]),
        # reluctant quantifiers
        ("A*?", "aa", ["0:", "1:"]),
        ("A+?", "aa", ["0:A", "1:A"]),
        ("A??", "a", ["0:"]),
        ("A??B", "ab", ["0:AB"]),
        ("A*?B", "aab", ["0:AAB"]),
        ("X*? B", "abab", ["0:XB", "2:XB"]),
        ("A+?X", "aaa", ["0:AX"]),
        ("A{2,}?", "aaaa", ["0:AA", "2:AA"]),
        ("A{1,3}?X", "aaa", ["0:AX"]),
        ("A{,2}? B", "aab", ["0:AAB"]),
        ("A{2}?", "aaa", ["0:AA"]),
        ("(A | B)*? C", "abc", ["0:ABC"]),
        ("X+? Y+", "aaaa", ["0:XYYY"]),
        ("X+ Y+", "aaaa", ["0:XXXY"]),
        ("X?? Y?", "aa", ["0:Y", "1:Y"]),
        # repeating what may be empty: a round that takes no row ends the loop
        ("(A??)*", "aa", ["0:", "1:"]),
        ("(A??)* B", "aab", ["0:AAB"]),
        ("(A??)+", "a", ["0:"]),
        ("(A??){2}", "aa", ["0:", "1:"]),
        ("(A??){2} B", "aab", ["0:AAB"]),
        ("(A?)* B", "aab", ["0:AAB"]),
        ("(() | A)* B", "aab", ["0:AAB"]),
        ("(A*?)* B", "aab", ["0:AAB"]),
        ("(())*", "a", ["0:"]),
        ("(){5}", "a", ["0:"]),
        # the empty pattern
        ("()", "ab", ["0:", "1:"]),
        ("() A", "ba", ["1:A"]),
        ("A | ()", "ab", ["0:A", "1:"]),
        ("() | A", "a", ["0:"]),
        ("A () B", "ab", ["0:AB"]),
        # anchors
        ("^ A", "aa", ["0:A"]),
        ("^ A", "ba", []),
        ("A $", "aa", ["1:A"]),
        ("A+ $", "aabaa", ["3:AA"]),
        ("^ A+ $", "aaa", ["0:AAA"]),
        ("^ A+ $", "aab", []),
        ("A ^ B", "ab", []),
        ("A $ B", "ab", []),
        ("^ | A", "aa", ["0:", "1:A"]),
        ("X* $", "abc", ["0:XXX"]),
        ("(^ A | B)+", "aab", ["0:A", "2:B"]),
        # PERMUTE: in the order of the text first
        ("PERMUTE(A)", "a", ["0:A"]),
        ("PERMUTE(A, B)", "abba", ["0:AB", "2:BA"]),
        ("PERMUTE(A, B, C)", "cab", ["0:CAB"]),
        ("PERMUTE(A, B, C)", "caa", []),
        ("PERMUTE(X, Y)", "ab", ["0:XY"]),
        ("PERMUTE(A+, B)", "aab", ["0:AAB"]),
        ("PERMUTE(A, B C)", "bca", ["0:BCA"]),
        ("PERMUTE(A, B)+", "abba", ["0:ABBA"]),
        ("PERMUTE(A | B, C)", "cb", ["0:CB"]),
        ("PERMUTE(A?, X)", "ba", ["0:X", "1:X"]),
        # exclusion: matched, but not returned
        ("A {- B -} C", "abc", ["0:AC"]),
        ("{- A -} B", "ab", ["0:B"]),
        ("A {- B+ -} C", "abbc", ["0:AC"]),
        ("{- A -}", "a", []),
        ("({- A -} B)+", "abab", ["0:BB"]),
        ("{- A | B -} C", "bc", ["0:C"]),
        ("{- A {- B -} C -} D", "abcd", ["0:D"]),
        # two variables for one row: the order of the text decides
        ("(X | Y)+", "aa", ["0:XX"]),
        ("(A | X)*", "ab", ["0:AX"]),
        ("A* X*", "aab", ["0:AAX"]),
    ],
)  # fmt: skip
def test_the_preferred_match_is_found(pattern, letters, expected):
    assert labels(pattern, letters) == expected


@pytest.mark.parametrize(
    ("skip", "pattern", "letters", "expected"),
    [
        ("PAST LAST ROW", "A A", "aaaa", ["0:AA", "2:AA"]),
        ("TO NEXT ROW", "A A", "aaaa", ["0:AA", "1:AA", "2:AA"]),
        ("TO NEXT ROW", "A+", "aaa", ["0:AAA", "1:AA", "2:A"]),
        ("TO FIRST B", "A B B", "abbabb", ["0:ABB", "3:ABB"]),
        ("TO FIRST X", "A+ X", "aaab", ["0:AAAX"]),
        ("TO LAST A", "A B* A", "abaaba", ["0:ABA", "2:AA", "3:ABA"]),
        ("TO B", "A B+", "abba", ["0:ABB"]),
        ("TO LAST B", "X B", "bbb", ["0:XB", "1:XB"]),
        ("TO X", "A X", "aaa", ["0:AX", "1:AX"]),
        ("PAST LAST ROW", "A*", "baa", ["0:", "1:AA"]),
        # after an empty match, matching goes on at the next row, whatever AFTER MATCH says
        ("TO NEXT ROW", "A*", "aab", ["0:AA", "1:A", "2:"]),
        ("TO LAST A", "(X A)?", "ba", ["0:XA", "1:"]),
    ],
)
def test_where_matching_goes_on(skip, pattern, letters, expected):
    assert labels(pattern, letters, f"AFTER MATCH SKIP {skip}") == expected


def test_a_skip_may_name_a_subset():
    import cepheid as cep

    q = cep.query("""MATCH_RECOGNIZE (ORDER BY t MEASURES FIRST(t) AS s, LAST(t) AS e
        AFTER MATCH SKIP TO FIRST S PATTERN (A B C) SUBSET S = (B, C))""")
    rows = q.match({"t": [0, 1, 2, 3, 4]}).to_dicts()
    assert [(row["s"], row["e"]) for row in rows] == [(0, 2), (1, 3), (2, 4)]


@pytest.mark.parametrize(
    ("define", "pattern", "letters", "expected"),
    [
        # conditions that look at rows that are matched already
        ("B AS B.t - FIRST(A.t) < 2", "A B+", "abbb", ["0:AB"]),
        ("B AS count(B.*) <= 2", "A B*", "abbb", ["0:ABB"]),
        ("X AS count(*) <= 2", "X+", "aaaa", ["0:XX", "2:XX"]),
        ("X AS X.k = FIRST(X.k)", "X+", "aabb", ["0:XX", "2:XX"]),
        ("X AS X.k <> PREV(X.k)", "X+", "aabba", ["2:X", "4:X"]),
        ("X AS k <> NEXT(k)", "X", "aabb", ["1:X"]),
        ("X AS NEXT(k, 2) = k", "X", "abab", ["0:X", "1:X"]),
        ("X AS PREV(k) IS NULL", "X", "ab", ["0:X"]),
        ("B AS A.k = 'a'", "A B", "ax", ["0:AB"]),
        ("A AS B.k IS NULL", "A B", "xb", ["0:AB"]),
        ("B AS CLASSIFIER() = 'B'", "A B", "ax", ["0:AB"]),
        ("B AS PREV(CLASSIFIER()) = 'A'", "A* B", "aax", ["0:AAB"]),
        ("X AS MATCH_NUMBER() = 2", "A | X", "bab", ["1:A", "2:X"]),
        ("B AS k > (NULL)", "A B", "ab", []),  # unknown is not satisfied
        ("B AS NOT (k > (NULL))", "A B", "ab", []),
        ("X AS sum(X.t) <= 3", "X+", "aaaa", ["0:XXX", "3:X"]),
        ("X AS avg(X.t) = 0", "X+", "aa", ["0:X"]),
        ("B AS LAST(A.t, 1) = 0", "A+ B", "aab", ["0:AAB"]),
        ("B AS LAST(A.t, 1) = 0", "A+ B", "ab", []),
        ("B AS FIRST(A.t, 1) = 1", "A+ B", "aaab", ["0:AAAB"]),
        ("B AS PREV(FIRST(A.k), 1) = 'c'", "A B", "cabab", ["1:AB"]),
        ("B AS PREV(LAST(A.t, 1), 1) = 0", "A+ B", "caab", ["1:AAB"]),
        ("B AS NEXT(FIRST(A.k)) = 'b'", "A B", "ab", ["0:AB"]),
        ("B AS RUNNING LAST(t) = t", "A B", "ab", ["0:AB"]),
    ],
)
def test_conditions_see_the_rows_up_to_the_current_one(define, pattern, letters, expected):
    assert labels(pattern, letters, define=define) == expected
