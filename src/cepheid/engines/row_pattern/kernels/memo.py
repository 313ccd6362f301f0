"""The memo of failures: a state that has failed at a row is not entered there again.

A failure of a *plain* state depends on the row alone. It is a bit, valid for all searches. A
failure of a *keyed* state also depends on what the predicates to come can see. Where WITHIN is the
reason, a failure depends on the start as well. A *filler*, whose loop takes every row, fails from
a row on: one row is stored, in a table whose entries replace each other.
"""

from __future__ import annotations

from cepheid.engines.row_pattern.layout import (
    COUNT,
    DIRTY,
    FIRST_ROW,
    FOLD,
    GENERATION,
    KEYED_USED,
    LAST_ROW,
    MATCH_NUMBER,
    MEMO_BASE,
    MEMO_HIGH,
    NO_MEMO,
    NONE,
    NUMBER,
    PARTITION,
    PLAIN,
    START,
    START_ROW,
    STEPS,
)
from cepheid.jit.decorators import helper, inlined

MEMO_AFTER = 32
"""A shorter search is repeated faster than its failures are stored."""
_PROBES = 8
_STATE, _ROW, _KEYS = 1, 2, 3
_LOW, _VALID_FOR, _OF_PARTITION, _FILLER_KEYS = 0, 1, 2, 3


@inlined
def row_of(search, kind, group, offset):
    """A row of a group, by its number from the first or last one; NONE if there is none."""
    count = search.counts[group]
    if count <= offset:
        return NONE
    return search.groups[group, offset if kind == FIRST_ROW else count - 1 - offset]


@helper
def fill_key(program, search, state):
    """Write what distinguishes failures of a state; the number of words."""
    key, size = search.key, 0
    for each in range(program.states[state].keys_low, program.states[state].keys_high):
        slot = program.keys[each]
        if slot.kind == FIRST_ROW or slot.kind == LAST_ROW:
            row = row_of(search, slot.kind, slot.group, slot.argument)
            key[size] = program.alike[row] if row >= 0 and len(program.alike) else row
        elif slot.kind == COUNT:
            key[size] = search.counts[slot.group]
        elif slot.kind == START:
            key[size] = search.progress[START_ROW]
        elif slot.kind == NUMBER:
            key[size] = search.progress[MATCH_NUMBER]
        elif slot.kind == FOLD:
            last = search.counts[slot.group] - 1
            for word in range(3):
                key[size + word] = 0
            if last >= 0:
                key[size] = search.values[slot.argument, last]
                key[size + 1] = search.extras[slot.argument, last]
                key[size + 2] = search.known[slot.argument, last]
            size += 2
        size += 1
    return size


@helper
def mixed(key, size, code):
    """A hash of a number and the words of a key."""
    for word in range(size):
        code = (code ^ (code >> 29)) * 0x2545F4914F6CDD1D + key[word]
    code = (code ^ (code >> 32)) * 0x9E3779B97F4A7C1
    return code ^ (code >> 31)


@helper
def keyed_place(search, state, row, size):
    """The index of an entry of the keyed memo, or of the free one where it belongs."""
    keyed, key, generation = search.keyed, search.key, search.progress[GENERATION]
    last = keyed.shape[0] - 1
    place = mixed(key, size, state * 0x9E3779B97F4A7C1 + row) & last
    while keyed[place, 0] == generation:
        is_same = keyed[place, _STATE] == state and keyed[place, _ROW] == row
        for word in range(size):
            is_same = is_same and keyed[place, _KEYS + word] == key[word]
        if is_same:
            return place
        place = (place + 1) & last
    return place


@helper
def store_keyed(search, state, row, size):
    """Add a failure to the keyed memo."""
    progress, keyed = search.progress, search.keyed
    place = keyed_place(search, state, row, size)
    if keyed[place, 0] == progress[GENERATION]:
        return
    if 2 * progress[KEYED_USED] >= keyed.shape[0]:
        # It cannot grow: all is forgotten.
        progress[GENERATION] += 1
        progress[KEYED_USED] = 0
        place = keyed_place(search, state, row, size)
    keyed[place, 0], keyed[place, _STATE], keyed[place, _ROW] = progress[GENERATION], state, row
    for word in range(size):
        keyed[place, _KEYS + word] = search.key[word]
    progress[KEYED_USED] += 1


@helper
def fill_dirty_key(program, search, state):
    """Write the key of a failure that is due to WITHIN: it holds for this start only."""
    size = fill_key(program, search, state)
    search.key[size] = search.progress[START_ROW]
    return size + 1


@helper
def filler_place(program, search, state, size):
    """The index of the entry of a filler with the words of the key, or of the one to replace."""
    failed, partition = search.failed, search.progress[PARTITION]
    entries = len(failed) // len(program.states)
    home = mixed(search.key, size, 0) & (entries - 1)
    for probe in range(min(entries, _PROBES)):
        place = state * entries + ((home + probe) & (entries - 1))
        is_same = failed[place, _OF_PARTITION] == partition
        if not is_same:
            return place
        for word in range(size):
            is_same = is_same and failed[place, _FILLER_KEYS + word] == search.key[word]
        if is_same:
            return place
    return state * entries + home


@helper
def filler_failure(program, search, state):
    """The index of the entry of a failure of a filler, or -1."""
    failed, progress = search.failed, search.progress
    size = fill_key(program, search, state)
    place = filler_place(program, search, state, size)
    if failed[place, _OF_PARTITION] != progress[PARTITION]:
        return NONE
    valid_for = failed[place, _VALID_FOR]
    if valid_for != NONE and valid_for != progress[START_ROW]:
        return NONE
    for word in range(size):
        if failed[place, _FILLER_KEYS + word] != search.key[word]:
            return NONE
    return place


@inlined
def failed_from(search, place):
    """The row from which on a filler fails, and whether this is due to WITHIN."""
    return search.failed[place, _LOW], search.failed[place, _VALID_FOR] != NONE


@inlined
def is_plain_failed(search, state, row):
    """Whether a plain state fails at a row whatever the start."""
    if row >= search.progress[MEMO_HIGH]:
        return False
    place = row - search.progress[MEMO_BASE]
    return (search.plain[place, state >> 6] >> (state & 63)) & 1 != 0


@helper
def is_filler_failed(program, search, state, row, depth):
    """As :func:`is_failed`, for a filler."""
    place = filler_failure(program, search, state)
    if place == NONE:
        return False
    first, is_dirty = failed_from(search, place)
    if row < first:
        return False
    if is_dirty:
        search.progress[DIRTY] = depth
    return True


@helper
def is_keyed_failed(program, search, state, row, depth):
    """As :func:`is_failed`, by the keyed memo."""
    progress = search.progress
    if program.has_window != 0:
        size = fill_dirty_key(program, search, state)
        if search.keyed[keyed_place(search, state, row, size), 0] == progress[GENERATION]:
            progress[DIRTY] = depth
            return True
        return False
    place = keyed_place(search, state, row, fill_key(program, search, state))
    return search.keyed[place, 0] == progress[GENERATION]


@inlined
def is_failed(program, search, state, row, depth):
    """Whether a state is known to fail at a row; marks the first frames if WITHIN is why."""
    progress, kind = search.progress, program.states[state].memo
    if kind == NO_MEMO:
        return False
    if program.states[state].is_filler != 0:
        return is_filler_failed(program, search, state, row, depth)
    if kind == PLAIN and is_plain_failed(search, state, row):
        return True
    if progress[STEPS] <= MEMO_AFTER or (kind == PLAIN and program.has_window == 0):
        return False
    return is_keyed_failed(program, search, state, row, depth)


@helper
def store_plain(search, state, low, high):
    """Remember that a state fails at these rows whatever the start."""
    base = search.progress[MEMO_BASE]
    high = min(high, base + search.plain.shape[0])
    for row in range(low, high):
        search.plain[row - base, state >> 6] |= 1 << (state & 63)
    search.progress[MEMO_HIGH] = max(search.progress[MEMO_HIGH], high)


@helper
def store_filler(program, search, frame, is_dirty):
    """Remember that a filler fails from the row of a frame on."""
    failed, progress = search.failed, search.progress
    size = fill_key(program, search, frame.state)
    place = filler_place(program, search, frame.state, size)
    failed[place, _LOW] = frame.row
    failed[place, _VALID_FOR] = progress[START_ROW] if is_dirty else NONE
    failed[place, _OF_PARTITION] = progress[PARTITION]
    for word in range(size):
        failed[place, _FILLER_KEYS + word] = search.key[word]


@helper
def store_by_key(program, search, frame):
    """Remember that the state of a frame fails, with what it depends on."""
    state = frame.state
    if program.has_window != 0:
        size = fill_dirty_key(program, search, state)
    else:
        size = fill_key(program, search, state)
    for row in range(frame.row, frame.top + 1):
        store_keyed(search, state, row, size)


@inlined
def store_failure(program, search, frame, is_dirty):
    """Remember that the state of a frame fails at its rows."""
    kind = program.states[frame.state].memo
    if kind == NO_MEMO:
        return
    if program.states[frame.state].is_filler != 0:
        store_filler(program, search, frame, is_dirty)
    elif search.progress[STEPS] > MEMO_AFTER:
        if kind == PLAIN and not is_dirty:
            store_plain(search, frame.state, frame.row, frame.at + 1)
        else:
            store_by_key(program, search, frame)


@inlined
def move_plain(search, start):
    """Empty the plain memo if it has nothing about rows from ``start`` on."""
    progress = search.progress
    if start >= progress[MEMO_HIGH]:
        if progress[MEMO_HIGH] > progress[MEMO_BASE]:
            search.plain[: progress[MEMO_HIGH] - progress[MEMO_BASE]] = 0
        progress[MEMO_BASE] = start
        progress[MEMO_HIGH] = start
