"""Runs as a pool: taken from and given back to a free list, linked by partition, and merged.

Two runs are equivalent when they are in the same state and agree on all values that can still
be read. One run then represents both [Agrawal08 §5.2.2].
"""

from __future__ import annotations

import numpy as np

from cepheid.codegen.layout import NONE, TAG_SHIFT, UNBOUNDED
from cepheid.engines.base.kernels.closing import closes
from cepheid.engines.nfa_b.layout import (
    DONE,
    FREE,
    NEED_FINALS,
    NEED_NODES,
    NEED_RUNS,
    VERY_FEW_RUNS,
)
from cepheid.jit.decorators import helper, inlined, small

_FRACTIONS = 1_048_576.0
"""The factor by which a float is multiplied before its integer part is hashed."""


@inlined
def lack(state, out, live):
    """What there is not enough room for, where this many runs read an event."""
    control = state.control
    if control[0].live + 2 * live + 1 > len(state.runs):
        return NEED_RUNS
    if control[0].top_node - control[0].base_node + 4 * live + 4 > len(state.nodes):
        return NEED_NODES
    if control[0].finals + live + 2 > len(out.finals):
        return NEED_FINALS
    return DONE


@small
def _new_run(control, runs):
    """Take a run from the free list."""
    run_ix = control[0].free
    control[0].free = runs[run_ix].next
    control[0].live += 1
    control[0].runs_created += 1
    if control[0].live > control[0].runs_peak:
        control[0].runs_peak = control[0].live
    return run_ix


@inlined
def start_run(state, now):
    """A new run that has selected nothing."""
    runs, ints = state.runs, state.registers.ints
    run_ix = _new_run(state.control, runs)
    runs[run_ix].state = 0
    runs[run_ix].count = 0
    runs[run_ix].start = now
    runs[run_ix].head = NONE
    runs[run_ix].root = state.control[0].top_node
    runs[run_ix].length = 0
    state.latest[run_ix] = NONE
    state.registers.valid[run_ix] = 0
    for register in range(ints.shape[1]):
        ints[run_ix, register] = 0
    return run_ix


@inlined
def clone_run(state, run_ix):
    """A new run in the same state, with the same past and registers."""
    copy = _clone_run(state.control, state.runs, state.registers, run_ix)
    state.latest[copy] = NONE
    return copy


@helper
def _clone_run(control, runs, registers, run_ix):
    copy = _new_run(control, runs)
    runs[copy] = runs[run_ix]
    for register in range(registers.ints.shape[1]):
        registers.ints[copy, register] = registers.ints[run_ix, register]
    for register in range(registers.floats.shape[1]):
        registers.floats[copy, register] = registers.floats[run_ix, register]
    registers.valid[copy] = registers.valid[run_ix]
    return copy


@small
def free_run(state, run_ix):
    """Give a run back to the free list."""
    control, runs = state.control, state.runs
    runs[run_ix].state = FREE
    runs[run_ix].next = control[0].free
    control[0].free = run_ix
    control[0].live -= 1


@helper
def free_all(state, partition):
    """Give back all runs of a partition."""
    run_ix = unlink_runs(state, partition)
    while run_ix >= 0:
        following = state.runs[run_ix].next
        free_run(state, run_ix)
        run_ix = following


@small
def link_run(state, partition, run_ix):
    """Add a run to its partition."""
    runs, partitions = state.runs, state.partitions
    runs[run_ix].next = partitions[partition].first
    partitions[partition].first = run_ix
    partitions[partition].live += 1


@inlined
def unlink_runs(state, partition):
    """Leave a partition without runs; the first of the runs that it had."""
    partitions = state.partitions
    run_ix = partitions[partition].first
    partitions[partition].first = NONE
    partitions[partition].live = 0
    return run_ix


@helper
def cut_runs(runs, run_ix, most):
    """End a list of runs after the first ``most``; the first run of the rest, or NONE."""
    for _ in range(most - 1):
        run_ix = runs[run_ix].next
        if run_ix < 0:
            return NONE
    rest = runs[run_ix].next
    runs[run_ix].next = NONE
    return rest


@helper
def _are_distinct(steps, runs, registers, until, run_ix, other):
    """Whether two runs can still behave differently: state, count, or a register to be read."""
    ints, floats, valid = registers.ints, registers.floats, registers.valid
    here = runs[run_ix].state
    if here != runs[other].state or _counted(steps, runs, run_ix) != _counted(steps, runs, other):
        return True
    unknown = valid[run_ix] ^ valid[other]
    for register in range(len(until)):
        if until[register] >= here:
            if (unknown >> register) & 1:
                return True
            if (valid[run_ix] >> register) & 1:
                if ints.shape[1] and ints[run_ix, register] != ints[other, register]:
                    return True
                if floats.shape[1] and floats[run_ix, register] != floats[other, register]:
                    return True
    return False


@helper
def _differ(steps, state, merging, run_ix, other):
    """Whether two runs are distinct, or a negated component has closed an edge to one of them."""
    if _are_distinct(steps, state.runs, state.registers, merging.until, run_ix, other):
        return True
    if len(merging.closing.rows) == 0:
        return False
    return _closed(state, merging, run_ix) != _closed(state, merging, other)


@helper
def _closed(state, merging, run_ix):
    """The edges that are closed to a run from now on, as bits."""
    here, event_ix = state.runs[run_ix].state, merging.at[0]
    event, last = state.control[0].base_event + event_ix, last_event(state, run_ix)
    bits = 1 if closes(merging.closing, here, event_ix, event, last) else 0
    if here & 1 and closes(merging.closing, here + 1, event_ix, event, last):
        bits += 2
    return bits


@helper
def last_event(state, run_ix):
    """The last event that a run has selected; of merged runs, that of one of them."""
    nodes, base = state.nodes, state.control[0].base_node
    node = state.runs[run_ix].head
    while nodes[node - base].tag < 0:
        node = nodes[node - base].previous
    return nodes[node - base].tag >> TAG_SHIFT


@small
def _counted(steps, runs, run_ix):
    """The count of a Kleene component, as far as its bounds still depend on it."""
    here = runs[run_ix].state
    if here & 1 == 0:
        return 0
    step = steps[here >> 1]
    count = runs[run_ix].count
    if step.most < UNBOUNDED:
        return count
    return min(count, step.least)


@helper
def _fingerprint(steps, runs, registers, until, run_ix):
    """A hash of everything that :func:`_are_distinct` compares."""
    ints, floats, valid = registers.ints, registers.floats, registers.valid
    here = runs[run_ix].state
    x = here * 31 + _counted(steps, runs, run_ix)
    for register in range(len(until)):
        if until[register] >= here:
            value = (valid[run_ix] >> register) & 1
            if value:
                if ints.shape[1]:
                    value += ints[run_ix, register]
                if floats.shape[1]:
                    value += np.int64(floats[run_ix, register] * _FRACTIONS)
            x = (x ^ value) * -7046029254386353131
            x ^= (x >> 29) & 0x7FFFFFFFF
    return x


@inlined
def equivalent_run(steps, state, merging, run_ix):
    """The run in the hash table that is equivalent to this one; or NONE, and this one is added."""
    runs, registers, until = state.runs, state.registers, merging.until
    slots, stamps, stamp = merging.slots, merging.stamps, state.control[0].stamp
    mask = len(slots) - 1
    slot = _fingerprint(steps, runs, registers, until, run_ix) & mask
    while stamps[slot] == stamp:
        other = slots[slot]
        if not _differ(steps, state, merging, run_ix, other):
            return other
        slot = (slot + 1) & mask
    stamps[slot] = stamp
    slots[slot] = run_ix
    return NONE


@small
def join_run(steps, state, merging, partition, live, run_ix):
    """Link a run to its partition, or merge it with an equivalent one.

    ``live`` is the number of runs that the partition had before the event.
    """
    if state.control[0].merging == 0 or (
        live <= VERY_FEW_RUNS and state.partitions[partition].first < 0
    ):
        link_run(state, partition, run_ix)
    else:
        _compare_run(steps, state, merging, partition, live, run_ix)


@helper
def _compare_run(steps, state, merging, partition, live, run_ix):
    runs = state.runs
    if live <= VERY_FEW_RUNS:
        other = state.partitions[partition].first
        while other >= 0 and _differ(steps, state, merging, run_ix, other):
            other = runs[other].next
    else:
        other = equivalent_run(steps, state, merging, run_ix)
    if other >= 0:
        _merge(state.control, runs, state.nodes, other, run_ix)
        free_run(state, run_ix)
    else:
        link_run(state, partition, run_ix)


@helper
def _merge(control, runs, nodes, into, run_ix):
    """Let one run represent both: it lives as long as the younger, and its chain is a union."""
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
