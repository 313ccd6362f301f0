"""The arrays of a row pattern: its automaton, what its predicates see, and the state of a search.

A state of the automaton has edges in preference order. An edge takes the next row for a variable
and leads to a state, or accepts what has been taken. Reading this needs only NumPy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cepheid.events.arrays import Int64s, no_rows

NONE = -1
MAX_VARIABLES = 62
"""A row has one bit per variable: whether it can be a row of it."""
MAX_KEYS = 6
"""The most values that a memo of failures distinguishes, beside the state and the row."""

EDGE = np.dtype(
    [
        ("variable", "i8"),  # the variable of the row that it takes, or NONE: it accepts
        ("target", "i8"),  # the state it leads to
        ("anchors", "i8"),  # AT_START and AT_END: where it exists
        ("is_excluded", "i8"),  # 1: the row is not in ALL ROWS PER MATCH
    ]
)
AT_START, AT_END = 1, 2

STATE = np.dtype(
    [
        ("low", "i8"),  # its edges are edges[low:high]
        ("high", "i8"),
        ("first", "i8"),  # the mask bits of its edges; -1 if one of them takes no row
        ("loop", "i8"),  # the edge that leads back to it and is run through, or NONE
        ("is_filler", "i8"),  # 1: the loop takes every row
        ("before", "i8"),  # the mask bits of the edges before the loop; -1 if others than bits
        ("after", "i8"),  # the same for those after it
        ("is_bounded", "i8"),  # 1: each other edge has a bound
        ("memo", "i8"),  # NO_MEMO, PLAIN or KEYED
        ("keys_low", "i8"),  # its keys are keys[keys_low:keys_high]
        ("keys_high", "i8"),
    ]
)
NO_MEMO, PLAIN, KEYED = 0, 1, 2

VARIABLE = np.dtype(
    [
        ("predicate", "i8"),  # of a condition on rows already matched, or NONE
        ("bound", "i8"),  # the predicate that is true from where on no row can satisfy it, or NONE
        ("slots_low", "i8"),  # the predicates read slots[slots_low:slots_high]
        ("slots_high", "i8"),
        ("groups_low", "i8"),  # its rows are rows of members[groups_low:groups_high]
        ("groups_high", "i8"),
    ]
)
SLOT = np.dtype(
    [
        ("kind", "i8"),  # LAST_ROW, FIRST_ROW, COUNT, FOLD, START or NUMBER
        ("group", "i8"),
        ("argument", "i8"),  # the offset of a row, or the number of a fold
        ("is_exact", "i8"),  # 1: the fold has no value if it does not fit into 64 bits
    ]
)
LAST_ROW, FIRST_ROW, COUNT, FOLD, START, NUMBER = range(6)

FOLDED = np.dtype(
    [
        ("operation", "i8"),
        ("is_float", "i8"),  # 1: the column has floats
        ("values", "i8"),  # address of the column
        ("valid", "i8"),  # address of a byte for each value: whether it is known; 0: all are
    ]
)
FOLD_SUM, FOLD_TOTAL, FOLD_MIN, FOLD_MAX, FOLD_COUNT, FOLD_DEVIATIONS = range(6)

(
    PARTITION,
    START_ROW,  # the row of the search
    MATCH_NUMBER,  # the number of the next match of the partition
    DEPTH,  # frames in use; 0: no search is under way
    IS_FOUND,  # 1: the frames are a match that has to be written
    STEPS,  # of the search
    DIRTY,  # failures of the first frames are due to WITHIN
    MATCHES,  # written
    LABELS,  # written
    MEMO_BASE,  # the row of the first words of the plain memo
    MEMO_HIGH,  # rows from here on have no bit in it
    MEMO_MOST,  # the most rows that it can have
    KEYED_USED,  # entries of the keyed memo
    KEYED_MOST,  # the most entries that it can have
    GENERATION,  # entries of other generations are free
    NEED,  # the number of labels that are lacking
    PROGRESS_FIELDS,
) = range(17)
"""How far a search has come."""

FRAME = np.dtype(
    [
        ("state", "i8"),
        ("row", "i8"),  # the row at which the state was entered
        ("at", "i8"),  # the row at which its edges are tried: rows before it are in its loop
        ("top", "i8"),  # the last such row
        ("edge", "i8"),  # the next edge to try
    ]
)

STACK_FULL, LABELS_FULL, MATCHES_FULL, MEMO_FULL, KEYED_FULL, GROUPS_FULL = range(1, 7)
TOO_LONG, NO_TARGET = 7, 8
"""What a search lacks: room, or steps, or the row to skip to."""

PAST_LAST_ROW, TO_NEXT_ROW, TO_FIRST, TO_LAST = range(4)

RowArray = npt.NDArray[np.void]


class Program(NamedTuple):
    """An automaton and its conditions."""

    edges: RowArray = no_rows(EDGE)
    states: RowArray = no_rows(STATE)
    variables: RowArray = no_rows(VARIABLE)
    slots: RowArray = no_rows(SLOT)
    keys: RowArray = no_rows(SLOT)
    members: Int64s = no_rows(np.int64)  # groups of the variables
    group_folds: Int64s = no_rows(np.int64)  # the folds of group g are those from [g] to [g + 1]
    label_codes: Int64s = no_rows(np.int64)  # what CLASSIFIER() gives for each variable
    alike: Int64s = no_rows(np.int64)  # the same for rows that predicates cannot tell apart
    skip: int = 0
    skip_to: int = 0  # the bits of the variables to skip to
    max_steps: int = 0
    initial: int = 0
    starts: int = 0  # the bits of rows that can be the first of a match; -1: all rows
    seconds: int = -1  # the bits of rows that can be the second; -1: all, or there need be none
    predicate: int = 0
    has_window: int = 0


class SortedRows(NamedTuple):
    """The rows of all partitions, and what is known of each."""

    masks: Int64s = no_rows(np.int64)
    offsets: Int64s = no_rows(np.int64)  # partition p has the rows from offsets[p] to [p + 1]
    ends: Int64s = no_rows(np.int64)  # the first row that WITHIN excludes, for each start
    first: Int64s = no_rows(np.int64)  # where the search of each partition begins
    numbers: Int64s = no_rows(np.int64)  # the number of the next match of each partition
    origins: Int64s = no_rows(np.int64)  # the first row of each partition, also if it is not here
    is_closed: npt.NDArray[np.bool_] = no_rows(
        np.bool_
    )  # for a start, WITHIN excludes rows to come
    is_complete: int = 1  # 0: more rows may come
    context: int = 0  # address of the context of predicates
    folds: RowArray = no_rows(FOLDED)


class Search(NamedTuple):
    """What a search keeps in memory."""

    progress: Int64s = no_rows(np.int64)
    frames: RowArray = no_rows(FRAME)
    tests: Int64s = no_rows(np.int64)  # how often each variable was tested
    plain: Int64s = no_rows(np.int64, 2)  # bits: the state fails at the row
    keyed: Int64s = no_rows(np.int64, 2)  # generation, state, row, keys
    failed: Int64s = no_rows(
        np.int64, 2
    )  # of fillers: the first failing row, start, partition, keys
    counts: Int64s = no_rows(np.int64)  # rows of each group
    groups: Int64s = no_rows(np.int64, 2)  # the rows of each group
    values: Int64s = no_rows(np.int64, 2)  # of each fold, with each row of its group
    float_values: npt.NDArray[np.float64] = no_rows(np.float64, 2)  # the same memory
    extras: Int64s = no_rows(np.int64, 2)  # overflows of a sum, or a mean
    float_extras: npt.NDArray[np.float64] = no_rows(np.float64, 2)
    known: Int64s = no_rows(np.int64, 2)  # the number of values
    slots: Int64s = no_rows(np.int64)  # what a predicate reads
    slot_known: Int64s = no_rows(np.int64)
    path: Int64s = no_rows(np.int64)  # what CLASSIFIER() gives for each row; empty if unused
    key: Int64s = no_rows(np.int64)


class Output(NamedTuple):
    """The matches, and the first start of each partition that is still open."""

    starts: Int64s = no_rows(np.int64)
    ends: Int64s = no_rows(np.int64)  # ends of the labels
    numbers: Int64s = no_rows(np.int64)
    partitions: Int64s = no_rows(np.int64)
    labels: npt.NDArray[np.uint8] = no_rows(np.uint8)  # variable, and EXCLUDED
    opens: Int64s = no_rows(np.int64)
    open_states: Int64s = no_rows(np.int64)  # where the open search waits for a row, or NONE
    next_numbers: Int64s = no_rows(np.int64)  # of the matches of each partition


EXCLUDED = 128
START_SLOT, LOW_SLOT, HIGH_SLOT, NUMBER_SLOT, FIRST_SLOT = range(5)
"""The slots that every predicate can read, and the first of its own."""
