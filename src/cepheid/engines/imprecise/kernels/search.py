"""Event-based evaluation over uncertainty intervals: signatures in query order [Zhang10 §5.1].

The events that can belong to a component are listed in the order of their lower bounds, so that
those of an earlier component are always at hand when a later one needs them: this is what
sorting the stream into query order gives [Zhang10 §B.3]. A path of events grows from the first
component to the last; one whose events cannot all lie in order in one window is left at once.
"""

from __future__ import annotations

from cepheid.codegen.layout import NONE, STEP, TAG_SHIFT, UPDATE
from cepheid.engines.base.kernels.registers import update_registers
from cepheid.engines.imprecise.kernels.interval_masses import (
    FAR,
    first_bound,
    first_from,
    mass_until,
)
from cepheid.jit.decorators import F64S, F64S_2D, I64, I64S, I64S_2D, array_of, helper, kernel
from cepheid.jit.pointers import call_predicate

# What a search is told and where it is: the fields of its control array.
(
    WINDOW, IS_NEXT, PREDICATE, CONTEXT, LEAST_TIME, ONLY_FRESH, PARTITION, DEPTH, IDS, MATCHES,
    PATHS, CONTROL_SIZE,
) = range(12)  # fmt: skip

SEARCHED, NEED_OUTPUT, NEED_DEPTH, NEED_RUNS = 0, 1, 2, 3

TAKE, BEGIN, OVER = 0, 1, 2
"""What a path looks for: one more event of its last component, one of the next, or nothing."""


@helper
def copy_registers(row, ints, floats, valid):
    """Give row + 1 the registers of the row."""
    for register in range(ints.shape[1]):
        ints[row + 1, register] = ints[row, register]
    for register in range(floats.shape[1]):
        floats[row + 1, register] = floats[row, register]
    valid[row + 1] = valid[row]


@helper
def _upper_confidence(path, vlb, depth, lower, upper, mass_at, masses, last):
    """No match that goes on from this path has a higher confidence.

    Every event must lie where the order and the window leave it room; ``last`` is the latest
    time of the newest one.
    """
    share = 1.0
    bound = last + 1
    for i in range(depth, -1, -1):
        event = path[i]
        bound = min(bound - 1, upper[event])
        share *= mass_until(lower, upper, mass_at, masses, event, bound) - mass_until(
            lower, upper, mass_at, masses, event, vlb[i] - 1
        )
    return share


@helper
def _open(depth, option, steps, component, count, vlb, candidates, index, partition, reach, lower,
          options, cursors, nelts):  # fmt: skip
    """Let a path of this length look for the next event from ``option`` on."""
    here = component[depth - 1]
    if option == TAKE and (not steps[here].is_kleene or count[depth - 1] >= steps[here].most):
        option = BEGIN
    if option == BEGIN and (
        here == len(steps) - 1 or (steps[here].is_kleene and count[depth - 1] < steps[here].least)
    ):
        option = OVER
    options[depth] = option
    if option == OVER:
        return
    row = 2 * here + 1 if option == TAKE else 2 * here + 2
    cursors[depth] = first_from(
        candidates, index[row, partition], index[row, partition + 1], lower,
        vlb[depth - 1] + 1 - reach[row],
    )  # fmt: skip
    nelts[depth] = FAR


@kernel(
    I64(
        I64S, I64S, I64S, I64S, F64S, I64S, I64S_2D, I64S, array_of(STEP), array_of(UPDATE), I64S,
        I64S_2D, F64S_2D, I64S, I64S, I64S_2D, F64S, I64S, I64S,
    )
)  # fmt: skip
def search_in_query_order(
    control, lower, upper, mass_at, masses, candidates, index, reach, steps, updates, context,
    ints, floats, valid, fresh, paths, least_confidence, ids, offsets,
):  # fmt: skip
    """Write the signatures whose events can be in order in one window; resumes where it stopped.

    ``candidates[index[r, p]:index[r, p + 1]]`` are the events of partition p that can be the
    first (r = 2c) or a later one (r = 2c + 1) of component c; ``reach[r]`` is the longest of
    their intervals. Under skip_till_next_match a path is extended by an event only up to the
    NELT, the end of the first event that is sure to come in between [Zhang10 §4].
    """
    window, is_next = control[WINDOW], control[IS_NEXT] != 0
    predicate, context_address = control[PREDICATE], control[CONTEXT]
    partition, depth = control[PARTITION], control[DEPTH]
    last_component = len(steps) - 1
    path, component, count, vlb = paths[0], paths[1], paths[2], paths[3]
    first, options, cursors, nelts, freshness = paths[4], paths[5], paths[6], paths[7], paths[8]
    written, matches = control[IDS], control[MATCHES]
    status = SEARCHED
    offsets[0] = 0
    last = steps[last_component]
    is_simple = not last.is_kleene and last.final == NONE and least_confidence[0] <= 0.0
    while partition < index.shape[1] - 1:
        if depth < 0:
            depth = 0
            options[0], cursors[0] = BEGIN, index[0, partition]
            valid[0] = 0
            for register in range(ints.shape[1]):
                ints[0, register] = 0
        if options[depth] == OVER:
            depth -= 1
            if depth < 0:
                partition += 1
            continue
        if depth + 2 >= paths.shape[1]:
            status = NEED_DEPTH
            break
        if written + depth + 1 > len(ids) or matches + 2 > len(offsets):
            status = NEED_OUTPUT
            break
        here = 0 if depth == 0 else component[depth - 1] + (options[depth] == BEGIN)
        row = 2 * here + (options[depth] == TAKE)
        limit = FAR if depth == 0 else min(first[depth - 1] + window - 1, nelts[depth])
        if cursors[depth] == index[row, partition + 1] or lower[candidates[cursors[depth]]] > limit:
            if depth == 0 or options[depth] == BEGIN:
                options[depth] = OVER
            else:
                _open(
                    depth, BEGIN, steps, component, count, vlb, candidates, index, partition,
                    reach, lower, options, cursors, nelts,
                )  # fmt: skip
            continue
        event = candidates[cursors[depth]]
        cursors[depth] += 1
        earliest = lower[event]
        if depth == 0:
            if upper[event] + window - 1 < control[LEAST_TIME]:
                continue
        else:
            earliest = max(earliest, vlb[depth - 1] + 1)
            if upper[event] < earliest:
                continue
            is_used = False
            for i in range(depth):
                if path[i] == event:
                    is_used = True
                    break
            if is_used:
                continue
        step = steps[here]
        test = step.take if options[depth] == TAKE else step.begin
        if test != NONE and call_predicate(predicate, test, context_address, event, depth) == 0:
            continue
        if is_next and depth > 0 and lower[event] > upper[path[depth - 1]]:
            nelts[depth] = min(nelts[depth], upper[event])
        if here == last_component and depth > 0 and is_simple:
            # It lies behind the others and in their window: that is all, unless they fill it.
            if depth < window and vlb[depth - 1] + 1 <= first[depth - 1] + window - 1:
                control[PATHS] += 1
                if fresh[event] | freshness[depth - 1] != 0 or control[ONLY_FRESH] == 0:
                    path[depth], component[depth] = event, here
                    for i in range(depth + 1):
                        ids[written + i] = (path[i] << TAG_SHIFT) | component[i]
                    written += depth + 1
                    matches += 1
                    offsets[matches] = written
            continue
        bound = upper[event]
        if depth > 0:
            bound = first_bound(path, vlb, depth, upper, event, earliest, window)
            if bound == -FAR:
                continue
        path[depth], component[depth], vlb[depth], first[depth] = event, here, earliest, bound
        count[depth] = count[depth - 1] + 1 if options[depth] == TAKE else 1
        freshness[depth] = fresh[event] | (freshness[depth - 1] if depth > 0 else 0)
        if least_confidence[0] > 0.0 and depth > 0:
            latest = min(upper[event], bound + window - 1)
            share = _upper_confidence(path, vlb, depth, lower, upper, mass_at, masses, latest)
            if share < least_confidence[0]:
                continue
        control[PATHS] += 1
        copy_registers(depth, ints, floats, valid)
        if options[depth] == TAKE:
            low, high = step.take_low, step.take_high
        else:
            low, high = step.begin_low, step.begin_high
        update_registers(updates, low, high, context, event, depth + 1, ints, floats, valid)
        depth += 1
        _open(
            depth, TAKE, steps, component, count, vlb, candidates, index, partition, reach,
            lower, options, cursors, nelts,
        )  # fmt: skip
        if (
            here == last_component
            and (not step.is_kleene or count[depth - 1] >= step.least)
            and (freshness[depth - 1] != 0 or control[ONLY_FRESH] == 0)
            and (
                step.final == NONE
                or call_predicate(predicate, step.final, context_address, event, depth) != 0
            )
        ):
            for i in range(depth):
                ids[written + i] = (path[i] << TAG_SHIFT) | component[i]
            written += depth
            matches += 1
            offsets[matches] = written
    control[PARTITION], control[DEPTH] = partition, depth
    control[IDS], control[MATCHES] = written, matches
    return status
