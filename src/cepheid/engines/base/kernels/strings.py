"""What generated predicates and registers ask of strings: their order, and functions of them.

Strings are codes, and whatever is asked of one is looked up by its code.
"""

from __future__ import annotations

from cepheid.codegen.layout import STRINGS_CODES, STRINGS_COUNT
from cepheid.jit.decorators import helper
from cepheid.jit.pointers import int64_pointer


@helper
def string_value(strings, asked, code):
    """What is asked of the string with a code; -1 where it is not kept.

    ``strings`` is the address of what the context says about strings.
    """
    table = int64_pointer(strings)
    codes = int64_pointer(table[STRINGS_CODES])
    low, high = 0, table[STRINGS_COUNT]
    while low < high:
        middle = (low + high) >> 1
        if codes[middle] < code:
            low = middle + 1
        else:
            high = middle
    if low == table[STRINGS_COUNT] or codes[low] != code:
        return -1
    return int64_pointer(table[asked])[low]
