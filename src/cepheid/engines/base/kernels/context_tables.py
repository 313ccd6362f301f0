"""The strings and lists that generated predicates and registers look up through the context.

Strings are codes, and whatever is asked of one is looked up by its code. A run keeps the number of
an event instead of its list, so that its registers stay plain numbers and mean the same in a
session that was restored.
"""

from __future__ import annotations

from numba.np.numpy_support import carray

from cepheid.codegen.layout import (
    LISTS_COUNT,
    LISTS_FIRST_COLUMN,
    LISTS_FIRST_EVENT,
    LISTS_NUMBERS,
    STRINGS_CODES,
    STRINGS_COUNT,
)
from cepheid.jit.decorators import array_helper, helper
from cepheid.jit.pointers import float64_pointer, int64_pointer


@helper
def _place_of(address, count, number):
    """The place of a number among ascending ones at an address, or ``count`` if it is not there."""
    numbers = int64_pointer(address)
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if numbers[middle] < number:
            low = middle + 1
        else:
            high = middle
    return low if low < count and numbers[low] == number else count


@helper
def string_value(strings, asked, code):
    """What is asked of the string with a code; -1 where it is not kept.

    ``strings`` is the address of what the context says about strings.
    """
    table = int64_pointer(strings)
    count = table[STRINGS_COUNT]
    place = _place_of(table[STRINGS_CODES], count, code)
    return int64_pointer(table[asked])[place] if place < count else -1


@array_helper
def list_at(lists, column, event):
    """The list of an event, by the number of the event; empty where it is not kept any more.

    ``lists`` is the address of what the context says about list columns.
    """
    table = int64_pointer(lists)
    count = table[LISTS_COUNT]
    place = event - table[LISTS_FIRST_EVENT]
    if table[LISTS_NUMBERS] != 0:
        place = _place_of(table[LISTS_NUMBERS], count, event)
    offsets = int64_pointer(table[LISTS_FIRST_COLUMN + 2 * column])
    values = table[LISTS_FIRST_COLUMN + 2 * column + 1]
    low, high = 0, 0
    if 0 <= place < count:
        low, high = offsets[place], offsets[place + 1]
    return carray(float64_pointer(values + 8 * low), high - low)
