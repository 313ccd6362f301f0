"""Only the spans of a negation near the matches are searched."""

import numpy as np

from cepheid.engines.negation.index import NegationIndex, Span
from cepheid.engines.negation.layout import SpanArrays


def span(low: int, high: int) -> Span:
    """One event at each place, as on an axis of time in tens."""
    events = np.arange(low, high)
    return Span.of(SpanArrays(events, np.zeros(high - low, dtype=np.int64), events * 10), [])


def test_spans_are_found_by_their_events_and_by_the_axis() -> None:
    index = NegationIndex(reach=16, by_partition=False)
    for low in range(0, 40, 10):
        index.add(span(low, low + 10))
    assert [each.from_event for each in index.spans] == [0, 10, 20, 30]

    def found(events: tuple[int, int], axis: tuple[int, int]) -> list[int]:
        return [each.from_event for each in index.between(events, axis)]

    everywhere = -1, 1 << 62
    assert found(everywhere, everywhere) == [0, 10, 20, 30]
    assert found((9, 20), everywhere) == [10]
    assert found((8, 21), everywhere) == [0, 10, 20]
    assert found(everywhere, (190, 300)) == [20]
    assert found(everywhere, (189, 301)) == [10, 20, 30]
