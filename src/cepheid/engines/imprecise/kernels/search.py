"""Event-based evaluation over uncertainty intervals: signatures in query order [Zhang10 §5.1].

The events that can belong to a component are listed in the order of their lower bounds, so that
those of an earlier component are always at hand when a later one needs them: this is what
sorting the stream into query order gives [Zhang10 §B.3]. A path of events grows from the first
component to the last; a path is dropped as soon as its events
cannot all lie in order in one window.
"""

from __future__ import annotations

from cepheid.codegen.layout import NONE, TAG_SHIFT
from cepheid.engines.base.kernels.conditions import (
    Conditions,
    clear_registers,
    copy_registers,
    holds,
    select_event,
)
from cepheid.engines.imprecise import layout
from cepheid.engines.imprecise.kernels.interval_masses import (
    FAR,
    first_bound,
    first_reaching,
    mass_between,
)
from cepheid.engines.imprecise.layout import Batch, Signatures
from cepheid.jit.decorators import F64S, I64, I64S, I64S_2D, helper, kernel, type_of
from cepheid.jit.drive import DONE, PAUSE

TAKE, BEGIN, OVER = 0, 1, 2
"""What a path looks for: one more event of its last component, one of the next, or nothing."""

(
    _EVENT, _COMPONENT, _COUNT, _VLB, _FIRST, _OPTION, _CURSOR, _NELT, _FRESHNESS, PATH_ROWS,
) = range(10)  # fmt: skip
"""The rows of the numbers of a path, which has a column for each event."""


@helper
def _upper_confidence(path, vlb, depth, intervals, last):
    """No match that extends this path has a higher confidence.

    Every event must lie where the order and the window leave it room; ``last`` is the latest
    time of the newest one.
    """
    share = 1.0
    bound = last + 1
    for i in range(depth, -1, -1):
        event = path[i]
        bound = min(bound - 1, intervals.upper[event])
        share *= mass_between(intervals, event, vlb[i], bound)
    return share


@helper
def _open(depth, option, steps, paths, batch, partition):
    """Let a path of this length look for the next event from ``option`` on.

    What a list can take bounds the next component too.
    """
    candidates, lower = batch.candidates, batch.intervals.lower
    here, count = paths[_COMPONENT, depth - 1], paths[_COUNT, depth - 1]
    if option == TAKE and (not steps[here].is_kleene or count >= steps[here].most):
        option = BEGIN
    if option == BEGIN and (
        here == len(steps) - 1 or (steps[here].is_kleene and count < steps[here].least)
    ):
        option = OVER
    paths[_OPTION, depth] = option
    if option == OVER:
        return
    row = 2 * here + 1 if option == TAKE else 2 * here + 2
    paths[_CURSOR, depth] = first_reaching(
        candidates, row, partition, lower, paths[_VLB, depth - 1] + 1
    )
    if option == TAKE or not steps[here].is_kleene or count >= steps[here].most:
        paths[_NELT, depth] = batch.nelt[paths[_EVENT, depth - 1]] if len(batch.nelt) > 0 else FAR


@kernel(
    I64(I64S, type_of(Batch), type_of(Conditions), I64S_2D, F64S, type_of(Signatures))
)  # fmt: skip
def search_in_query_order(control, batch, conditions, paths, least_confidence, out):
    """Write the signatures whose events can be in order in one window; resumes where it stopped.

    If a path takes the next event, one extends it only up to the NELT, the end of the first event
    that is certain to come in between [Zhang10 §4].
    """
    window, is_next = control[layout.WINDOW], control[layout.IS_NEXT] != 0
    intervals, candidates, fresh = batch.intervals, batch.candidates, batch.fresh
    lower, upper = intervals.lower, intervals.upper
    places, borders, steps = candidates.places, candidates.borders, conditions.steps
    ids, offsets = out.ids, out.offsets
    partition, depth = control[layout.PARTITION], control[layout.DEPTH]
    last_component = len(steps) - 1
    path, component, count, vlb = paths[_EVENT], paths[_COMPONENT], paths[_COUNT], paths[_VLB]
    first, options, cursors = paths[_FIRST], paths[_OPTION], paths[_CURSOR]
    nelts, freshness = paths[_NELT], paths[_FRESHNESS]
    written, matches = control[layout.IDS], control[layout.MATCHES]
    status = DONE
    offsets[0] = 0
    last = steps[last_component]
    is_simple = not last.is_kleene and last.final == NONE and least_confidence[0] <= 0.0
    left = batch.pace[0]
    while partition < borders.shape[1] - 1:
        if left <= 0:
            status = PAUSE
            break
        left -= 1
        if depth < 0:
            depth = 0
            options[0], cursors[0] = BEGIN, borders[0, partition]
            clear_registers(conditions, 0)
        if options[depth] == OVER:
            depth -= 1
            if depth < 0:
                partition += 1
            continue
        if depth + 2 >= paths.shape[1]:
            status = layout.NEED_DEPTH
            break
        if written + depth + 1 > len(ids) or matches + 2 > len(offsets):
            status = layout.NEED_OUTPUT
            break
        here = 0 if depth == 0 else component[depth - 1] + (options[depth] == BEGIN)
        row = 2 * here + (options[depth] == TAKE)
        limit = FAR if depth == 0 else min(first[depth - 1] + window - 1, nelts[depth])
        if cursors[depth] == borders[row, partition + 1] or lower[places[cursors[depth]]] > limit:
            if depth == 0 or options[depth] == BEGIN:
                options[depth] = OVER
            else:
                _open(depth, BEGIN, steps, paths, batch, partition)
            continue
        event = places[cursors[depth]]
        cursors[depth] += 1
        earliest = lower[event]
        if depth == 0:
            if upper[event] + window - 1 < control[layout.LEAST_TIME]:
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
        if not holds(conditions, test, event, depth):
            continue
        if is_next and depth > 0 and lower[event] > upper[path[depth - 1]]:
            before = steps[component[depth - 1]]
            if options[depth] == TAKE or not before.is_kleene or count[depth - 1] >= before.most:
                nelts[depth] = min(nelts[depth], upper[event])
        if here == last_component and depth > 0 and is_simple:
            # It lies behind the others and in their window: that is all, unless they fill it.
            if depth < window and vlb[depth - 1] + 1 <= first[depth - 1] + window - 1:
                control[layout.PATHS] += 1
                if fresh[event] | freshness[depth - 1] != 0 or control[layout.ONLY_FRESH] == 0:
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
            share = _upper_confidence(path, vlb, depth, intervals, latest)
            if share < least_confidence[0]:
                continue
        control[layout.PATHS] += 1
        copy_registers(conditions, depth, depth + 1)
        select_event(conditions, here, options[depth] == TAKE, event, depth + 1)
        depth += 1
        _open(depth, TAKE, steps, paths, batch, partition)
        if (
            here == last_component
            and (not step.is_kleene or count[depth - 1] >= step.least)
            and (freshness[depth - 1] != 0 or control[layout.ONLY_FRESH] == 0)
            and holds(conditions, step.final, event, depth)
        ):
            for i in range(depth):
                ids[written + i] = (path[i] << TAG_SHIFT) | component[i]
            written += depth
            matches += 1
            offsets[matches] = written
    control[layout.PARTITION], control[layout.DEPTH] = partition, depth
    control[layout.IDS], control[layout.MATCHES] = written, matches
    return status
