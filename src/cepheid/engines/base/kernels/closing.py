"""Which edges negated components close to a run, by the last event that it has selected."""

from __future__ import annotations

from cepheid.jit.decorators import inlined


@inlined
def is_closed(closing, edge, event_ix, last):
    """Whether an event came after the last one of a run, and before this one, that violates."""
    row = closing.rows[edge]
    return row >= 0 and closing.latest[row, event_ix] >> 1 > last


@inlined
def closes(closing, edge, event_ix, event, last):
    """Whether an edge is closed to a run at all events after this one, which may violate too."""
    row = closing.rows[edge]
    if row < 0:
        return False
    latest = closing.latest[row, event_ix]
    return (event if latest & 1 else latest >> 1) > last
