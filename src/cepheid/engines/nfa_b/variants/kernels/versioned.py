"""The runs of an NFA^b over a batch of events, with a shared versioned buffer [Agrawal08 §5.1].

An event that runs select in the same state is one entry of the buffer, with a pointer for each
run to what that run has selected before. A pointer is labelled with the version of its run.
What later predicates need of selected events is kept apart from the buffer, in registers.

Runs that are merged [§5.2.2] become one with a version of its own, which keeps the versions,
heads and starts of its members.

A run that is complete is recorded; :mod:`.versioned_matches`
retrieves its matches.
"""

from __future__ import annotations

from cepheid.codegen.layout import (
    ANY,
    CONTROL,
    DONE,
    FEW_RUNS,
    NEED_FINALS,
    NEED_NODES,
    NEED_RUNS,
    NONE,
    PARTITION,
    PARTITION_CONTIGUITY,
    RUN,
    STEP,
    TAG_SHIFT,
    UPDATE,
)
from cepheid.engines.base.kernels.registers import update_registers
from cepheid.engines.nfa_b.kernels.moves import BEGINS, STAYS, TAKES, holds, moves_of
from cepheid.engines.nfa_b.kernels.runs import (
    _distinct,
    _fingerprint,
    clone_run,
    free_run,
    link_run,
    new_run,
)
from cepheid.engines.nfa_b.variants.kernels.versioned_layout import (
    COMBINED,
    COMPLETE,
    ENTRY,
    MEMBER,
    POINTER,
    TOPS,
    VERSION,
)
from cepheid.engines.nfa_b.variants.kernels.versions import add_pointer, initiated, moved_on, stayed
from cepheid.jit.decorators import F64S_2D, I64, I64S, I64S_2D, array_of, helper, kernel
from cepheid.jit.window_edge import window_edge


@helper
def _select(
    runs, control, tops, entries, pointers, index, versions, version_of, stacks, run_ix, partition,
    event, component, takes, now,
):  # fmt: skip
    """Add an event to the buffer, unless a run has, and point to what this run had selected.

    Every state has a stack: a Kleene component one for its first event and one for others.
    """
    entry = stacks[2 * component + takes]
    if entry < 0:
        entry = tops[0].entries
        tops[0].entries = entry + 1
        control[0].nodes_created += 1
        entries[entry].tag = (event << TAG_SHIFT) | component
        entries[entry].axis = now
        entries[entry].partition = partition
        stacks[2 * component + takes] = entry
    add_pointer(pointers, index, versions, tops, entry, version_of[run_ix], runs[run_ix].head)
    if runs[run_ix].head == NONE:
        runs[run_ix].root = entry
    runs[run_ix].head = entry
    runs[run_ix].length += 1
    if runs[run_ix].length > control[0].longest:
        control[0].longest = runs[run_ix].length


@helper
def _complete(control, tops, complete, version, head, tag, now):
    at = tops[0].complete
    complete[at].version = version
    complete[at].head = head
    complete[at].tag = tag
    complete[at].after = window_edge(now, control[0].window)
    tops[0].complete = at + 1


@helper
def _settle(
    steps, control, tops, runs, complete, version_of, evaluations, run_ix, component, event_ix, now
):
    """A component has its event: where the run is now; whether it lives on."""
    step = steps[component]
    last = component == len(steps) - 1
    if step.is_kleene == 0:
        runs[run_ix].state = 2 * (component + 1)
        return True
    count = runs[run_ix].count
    if last and count >= step.least and holds(step.final, control, event_ix, run_ix, evaluations):
        _complete(control, tops, complete, version_of[run_ix], runs[run_ix].head, NONE, now)
    if count == step.most:
        runs[run_ix].state = 2 * (component + 1)
        return not last
    runs[run_ix].state = 2 * component + 1
    return True


@helper
def _add_member(tops, members, version, run, following):
    at = tops[0].members
    members[at].version = version
    members[at].head = run.head
    members[at].start = run.start
    members[at].next = following
    tops[0].members = at + 1
    return at


@helper
def _join(
    steps, runs, control, tops, versions, members, version_of, partitions, partition, ints, floats,
    valid, until, table, stamps, run_ix,
):  # fmt: skip
    """Link a run to its partition, or merge it with one that has the same future."""
    if control[0].merging == 0:
        link_run(runs, partitions, partition, run_ix)
        return
    mask = len(table) - 1
    slot = _fingerprint(steps, runs, ints, floats, valid, until, run_ix) & mask
    while stamps[slot] == control[0].stamp:
        other = table[slot]
        if not _distinct(steps, runs, ints, floats, valid, until, run_ix, other):
            _merge(runs, control, tops, versions, members, version_of, other, run_ix)
            return
        slot = (slot + 1) & mask
    stamps[slot] = control[0].stamp
    table[slot] = run_ix
    link_run(runs, partitions, partition, run_ix)


@helper
def _merge(runs, control, tops, versions, members, version_of, into, run_ix):
    """Let one run stand for both, until the youngest of its members expires."""
    head = runs[into].head
    if head <= COMBINED:
        # It has selected nothing since it was merged: one more member.
        first = COMBINED - head
    else:
        first = _add_member(tops, members, version_of[into], runs[into], NONE)
        version_of[into] = initiated(versions, tops)
    first = _add_member(tops, members, version_of[run_ix], runs[run_ix], first)
    control[0].runs_merged += 1
    runs[into].head = COMBINED - first
    runs[into].start = max(runs[into].start, runs[run_ix].start)
    runs[into].root = min(runs[into].root, runs[run_ix].root)
    runs[into].length = max(runs[into].length, runs[run_ix].length)
    free_run(runs, control, run_ix)


@kernel(
    I64(
        array_of(STEP), array_of(UPDATE), I64S, array_of(CONTROL), array_of(TOPS), array_of(RUN),
        I64S, I64S_2D, F64S_2D, I64S, array_of(PARTITION), array_of(ENTRY), array_of(POINTER),
        array_of(VERSION), array_of(MEMBER), array_of(COMPLETE), I64S, I64S, I64S, I64S, I64S,
        I64S, I64S, I64S, I64S, I64S,
    )
)  # fmt: skip
def advance_versioned_runs(
    steps, updates, context, control, tops, runs, version_of, ints, floats, valid, partitions,
    entries, pointers, versions, members, complete, index, stacks, until, table, stamps,
    evaluations, mask, partition_of, axis, at,
):  # fmt: skip
    """Read events from ``at[0]`` on, which becomes the first that was not read."""
    strategy, window, base_event = control[0].strategy, control[0].window, control[0].base_event
    contiguous = strategy <= PARTITION_CONTIGUITY
    last = len(steps) - 1
    single_last = steps[last].is_kleene == 0
    for i in range(at[0], len(mask)):
        bits = mask[i]
        partition = partition_of[i]
        if partition < 0 or (bits == 0 and (not contiguous or partitions[partition].live == 0)):
            continue
        live = partitions[partition].live
        if live == 0 and bits & steps[0].begin_bit == 0:
            continue
        at[0] = i
        if control[0].live + 2 * live + 1 > len(runs):
            return NEED_RUNS
        if tops[0].complete + 2 * live + 2 > len(complete):
            return NEED_FINALS
        # Each run splits into three at most, each of which may be merged.
        if (
            tops[0].entries + len(stacks) > len(entries)
            or tops[0].pointers + 2 * live + 1 > len(pointers)
            or tops[0].versions + 10 * live + 4 > len(versions)
            or tops[0].members + 6 * live + 2 > len(members)
        ):
            return NEED_NODES
        control[0].stamp += 1
        now = axis[i]
        partitions[partition].now = now
        event = base_event + i
        for stack in range(len(stacks)):
            stacks[stack] = NONE
        run_ix = partitions[partition].first
        partitions[partition].first = NONE
        partitions[partition].live = 0
        while run_ix >= 0:
            following = runs[run_ix].next
            if now - runs[run_ix].start >= window:
                control[0].runs_expired += 1
                free_run(runs, control, run_ix)
                run_ix = following
                continue
            moves = moves_of(steps, control, runs, evaluations, run_ix, bits, i)
            component = runs[run_ix].state >> 1
            target = component + (runs[run_ix].state & 1)
            others = moves & (TAKES | STAYS) != 0
            stays = moves & STAYS != 0
            selects = False
            if moves & BEGINS:
                version = version_of[run_ix]
                if others:
                    version_of[run_ix] = stayed(versions, tops, version)
                if target == last and single_last:
                    _complete(
                        control, tops, complete, version, runs[run_ix].head,
                        (event << TAG_SHIFT) | target, now,
                    )  # fmt: skip
                else:
                    mover = run_ix
                    if others:
                        mover = clone_run(runs, control, ints, floats, valid, run_ix)
                    else:
                        selects = True
                    version_of[mover] = moved_on(versions, tops, version)
                    _select(
                        runs, control, tops, entries, pointers, index, versions, version_of,
                        stacks, mover, partition, event, target, 0, now,
                    )  # fmt: skip
                    step = steps[target]
                    update_registers(
                        updates, step.begin_low, step.begin_high, context, i, mover, ints, floats,
                        valid,
                    )  # fmt: skip
                    runs[mover].count = 1
                    lives = _settle(
                        steps, control, tops, runs, complete, version_of, evaluations, mover,
                        target, i, now,
                    )  # fmt: skip
                    if not others:
                        stays = lives
                    elif lives:
                        _join(
                            steps, runs, control, tops, versions, members, version_of, partitions,
                            partition, ints, floats, valid, until, table, stamps, mover,
                        )  # fmt: skip
                    else:
                        free_run(runs, control, mover)
            if moves & TAKES:
                taker = run_ix
                if strategy == ANY:
                    taker = clone_run(runs, control, ints, floats, valid, run_ix)
                    version = version_of[run_ix]
                    version_of[taker] = moved_on(versions, tops, version)
                    version_of[run_ix] = stayed(versions, tops, version)
                _select(
                    runs, control, tops, entries, pointers, index, versions, version_of, stacks,
                    taker, partition, event, component, 1, now,
                )  # fmt: skip
                step = steps[component]
                update_registers(
                    updates, step.take_low, step.take_high, context, i, taker, ints, floats, valid
                )
                runs[taker].count += 1
                lives = _settle(
                    steps, control, tops, runs, complete, version_of, evaluations, taker,
                    component, i, now,
                )  # fmt: skip
                if taker == run_ix:
                    selects = True
                    stays = lives
                elif lives:
                    _join(
                        steps, runs, control, tops, versions, members, version_of, partitions,
                        partition, ints, floats, valid, until, table, stamps, taker,
                    )  # fmt: skip
                else:
                    free_run(runs, control, taker)
            if stays and not selects and live > FEW_RUNS:
                link_run(runs, partitions, partition, run_ix)
            elif stays:
                _join(
                    steps, runs, control, tops, versions, members, version_of, partitions,
                    partition, ints, floats, valid, until, table, stamps, run_ix,
                )  # fmt: skip
            else:
                free_run(runs, control, run_ix)
            run_ix = following
        if bits & steps[0].begin_bit != 0:
            run_ix = new_run(runs, control)
            runs[run_ix].start = now
            runs[run_ix].head = NONE
            runs[run_ix].length = 0
            runs[run_ix].count = 1
            runs[run_ix].state = 0
            valid[run_ix] = 0
            for register in range(ints.shape[1]):
                ints[run_ix, register] = 0
            lives = False
            if not holds(steps[0].begin, control, i, run_ix, evaluations):
                control[0].runs_created -= 1
            elif last == 0 and single_last:
                _complete(control, tops, complete, NONE, NONE, event << TAG_SHIFT, now)
            else:
                version_of[run_ix] = initiated(versions, tops)
                _select(
                    runs, control, tops, entries, pointers, index, versions, version_of, stacks,
                    run_ix, partition, event, 0, 0, now,
                )  # fmt: skip
                update_registers(
                    updates, steps[0].begin_low, steps[0].begin_high, context, i, run_ix, ints,
                    floats, valid,
                )  # fmt: skip
                lives = _settle(
                    steps, control, tops, runs, complete, version_of, evaluations, run_ix, 0, i,
                    now,
                )  # fmt: skip
            if lives:
                _join(
                    steps, runs, control, tops, versions, members, version_of, partitions,
                    partition, ints, floats, valid, until, table, stamps, run_ix,
                )  # fmt: skip
            else:
                free_run(runs, control, run_ix)
    at[0] = len(mask)
    return DONE
