"""The state of active instance stacks as arrays: the fields and what they mean [Wu06 §4.1].

Reading this needs only NumPy, so that a plan can be made and explained without loading the
compiler.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cepheid.codegen.layout import STEP, UPDATE
from cepheid.engines.base.layout import Closing, RegisterArrays, Rows
from cepheid.events.arrays import no_rows

INSTANCE = np.dtype(
    [
        ("event", "i8"),  # the position of the event
        ("start", "i8"),  # no sequence that ends here starts after this, on the window's axis
        ("previous", "i4"),  # the instance below it in its stack, or NONE
        ("rip", "i4"),  # the most recent instance of the previous stack when it came, or NONE
        ("stack", "i8"),  # partition × components + component; of a mere cell the last component
    ]
)
PLAN = np.dtype(
    [
        ("window", "i8"),
        ("window_in_scan", "i8"),  # 1: an event without a partner in the window is not pushed
        ("window_in_construction", "i8"),  # 1: the search skips instances outside the window
        ("pushed", "i8"),  # 1: key 0 is pushed into the scan, and partitions the stacks
        ("keys", "i8"),  # number of equivalence keys
        ("dynamic", "i8"),  # 1: the search tests the other keys; 0: the selection does
        ("multi", "i8"),  # 1: Multi-PAIS, every key has its own stacks and the scan intersects them
        ("basic", "i8"),  # 1: basic construction, from a runtime stack
        ("by_partition", "i8"),  # 1: the window counts the events of a partition
        ("predicate", "i8"),  # address of the predicate function
        ("context", "i8"),  # address of the context
    ]
)
STATE = np.dtype(
    [
        ("used", "i8"),  # instances in memory
        ("head", "i8"),  # row of the next instance; if it is not ``used``, the pool is a ring
        ("level", "i8"),  # component at which an unfinished search resumes, or NONE
        ("matches", "i8"),  # matches written
        ("pushed", "i8"),  # instances pushed
        ("peak", "i8"),  # most instances in memory
        ("constructed", "i8"),  # sequences constructed, before selection and window
        ("matches_found", "i8"),
    ]
)
SPAN = np.dtype(
    [
        ("base_event", "i8"),  # position of the first event of the chunk
        ("first_event", "i8"),  # positions of matches count from this
        ("next", "i8"),  # index of the next event to read; in ``places`` where these are given
    ]
)

MOST_INSTANCES = 2**31 - 1
"""The most instances that a link can address."""
NONE = -1
UNUSED = -(2**63)
"""The start of a row without an instance: before all windows."""
DONE, NEED_OUTPUT, NEED_ROOM = 0, 1, 2


class Tables(NamedTuple):
    """The sequence as kernels read it; fixed while it runs."""

    plan: Rows = no_rows(PLAN)  # one row
    steps: Rows = no_rows(STEP)  # of each component
    updates: Rows = no_rows(UPDATE)
    context: Rows = no_rows(np.int64)  # the addresses that predicates read


class Pool(NamedTuple):
    """The instances of all stacks, one row each, with the values that later tests read."""

    instances: Rows = no_rows(INSTANCE)
    kept_ints: Rows = no_rows(np.int64, 2)  # registers of the instance
    kept_floats: Rows = no_rows(np.float64, 2)
    kept_valid: Rows = no_rows(np.int64)
    instance_keys: Rows = no_rows(np.int64, 2)  # its values of the keys that are not pushed


class State(NamedTuple):
    """The counters, and the stacks as links into the pool."""

    control: Rows = no_rows(STATE)  # one row
    evaluations: Rows = no_rows(np.int64)  # of each predicate
    tops: Rows = no_rows(np.int64)  # by stack: its top instance, or NONE
    reached: Rows = no_rows(np.int64)  # by partition: where it is on the window's axis


class Search(NamedTuple):
    """The work space of a construction; only an unfinished search needs it from call to call."""

    cursor: Rows = no_rows(np.int64)  # by component: the instance that is bound or comes next
    path: Rows = no_rows(np.int64)  # by component: the position that is bound
    here: Rows = no_rows(np.int64)  # the key values of the event, then the tops of other stacks
    registers: RegisterArrays = RegisterArrays()  # row 0: those of the match
    marks: Rows = no_rows(np.int32)  # a number for each instance


class VariantState(NamedTuple):
    """What variants keep beside the pool and the stacks; empty on the default path."""

    others: Rows = no_rows(np.int64, 2)  # Multi-PAIS, by instance: the one below it for each key
    other_stacks: Rows = no_rows(np.int64, 2)  # Multi-PAIS, by key and stack: the top instance
    cells: Rows = no_rows(np.int64)  # basic, by instance: the cell below it in the runtime stack
    links: Rows = no_rows(np.int64, 2)  # basic: work space for linking the stacks


class Batch(NamedTuple):
    """A chunk of events.

    ``numbers[term_of[c, k]]`` has the number of each event's value of key k as component c.
    """

    span: Rows = no_rows(SPAN)  # one row
    axis: Rows = no_rows(np.int64)  # by event
    mask: Rows = no_rows(np.int64)  # by event, or by place: the components that it fits
    places: Rows = no_rows(np.int64)  # in a plain scan: the events that fit any component
    numbers: Rows = no_rows(np.int64, 2)
    term_of: Rows = no_rows(np.int64, 2)
    pace: Rows = no_rows(np.int64)  # the work that is left before the next pause
    closing: Closing = Closing()


class Ending(NamedTuple):
    """The last event of the sequences that a construction finds."""

    component: int
    top: int  # the most recent instance that it follows
    event: int  # its position, counted from ``first_event``
    oldest: int  # sequences that start after this are in the window
    first_event: int
