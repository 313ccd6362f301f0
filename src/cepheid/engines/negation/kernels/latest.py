"""The latest event of each partition that violates a negated component."""

from __future__ import annotations

from cepheid.jit.decorators import I64, I64S, kernel


@kernel(I64(I64S, I64S, I64, I64S, I64S))
def note_latest(marks, partitions, first_event, latest, closed):
    """Add the events that violate to a row of :class:`cepheid.engines.base.layout.Closing`.

    ``marks`` is not 0 for these. ``latest`` has the last one of each partition so far, or -1.
    """
    for i in range(len(marks)):
        partition = partitions[i]
        if partition < 0:
            continue
        found = max(closed[i] >> 1, latest[partition])
        violates = closed[i] & 1
        if marks[i] != 0:
            violates = 1
            latest[partition] = first_event + i
        closed[i] = 2 * found + violates
    return 0
