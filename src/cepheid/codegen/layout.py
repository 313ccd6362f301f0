"""Compiled steps as arrays: what each field of them is, and of the context of predicates.

This needs only NumPy, so that a plan can be made and explained without loading the compiler.
"""

from __future__ import annotations

import numpy as np

STEP = np.dtype(
    [
        ("is_kleene", "i8"),
        ("least", "i8"),  # events that a Kleene component needs before it can be left
        ("most", "i8"),  # events that it can have
        ("begin_bit", "i8"),  # the mask bit of an event that can be its first
        ("take_bit", "i8"),  # the mask bit of an event that can be a later one
        ("begin", "i8"),  # predicate on the begin edge, or NONE
        ("take", "i8"),  # predicate on the take edge, or NONE
        ("final", "i8"),  # predicate on the edge to F from a trailing Kleene component, or NONE
        ("begin_low", "i8"),  # the updates at its first event are updates[begin_low:begin_high]
        ("begin_high", "i8"),
        ("take_low", "i8"),  # the updates at its later events
        ("take_high", "i8"),
    ]
)
UPDATE = np.dtype(
    [
        ("operation", "i8"),
        ("column", "i8"),  # index of the column in the context
        ("register", "i8"),
        ("argument", "i8"),  # SET_AT: the number of the element; DEVIATIONS: the mean's register
        ("length_register", "i8"),  # SET_AT, MEAN, DEVIATIONS: the register with the length
    ]
)

NONE = -1
UNBOUNDED = 2**62
"""The maximum of a Kleene component without an upper bound."""
TAG_SHIFT = 5
MAX_COMPONENTS = 31
"""A tag has five bits for the component, and a mask two bits for each."""
KIND_NOT_KNOWN = "is not known, since it has no value in the first events"
TOO_MANY_COMPONENTS = f"it has more than {MAX_COMPONENTS} components"
MAX_REGISTERS = 62
"""A run has one bit per register: whether its value is known."""

STRICT, PARTITION_CONTIGUITY, NEXT, ANY = 0, 1, 2, 3

SET_INT, SET_FLOAT, SET_INT_AT, SET_FLOAT_AT = 0, 1, 2, 3
MIN_INT, MIN_FLOAT, MAX_INT, MAX_FLOAT, SUM_INT, SUM_FLOAT, COUNT, LENGTH = 4, 5, 6, 7, 8, 9, 10, 11
MIN_STRING, MAX_STRING, SUM_AS_FLOAT = 12, 13, 14
MEAN_INT, MEAN_FLOAT, DEVIATIONS_INT, DEVIATIONS_FLOAT = 15, 16, 17, 18

# The context that generated code reads: addresses and strides of registers, constants, lists,
# strings and, in a lazy evaluation, slots. From CONTEXT_COLUMNS on it has two addresses for each
# column: the values, and a byte for each value that says whether it is known (0: all are).
CONTEXT_INTS, CONTEXT_FLOATS, CONTEXT_VALID, CONTEXT_CONSTANTS, CONTEXT_FLOAT_CONSTANTS = range(5)
CONTEXT_INTS_STRIDE, CONTEXT_FLOATS_STRIDE, CONTEXT_LISTS, CONTEXT_STRINGS = range(5, 9)
CONTEXT_SLOTS, CONTEXT_SLOTS_STRIDE, CONTEXT_COLUMNS = range(9, 12)

# CONTEXT_LISTS is the address of a table that finds the lists of the events in memory. A register
# holds the number of an event instead of its list. LISTS_NUMBERS is 0 if the events are
# LISTS_COUNT consecutive ones from LISTS_FIRST_EVENT on. From LISTS_FIRST_COLUMN on, the table has
# the addresses of the offsets and of the values of each column.
LISTS_FIRST_EVENT, LISTS_NUMBERS, LISTS_COUNT, LISTS_FIRST_COLUMN = range(4)

# CONTEXT_STRINGS is the address of a table: the number of known strings, the address of their
# codes in ascending order, and the addresses of the results of each string operation.
(
    STRINGS_COUNT,
    STRINGS_CODES,
    STRINGS_RANK,
    STRINGS_LOWER,
    STRINGS_UPPER,
    STRINGS_LENGTH,
    STRINGS_FIELDS,
) = range(7)
