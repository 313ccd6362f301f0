"""The list attributes of events, for generated predicates.

A run keeps the number of an event in the stead of its list, so that its registers stay plain
numbers and mean the same in a session that was restored.
"""

from __future__ import annotations

from numba.np.numpy_support import carray

from cepheid.codegen.layout import (
    LISTS_COUNT,
    LISTS_FIRST_COLUMN,
    LISTS_FIRST_EVENT,
    LISTS_NUMBERS,
)
from cepheid.jit.decorators import array_helper
from cepheid.jit.pointers import float64_pointer, int64_pointer


@array_helper
def list_at(lists, column, event):
    """The list of an event, by the number of the event; empty where it is not kept any more.

    ``lists`` is the address of what the context says about list columns.
    """
    table = int64_pointer(lists)
    count = table[LISTS_COUNT]
    place = event - table[LISTS_FIRST_EVENT]
    if table[LISTS_NUMBERS] != 0:
        numbers = int64_pointer(table[LISTS_NUMBERS])
        place, high = 0, count
        while place < high:
            middle = (place + high) >> 1
            if numbers[middle] < event:
                place = middle + 1
            else:
                high = middle
        if place < count and numbers[place] != event:
            place = count
    offsets = int64_pointer(table[LISTS_FIRST_COLUMN + 2 * column])
    values = table[LISTS_FIRST_COLUMN + 2 * column + 1]
    low, high = 0, 0
    if 0 <= place < count:
        low, high = offsets[place], offsets[place + 1]
    return carray(float64_pointer(values + 8 * low), high - low)
