"""Active instance stacks where nothing is compared but one key and the window [Wu06 §4.1–4.3].

This is the same scan and construction as in :mod:`cepheid.engines.stacks.kernels.scan`, for a
sequence without conditions across its events: nothing is kept beside an instance, and nothing
is tested in the search but the window. Only the events are read that can belong to a component.
Matches of three and more components are not searched for one by one as long as there is room to
copy what they have in common.

An instance that has left the window is overwritten by a new one. What points to it is then younger
than what it points to: that is how the end of a stack is known. No more than the instance below
another one in its stack can be gone, since one is in the window as long as its RIP is.
"""

from __future__ import annotations

from cepheid.engines.stacks.kernels.shared_construction import construct_shared
from cepheid.engines.stacks.layout import (
    DONE,
    INSTANCE,
    NEED_OUTPUT,
    NEED_ROOM,
    NONE,
    PLAN,
    STATE,
    UNUSED,
)
from cepheid.jit.decorators import I32S, I64, I64S, array_of, kernel_of_widths, small
from cepheid.jit.pointers import highest_bit
from cepheid.jit.window_edge import window_edge


@small
def _below(instances, row):
    """The instance below another one in its stack, or NONE."""
    previous = instances[row].previous
    if previous >= 0 and instances[previous].event >= instances[row].event:
        return NONE
    return previous


@small
def _construct(instances, cursor, path, found, last, oldest, first_event, level, matches):
    """Search back from the last event; how many matches there are, and where it lacked room.

    All starts after ``oldest`` are in the window. ``cursor`` has the instance to be looked at
    of each component, and ``path`` the events of those that are bound, and the last. The
    component at which the search has to go on is NONE when it has ended.
    """
    while level < last:
        row = cursor[level]
        if row < 0 or instances[row].start <= oldest:
            level += 1
            continue
        if level > 1:
            path[level] = instances[row].event - first_event
            cursor[level] = _below(instances, row)
            level -= 1
            cursor[level] = instances[row].rip
            continue
        second = path[1]
        if level == 1:
            second = instances[row].event - first_event
            cursor[1] = _below(instances, row)
            row = instances[row].rip
        while matches < found.shape[1]:
            if row < 0 or instances[row].start <= oldest:
                row = cursor[1] if last > 1 else NONE
                if row < 0 or instances[row].start <= oldest:
                    row = NONE
                    break
                second = instances[row].event - first_event
                cursor[1] = _below(instances, row)
                row = instances[row].rip
                continue
            found[0, matches] = instances[row].event - first_event
            found[1, matches] = second
            # How many these are is the same for all matches, so that no branch is a surprise.
            for component in range(2, last + 1):
                found[component, matches] = path[component]
            matches += 1
            row = _below(instances, row)
        path[1] = second
        if matches == found.shape[1]:
            cursor[0] = row
            return matches, 0
        level = 2
    return matches, NONE


@kernel_of_widths(
    lambda _row, rows: I64(
        array_of(PLAN), array_of(STATE), array_of(INSTANCE), I32S, I64S, I64S, I64S, I64S,
        rows, rows, I64S, rows, I64S, I64S, I64S, I64, I64, I64, I64, I64S,
    )
)  # fmt: skip
def advance_plain_stacks(
    plan, state, instances, marks, stacks, reached, cursor, path, older, newer, numbers, found,
    places, bits_at, axis, components, base_event, first_event, place_ix, stopped_at,
):  # fmt: skip
    """Read the events of ``places`` from ``place_ix`` on; ``stopped_at[0]`` is the place not read.

    ``bits_at`` has the components that the event at a place can belong to, and ``numbers`` the
    partition of each event, where there are partitions. There are at least two components. The
    rest is as in the kernel for all sequences.
    """
    last = components - 1
    window, in_scan = plan[0].window, plan[0].window_in_scan != 0
    pushed, by_partition = plan[0].pushed != 0, plan[0].by_partition != 0
    head, matches, level = state[0].head, state[0].matches, state[0].level
    size = len(instances)
    # From the head on so many instances have left the window, or never were there.
    room = 0
    pushes = 0
    status = DONE
    stopped_at[0] = len(places)
    for place in range(place_ix, len(places)):
        i = places[place]
        now = axis[i]
        if room < components:
            edge = UNUSED if by_partition else window_edge(now, window)
            while room < components:
                row = head + room
                if row >= size:
                    row -= size
                if instances[row].start > edge:
                    break
                # Where no instance is, there may be the number of a stack that is no more.
                if instances[row].start != UNUSED and stacks[instances[row].stack] == row:
                    stacks[instances[row].stack] = NONE
                room += 1
            if room < components:
                status = NEED_ROOM
                stopped_at[0] = place
                break
        partition = numbers[i] if pushed else 0
        if partition < 0:
            continue
        if by_partition:
            reached[partition] = now
        bits = bits_at[place]
        # From the last component back, so that an event does not follow itself.
        while bits != 0:
            component = highest_bit(bits) >> 1
            bits &= ~(1 << (2 * component))
            stack = partition * components + component
            top, start = NONE, now
            if component > 0 and level < 0:
                top = stacks[stack - 1]
                if top < 0:
                    continue
                start = instances[top].start
                if in_scan and now - start >= window:
                    continue
            if component < last:
                row = head
                instances[row].event = base_event + i
                instances[row].start = start
                instances[row].previous = stacks[stack]
                instances[row].rip = top
                instances[row].stack = stack
                stacks[stack] = row
                head = row + 1 if row + 1 < size else 0
                room -= 1
                pushes += 1
                continue
            oldest = window_edge(now, window)
            last_event = base_event + i - first_event
            if level < 0:
                if last > 1 and instances[top].start > oldest:
                    made = construct_shared(
                        instances, marks, cursor, older, newer, found, last, top, oldest,
                        first_event, last_event, matches,
                    )  # fmt: skip
                    if made >= 0:
                        matches = made
                        continue
                cursor[last - 1] = top
                path[last] = last_event
                level = last - 1
            matches, level = _construct(
                instances, cursor, path, found, last, oldest, first_event, level, matches
            )
            if level >= 0:
                status = NEED_OUTPUT
                stopped_at[0] = place
                break
        if status != DONE:
            break
    state[0].pushed += pushes
    state[0].used = min(state[0].used + pushes, size)
    state[0].matches_found += matches - state[0].matches
    state[0].constructed += matches - state[0].matches
    state[0].head, state[0].matches, state[0].level = head, matches, level
    return status
