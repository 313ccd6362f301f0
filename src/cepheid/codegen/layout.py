"""The fields of the tables and state of an NFA^b, and of the context of generated code.

This module needs NumPy only, so that a plan can be made and explained without loading the
compiler.
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
        ("argument", "i8"),  # SET_AT: the number of the element
        ("length_register", "i8"),  # SET_AT: the register with the length of the variable
    ]
)
RUN = np.dtype(
    [
        ("state", "i8"),  # 2 × component when waiting for it, + 1 inside it; FREE
        ("count", "i8"),  # events of the Kleene component that it is inside
        ("start", "i8"),  # where it starts, on the axis that the window measures
        ("head", "i8"),  # its latest node
        ("root", "i8"),  # its first node
        ("length", "i8"),  # events selected
        ("next", "i8"),  # next run of the partition, or of the free list
    ]
)
PARTITION = np.dtype(
    [
        ("first", "i8"),  # list of live runs
        ("live", "i8"),  # how many
        ("now", "i8"),  # the latest point of the partition, on the axis that the window measures
    ]
)
NODE = np.dtype(
    [
        ("tag", "i8"),  # event × 32 + component; of a union: -1 - its other branch
        ("previous", "i8"),  # the node selected before, or NONE; of a union: one branch
        ("youngest", "i8"),  # the latest start of the chains that end here
        ("oldest", "i8"),  # the earliest start of these chains
        ("chains", "f8"),  # number of these chains
    ]
)
FINAL = np.dtype(
    [
        ("head", "i8"),  # the node where the chains of some matches end, or NONE
        ("tag", "i8"),  # the event after it that completes them, or NONE
        ("after", "i8"),  # the chains that start after this are in the window
    ]
)
CONTROL = np.dtype(
    [
        ("strategy", "i8"),
        ("window", "i8"),
        ("counts", "i8"),  # 1: matches are only counted, so what is needed to list them is left out
        ("prunes", "i8"),  # 1: a match ends all runs of its partition
        ("max_runs", "i8"),  # more concurrent runs than this are an error
        ("merging", "i8"),  # 1: equivalent runs are merged
        ("stamp", "i8"),  # number of the event for which the table of runs was filled
        ("finals", "i8"),  # finals written
        ("longest", "i8"),  # events of the longest run
        ("runs_merged", "i8"),
        ("predicate", "i8"),  # address of the predicate function
        ("context", "i8"),  # address of the context
        ("base_event", "i8"),  # absolute number of the first event of the batch
        ("free", "i8"),  # first run of the free list
        ("live", "i8"),  # live runs of all partitions
        ("top_node", "i8"),  # absolute number of the next node
        ("base_node", "i8"),  # absolute number of the first node that is kept
        ("runs_created", "i8"),
        ("runs_expired", "i8"),
        ("runs_peak", "i8"),
        ("nodes_created", "i8"),
        ("matches_found", "i8"),
        ("ids_found", "i8"),
        ("counted", "f8"),  # matches that were counted
    ]
)

NONE = -1
FREE = -1
DEAD = -2
"""A branch of a union with no chain in the window any more."""
VERY_FEW_RUNS = 8
"""Up to this many runs of a partition are compared pairwise, without a hash table."""
FEW_RUNS = 64
"""If a partition has more runs, those that an event does not change are not compared again."""
UNBOUNDED = 2**62
"""The maximum of a Kleene component without an upper bound."""
TAG_SHIFT = 5
MAX_COMPONENTS = 31
"""A tag has five bits for the component, and a mask two bits for each."""
MAX_REGISTERS = 62
"""A run has one bit per register: whether its value is known."""

STRICT, PARTITION_CONTIGUITY, NEXT, ANY = 0, 1, 2, 3
DONE, NEED_RUNS, NEED_NODES, NEED_FINALS, TOO_MANY_RUNS = 0, 1, 2, 3, 4

SET_INT, SET_FLOAT, SET_INT_AT, SET_FLOAT_AT = 0, 1, 2, 3
MIN_INT, MIN_FLOAT, MAX_INT, MAX_FLOAT, SUM_INT, SUM_FLOAT, COUNT, LENGTH = 4, 5, 6, 7, 8, 9, 10, 11
MIN_STRING, MAX_STRING, SUM_AS_FLOAT = 12, 13, 14

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
