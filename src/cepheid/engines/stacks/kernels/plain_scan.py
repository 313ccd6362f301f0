"""Active instance stacks where only one key and the window are compared [Wu06 §4.1–4.3].

This is the same scan and construction as in :mod:`cepheid.engines.stacks.kernels.scan`, for a
sequence without conditions across its events: nothing is kept beside an instance, and the search
tests only the window. Only the events that fit a component are read. Matches of three and more
components are not searched for one by one as long as there is room to copy their common parts.

A new instance overwrites one that has left the window. A link to an overwritten instance then
leads to a younger one: that is how the end of a stack is recognised. Only the instance below
another one in its stack can be gone, since an instance and its RIP leave the window together.
"""

from __future__ import annotations

from cepheid.engines.stacks.kernels.pool import cut_before, cut_below
from cepheid.engines.stacks.kernels.shared_construction import construct_shared
from cepheid.engines.stacks.layout import (
    DONE,
    NEED_OUTPUT,
    NEED_ROOM,
    NONE,
    UNUSED,
    Batch,
    Ending,
    Pool,
    Search,
    State,
    Tables,
)
from cepheid.jit.decorators import I64, inlined, kernel_of_widths, type_of
from cepheid.jit.pointers import highest_bit
from cepheid.jit.window_edge import window_edge


@inlined
def _below(instances, row):
    """The instance below another one in its stack, or NONE."""
    previous = instances[row].previous
    if previous >= 0 and instances[previous].event >= instances[row].event:
        return NONE
    return previous


@inlined
def _construct(instances, cursor, path, found, ending, level, matches):
    """Search back from the last event; the number of matches, and where the search lacked room.

    The second result is the component at which the search has to continue, or NONE when it has
    ended.
    """
    last, oldest, first_event = ending.component, ending.oldest, ending.first_event
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
            # All matches have the same number of components, so the branch is predictable.
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
        type_of(Tables), type_of(State), type_of(Pool), type_of(Search), type_of(Batch), rows, rows,
        rows,
    )
)  # fmt: skip
def advance_plain_stacks(tables, state, pool, search, batch, older, newer, found):
    """Read the events of ``places`` from index ``span.next`` on.

    There are at least two components, and at most one key. ``older`` and ``newer`` have room for
    the shared construction. The rest is as in the kernel for all sequences.
    """
    plan, control, span = tables.plan, state.control, batch.span
    tops, instances, places = state.tops, pool.instances, batch.places
    cursor, path = search.cursor, search.path
    base_event, first_event = span[0].base_event, span[0].first_event
    components = len(tables.steps)
    last = components - 1
    window, in_scan = plan[0].window, plan[0].window_in_scan != 0
    pushed, by_partition = plan[0].pushed != 0, plan[0].by_partition != 0
    head, matches, level = control[0].head, control[0].matches, control[0].level
    size = len(instances)
    closing, negated = batch.closing, len(batch.closing.rows) > 0
    # Matches have no common parts to copy if instances of the same stack lead to several stacks.
    shares = last > 1
    for edge in range(2, 2 * last if negated else 0, 2):
        shares = shares and closing.rows[edge] < 0
    # The number of rows from the head on that are free: left the window, or never used.
    room = 0
    pushes = 0
    status = DONE
    stopped_at = len(places)
    for place in range(span[0].next, len(places)):
        i = places[place]
        now = batch.axis[i]
        if room < components:
            edge = UNUSED if by_partition else window_edge(now, window)
            while room < components:
                row = head + room
                if row >= size:
                    row -= size
                if instances[row].start > edge:
                    break
                # A row without an instance may name a stack that no longer exists.
                if instances[row].start != UNUSED and tops[instances[row].stack] == row:
                    tops[instances[row].stack] = NONE
                room += 1
            if room < components:
                status = NEED_ROOM
                stopped_at = place
                break
        partition = batch.numbers[0, i] if pushed else 0
        if partition < 0:
            continue
        if by_partition:
            state.reached[partition] = now
        bits = batch.mask[place]
        # From the last component back, so that an event does not follow itself.
        while bits != 0:
            component = highest_bit(bits) >> 1
            bits &= ~(1 << (2 * component))
            stack = partition * components + component
            top, start = NONE, now
            if negated and component > 0 and level < 0:
                cut_before(closing, instances, tops, stack - 1, component - 1, i)
            if component > 0 and level < 0:
                top = tops[stack - 1]
                if top < 0:
                    continue
                start = instances[top].start
                if in_scan and now - start >= window:
                    continue
            if component < last:
                row = head
                instances[row].event = base_event + i
                instances[row].start = start
                if negated:
                    cut_below(closing, instances, tops, stack, component, i, base_event + i)
                instances[row].previous = tops[stack]
                instances[row].rip = top
                instances[row].stack = stack
                tops[stack] = row
                head = row + 1 if row + 1 < size else 0
                room -= 1
                pushes += 1
                continue
            oldest = window_edge(now, window)
            ending = Ending(last, top, base_event + i - first_event, oldest, first_event)
            if level < 0:
                if shares and instances[top].start > oldest:
                    made = construct_shared(
                        instances, cursor, search.marks, older, newer, found, ending, matches
                    )
                    if made >= 0:
                        matches = made
                        continue
                cursor[last - 1] = top
                path[last] = ending.event
                level = last - 1
            matches, level = _construct(instances, cursor, path, found, ending, level, matches)
            if level >= 0:
                status = NEED_OUTPUT
                stopped_at = place
                break
        if status != DONE:
            break
    span[0].next = stopped_at
    control[0].pushed += pushes
    control[0].used = min(control[0].used + pushes, size)
    control[0].matches_found += matches - control[0].matches
    control[0].constructed += matches - control[0].matches
    control[0].head, control[0].matches, control[0].level = head, matches, level
    return status
