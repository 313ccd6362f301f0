"""One run at a time: depth-first search through the runs of an NFA^b [Agrawal08 §5.2.3].

The current run continues until it fails or is complete. Where an event allows it more than one
move, it makes the one that gets further; a copy that has the other moves still to make is
postponed on a stack. The latest one is resumed first, from the event at which it was postponed.

A run that has read all events of its partition in a batch is set aside and resumed with the
next batch. The matches of a batch are thus known when it has been read, and no event is kept.

If matches must not overlap, the search stops at a match: the first one of a partition to be
complete is reported, and every run that began before its end overlaps it. So no run reads on after
the earliest end of a match that is known so far.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cepheid.codegen.layout import NONE, PARTITION_CONTIGUITY
from cepheid.engines.base.layout import Rows
from cepheid.engines.nfa_b.kernels.runs import (
    clone_run,
    free_all,
    free_run,
    lack,
    link_run,
    start_run,
    unlink_runs,
)
from cepheid.engines.nfa_b.kernels.selection import (
    BEGINS,
    STAYS,
    TAKES,
    begin,
    emit,
    holds,
    moves_of,
    tag_of,
    take,
)
from cepheid.engines.nfa_b.layout import (
    DONE,
    Batch,
    Output,
    State,
    Tables,
)
from cepheid.events.arrays import no_rows
from cepheid.jit.decorators import I64, I64S, helper, kernel, type_of
from cepheid.jit.drive import PAUSE
from cepheid.matches.layout import ONE_OF_PARTITION

POSTPONED = np.dtype(
    [
        ("run", "i8"),
        ("event", "i8"),  # the place in the batch where it continues, or NONE
        ("moves", "i8"),  # the moves that it has still to make there, or _UNKNOWN
    ]
)
EVENT, IS_BEGUN, TOP, READ = 0, 1, 2, 3
"""The cursor: event, what was done with it, postponed runs, number of events read."""
_RESUMED, _STARTED = 1, 2
_UNKNOWN = -1
NOT_YET = 1 << 62


class Search(NamedTuple):
    """Where the search through a batch is."""

    postponed: Rows = no_rows(POSTPONED)  # a stack
    heads: Rows = no_rows(np.int64)  # for each partition the first event not read yet, or NONE
    following: Rows = no_rows(np.int64)  # for each event the next one of its partition, or NONE
    cursor: Rows = no_rows(np.int64)
    # For each partition the event with which the next match that is reported is complete at the
    # latest, or NOT_YET.
    ends: Rows = no_rows(np.int64)


@kernel(I64(I64S, I64S, I64, I64S, I64S))
def link_events(mask, partition_of, contiguous, heads, following):
    """For each event, the next one of its partition that a run has to read, or NONE.

    ``heads[partition]`` was NONE and becomes the first such event of the batch.
    """
    for i in range(len(mask) - 1, -1, -1):
        partition = partition_of[i]
        if partition >= 0 and (mask[i] != 0 or contiguous):
            following[i] = heads[partition]
            heads[partition] = i
    return 0


@helper
def _push(stack, top, run_ix, event_ix, moves):
    """Postpone a run; the new height of the stack."""
    stack[top].run = run_ix
    stack[top].event = event_ix
    stack[top].moves = moves
    return top + 1


@kernel(I64(type_of(State), I64S))
def free_overlapping(state, ends):
    """Free what was set aside in the partitions that have a match in this batch."""
    for partition in range(len(ends)):
        if ends[partition] != NOT_YET:
            free_all(state, partition)
    return 0


@kernel(I64(type_of(Tables), type_of(State), type_of(Batch), type_of(Search), type_of(Output)))
def search_runs(tables, state, batch, search, out):
    """Search all runs through a batch, from where the cursor is."""
    steps, control, runs, partitions = tables.steps, state.control, state.runs, state.partitions
    mask, axis = batch.mask, batch.axis
    stack, heads, following, cursor, ends = search
    stops = control[0].prunes == ONE_OF_PARTITION
    contiguous = control[0].strategy <= PARTITION_CONTIGUITY
    window = control[0].window
    last = len(steps) - 1
    single_last = steps[last].is_kleene == 0
    i, done, top = cursor[EVENT], cursor[IS_BEGUN], cursor[TOP]
    status = DONE
    while i < len(mask):
        partition = batch.partition_of[i]
        if done == 0:
            if partition < 0 or (mask[i] == 0 and not contiguous):
                i += 1
                continue
            if ends[partition] < i:
                ends[partition] = NOT_YET
                free_all(state, partition)
            if heads[partition] == i:
                # Its first event in this batch: all runs that were set aside are resumed here.
                heads[partition] = NONE
                run_ix = unlink_runs(state, partition)
                while run_ix >= 0:
                    top = _push(stack, top, run_ix, i, _UNKNOWN)
                    run_ix = runs[run_ix].next
            partitions[partition].now = axis[i]
            done = _RESUMED
        while top > 0:
            top -= 1
            run_ix, at, moves = stack[top].run, stack[top].event, stack[top].moves
            while True:
                if at < 0 and ends[partition] == NOT_YET:
                    link_run(state, partition, run_ix)
                    break
                if at < 0 or at > ends[partition]:
                    free_run(state, run_ix)
                    break
                now, found = axis[at], control[0].finals
                if now - runs[run_ix].start >= window:
                    control[0].runs_expired += 1
                    free_run(state, run_ix)
                    break
                status = lack(state, out, 1)
                if status == DONE and out.pace[0] <= 0:
                    status = PAUSE
                if status != DONE:
                    top = _push(stack, top, run_ix, at, moves)
                    break
                cursor[READ] += 1
                out.pace[0] -= 1
                if moves == _UNKNOWN:
                    moves = moves_of(tables, state, out, run_ix, mask[at], at)
                component = runs[run_ix].state >> 1
                target = component + (runs[run_ix].state & 1)
                others = moves & (TAKES | STAYS)
                lives = True
                if moves & BEGINS:
                    if target == last and single_last:
                        emit(state, out, run_ix, runs[run_ix].head, tag_of(state, target, at), now)
                        if stops:
                            ends[partition] = at
                        # The run is complete: back to what it could have done instead.
                        if others:
                            moves = others
                            continue
                        lives = False
                    else:
                        if others:
                            copy = clone_run(state, run_ix)
                            top = _push(stack, top, copy, at, others)
                        lives = begin(tables, state, out, run_ix, target, at, now)
                elif moves & TAKES:
                    if moves & STAYS:
                        copy = clone_run(state, run_ix)
                        top = _push(stack, top, copy, at, STAYS)
                    lives = take(tables, state, out, run_ix, component, at, now)
                elif moves & STAYS == 0:
                    lives = False
                if stops and control[0].finals > found:
                    ends[partition] = at
                if not lives:
                    free_run(state, run_ix)
                    break
                at = following[at]
                moves = _UNKNOWN
            if status != DONE:
                break
        if status == DONE and done == _RESUMED and mask[i] & steps[0].begin_bit != 0:
            status = lack(state, out, 1)
            if status == DONE:
                done = _STARTED
                run_ix = start_run(state, axis[i])
                lives, found = False, control[0].finals
                if not holds(state, out, steps[0].begin, i, run_ix):
                    control[0].runs_created -= 1
                elif last == 0 and single_last:
                    emit(state, out, run_ix, NONE, tag_of(state, 0, i), axis[i])
                else:
                    lives = begin(tables, state, out, run_ix, 0, i, axis[i])
                if stops and control[0].finals > found:
                    ends[partition] = i
                if lives:
                    top = _push(stack, top, run_ix, following[i], _UNKNOWN)
                else:
                    free_run(state, run_ix)
                continue
        if status != DONE:
            break
        i += 1
        done = 0
    cursor[EVENT], cursor[IS_BEGUN], cursor[TOP] = i, done, top
    return status
