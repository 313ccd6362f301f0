"""The state of an NFA^b as arrays: what each field of them is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cepheid.codegen.layout import STEP, UPDATE
from cepheid.engines.base.layout import Closing, RegisterArrays, Rows
from cepheid.events.arrays import no_rows
from cepheid.matches.layout import FINAL, NODE, Counting

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
        ("now", "i8"),  # its latest event, on the axis that the window measures
    ]
)
CONTROL = np.dtype(
    [
        ("strategy", "i8"),
        ("window", "i8"),
        ("counts", "i8"),  # 1: matches are counted; nothing is kept only to list them
        ("prunes", "i8"),  # which matches are left out: ONE_OF_PARTITION, …
        ("max_runs", "i8"),  # more live runs are an error
        ("merging", "i8"),  # 1: runs that have become equivalent are merged
        ("stamp", "i8"),  # number of the event for which the hash table of runs was filled
        ("finals", "i8"),  # finals written
        ("longest", "i8"),  # events of the longest run
        ("runs_merged", "i8"),
        ("predicate", "i8"),  # address of the predicate function
        ("context", "i8"),  # address of the context
        ("base_event", "i8"),  # position of the first event of the batch in the stream
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

FREE = -1
DONE, NEED_RUNS, NEED_NODES, NEED_FINALS, TOO_MANY_RUNS = range(5)
AT_EVENT, AT_RUN, AT_LIVE, AT_READ, AT_FOUND, AT_FIELDS = range(6)
"""Where a kernel stopped: the event that it reads next, or goes on reading if there is a run.

The run, plus 1, is the first one that has not read the event; 0 stands for none. The others are
how many runs the partition had before the event, how many are left of those that have read it,
and how many finals these wrote.
"""
VERY_FEW_RUNS = 8
"""Up to this many runs of a partition are compared with each other without a hash table."""
FEW_RUNS = 64
"""In a partition with more runs, a run that an event leaves unchanged is not compared again.

Where all matches are kept together it is: unmerged runs would become many.
"""


class Tables(NamedTuple):
    """The automaton as kernels read it, and the context of its predicates."""

    steps: Rows = no_rows(STEP)
    updates: Rows = no_rows(UPDATE)
    context: Rows = no_rows(np.int64)


class State(NamedTuple):
    """All runs and what they share."""

    control: Rows = no_rows(CONTROL)
    runs: Rows = no_rows(RUN)
    registers: RegisterArrays = RegisterArrays()
    partitions: Rows = no_rows(PARTITION)
    nodes: Rows = no_rows(NODE)
    latest: Rows = no_rows(np.int64)  # the final that each run wrote last, or NONE


class Merging(NamedTuple):
    """How equivalent runs are found.

    ``slots`` and ``stamps`` are a hash table of the runs that an event has changed: the stamp of
    a slot in use is that of the event.
    """

    until: Rows = no_rows(np.int64)  # for each register the last state that reads it
    slots: Rows = no_rows(np.int64)
    stamps: Rows = no_rows(np.int64)
    closing: Closing = Closing()
    at: Rows = no_rows(np.int64)  # the event that is read
    few: int = FEW_RUNS  # from so many runs on, unchanged ones are not compared


class Output(NamedTuple):
    """What runs write as they read events."""

    finals: Rows = no_rows(FINAL)
    evaluations: Rows = no_rows(np.int64)  # how often each predicate was evaluated
    counting: Counting = Counting()
    pace: Rows = no_rows(np.int64)  # the work that is left before the next pause


class Batch(NamedTuple):
    """The events that are read: the tests that each passes, its partition, its place in time."""

    mask: Rows = no_rows(np.int64)  # bits of the tests that an event passes
    partition_of: Rows = no_rows(np.int64)
    axis: Rows = no_rows(np.int64)  # where it is on the axis that the window measures
    closing: Closing = Closing()
