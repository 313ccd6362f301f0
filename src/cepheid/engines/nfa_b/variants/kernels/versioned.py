"""The runs of an NFA^b over a batch of events, with a shared versioned buffer [Agrawal08 §5.1].

An event that runs select in the same state is one entry of the buffer, with a pointer for each
run to what that run has selected before. A pointer is labelled with the version of its run.
Values of selected events that later predicates need are kept apart from the buffer, in registers.

Runs that are merged [§5.2.2] become one with a version of its own, which keeps the versions,
heads and starts of its members.

A run that is complete is recorded; :mod:`.versioned_matches` retrieves its matches.
"""

from __future__ import annotations

from cepheid.codegen.layout import ANY, NONE, PARTITION_CONTIGUITY
from cepheid.engines.base.kernels.registers import apply_updates
from cepheid.engines.nfa_b.kernels.runs import (
    clone_run,
    cut_runs,
    equivalent_run,
    free_run,
    link_run,
    start_run,
    unlink_runs,
)
from cepheid.engines.nfa_b.kernels.selection import BEGINS, STAYS, TAKES, holds, moves_of, tag_of
from cepheid.engines.nfa_b.layout import (
    AT_EVENT,
    AT_LIVE,
    AT_RUN,
    DONE,
    FEW_RUNS,
    NEED_FINALS,
    NEED_NODES,
    NEED_RUNS,
    Batch,
    Merging,
    Output,
    State,
    Tables,
)
from cepheid.engines.nfa_b.variants.kernels.versions import add_pointer, initiated, moved_on, stayed
from cepheid.engines.nfa_b.variants.layout import COMBINED, Shared
from cepheid.jit.decorators import I64, I64S, helper, kernel, type_of
from cepheid.jit.drive import PAUSE
from cepheid.jit.window_edge import window_edge


@helper
def _select(state, shared, partition, run_ix, stack, tag, now):
    """Add an event to the buffer, unless a run has, and point to what this run had selected.

    Every state has a stack: a Kleene component one for its first event and one for the others.
    """
    control, runs, entries = state.control, state.runs, shared.entries
    entry = shared.stacks[stack]
    if entry < 0:
        entry = shared.tops[0].entries
        shared.tops[0].entries = entry + 1
        control[0].nodes_created += 1
        entries[entry].tag = tag
        entries[entry].axis = now
        entries[entry].partition = partition
        shared.stacks[stack] = entry
    add_pointer(shared, entry, shared.version_of[run_ix], runs[run_ix].head)
    if runs[run_ix].head == NONE:
        runs[run_ix].root = entry
    runs[run_ix].head = entry
    runs[run_ix].length += 1
    if runs[run_ix].length > control[0].longest:
        control[0].longest = runs[run_ix].length


@helper
def _complete(state, shared, version, head, tag, now):
    complete, at = shared.complete, shared.tops[0].complete
    complete[at].version = version
    complete[at].head = head
    complete[at].tag = tag
    complete[at].after = window_edge(now, state.control[0].window)
    shared.tops[0].complete = at + 1


@helper
def _take(tables, state, shared, batch, out, run_ix, stack, event_ix):
    """A run takes an event of a component; whether it lives on.

    The stack of the event is 2 × component for the first one, and 1 more for a later one.
    """
    component, is_later = stack >> 1, stack & 1
    step, now = tables.steps[component], batch.axis[event_ix]
    tag = tag_of(state, component, event_ix)
    _select(state, shared, batch.partition_of[event_ix], run_ix, stack, tag, now)
    low, high = step.begin_low, step.begin_high
    state.runs[run_ix].count = 1 + is_later * state.runs[run_ix].count
    if is_later:
        low, high = step.take_low, step.take_high
    apply_updates(tables.updates, low, high, tables.context, event_ix, run_ix, state.registers)
    return _settle(tables, state, shared, out, run_ix, component, event_ix, now)


@helper
def _settle(tables, state, shared, out, run_ix, component, event_ix, now):
    """A component has taken an event: the new state of the run, and whether it lives on."""
    step, runs = tables.steps[component], state.runs
    last = component == len(tables.steps) - 1
    if step.is_kleene == 0:
        runs[run_ix].state = 2 * (component + 1)
        return True
    count = runs[run_ix].count
    if last and count >= step.least and holds(state, out, step.final, event_ix, run_ix):
        _complete(state, shared, shared.version_of[run_ix], runs[run_ix].head, NONE, now)
    if count == step.most:
        runs[run_ix].state = 2 * (component + 1)
        return not last
    runs[run_ix].state = 2 * component + 1
    return True


@helper
def _add_member(shared, version, run, following):
    members, at = shared.members, shared.tops[0].members
    members[at].version = version
    members[at].head = run.head
    members[at].start = run.start
    members[at].next = following
    shared.tops[0].members = at + 1
    return at


@helper
def _join(steps, state, shared, merging, partition, run_ix):
    """Link a run to its partition, or merge it with an equivalent one."""
    other = NONE
    if state.control[0].merging != 0:
        other = equivalent_run(steps, state, merging, run_ix)
    if other >= 0:
        _merge(state, shared, other, run_ix)
    else:
        link_run(state, partition, run_ix)


@helper
def _merge(state, shared, into, run_ix):
    """Let one run represent both, until the youngest of its members expires."""
    runs, version_of = state.runs, shared.version_of
    head = runs[into].head
    if head <= COMBINED:
        # It has selected nothing since it was merged: one more member.
        first = COMBINED - head
    else:
        first = _add_member(shared, version_of[into], runs[into], NONE)
        version_of[into] = initiated(shared)
    first = _add_member(shared, version_of[run_ix], runs[run_ix], first)
    state.control[0].runs_merged += 1
    runs[into].head = COMBINED - first
    runs[into].start = max(runs[into].start, runs[run_ix].start)
    runs[into].root = min(runs[into].root, runs[run_ix].root)
    runs[into].length = max(runs[into].length, runs[run_ix].length)
    free_run(state, run_ix)


@helper
def _lack(state, shared, live):
    """What there is not enough room for, where an event is read by this many runs."""
    tops = shared.tops[0]
    if state.control[0].live + 2 * live + 1 > len(state.runs):
        return NEED_RUNS
    if tops.complete + 2 * live + 2 > len(shared.complete):
        return NEED_FINALS
    # Each run splits into three at most, each of which may be merged.
    if (
        tops.entries + len(shared.stacks) > len(shared.entries)
        or tops.pointers + 2 * live + 1 > len(shared.pointers)
        or tops.versions + 10 * live + 4 > len(shared.versions)
        or tops.members + 6 * live + 2 > len(shared.members)
    ):
        return NEED_NODES
    return DONE


@kernel(
    I64(
        type_of(Tables), type_of(State), type_of(Shared), type_of(Merging), type_of(Batch), I64S,
        type_of(Output),
    )
)  # fmt: skip
def advance_versioned_runs(tables, state, shared, merging, batch, at, out):
    """Read events from where ``at`` says, which becomes where it stopped."""
    steps, control, runs, partitions = tables.steps, state.control, state.runs, state.partitions
    mask, version_of, stacks = batch.mask, shared.version_of, shared.stacks
    strategy, window = control[0].strategy, control[0].window
    contiguous = strategy <= PARTITION_CONTIGUITY
    last = len(steps) - 1
    single_last = steps[last].is_kleene == 0
    most = out.pace[0]
    for i in range(at[AT_EVENT], len(mask)):
        bits, partition, run_ix = mask[i], batch.partition_of[i], at[AT_RUN] - 1
        if run_ix >= 0:
            live, at[AT_RUN] = at[AT_LIVE], 0
        else:
            if partition < 0 or (bits == 0 and (not contiguous or partitions[partition].live == 0)):
                continue
            live = partitions[partition].live
            if live == 0 and bits & steps[0].begin_bit == 0:
                continue
            at[AT_EVENT] = i
            status = _lack(state, shared, live)
            if status != DONE:
                return status
            control[0].stamp += 1
            for stack in range(len(stacks)):
                stacks[stack] = NONE
            run_ix = unlink_runs(state, partition)
        now = batch.axis[i]
        partitions[partition].now = now
        rest = cut_runs(runs, run_ix, most) if live > most else NONE
        while run_ix >= 0:
            following = runs[run_ix].next
            if now - runs[run_ix].start >= window:
                control[0].runs_expired += 1
                free_run(state, run_ix)
                run_ix = following
                continue
            moves = moves_of(tables, state, out, run_ix, bits, i)
            component = runs[run_ix].state >> 1
            target = component + (runs[run_ix].state & 1)
            others = moves & (TAKES | STAYS) != 0
            stays = moves & STAYS != 0
            selects = False
            if moves & BEGINS:
                version = version_of[run_ix]
                if others:
                    version_of[run_ix] = stayed(shared, version)
                if target == last and single_last:
                    tag = tag_of(state, target, i)
                    _complete(state, shared, version, runs[run_ix].head, tag, now)
                else:
                    mover = run_ix
                    if others:
                        mover = clone_run(state, run_ix)
                    else:
                        selects = True
                    version_of[mover] = moved_on(shared, version)
                    lives = _take(tables, state, shared, batch, out, mover, 2 * target, i)
                    if not others:
                        stays = lives
                    elif lives:
                        _join(steps, state, shared, merging, partition, mover)
                    else:
                        free_run(state, mover)
            if moves & TAKES:
                taker = run_ix
                if strategy == ANY:
                    taker = clone_run(state, run_ix)
                    version = version_of[run_ix]
                    version_of[taker] = moved_on(shared, version)
                    version_of[run_ix] = stayed(shared, version)
                lives = _take(tables, state, shared, batch, out, taker, 2 * component + 1, i)
                if taker == run_ix:
                    selects = True
                    stays = lives
                elif lives:
                    _join(steps, state, shared, merging, partition, taker)
                else:
                    free_run(state, taker)
            if stays and not selects and live > FEW_RUNS:
                link_run(state, partition, run_ix)
            elif stays:
                _join(steps, state, shared, merging, partition, run_ix)
            else:
                free_run(state, run_ix)
            run_ix = following
        if rest >= 0:
            at[AT_RUN], at[AT_LIVE] = rest + 1, live
            return PAUSE
        if bits & steps[0].begin_bit != 0:
            run_ix = start_run(state, now)
            lives = False
            if not holds(state, out, steps[0].begin, i, run_ix):
                control[0].runs_created -= 1
            elif last == 0 and single_last:
                _complete(state, shared, NONE, NONE, tag_of(state, 0, i), now)
            else:
                version_of[run_ix] = initiated(shared)
                lives = _take(tables, state, shared, batch, out, run_ix, 0, i)
            if lives:
                _join(steps, state, shared, merging, partition, run_ix)
            else:
                free_run(state, run_ix)
        out.pace[0] -= live + 1
        if out.pace[0] <= 0:
            at[AT_EVENT] = i + 1
            return PAUSE
    at[AT_EVENT] = len(mask)
    return DONE
