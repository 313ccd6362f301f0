"""The runs of an NFA^b over a batch of events [Agrawal08 §3, §5].

A run is in one of two kinds of state: *waiting* for the first event of a component, or
*inside* a Kleene component. The events that a run has selected are a chain of nodes, from the
latest back to the first; runs with a common past share its nodes. What later predicates need
of selected events is kept beside, in registers (the value vector of §5.2).

Where runs are merged [§5.2.2], a run stands for all runs that have the same future: its chain
begins with a *union* of the chains of those that were merged. What runs find is written as
*finals*, from which :mod:`cepheid.matches.kernels.match_columns` lists the matches; where they are
only to be counted, no chain is kept but of where runs start.

Kernels are resumable: before each event there must be room for the most that it can add, or
the kernel returns what it lacks and where it stopped.
"""

from __future__ import annotations

from cepheid.codegen.layout import (
    ANY,
    CONTROL,
    DONE,
    FEW_RUNS,
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
    TAG_SHIFT,
    TOO_MANY_RUNS,
    UPDATE,
)
from cepheid.engines.base.kernels.registers import update_registers
from cepheid.engines.nfa_b.kernels.runs import (
    clone_run,
    free_all,
    free_run,
    join_run,
    link_run,
    new_run,
)
from cepheid.jit.decorators import F64S_2D, I64, I64S, I64S_2D, array_of, helper, kernel, small
from cepheid.jit.pointers import call_predicate
from cepheid.jit.window_edge import window_edge
from cepheid.matches.kernels.unions import chains_after


@small
def _holds(predicate, control, event_ix, run_ix, evaluations):
    if predicate < 0:
        return True
    evaluations[predicate] += 1
    c = control[0]
    return call_predicate(c.predicate, predicate, c.context, event_ix, run_ix) != 0


@small
def _select(runs, nodes, control, run_ix, event, component):
    """Add an event to the chain of a run."""
    previous = runs[run_ix].head
    if control[0].counts != 0 and (previous >= 0 or control[0].merging == 0):
        return
    node = control[0].top_node
    place = node - control[0].base_node
    nodes[place].tag = (event << TAG_SHIFT) | component
    nodes[place].previous = previous
    nodes[place].youngest = runs[run_ix].start
    if previous >= 0:
        before = previous - control[0].base_node
        nodes[place].oldest = nodes[before].oldest
        nodes[place].chains = nodes[before].chains
    else:
        nodes[place].oldest = runs[run_ix].start
        nodes[place].chains = 1.0
    control[0].top_node = node + 1
    control[0].nodes_created += 1
    runs[run_ix].head = node
    runs[run_ix].length += 1
    if runs[run_ix].length > control[0].longest:
        control[0].longest = runs[run_ix].length


@helper
def _emit(nodes, control, head, event, component, finals, stack, now):
    """Note the matches that end with this event after the chains of a node, or count them.

    Without a component the chains themselves are the matches.
    """
    after = window_edge(now, control[0].window)
    if control[0].counts != 0:
        control[0].counted += (
            chains_after(nodes, control[0].base_node, head, after, stack)
            if control[0].merging != 0
            else 1.0
        )
        return
    at = control[0].finals
    finals[at].head = head
    finals[at].tag = (event << TAG_SHIFT) | component if component >= 0 else NONE
    finals[at].after = after
    control[0].finals = at + 1


@helper
def _enter(
    steps, updates, context, control, runs, ints, floats, valid, nodes, finals, stack,
    evaluations, run_ix, component, event_ix, event, now,
):  # fmt: skip
    """A run takes its first event of a component; whether it lives on."""
    step = steps[component]
    last = component == len(steps) - 1
    _select(runs, nodes, control, run_ix, event, component)
    update_registers(
        updates, step.begin_low, step.begin_high, context, event_ix, run_ix, ints, floats, valid
    )
    if step.is_kleene == 0:
        runs[run_ix].state = 2 * (component + 1)
        return True
    runs[run_ix].count = 1
    return _settle(
        steps, control, runs, nodes, finals, stack, evaluations, run_ix, component,
        event_ix, last, now,
    )  # fmt: skip


@small
def _settle(
    steps, control, runs, nodes, finals, stack, evaluations, run_ix, component, event_ix,
    last, now,
):  # fmt: skip
    """A Kleene component has taken an event: a trailing one yields a match, a full one ends."""
    step = steps[component]
    count = runs[run_ix].count
    if last and count >= step.least and _holds(step.final, control, event_ix, run_ix, evaluations):
        _emit(nodes, control, runs[run_ix].head, 0, NONE, finals, stack, now)
    if count == step.most:
        runs[run_ix].state = 2 * (component + 1)
        return not last
    runs[run_ix].state = 2 * component + 1
    return True


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


_ADVANCE = I64(
    array_of(STEP), array_of(UPDATE), I64S, array_of(CONTROL), array_of(RUN), I64S_2D, F64S_2D,
    I64S, array_of(PARTITION), array_of(NODE), array_of(FINAL), I64S, I64S, I64S, I64S, I64S,
    I64S, I64S, I64S, I64, I64S,
)  # fmt: skip


@kernel(_ADVANCE)
def advance_runs(
    steps, updates, context, control, runs, ints, floats, valid, partitions, nodes, finals, stack,
    until, table, stamps, evaluations, mask, partition_of, axis, event_ix, stopped_at,
):  # fmt: skip
    """Read events from ``event_ix`` on; ``stopped_at[0]`` is the first that was not read."""
    c = control[0]
    strategy, window, base_event = c.strategy, c.window, c.base_event
    contiguous = strategy <= PARTITION_CONTIGUITY
    last = len(steps) - 1
    single_last = steps[last].is_kleene == 0
    first_bit = steps[0].begin_bit
    i = event_ix - 1
    while True:
        i = _next_event(mask, partition_of, partitions, first_bit, contiguous, i + 1)
        if i == len(mask):
            break
        bits = mask[i]
        partition = partition_of[i]
        live = partitions[partition].live
        stopped_at[0] = i
        if control[0].live + 2 * live + 1 > len(runs):
            return NEED_RUNS
        if control[0].top_node - control[0].base_node + 4 * live + 4 > len(nodes):
            return NEED_NODES
        if control[0].finals + live + 2 > len(finals):
            return NEED_FINALS
        control[0].stamp += 1
        found = control[0].finals
        now = axis[i]
        partitions[partition].now = now
        event = base_event + i
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
            state = runs[run_ix].state
            component = state >> 1
            inside = state & 1
            takes = False
            target = component
            begins = True
            if inside:
                step = steps[component]
                takes = bits & step.take_bit != 0 and _holds(
                    step.take, control, i, run_ix, evaluations
                )
                target = component + 1
                begins = target <= last and runs[run_ix].count >= step.least
            begins = (
                begins
                and bits & steps[target].begin_bit != 0
                and _holds(steps[target].begin, control, i, run_ix, evaluations)
            )
            stays = not contiguous and (strategy == ANY or inside == 1 or not begins)
            moved = False
            if begins:
                if target == last and single_last:
                    _emit(
                        nodes, control, runs[run_ix].head, event, target, finals, stack, now
                    )  # fmt: skip
                elif stays or takes:
                    copy = clone_run(runs, control, ints, floats, valid, run_ix)
                    if _enter(
                        steps, updates, context, control, runs, ints, floats, valid, nodes, finals,
                        stack, evaluations, copy, target, i, event, now,
                    ):  # fmt: skip
                        join_run(
                            steps, runs, control, nodes, partitions, partition, ints, floats,
                            valid, until, table, stamps, live, copy,
                        )  # fmt: skip
                    else:
                        free_run(runs, control, copy)
                else:
                    moved = True
                    stays = _enter(
                        steps, updates, context, control, runs, ints, floats, valid, nodes, finals,
                        stack, evaluations, run_ix, target, i, event, now,
                    )  # fmt: skip
            if takes:
                taker = run_ix
                if strategy == ANY:
                    taker = clone_run(runs, control, ints, floats, valid, run_ix)
                step = steps[component]
                _select(runs, nodes, control, taker, event, component)
                if step.take_low < step.take_high:
                    update_registers(
                        updates, step.take_low, step.take_high, context, i, taker, ints, floats,
                        valid,
                    )  # fmt: skip
                runs[taker].count += 1
                lives = _settle(
                    steps, control, runs, nodes, finals, stack, evaluations, taker,
                    component, i, component == last, now,
                )  # fmt: skip
                if strategy == ANY:
                    if lives:
                        join_run(
                            steps, runs, control, nodes, partitions, partition, ints, floats,
                            valid, until, table, stamps, live, taker,
                        )  # fmt: skip
                    else:
                        free_run(runs, control, taker)
                else:
                    moved = True
                    stays = lives
            if stays and not moved and live > FEW_RUNS:
                link_run(runs, partitions, partition, run_ix)
            elif stays:
                join_run(
                    steps, runs, control, nodes, partitions, partition, ints, floats, valid, until,
                    table, stamps, live, run_ix,
                )  # fmt: skip
            else:
                free_run(runs, control, run_ix)
            run_ix = following
        if bits & steps[0].begin_bit != 0:
            run_ix = new_run(runs, control)
            runs[run_ix].start = now
            runs[run_ix].head = NONE
            runs[run_ix].root = control[0].top_node
            runs[run_ix].length = 0
            runs[run_ix].count = 0
            valid[run_ix] = 0
            for register in range(ints.shape[1]):
                ints[run_ix, register] = 0
            if not _holds(steps[0].begin, control, i, run_ix, evaluations):
                control[0].runs_created -= 1
                free_run(runs, control, run_ix)
            elif last == 0 and single_last:
                _emit(nodes, control, NONE, event, 0, finals, stack, now)
                free_run(runs, control, run_ix)
            elif _enter(
                steps, updates, context, control, runs, ints, floats, valid, nodes, finals, stack,
                evaluations, run_ix, 0, i, event, now,
            ):  # fmt: skip
                join_run(
                    steps, runs, control, nodes, partitions, partition, ints, floats, valid, until,
                    table, stamps, live, run_ix,
                )  # fmt: skip
            else:
                free_run(runs, control, run_ix)
        if control[0].prunes != 0 and control[0].finals > found:
            free_all(runs, control, partitions, partition)
        if control[0].live > control[0].max_runs:
            stopped_at[0] = i + 1
            return TOO_MANY_RUNS
    stopped_at[0] = len(mask)
    return DONE


@kernel(I64(array_of(CONTROL), array_of(RUN), array_of(PARTITION), I64, I64))
def expire_runs(control, runs, partitions, now, by_partition):
    """Free the runs whose window has passed in every partition; how many there were.

    Where ``by_partition``, each partition has got to a place of its own on the axis that the
    window measures; otherwise all have got to ``now``.
    """
    window = control[0].window
    before = control[0].live
    for partition in range(len(partitions)):
        run_ix = partitions[partition].first
        if run_ix < 0:
            continue
        here = partitions[partition].now if by_partition else now
        partitions[partition].first = NONE
        partitions[partition].live = 0
        while run_ix >= 0:
            following = runs[run_ix].next
            if here - runs[run_ix].start >= window:
                control[0].runs_expired += 1
                free_run(runs, control, run_ix)
            else:
                link_run(runs, partitions, partition, run_ix)
            run_ix = following
    return before - control[0].live


@kernel(I64(array_of(CONTROL), array_of(RUN), array_of(NODE)))
def drop_nodes(control, runs, nodes):
    """Forget the nodes before the first one that a live run can reach; how many there were."""
    oldest = control[0].top_node
    for run_ix in range(len(runs)):
        if runs[run_ix].state >= 0 and runs[run_ix].root < oldest:
            oldest = runs[run_ix].root
    shift = oldest - control[0].base_node
    kept = control[0].top_node - oldest
    for place in range(kept):
        nodes[place] = nodes[place + shift]
    control[0].base_node = oldest
    return shift
