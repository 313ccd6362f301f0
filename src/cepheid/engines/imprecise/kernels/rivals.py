"""The rivals of a match: events that could be next, or that violate a negated component.

For each, its match, its event and the gap in which it must not lie are written. The gap is the
place of the event after it, or SINCE_START and UNTIL_END, which precede and follow all places.
"""

from __future__ import annotations

from cepheid.codegen.layout import NONE, TAG_SHIFT
from cepheid.engines.base.kernels.conditions import (
    Conditions,
    clear_registers,
    holds,
    select_event,
    select_match,
)
from cepheid.engines.imprecise.kernels.gaps import gap_of
from cepheid.engines.imprecise.kernels.interval_masses import first_reaching, is_in, valid_bounds
from cepheid.engines.imprecise.layout import (
    AT_END,
    AT_START,
    NEED_OUTPUT,
    Batch,
    Gap,
    Intervals,
    Match,
    Signatures,
)
from cepheid.jit.decorators import I64, I64S, I64S_2D, helper, kernel, type_of
from cepheid.jit.drive import DONE, PAUSE

SINCE_START, UNTIL_END = 0, 1 << 62

_COMPONENT = (1 << TAG_SHIFT) - 1


@helper
def list_between(listed, row, test, tags, begin, end, batch, conditions):
    """Write the candidates of a row that can be between two times; returns how many there are.

    They pass the test and are not in the match. Those for which there is no room are counted.
    """
    lower, upper = batch.intervals.lower, batch.intervals.upper
    candidates, partition = batch.candidates, batch.partition_of[tags[0] >> TAG_SHIFT]
    used, stop = 0, candidates.borders[row, partition + 1]
    place = first_reaching(candidates, row, partition, lower, begin + 1)
    batch.pace[0] += place
    while place < stop and lower[candidates.places[place]] < end:
        event = candidates.places[place]
        place += 1
        if upper[event] <= begin or is_in(tags, event) or not holds(conditions, test, event, 0):
            continue
        if used < len(listed):
            listed[used] = event
        used += 1
    batch.pace[0] -= place + 1
    return used


@kernel(
    I64(
        type_of(Signatures), type_of(Batch), type_of(Conditions), I64, I64S_2D, I64S, I64S_2D, I64S,
    )
)  # fmt: skip
def find_next(signatures, batch, conditions, window, bounds, alive, rivals, at):
    """Write the events that could be taken before one of the match, from match ``at[0]`` on.

    A list takes what it can, until it is full: then events that can begin the next component are
    rivals. ``alive[m]`` becomes 0 if one is certain to be taken. ``at[1]`` is the number of rivals
    written.
    """
    ids, offsets = signatures.ids, signatures.offsets
    lower, upper = batch.intervals.lower, batch.intervals.upper
    lo, hi, steps = bounds[0], bounds[1], conditions.steps
    for m in range(at[0], len(offsets) - 1):
        match = Match(ids[offsets[m] : offsets[m + 1]], lo, hi, window)
        tags, used, length = match.tags, at[1], 0
        alive[m] = valid_bounds(match, batch.intervals)
        clear_registers(conditions, 0)
        for j in range(1, len(tags)):
            if alive[m] == 0:
                break
            here = tags[j - 1] & _COMPONENT
            is_later = j > 1 and tags[j - 2] & _COMPONENT == here
            length = length + 1 if is_later else 1
            select_event(conditions, here, is_later, tags[j - 1] >> TAG_SHIFT, 0)
            if steps[here].is_kleene and length < steps[here].most:
                row, test = 2 * here + 1, steps[here].take
            else:
                row, test = 2 * here + 2, steps[here + 1].begin
            found = list_between(
                rivals[1, used:], row, test, tags, lo[j - 1], hi[j], batch, conditions
            )
            if used + found > rivals.shape[1]:
                at[0] = m
                return NEED_OUTPUT
            for place in range(used, used + found):
                event = rivals[1, place]
                rivals[0, place], rivals[2, place] = m, j
                if lower[event] > hi[j - 1] and upper[event] < lo[j]:
                    alive[m] = 0
            used += found
        if alive[m] != 0:
            at[1] = used
        if batch.pace[0] <= 0:
            at[0] = m + 1
            return PAUSE
    at[0] = len(offsets) - 1
    return DONE


@kernel(
    I64(
        type_of(Signatures), type_of(Batch), type_of(Conditions), I64, I64S_2D, I64S, I64S_2D, I64S,
    )
)  # fmt: skip
def find_between(signatures, batch, conditions, window, bounds, alive, rivals, at):
    """Write the candidates that can be between two events of a match, as :func:`find_next` does."""
    ids, offsets = signatures.ids, signatures.offsets
    lower, upper = batch.intervals.lower, batch.intervals.upper
    lo, hi = bounds[0], bounds[1]
    for m in range(at[0], len(offsets) - 1):
        match = Match(ids[offsets[m] : offsets[m + 1]], lo, hi, window)
        tags, used = match.tags, at[1]
        alive[m] = valid_bounds(match, batch.intervals)
        for j in range(1, len(tags)):
            if alive[m] == 0:
                break
            found = list_between(
                rivals[1, used:], 0, NONE, tags, lo[j - 1], hi[j], batch, conditions
            )
            if used + found > rivals.shape[1]:
                at[0] = m
                return NEED_OUTPUT
            for place in range(used, used + found):
                event = rivals[1, place]
                rivals[0, place], rivals[2, place] = m, j
                if lower[event] > hi[j - 1] and upper[event] < lo[j]:
                    alive[m] = 0
            used += found
        if alive[m] != 0:
            at[1] = used
        if batch.pace[0] <= 0:
            at[0] = m + 1
            return PAUSE
    at[0] = len(offsets) - 1
    return DONE


@kernel(
    I64(
        type_of(Signatures), type_of(Batch), type_of(Conditions), I64, type_of(Gap), I64S_2D,
        I64S_2D, I64S,
    )
)  # fmt: skip
def find_violating(signatures, batch, conditions, window, gap, bounds, rivals, at):
    """Write the events that can violate a negated component, from match ``at[0]`` on.

    The candidates of the batch are those of the negated component. ``at[1]`` is the number of
    rivals written.
    """
    ids, offsets = signatures.ids, signatures.offsets
    lo, hi = bounds[0], bounds[1]
    for m in range(at[0], len(offsets) - 1):
        match = Match(ids[offsets[m] : offsets[m + 1]], lo, hi, window)
        if valid_bounds(match, batch.intervals) == 0:
            continue
        place, last = gap_of(match.tags, gap.after, gap.before), len(match.tags) - 1
        if place == AT_START:
            begin, end, place = lo[last] - window, hi[0], SINCE_START
        elif place == AT_END:
            begin, end, place = lo[last], hi[0] + window, UNTIL_END
        else:
            begin, end = lo[place - 1], hi[place]
        if gap.test != NONE:
            select_match(conditions, ids, offsets[m], offsets[m + 1])
        used = at[1]
        found = list_between(
            rivals[1, used:], 0, gap.test, match.tags, begin, end, batch, conditions
        )
        if used + found > rivals.shape[1]:
            at[0] = m
            return NEED_OUTPUT
        for written in range(used, used + found):
            rivals[0, written], rivals[2, written] = m, place
        at[1] = used + found
        if batch.pace[0] <= 0:
            at[0] = m + 1
            return PAUSE
    at[0] = len(offsets) - 1
    return DONE


@kernel(I64(type_of(Signatures), type_of(Intervals), I64, I64, I64S_2D, I64S))
def decide_matches(signatures, intervals, window, waits, bounds, decided):
    """Write when each match is decided: no event that begins later changes its confidence.

    It is the latest time of its last event, or the end of its latest window if it ``waits``.
    """
    ids, offsets = signatures.ids, signatures.offsets
    lo, hi = bounds[0], bounds[1]
    for m in range(len(offsets) - 1):
        match = Match(ids[offsets[m] : offsets[m + 1]], lo, hi, window)
        if valid_bounds(match, intervals) == 0:
            decided[m] = intervals.lower[match.tags[0] >> TAG_SHIFT]
        elif waits != 0:
            decided[m] = hi[0] + window - 1
        else:
            decided[m] = hi[len(match.tags) - 1]
    return 0
