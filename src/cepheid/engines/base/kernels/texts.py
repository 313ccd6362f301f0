"""What generated predicates and registers ask of texts: their order, and functions of them.

Texts are codes, and whatever is asked of one is looked up by its code.
"""

from __future__ import annotations

from cepheid.codegen.layout import TEXTS_CODES, TEXTS_COUNT
from cepheid.jit.decorators import helper
from cepheid.jit.pointers import int64_pointer


@helper
def text_value(texts, asked, code):
    """What is asked of the text with a code; -1 where it is not kept.

    ``texts`` is the address of what the context says about texts.
    """
    table = int64_pointer(texts)
    codes = int64_pointer(table[TEXTS_CODES])
    low, high = 0, table[TEXTS_COUNT]
    while low < high:
        middle = (low + high) >> 1
        if codes[middle] < code:
            low = middle + 1
        else:
            high = middle
    if low == table[TEXTS_COUNT] or codes[low] != code:
        return -1
    return int64_pointer(table[asked])[low]
