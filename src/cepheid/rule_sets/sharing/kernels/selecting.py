"""Selects the events that matter to each of many rules, in one pass over a batch.

An event matters to a rule if a role of the rule accepts it and, unless the role is free, a first
event of a match came before it in the same partition, not long ago. When partitions had their last
first event is kept in a hash table without keys. Where two partitions meet in it, too many events
are selected, and never too few.

Events of equal time are looked at together: whether one is selected does not depend on their order.
"""

from __future__ import annotations

from cepheid.jit.decorators import I64, helper, kernel, type_of
from cepheid.rule_sets.sharing.layout import FLAG, FLOATS, Encoded, Listeners, Selected

FULL = 1
NEVER = 0x7FFFFFFFFFFFFFFF
"""The greatest time: that of a window without an end."""


@helper
def _slot_of(table, slot, digest):
    x = (digest + slot * -7046029254386353131) * -4417276706812531889
    return (x >> 29) & (len(table) - 1)


@helper
def _compares(operator, left, right):
    if operator == 0:
        return left == right
    if operator == 1:
        return left != right
    if operator == 2:
        return left < right
    if operator == 3:
        return left <= right
    if operator == 4:
        return left > right
    return left >= right


@helper
def _holds(test, encoded, event):
    operator, column = test.operator, test.column
    if operator == FLAG:
        return encoded.flags[column, event] != 0
    if encoded.flags[test.valid, event] == 0:
        return False
    if operator >= FLOATS:
        return _compares(operator - FLOATS, encoded.floats[column, event], test.number)
    return _compares(operator, encoded.integers[column, event], test.integer)


@helper
def _roles(listeners, encoded, listener, event):
    """The roles that an event can play in the rule of a listener, as bits."""
    mask = 0
    for role in range(listener.first_role, listener.first_role + listener.roles):
        passes = True
        first = listeners.roles[role].first_test
        for asked in range(first, first + listeners.roles[role].tests):
            if not _holds(listeners.tests[listeners.asked[asked]], encoded, event):
                passes = False
                break
        if passes:
            mask |= listeners.roles[role].bit
    return mask


@kernel(I64(type_of(Listeners), type_of(Encoded), type_of(Selected)))
def select(listeners, encoded, selected):
    """Select events until all are looked at, or there may be no room; then it returns FULL."""
    count, event = selected.state[0], selected.state[1]
    ticks, until = encoded.ticks, listeners.until
    total = len(ticks)
    while event < total:
        end, tick, needed = event, ticks[event], 0
        while end < total and ticks[end] == tick:
            kind = encoded.types[end]
            needed += listeners.begins[kind + 1] - listeners.begins[kind]
            end += 1
        if count + needed > len(selected.places):
            selected.state[0], selected.state[1], selected.state[2] = count, event, needed
            return FULL
        begun = count
        for each in range(event, end):
            kind = encoded.types[each]
            for number in range(listeners.begins[kind], listeners.begins[kind + 1]):
                listener = listeners.listeners[number]
                mask = _roles(listeners, encoded, listener, each)
                if mask == 0:
                    continue
                place = _slot_of(until, listener.slot, encoded.digests[listener.key, each])
                if mask & 1:
                    reached = NEVER
                    if tick <= 0 or listener.reach < NEVER - tick:
                        reached = tick + listener.reach
                    if reached > until[place]:
                        until[place] = reached
                selected.places[count] = each
                selected.slots[count] = listener.slot
                selected.masks[count] = mask
                selected.hashed[count] = -1 if mask & listener.free else place
                count += 1
        if end < total:  # Events of the same time may follow the last ones in the next batch.
            kept = begun
            for each in range(begun, count):
                place = selected.hashed[each]
                if place < 0 or tick < until[max(place, 0)]:
                    selected.places[kept] = selected.places[each]
                    selected.slots[kept] = selected.slots[each]
                    selected.masks[kept] = selected.masks[each]
                    kept += 1
            count = kept
        event = end
    selected.state[0], selected.state[1] = count, event
    return 0


@kernel(I64(type_of(Listeners), type_of(Selected), type_of(Encoded)))
def remember(listeners, selected, encoded):
    """Note the first events of matches: ``slots``, one digest each, and the end of their reach."""
    until = listeners.until
    for each in range(len(selected.slots)):
        place = _slot_of(until, selected.slots[each], encoded.digests[0, each])
        if encoded.ticks[each] > until[place]:
            until[place] = encoded.ticks[each]
    return 0
