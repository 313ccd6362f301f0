"""The tables and state of a lazy automaton as arrays: what each field of them is.

An instance is a partial match: some components are bound, and one is next [Kolchinsky17 §3].
Events that fit a component are kept in one input buffer for each component and partition, as
numbers of rows of the event store. What an instance has bound is a row of *slots*, which are
such numbers too, so that a predicate can read any attribute of any bound event, whatever the
order in which they were bound.

Where an equality links components, their events are also kept by the value that they agree in:
such a *group* of a partition has buffers and lists of waiting instances of its own, in a row of
the same tables [Kolchinsky17 §4.1].

The steps of a plan are the orders of one or more alternatives of a query, one within the other:
alternatives whose orders begin alike have that beginning once [Kolchinsky17 §5].
"""

from __future__ import annotations

import numpy as np

from cepheid.codegen import layout as context

COMPONENT = np.dtype(
    [
        ("is_kleene", "i8"),
        ("least", "i8"),  # events that a Kleene component needs before it is complete
        ("most", "i8"),  # events that it can have
        ("earlier", "i8"),  # components all of whose events come before, as bits
        ("later", "i8"),  # components all of whose events come after
        ("rivals", "i8"),  # components that could have the same event
        ("test_low", "i8"),  # what is tested when it is bound is tests[test_low:test_high]
        ("test_high", "i8"),
        (
            "begin_low",
            "i8",
        ),  # what its first event does to registers: updates[begin_low:begin_high]
        ("begin_high", "i8"),
        ("take_low", "i8"),  # what its later events do
        ("take_high", "i8"),
        ("has_done", "i8"),  # whether something is tested when it is complete
        ("term_low", "i8"),  # what its events are looked up by is terms[term_low:term_high]
        ("term_high", "i8"),
    ]
)
TERM = np.dtype(
    [
        ("component", "i8"),  # whose events are looked up; above those of components, a negation
        ("link", "i8"),  # terms of one link have the same value in every match
        ("column", "i8"),  # groups[event, column] is the row of an event's value, or NONE
    ]
)
TEST = np.dtype(
    [
        ("phase", "i8"),  # BIND, BEGIN, TAKE, DONE or ABSENT
        ("needs", "i8"),  # components that must be bound before, as bits
        ("predicate", "i8"),  # or NONE
        ("low", "i8"),  # DONE: ranges[low:high]; ABSENT: low is the number of the negation
        ("high", "i8"),
    ]
)
RANGE = np.dtype(
    [
        ("component", "i8"),  # the Kleene component all of whose elements are tested
        ("first", "i8"),  # from this element on
        ("registers", "i8"),  # registers of what was before the element, as bits
        ("begin_low", "i8"),  # their updates
        ("begin_high", "i8"),
        ("take_low", "i8"),
        ("take_high", "i8"),
    ]
)
NEGATION = np.dtype(
    [
        ("after", "i8"),  # the components before the place of the negated event, as bits
        ("before", "i8"),  # the components after it
        ("predicate", "i8"),  # conditions with the match, or NONE
        ("is_late", "i8"),  # it is left to those who read matches
        ("tested", "i8"),  # instances
        ("refused", "i8"),  # instances
    ]
)
INSTANCE = np.dtype(
    [
        ("bound", "i8"),  # complete components, as bits; FREE
        ("next", "i8"),  # the component that is bound next
        ("count", "i8"),  # events that the next component has already, of a Kleene one
        ("stage", "i8"),  # COMPLETE: it may be complete; SEARCH: the buffer is read
        ("length", "i8"),  # events of all components
        ("start", "i8"),  # the first event on the axis of the window
        ("finish", "i8"),  # the last event on it
        ("first", "i8"),  # the first event
        ("last", "i8"),  # the last event
        ("partition", "i8"),
        ("row", "i8"),  # the row with the buffer of the next component: a partition or a group
        ("plan", "i8"),  # the number of the plan that it was begun by
        ("step", "i8"),  # the step of the plan whose component is next; of a tree, none
        ("cursor", "i8"),  # where in the pool the buffer is read
        ("upper", "i8"),  # the event before which the next one must be
        ("node", "i8"),  # the node that was made for it, or NONE
        ("waits", "i8"),  # how many instances had begun to wait when it was made
        ("link", "i8"),  # next instance that waits for the same, or of the free list
    ]
)
NODE = np.dtype([("event", "i8"), ("previous", "i8")])
BUFFER = np.dtype(
    [
        ("low", "i8"),  # the events are pool[low:low + count]
        ("count", "i8"),
        ("first", "i8"),  # the room is pool[first:first + room]
        ("room", "i8"),
    ]
)
PLAN = np.dtype(
    [
        ("is_alive", "i8"),
        ("since", "i8"),  # the first event of a match is this one or later
        ("until", "i8"),  # and before this one
        ("is_tree", "i8"),  # the next component is chosen for each instance
    ]
)
STEP = np.dtype(
    [
        ("component", "i8"),  # what is bound; of step 0 of a plan, where all begin, nothing
        ("child", "i8"),  # the first of the steps after it, or NONE
        ("sibling", "i8"),  # the next of the steps after the one before it, or NONE
        ("finals", "i8"),  # the alternatives that are complete then, as bits
    ]
)
CONTROL = np.dtype(
    [
        ("window", "i8"),
        ("by_partition", "i8"),  # the window counts the events of a partition
        ("in_order", "i8"),  # the order of components is total
        ("fanout", "i8"),  # the most steps after a step
        ("predicate", "i8"),  # address of the predicate function
        ("context", "i8"),  # address of the context
        ("at", "i8"),  # the event that is read
        ("stop", "i8"),  # the event at which to stop
        ("component", "i8"),  # the component for which it is read
        ("list", "i8"),  # which of the lists of those that wait for it: 0, or by its terms
        ("current", "i8"),  # the instance that waits for it and is looked at; UNSEEN
        ("before", "i8"),  # the one before that in its list
        ("top", "i8"),  # instances on the stack
        ("free", "i8"),  # the first instance of the free list
        ("free_count", "i8"),
        ("swept", "i8"),  # live instances that were left when the expired ones were freed
        ("waits", "i8"),  # instances that have begun to wait
        ("nodes", "i8"),
        ("pool", "i8"),  # used room of the pool of buffers
        ("ids", "i8"),  # tags written
        ("matches", "i8"),  # matches written
        ("now", "i8"),  # where the stream has got to, on the axis of the window
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
"""The parts of pairs that satisfy the conditions between them are in millionths."""
MAX_RANGES = 32
WORK = 4 * MAX_RANGES
"""Places of the working array that for-all tests count in; the lists stand behind them."""

BIND, BEGIN, TAKE, COMPLETED, ABSENT = 0, 1, 2, 3, 4
COMPLETE, SEARCH = 0, 1
DONE, NEED_INSTANCES, NEED_NODES, NEED_OUTPUT, NEED_POOL, NEED_STACK, NEED_WORK, NEED_SWEEP = range(
    8
)

# The slots of an instance, a row: for each component the last event, and where there is a
# Kleene component the first event and the latest node; then what for-all tests look at.
SLOT_LAST, SLOT_FIRST, SLOT_NODE, SLOT_CURRENT, SLOT_PREVIOUS = range(5)

# The context is that of all generated code; slots are read by lazy evaluations only.
CONTEXT_SLOTS = context.CONTEXT_SLOTS
CONTEXT_SLOTS_STRIDE = context.CONTEXT_SLOTS_STRIDE
CONTEXT_COLUMNS = context.CONTEXT_COLUMNS
