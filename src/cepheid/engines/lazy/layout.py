"""The tables and the state of a lazy automaton: the fields of each array, and the tuples of arrays.

An instance is a partial match: some components are bound, and one is next [Kolchinsky17 §3].
Each component has an input buffer for each partition, with the events that fit it. An event is
given by its row in the event store. The *slots* of an instance are a row of such numbers, so
that a predicate can read any attribute of any bound event, whatever order they were bound in.

Where an equality links components, events are also kept by the value of the linked attribute.
Such a *group* of a partition has its own buffers and lists of waiting instances, in its own row
of the same tables [Kolchinsky17 §4.1].

The steps of a plan hold the orders of one or more alternatives of a query as a tree:
alternatives with orders that begin alike share that beginning [Kolchinsky17 §5].
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cepheid.codegen.layout import UPDATE
from cepheid.engines.base.layout import RegisterArrays, Rows
from cepheid.events.arrays import no_rows

COMPONENT = np.dtype(
    [
        ("is_kleene", "i8"),
        ("least", "i8"),  # events that a Kleene component needs before it is complete
        ("most", "i8"),  # events that it can have
        ("earlier", "i8"),  # components with all events before those of this one, as bits
        ("later", "i8"),  # components with all events after those of this one
        ("rivals", "i8"),  # components that could bind the same event
        ("test_low", "i8"),  # tests[test_low:test_high] are evaluated when it is bound
        ("test_high", "i8"),
        ("begin_low", "i8"),  # its first event applies updates[begin_low:begin_high] to registers
        ("begin_high", "i8"),
        ("take_low", "i8"),  # its later events apply updates[take_low:take_high]
        ("take_high", "i8"),
        ("has_done", "i8"),  # 1 if some test has to wait until it is complete
        ("term_low", "i8"),  # its events are looked up by terms[term_low:term_high]
        ("term_high", "i8"),
    ]
)
TERM = np.dtype(
    [
        ("component", "i8"),  # whose events are looked up; above the components: a negation
        ("link", "i8"),  # the terms of a link are equal in every match
        ("column", "i8"),  # groups[event, column] is the row of the event's value, or NONE
    ]
)
TEST = np.dtype(
    [
        ("phase", "i8"),  # BIND, BEGIN, TAKE, COMPLETED or ABSENT
        ("needs", "i8"),  # components that must be bound already, as bits
        ("predicate", "i8"),  # or NONE
        ("low", "i8"),  # COMPLETED: ranges[low:high]; ABSENT: low is the negation
        ("high", "i8"),
    ]
)
RANGE = np.dtype(
    [
        ("component", "i8"),  # the Kleene component; each of its elements is tested
        ("first", "i8"),  # from this element on
        ("registers", "i8"),  # summaries of the elements before the current one, as bits
        ("begin_low", "i8"),  # their updates
        ("begin_high", "i8"),
        ("take_low", "i8"),
        ("take_high", "i8"),
    ]
)
NEGATION = np.dtype(
    [
        ("after", "i8"),  # components with all events before the negated event, as bits
        ("before", "i8"),  # components with all events after it
        ("predicate", "i8"),  # conditions with the match, or NONE
        ("is_late", "i8"),  # 1 if it is left to the filter of complete matches
        ("tested", "i8"),  # how many instances it has tested
        ("refused", "i8"),  # how many of them it has refused
    ]
)
INSTANCE = np.dtype(
    [
        ("bound", "i8"),  # complete components, as bits, or FREE
        ("next", "i8"),  # the component that is bound next
        ("count", "i8"),  # events that the next component has already, if it is Kleene
        ("stage", "i8"),  # COMPLETE: its list may end here; SEARCH: it reads the buffer
        ("length", "i8"),  # number of events of all components
        ("start", "i8"),  # place of the first event on the axis of the window
        ("finish", "i8"),  # place of the last event on it
        ("first", "i8"),  # the first event
        ("last", "i8"),  # the last event
        ("partition", "i8"),
        ("row", "i8"),  # the row with the buffer of the next component: a partition or a group
        ("plan", "i8"),  # the plan that it follows
        ("step", "i8"),  # the step of the plan that binds the next component; unused in a tree
        ("cursor", "i8"),  # where in the pool it reads the buffer
        ("upper", "i8"),  # the next event must be before this one
        ("node", "i8"),  # the node that was made for it, or NONE
        ("waits", "i8"),  # value of control.waits when it was made
        ("link", "i8"),  # next instance in its waiting list, or in the free list
    ]
)
NODE = np.dtype([("event", "i8"), ("previous", "i8")])
BUFFER = np.dtype(
    [
        ("low", "i8"),  # its events are pool[low:low + count]
        ("count", "i8"),
        ("first", "i8"),  # its room is pool[first:first + room]
        ("room", "i8"),
    ]
)
PLAN = np.dtype(
    [
        ("is_alive", "i8"),
        ("since", "i8"),  # matches of the plan begin at this event or later
        ("until", "i8"),  # and before this one
        ("is_tree", "i8"),  # 1 if each instance chooses its next component
    ]
)
STEP = np.dtype(
    [
        ("component", "i8"),  # what it binds; step 0, the root, binds nothing
        ("child", "i8"),  # the first step after it, or NONE
        ("sibling", "i8"),  # the next step with the same parent, or NONE
        ("finals", "i8"),  # the alternatives that it completes, as bits
    ]
)
CONTROL = np.dtype(
    [
        ("window", "i8"),
        ("by_partition", "i8"),  # 1 if the window counts the events of a partition
        ("in_order", "i8"),  # 1 if the order of components is total
        ("fanout", "i8"),  # the most children of a step
        ("predicate", "i8"),  # address of the predicate function
        ("context", "i8"),  # address of the context
        ("at", "i8"),  # the event that is read now
        ("stop", "i8"),  # the event at which to stop
        ("component", "i8"),  # the component that is looked at for it
        ("list", "i8"),  # which waiting list is read: 0 of the partition, then one for each term
        ("current", "i8"),  # the waiting instance that is looked at, or UNSEEN
        ("before", "i8"),  # the one before it in the list
        ("top", "i8"),  # number of instances on the stack
        ("free", "i8"),  # the first instance of the free list
        ("free_count", "i8"),
        ("swept", "i8"),  # live instances that were left by the last sweep
        ("waits", "i8"),  # how many instances have begun to wait so far
        ("nodes", "i8"),  # number of nodes in use
        ("pool", "i8"),  # used room of the pool of buffers
        ("ids", "i8"),  # tags written
        ("matches", "i8"),  # matches written
        ("now", "i8"),  # the current place of the stream on the axis of the window
        ("instances_created", "i8"),
        ("instances_expired", "i8"),
        ("instances_peak", "i8"),
        ("nodes_created", "i8"),
        ("buffered", "i8"),
        ("matches_found", "i8"),
        ("ids_found", "i8"),
    ]
)

NONE = -1
FREE = -1
UNSEEN = -2
FAR = 1 << 62
PLANS = 2
WHOLE = 1_000_000
"""Selectivities in ``Plans.parts`` are in millionths."""
MAX_RANGES = 32
WORK = 4 * MAX_RANGES
"""The counters of for-all tests take this much of the working array; the lists come after."""

BIND, BEGIN, TAKE, COMPLETED, ABSENT = 0, 1, 2, 3, 4
COMPLETE, SEARCH = 0, 1
DONE = 0
NEED_INSTANCES, NEED_NODES, NEED_OUTPUT, NEED_POOL, NEED_STACK, NEED_WORK, NEED_SWEEP = range(1, 8)

# The slots of an instance: for each component its last event; where there is a Kleene component
# also its first event and its latest node; where there are for-all tests also the current and the
# previous element.
SLOT_LAST, SLOT_FIRST, SLOT_NODE, SLOT_CURRENT, SLOT_PREVIOUS = range(5)


class Tables(NamedTuple):
    """The automaton as kernels read it; fixed while it runs, but for the counts of negations."""

    components: Rows = no_rows(COMPONENT)
    tests: Rows = no_rows(TEST)
    ranges: Rows = no_rows(RANGE)
    negations: Rows = no_rows(NEGATION)
    updates: Rows = no_rows(UPDATE)
    terms: Rows = no_rows(TERM)


class Plans(NamedTuple):
    """The orders in which components are bound, at most ``PLANS`` at a time."""

    steps: Rows = no_rows(STEP, 2)  # by plan
    parts: Rows = no_rows(np.int64, 2)  # by two components: how often their conditions hold
    table: Rows = no_rows(PLAN)


class Instances(NamedTuple):
    """The instances, with a row in each array."""

    table: Rows = no_rows(INSTANCE)
    slots: Rows = no_rows(np.int64, 2)
    registers: RegisterArrays = RegisterArrays()


class Inputs(NamedTuple):
    """The input buffers of each partition and group, and the instances that wait there."""

    waiting: Rows = no_rows(np.int64, 2)  # by row and component: the first waiting instance
    buffers: Rows = no_rows(BUFFER, 2)  # by row and component or negation
    nows: Rows = no_rows(np.int64)  # by row: its current place on the axis of the window
    pool: Rows = no_rows(np.int64)  # the events of all buffers


class State(NamedTuple):
    """What changes while events are read."""

    control: Rows = no_rows(CONTROL)
    context: Rows = no_rows(np.int64)  # addresses of what predicates read
    instances: Instances = Instances()
    nodes: Rows = no_rows(NODE)  # the lists of Kleene components
    inputs: Inputs = Inputs()
    stack: Rows = no_rows(np.int64)  # the instances that read their buffers
    work: Rows = no_rows(np.int64)  # the elements that for-all tests range over
    evaluations: Rows = no_rows(np.int64)  # by test: how often it was evaluated
    pace: Rows = no_rows(np.int64)  # the work that is left before the next pause


class Events(NamedTuple):
    """The events of the store, with a row in each array."""

    numbers: Rows = no_rows(np.int64)  # positions in the stream
    axis: Rows = no_rows(np.int64)  # places on the axis of the window
    partitions: Rows = no_rows(np.int64)  # rows of ``Inputs``
    masks: Rows = no_rows(np.int64)  # the components and negations that the event fits, as bits
    groups: Rows = no_rows(np.int64, 2)  # by column of a term: rows of ``Inputs``


class Output(NamedTuple):
    """The matches that were found and not yet taken."""

    ids: Rows = no_rows(np.int64)  # tags of events
    offsets: Rows = no_rows(np.int64)  # where each match begins in ``ids``
    kinds: Rows = no_rows(np.int64)  # the alternatives that each match belongs to, as bits
