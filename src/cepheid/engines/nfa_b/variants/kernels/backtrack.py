"""One run at a time: depth-first search through the runs of an NFA^b [Agrawal08 §5.2.3].

The run at hand goes on until it fails or is complete. Where an event allows it more than one
move, it makes the one that gets further, and a copy that has the other moves still to make is
postponed on a stack; the latest is resumed first, from the event at which it was postponed.

A run that has read all events of its partition in a batch is set aside and resumed with the
next batch. So the matches of a batch are known when it has been read, and no event is kept.
"""

from __future__ import annotations

import numpy as np

from cepheid.codegen.layout import (
    CONTROL,
    DONE,
    FINAL,
    NEED_FINALS,
    NEED_NODES,
    NEED_RUNS,
    NODE,
    NONE,
    PARTITION,
    PARTITION_CONTIGUITY,
    RUN,
    STEP,
    UPDATE,
)
from cepheid.engines.base.kernels.registers import update_registers
from cepheid.engines.nfa_b.kernels.advance import _emit, _enter, _select, _settle
from cepheid.engines.nfa_b.kernels.moves import BEGINS, STAYS, TAKES, holds, moves_of
from cepheid.engines.nfa_b.kernels.runs import clone_run, free_run, link_run, new_run
from cepheid.jit.decorators import F64S_2D, I64, I64S, I64S_2D, array_of, helper, kernel

POSTPONED = np.dtype(
    [
        ("run", "i8"),
        ("event", "i8"),  # the place in the batch at which it goes on, or NONE
        ("moves", "i8"),  # those that it has still to make there, or _UNKNOWN
    ]
)
EVENT, IS_BEGUN, TOP, READ = 0, 1, 2, 3
"""The cursor: event, what was done with it, postponed runs, how often an event was read."""
_RESUMED, _STARTED = 1, 2
_UNKNOWN = -1


@kernel(I64(I64S, I64S, I64, I64S, I64S))
def link_events(mask, partition_of, contiguous, heads, following):
    """For each event, the next one of its partition that a run has to read, or NONE.

    ``heads[partition]`` becomes the first one of the batch; it was NONE.
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


@helper
def _lack(control, runs, finals, nodes):
    """What there is too little room of for any one move of a run."""
    if control[0].live + 2 > len(runs):
        return NEED_RUNS
    if control[0].top_node - control[0].base_node + 4 > len(nodes):
        return NEED_NODES
    if control[0].finals + 2 > len(finals):
        return NEED_FINALS
    return DONE


@kernel(
    I64(
        array_of(STEP), array_of(UPDATE), I64S, array_of(CONTROL), array_of(RUN), I64S_2D, F64S_2D,
        I64S, array_of(PARTITION), array_of(NODE), array_of(FINAL), I64S, I64S,
        array_of(POSTPONED), I64S, I64S, I64S, I64S, I64S, I64S,
    )
)  # fmt: skip
def search_runs(
    steps, updates, context, control, runs, ints, floats, valid, partitions, nodes, finals,
    unused, evaluations, stack, heads, following, mask,
    partition_of, axis, cursor,
):  # fmt: skip
    """Search all runs through a batch, from where the cursor stands."""
    contiguous = control[0].strategy <= PARTITION_CONTIGUITY
    window, base_event = control[0].window, control[0].base_event
    last = len(steps) - 1
    single_last = steps[last].is_kleene == 0
    i, done, top = cursor[EVENT], cursor[IS_BEGUN], cursor[TOP]
    status = DONE
    while i < len(mask):
        partition = partition_of[i]
        if done == 0:
            if partition < 0 or (mask[i] == 0 and not contiguous):
                i += 1
                continue
            if heads[partition] == i:
                # Its first event in this batch: all runs that were set aside are resumed here.
                heads[partition] = NONE
                run_ix = partitions[partition].first
                while run_ix >= 0:
                    top = _push(stack, top, run_ix, i, _UNKNOWN)
                    run_ix = runs[run_ix].next
                partitions[partition].first = NONE
                partitions[partition].live = 0
            partitions[partition].now = axis[i]
            done = _RESUMED
        while top > 0:
            top -= 1
            run_ix, at, moves = stack[top].run, stack[top].event, stack[top].moves
            while True:
                if at < 0:
                    link_run(runs, partitions, partition, run_ix)
                    break
                now = axis[at]
                if now - runs[run_ix].start >= window:
                    control[0].runs_expired += 1
                    free_run(runs, control, run_ix)
                    break
                status = _lack(control, runs, finals, nodes)
                if status != DONE:
                    top = _push(stack, top, run_ix, at, moves)
                    break
                cursor[READ] += 1
                if moves == _UNKNOWN:
                    moves = moves_of(steps, control, runs, evaluations, run_ix, mask[at], at)
                event = base_event + at
                component = runs[run_ix].state >> 1
                target = component + (runs[run_ix].state & 1)
                others = moves & (TAKES | STAYS)
                lives = True
                if moves & BEGINS:
                    if target == last and single_last:
                        _emit(
                            nodes, control, runs[run_ix].head, event, target, finals, unused, now
                        )  # fmt: skip
                        # The run is complete: back to what it could have done instead.
                        if others:
                            moves = others
                            continue
                        lives = False
                    else:
                        if others:
                            copy = clone_run(runs, control, ints, floats, valid, run_ix)
                            top = _push(stack, top, copy, at, others)
                        lives = _enter(
                            steps, updates, context, control, runs, ints, floats, valid, nodes,
                            finals, unused, evaluations, run_ix, target, at, event, now,
                        )  # fmt: skip
                elif moves & TAKES:
                    if moves & STAYS:
                        copy = clone_run(runs, control, ints, floats, valid, run_ix)
                        top = _push(stack, top, copy, at, STAYS)
                    step = steps[component]
                    _select(runs, nodes, control, run_ix, event, component)
                    update_registers(
                        updates, step.take_low, step.take_high, context, at, run_ix, ints, floats,
                        valid,
                    )  # fmt: skip
                    runs[run_ix].count += 1
                    lives = _settle(
                        steps, control, runs, nodes, finals, unused, evaluations, run_ix,
                        component, at, component == last, now,
                    )  # fmt: skip
                elif moves & STAYS == 0:
                    lives = False
                if not lives:
                    free_run(runs, control, run_ix)
                    break
                at = following[at]
                moves = _UNKNOWN
            if status != DONE:
                break
        if status == DONE and done == _RESUMED and mask[i] & steps[0].begin_bit != 0:
            status = _lack(control, runs, finals, nodes)
            if status == DONE:
                done = _STARTED
                run_ix = new_run(runs, control)
                runs[run_ix].start = axis[i]
                runs[run_ix].head = NONE
                runs[run_ix].root = control[0].top_node
                runs[run_ix].length = 0
                runs[run_ix].count = 0
                runs[run_ix].state = 0
                valid[run_ix] = 0
                for register in range(ints.shape[1]):
                    ints[run_ix, register] = 0
                lives = False
                if not holds(steps[0].begin, control, i, run_ix, evaluations):
                    control[0].runs_created -= 1
                elif last == 0 and single_last:
                    _emit(nodes, control, NONE, base_event + i, 0, finals, unused, axis[i])
                else:
                    lives = _enter(
                        steps, updates, context, control, runs, ints, floats, valid, nodes,
                        finals, unused, evaluations, run_ix, 0, i, base_event + i, axis[i],
                    )  # fmt: skip
                if lives:
                    top = _push(stack, top, run_ix, following[i], _UNKNOWN)
                else:
                    free_run(runs, control, run_ix)
                continue
        if status != DONE:
            break
        i += 1
        done = 0
    cursor[EVENT], cursor[IS_BEGUN], cursor[TOP] = i, done, top
    return status
