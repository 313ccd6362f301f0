"""Texts and their codes, compared with a dictionary."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.events.columns.string_codes import StringCodes

STRINGS = st.text(st.sampled_from("ab\0é🎲"), max_size=20) | st.sampled_from(["", "a" * 8, "a" * 9])
BATCHES = st.lists(st.lists(st.none() | STRINGS, max_size=12), max_size=6)
ARROW_TYPES = st.sampled_from([pa.string(), pa.large_string(), pa.string_view()])


@pytest.fixture(autouse=True)
def _little_room(tune: Callable[..., None]) -> None:
    tune(string_slots=2, string_bytes=1)


@given(BATCHES, ARROW_TYPES, st.integers(0, 3), st.data())
def test_codes_are_those_of_a_dictionary(
    batches: list[list[str | None]], arrow_type: pa.DataType, skipped: int, data: st.DataObject
) -> None:
    strings = StringCodes()
    codes: dict[str, int] = {}
    following = 0
    for batch in batches:
        column = pa.array(["skipped"] * skipped + batch, arrow_type)[skipped:]
        for text in batch:
            if text is not None and text not in codes:
                codes[text] = following
                following += 1
        assert strings.encode(column).tolist() == [codes.get(text, -1) for text in batch]
        assert dict(zip(strings.values.to_pylist(), strings.codes.tolist(), strict=True)) == codes
        if data.draw(st.booleans()):
            kept = [data.draw(st.booleans()) for _ in codes]
            strings.hold(strings.values.filter(pa.array(kept, pa.bool_())), strings.codes[kept])
            codes = {text: code for (text, code), k in zip(codes.items(), kept, strict=True) if k}
        assert (len(strings), strings.next_code) == (len(codes), following)


def test_many_long_texts_that_differ_at_their_ends() -> None:
    strings = StringCodes()
    texts = [f"{number:>40}" for number in range(5_000)]
    assert strings.encode(pa.array(texts)).tolist() == list(range(5_000))
    assert strings.encode(pa.array(texts[::-1])).tolist() == list(range(4_999, -1, -1))
