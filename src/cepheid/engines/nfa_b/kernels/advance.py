"""The runs of an NFA^b over a batch of events [Agrawal08 §3, §5].

A run is in one of two kinds of state: *waiting* for the first event of a component, or
*inside* a Kleene component. Values of selected events that later predicates need are kept in
registers (the value vector of §5.2).

Where runs are merged [§5.2.2], a run represents all runs that have the same future: its chain
begins with a *union* of the chains of the merged runs. Runs write *finals*, from which
:mod:`cepheid.matches.kernels.match_columns` lists the matches. Where matches are only counted,
no chain is kept except the nodes where runs start.

Kernels are resumable: before each event there must be room for the most that it can add;
otherwise the kernel returns what it lacks, and where it stopped. If a partition has very many
runs, the kernel pauses between two parts of their list, in the middle of an event.
"""

from __future__ import annotations

from cepheid.codegen.layout import ANY, NONE, PARTITION_CONTIGUITY
from cepheid.engines.base.kernels.closing import is_closed
from cepheid.engines.nfa_b.kernels.runs import (
    clone_run,
    cut_runs,
    free_all,
    free_run,
    join_run,
    lack,
    last_event,
    link_run,
    start_run,
    unlink_runs,
)
from cepheid.engines.nfa_b.kernels.selection import begin, emit, holds, tag_of, take
from cepheid.engines.nfa_b.layout import (
    AT_EVENT,
    AT_FOUND,
    AT_READ,
    AT_RUN,
    DONE,
    TOO_MANY_RUNS,
    Batch,
    Merging,
    Output,
    State,
    Tables,
)
from cepheid.jit.decorators import I64, I64S, helper, kernel, type_of
from cepheid.jit.drive import PAUSE
from cepheid.matches.layout import FIRST_OF_RUN, ONE_OF_PARTITION


@helper
def _next_event(mask, partition_of, partitions, first_bit, contiguous, event_ix):
    """The first event from here on that begins a run or is read by one."""
    for i in range(event_ix, len(mask)):
        partition = partition_of[i]
        if partition >= 0:
            bits = mask[i]
            if partitions[partition].live != 0:
                if bits != 0 or contiguous:
                    return i
            elif bits & first_bit != 0:
                return i
    return len(mask)


@kernel(
    I64(type_of(Tables), type_of(State), type_of(Merging), type_of(Batch), I64S, type_of(Output))
)
def advance_runs(tables, state, merging, batch, at, out):
    """Read events from where ``at`` says, which becomes where it stopped."""
    steps, control, runs, partitions = tables.steps, state.control, state.runs, state.partitions
    mask, partition_of, pace = batch.mask, batch.partition_of, out.pace
    most = pace[0]
    strategy, window, prunes = control[0].strategy, control[0].window, control[0].prunes
    contiguous = strategy <= PARTITION_CONTIGUITY
    last = len(steps) - 1
    single_last = steps[last].is_kleene == 0
    closing, negated = batch.closing, len(batch.closing.rows) > 0
    first_bit = steps[0].begin_bit
    i = at[AT_EVENT] - 1
    while True:
        i = _next_event(mask, partition_of, partitions, first_bit, contiguous, i + 1)
        if i == len(mask):
            break
        live, found = partitions[partition_of[i]].live, control[0].finals
        status = lack(state, out, live)
        if status != DONE:
            at[AT_EVENT] = i
            return status
        control[0].stamp += 1
        merging.at[0] = i
        run_ix = unlink_runs(state, partition_of[i])
        bits, partition, now = mask[i], partition_of[i], batch.axis[i]
        partitions[partition].now = now
        rest = NONE
        if live > most:
            if at[AT_RUN] > 0:
                partitions[partition].first, partitions[partition].live = run_ix, at[AT_READ]
                run_ix, found, at[AT_RUN] = at[AT_RUN] - 1, found - at[AT_FOUND], 0
                control[0].stamp -= 1
            rest = cut_runs(runs, run_ix, most)
        while run_ix >= 0:
            following = runs[run_ix].next
            if now - runs[run_ix].start >= window:
                control[0].runs_expired += 1
                free_run(state, run_ix)
                run_ix = following
                continue
            # What moves_of finds, without packing it into bits: this is faster here.
            component, inside = runs[run_ix].state >> 1, runs[run_ix].state & 1
            takes = False
            target = component
            begins = True
            if inside:
                step = steps[component]
                takes = bits & step.take_bit != 0 and holds(state, out, step.take, i, run_ix)
                target = component + 1
                begins = target <= last and runs[run_ix].count >= step.least
            begins = begins and bits & steps[target].begin_bit != 0
            dies = False
            if negated and (begins or takes):
                latest = last_event(state, run_ix)
                if takes and is_closed(closing, 2 * component + 1, i, latest):
                    # Where an event that can be taken is not ignored, the run is violated.
                    takes, dies = False, strategy != ANY
                if begins and is_closed(closing, 2 * target, i, latest):
                    begins, dies = False, dies or inside == 0
            begins = begins and holds(state, out, steps[target].begin, i, run_ix)
            stays = not contiguous and (strategy == ANY or inside == 1 or not begins)
            stays = stays and not dies
            moved = False
            if begins:
                if target == last and single_last:
                    emit(state, out, run_ix, runs[run_ix].head, tag_of(state, target, i), now)
                    if prunes == FIRST_OF_RUN:
                        takes = stays = False
                elif stays or takes:
                    copy = clone_run(state, run_ix)
                    if begin(tables, state, out, copy, target, i, now):
                        join_run(steps, state, merging, partition, live, copy)
                    else:
                        free_run(state, copy)
                else:
                    moved = True
                    stays = begin(tables, state, out, run_ix, target, i, now)
            if takes:
                taker = run_ix
                if strategy == ANY:
                    taker = clone_run(state, run_ix)
                lives = take(tables, state, out, taker, component, i, now)
                if strategy != ANY:
                    moved = True
                    stays = lives
                elif lives:
                    join_run(steps, state, merging, partition, live, taker)
                else:
                    free_run(state, taker)
            if stays and not moved and live > merging.few:
                link_run(state, partition, run_ix)
            elif stays:
                join_run(steps, state, merging, partition, live, run_ix)
            else:
                free_run(state, run_ix)
            run_ix = following
        if rest >= 0:
            at[AT_EVENT], at[AT_RUN], at[AT_FOUND] = i, rest + 1, control[0].finals - found
            at[AT_READ], partitions[partition].live = partitions[partition].live, live
            return PAUSE
        if bits & first_bit != 0:
            run_ix = start_run(state, now)
            if not holds(state, out, steps[0].begin, i, run_ix):
                control[0].runs_created -= 1
                free_run(state, run_ix)
            elif last == 0 and single_last:
                emit(state, out, run_ix, NONE, tag_of(state, 0, i), now)
                free_run(state, run_ix)
            elif begin(tables, state, out, run_ix, 0, i, now):
                join_run(steps, state, merging, partition, live, run_ix)
            else:
                free_run(state, run_ix)
        if prunes == ONE_OF_PARTITION and control[0].finals > found:
            free_all(state, partition)
        if control[0].live > control[0].max_runs:
            at[AT_EVENT] = i + 1
            return TOO_MANY_RUNS
        pace[0] -= live + 1
        if pace[0] <= 0:
            at[AT_EVENT] = i + 1
            return PAUSE
    at[AT_EVENT] = len(mask)
    return DONE
