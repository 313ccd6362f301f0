"""Where variables take different letters, a pattern is a regular expression over the letters.

Python's regular expressions backtrack in the same preference order, so that they find the same
matches. Loops over what may be empty are left out: their rules differ.
"""

import re

from hypothesis import given, settings
from hypothesis import strategies as st
from row_patterns.row_cases import labels

LETTERS = st.text("abc", max_size=7)
QUANTIFIERS = st.sampled_from(["*", "+", "?", "{2}", "{1,}", "{,2}", "{1,2}", "{0,3}"])
QUANTIFIERS = st.builds(lambda sign, mark: sign + mark, QUANTIFIERS, st.sampled_from(["", "?"]))
PYTHON = str.maketrans({"A": "a", "B": "b", "C": "c", " ": "", "$": r"\Z"})


def _grouped(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds(lambda one, two: f"({one} {two})", parts, parts),
        st.builds(lambda one, two: f"({one} | {two})", parts, parts),
        st.builds(
            lambda part, sign: f"({part}){sign}" if _takes_a_row(part) else f"({part})",
            parts,
            QUANTIFIERS,
        ),
    )


def _takes_a_row(part: str) -> bool:
    expression = re.compile(part.translate(PYTHON))
    return not any(expression.match(text, 0) and not expression.match(text)[0] for text in _SHORT)


_SHORT = ["", *"abc", *(x + y for x in "abc" for y in "abc")]
LEAVES = st.sampled_from(["A", "B", "C", "^", "$"])
PATTERNS = st.recursive(LEAVES, _grouped, max_leaves=6)


def expected(pattern: str, letters: str) -> list[str]:
    expression, start, found = re.compile(pattern.translate(PYTHON)), 0, []
    while start < len(letters):
        match = expression.match(letters, start)
        if match is not None:
            found.append(f"{start}:{match[0].upper()}")
        start = max(start + 1, match.end() if match else 0)
    return found


@settings(max_examples=300, deadline=None)
@given(PATTERNS, LETTERS)
def test_the_matches_are_those_of_a_regular_expression(pattern, letters):
    assert labels(pattern, letters) == expected(pattern, letters)
