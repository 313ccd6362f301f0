"""Runs as a pool: taken from and given back to a free list, linked by partition, and merged.

Two runs are equivalent when they are in the same state and agree on all that can still be
read of them; one of them then stands for both [Agrawal08 §5.2.2].
"""

from __future__ import annotations

import numpy as np

from cepheid.codegen.layout import (
    FREE,
    NONE,
    UNBOUNDED,
    VERY_FEW_RUNS,
)
from cepheid.jit.decorators import helper, small

_FRACTIONS = 1_048_576.0
"""By how much a float is scaled before its whole part is hashed."""


@small
def new_run(runs, control):
    """Take a run from the free list."""
    run_ix = control[0].free
    control[0].free = runs[run_ix].next
    control[0].live += 1
    control[0].runs_created += 1
    if control[0].live > control[0].runs_peak:
        control[0].runs_peak = control[0].live
    return run_ix


@small
def free_run(runs, control, run_ix):
    """Give a run back to the free list."""
    runs[run_ix].state = FREE
    runs[run_ix].next = control[0].free
    control[0].free = run_ix
    control[0].live -= 1


@helper
def free_all(runs, control, partitions, partition):
    """Give back all runs of a partition."""
    run_ix = partitions[partition].first
    partitions[partition].first = NONE
    partitions[partition].live = 0
    while run_ix >= 0:
        following = runs[run_ix].next
        free_run(runs, control, run_ix)
        run_ix = following


@helper
def clone_run(runs, control, ints, floats, valid, run_ix):
    """A new run in the same state, with the same past and registers."""
    copy = new_run(runs, control)
    runs[copy] = runs[run_ix]
    for register in range(ints.shape[1]):
        ints[copy, register] = ints[run_ix, register]
    for register in range(floats.shape[1]):
        floats[copy, register] = floats[run_ix, register]
    valid[copy] = valid[run_ix]
    return copy


@small
def link_run(runs, partitions, partition, run_ix):
    """Add a run to those of its partition."""
    runs[run_ix].next = partitions[partition].first
    partitions[partition].first = run_ix
    partitions[partition].live += 1


@helper
def _distinct(steps, runs, ints, floats, valid, until, run_ix, other):
    """Whether two runs can still behave differently: state, count, or a register to be read."""
    state = runs[run_ix].state
    if state != runs[other].state or _counted(steps, runs, run_ix) != _counted(steps, runs, other):
        return True
    unknown = valid[run_ix] ^ valid[other]
    for register in range(len(until)):
        if until[register] >= state:
            if (unknown >> register) & 1:
                return True
            if (valid[run_ix] >> register) & 1:
                if ints.shape[1] and ints[run_ix, register] != ints[other, register]:
                    return True
                if floats.shape[1] and floats[run_ix, register] != floats[other, register]:
                    return True
    return False


@small
def _counted(steps, runs, run_ix):
    """The count of a Kleene component, so far as its bounds still ask for it."""
    state = runs[run_ix].state
    if state & 1 == 0:
        return 0
    step = steps[state >> 1]
    count = runs[run_ix].count
    if step.most < UNBOUNDED:
        return count
    return min(count, step.least)


@helper
def _fingerprint(steps, runs, ints, floats, valid, until, run_ix):
    """A hash of all that :func:`_distinct` compares."""
    state = runs[run_ix].state
    x = state * 31 + _counted(steps, runs, run_ix)
    for register in range(len(until)):
        if until[register] >= state:
            value = (valid[run_ix] >> register) & 1
            if value:
                if ints.shape[1]:
                    value += ints[run_ix, register]
                if floats.shape[1]:
                    value += np.int64(floats[run_ix, register] * _FRACTIONS)
            x = (x ^ value) * -7046029254386353131
            x ^= (x >> 29) & 0x7FFFFFFFF
    return x


@small
def join_run(
    steps, runs, control, nodes, partitions, partition, ints, floats, valid, until, table, stamps,
    live, run_ix,
):  # fmt: skip
    """Link a run to its partition, or merge it with one that has the same future.

    ``live`` is how many runs the partition had before the event.
    """
    if control[0].merging == 0 or (live <= VERY_FEW_RUNS and partitions[partition].first < 0):
        link_run(runs, partitions, partition, run_ix)
    else:
        _compare_run(
            steps, runs, control, nodes, partitions, partition, ints, floats, valid, until, table,
            stamps, live, run_ix,
        )  # fmt: skip


@helper
def _compare_run(
    steps, runs, control, nodes, partitions, partition, ints, floats, valid, until, table, stamps,
    live, run_ix,
):  # fmt: skip
    if live <= VERY_FEW_RUNS:
        other = partitions[partition].first
        while other >= 0:
            if not _distinct(steps, runs, ints, floats, valid, until, run_ix, other):
                _merge(runs, control, nodes, other, run_ix)
                return
            other = runs[other].next
        link_run(runs, partitions, partition, run_ix)
        return
    mask = len(table) - 1
    slot = _fingerprint(steps, runs, ints, floats, valid, until, run_ix) & mask
    while stamps[slot] == control[0].stamp:
        other = table[slot]
        if not _distinct(steps, runs, ints, floats, valid, until, run_ix, other):
            _merge(runs, control, nodes, other, run_ix)
            return
        slot = (slot + 1) & mask
    stamps[slot] = control[0].stamp
    table[slot] = run_ix
    link_run(runs, partitions, partition, run_ix)


@helper
def _merge(runs, control, nodes, into, run_ix):
    """Let one run stand for both: it lives as long as the younger, and its chain is a union."""
    base = control[0].base_node
    left, right = runs[into].head, runs[run_ix].head
    if nodes[left - base].youngest < nodes[right - base].youngest:
        left, right = right, left
    node = control[0].top_node
    nodes[node - base].tag = -1 - right
    nodes[node - base].previous = left
    nodes[node - base].youngest = nodes[left - base].youngest
    nodes[node - base].oldest = min(nodes[left - base].oldest, nodes[right - base].oldest)
    nodes[node - base].chains = nodes[left - base].chains + nodes[right - base].chains
    control[0].top_node = node + 1
    control[0].nodes_created += 1
    control[0].runs_merged += 1
    runs[into].head = node
    runs[into].start = max(runs[into].start, runs[run_ix].start)
    runs[into].length = max(runs[into].length, runs[run_ix].length)
    free_run(runs, control, run_ix)
