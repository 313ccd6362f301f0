"""LIKE of the reference evaluation, compared with a definition by recursion."""

from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from cepheid.reference.interpreter import _like


@cache
def matches(pattern: str, value: str) -> bool:
    if not pattern:
        return not value
    if pattern[0] == "%":
        return any(matches(pattern[1:], value[ix:]) for ix in range(len(value) + 1))
    return bool(value) and pattern[0] in ("_", value[0]) and matches(pattern[1:], value[1:])


@given(st.text("ab%_\n.", max_size=8), st.text("ab%_\n.", max_size=8))
def test_a_pattern_matches_as_defined(pattern, value):
    assert bool(_like(pattern).fullmatch(value)) == matches(pattern, value)


def test_a_pattern_with_many_parts_takes_no_long_time():
    assert not _like("%a" * 40 + "%b").fullmatch("a" * 5_000)
    assert _like("%" * 60_000).fullmatch("a" * 5_000)
