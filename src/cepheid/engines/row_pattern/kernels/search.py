"""The search for matches: backtracking in preference order, with an explicit stack.

A frame of the stack is a state of the automaton that was entered at a row. Its edges are tried in
order. If the state has a loop that is run through, its other edges are tried at each row of the
loop: those before the loop (it is reluctant) forwards, and then those after it (it is greedy)
backwards. Rows whose mask has none of their bits are skipped.
"""

from __future__ import annotations

from cepheid.engines.row_pattern.kernels.matched_rows import (
    fill_slots,
    is_true,
    take_back,
    take_row,
)
from cepheid.engines.row_pattern.kernels.memo import (
    MEMO_AFTER,
    failed_from,
    filler_failure,
    is_failed,
    is_plain_failed,
    move_plain,
    store_failure,
    store_plain,
)
from cepheid.engines.row_pattern.layout import (
    AT_END,
    AT_START,
    DEPTH,
    DIRTY,
    EXCLUDED,
    GROUPS_FULL,
    IS_FOUND,
    KEYED_FULL,
    KEYED_MOST,
    KEYED_USED,
    LABELS,
    LABELS_FULL,
    MATCH_NUMBER,
    MATCHES,
    MATCHES_FULL,
    MEMO_BASE,
    MEMO_FULL,
    MEMO_MOST,
    NEED,
    NO_TARGET,
    NONE,
    PARTITION,
    PAST_LAST_ROW,
    PLAIN,
    STACK_FULL,
    START_ROW,
    STEPS,
    TO_LAST,
    TO_NEXT_ROW,
    TOO_LONG,
    Output,
    Program,
    Search,
    SortedRows,
)
from cepheid.jit.decorators import I64, I64S, helper, inlined, kernel, type_of
from cepheid.jit.drive import DONE, PAUSE

_FOUND, _FAILED, _OPEN = 100, 101, 102
_COMPLETE, _MORE, _CLOSED = 0, 1, 2
"""What is after the known rows: nothing, rows to come, or rows to come that WITHIN excludes."""


@inlined
def _lacks(program, search, depth):
    """What has to grow before the next step, or DONE."""
    progress, frame = search.progress, search.frames[depth - 1]
    if depth == len(search.frames):
        return STACK_FULL
    if len(program.members) and frame.at - progress[START_ROW] + 1 >= search.groups.shape[1]:
        return GROUPS_FULL
    if progress[STEPS] > MEMO_AFTER:
        state = program.states[frame.state]
        rows = search.plain.shape[0]
        if (
            state.memo == PLAIN
            and state.is_filler == 0
            and frame.top >= progress[MEMO_BASE] + rows
            and rows < progress[MEMO_MOST]
        ):
            return MEMO_FULL
        entries = search.keyed.shape[0]
        if 2 * progress[KEYED_USED] >= entries and entries < progress[KEYED_MOST]:
            return KEYED_FULL
    return DONE


@helper
def _bounded(program, rows, search, state, row, top, low, high):
    """The last row where an edge beside the loop can take a row, or a later one, up to ``top``."""
    described, furthest = program.states[state], row
    for each in range(described.low, described.high):
        if each == described.loop:
            continue
        variable = program.edges[each].variable
        bound = program.variables[variable].bound
        fill_slots(program, search, variable, low, high)
        # Find a row from which on none can be taken, near to the first such row.
        possible, step, at = row - 1, 1, row
        while at < top and not is_true(program, rows, bound, at):
            possible, at, step = at, at + step, 2 * step
        at = min(at, top)
        while at - possible > 1:
            middle = (at + possible) // 2
            if is_true(program, rows, bound, middle):
                at = middle
            else:
                possible = middle
        furthest = max(furthest, at)
    return furthest


@inlined
def _mark_end(search, depth, span):
    """The rows are at an end: because of WITHIN, or since no more are known; whether it is open."""
    _, high, limit, ending, _ = span
    if limit < high or ending == _CLOSED:
        search.progress[DIRTY] = depth
        return False
    return ending == _MORE


@inlined
def _enter(program, rows, search, state, row, span):
    """Put a frame on the stack unless it is known to fail; whether the end of rows is open.

    ``span`` is where the known rows of the partition begin and end, the first row that WITHIN
    excludes, what comes after the known rows, and where the partition begins.
    """
    low, high, limit, _, _ = span
    progress, depth = search.progress, search.progress[DEPTH]
    first = program.states[state].first
    if row < limit and first != NONE and rows.masks[row] & first == 0:
        return False
    if is_failed(program, search, state, row, depth):
        return False
    described, frame = program.states[state], search.frames[depth]
    progress[DEPTH] = depth + 1
    frame.state, frame.row, frame.at, frame.edge = state, row, row, described.low
    top = row
    if described.loop != NONE:
        if described.is_filler != 0:
            top = limit
            place = filler_failure(program, search, state)
            if place != NONE:
                failing, is_dirty = failed_from(search, place)
                if failing - 1 < top:
                    top = failing - 1
                    if is_dirty:
                        progress[DIRTY] = depth + 1
            if described.is_bounded != 0:
                top = _bounded(program, rows, search, state, row, top, low, high)
        else:
            bit = 1 << program.edges[described.loop].variable
            while top < limit and rows.masks[top] & bit != 0:
                top += 1
                if is_plain_failed(search, state, top):
                    top -= 1
                    break
            progress[STEPS] += top - row
        if described.low == described.loop:
            if top == limit and _mark_end(search, depth + 1, span):
                return True
            frame.at, frame.edge = top, described.loop + 1
    frame.top = top
    return False


@inlined
def _explore(program, rows, search, pace, span):
    """Search from the frames on the stack: found, failed, open, or what is lacking."""
    low, high, limit, _, origin = span
    progress, frames, masks = search.progress, search.frames, rows.masks
    has_groups = len(program.members) > 0 or len(search.path) > 0
    while progress[DEPTH] > 0:
        depth = progress[DEPTH]
        pace[0] -= 1
        if pace[0] < 0:
            return PAUSE
        lacking = _lacks(program, search, depth)
        if lacking != DONE:
            return lacking
        frame = frames[depth - 1]
        state = program.states[frame.state]
        e, at = frame.edge, frame.at
        if e == state.loop:
            if at < frame.top:
                at += 1
                while at < frame.top and masks[at] & state.before == 0:
                    at += 1
                frame.at, frame.edge = at, state.low
                continue
            if at == limit and _mark_end(search, depth, span):
                return _OPEN
            frame.edge = e + 1
            continue
        if e == state.high:
            if state.loop != NONE and at > frame.row and state.loop + 1 < state.high:
                tried = at
                at -= 1
                while at > frame.row and masks[at] & state.after == 0:
                    at -= 1
                if (
                    state.is_filler == 0
                    and progress[STEPS] > MEMO_AFTER
                    and progress[DIRTY] < depth
                ):
                    store_plain(search, frame.state, at + 1, tried + 1)
                frame.at, frame.edge = at, state.loop + 1
                continue
            store_failure(program, search, frame, progress[DIRTY] >= depth)
            progress[DEPTH] = depth - 1
            progress[DIRTY] = min(progress[DIRTY], depth - 1)
            if has_groups and depth > 1:
                take_back(program, search, program.edges[frames[depth - 2].edge - 1].variable)
            continue
        edge = program.edges[e]
        progress[STEPS] += 1
        if progress[STEPS] > program.max_steps:
            return TOO_LONG
        frame.edge = e + 1
        if edge.anchors != 0:
            if edge.anchors & AT_START != 0 and at != origin:
                continue
            if edge.anchors & AT_END != 0 and at != high:
                continue
        variable = edge.variable
        if variable == NONE:
            return _FOUND
        search.tests[variable] += 1
        if at >= limit:
            if _mark_end(search, depth, span):
                return _OPEN
            continue
        if (masks[at] >> variable) & 1 == 0:
            continue
        if has_groups:
            take_row(program, rows, search, variable, at)
        predicate = program.variables[variable].predicate
        if predicate != NONE:
            fill_slots(program, search, variable, low, high)
            if not is_true(program, rows, predicate, at):
                if has_groups:
                    take_back(program, search, variable)
                continue
        if _enter(program, rows, search, edge.target, at + 1, span):
            return _OPEN
        if has_groups and progress[DEPTH] == depth:
            take_back(program, search, variable)
    return _FAILED


@inlined
def _write(program, search, output):
    """Write the match on the stack, and find where matching goes on: DONE, or what is lacking."""
    progress, frames = search.progress, search.frames
    start, depth = progress[START_ROW], progress[DEPTH]
    length = frames[depth - 1].at - start
    match, label = progress[MATCHES], progress[LABELS]
    if match == len(output.starts):
        return MATCHES_FULL
    if label + length > len(output.labels):
        progress[NEED] = label + length
        return LABELS_FULL
    for each in range(depth):
        frame = frames[each]
        state = program.states[frame.state]
        if state.loop != NONE:
            edge = program.edges[state.loop]
            value = edge.variable | (EXCLUDED if edge.is_excluded != 0 else 0)
            for _ in range(frame.row, frame.at):
                output.labels[label] = value
                label += 1
        if each < depth - 1:
            edge = program.edges[frame.edge - 1]
            value = edge.variable | (EXCLUDED if edge.is_excluded != 0 else 0)
            output.labels[label] = value
            label += 1
    output.starts[match], output.ends[match] = start, label
    output.numbers[match], output.partitions[match] = progress[MATCH_NUMBER], progress[PARTITION]
    first = progress[LABELS]
    progress[MATCHES], progress[LABELS] = match + 1, label
    progress[MATCH_NUMBER] += 1
    progress[DEPTH] = 0
    progress[IS_FOUND] = 0
    for group in range(len(search.counts)):
        search.counts[group] = 0
    if length == 0 or program.skip == TO_NEXT_ROW:
        progress[START_ROW] = start + 1
        return DONE
    if program.skip == PAST_LAST_ROW:
        progress[START_ROW] = start + length
        return DONE
    target = NONE
    for each in range(first, label):
        if (program.skip_to >> (output.labels[each] & ~EXCLUDED)) & 1 != 0:
            target = start + each - first
            if program.skip != TO_LAST:
                break
    progress[NEED] = target
    if target == NONE or target == start:
        return NO_TARGET
    progress[START_ROW] = target
    return DONE


@inlined
def _next_partition(rows, search, output, at):
    """Close a partition, whose outcomes are open from a row on, and begin the next one."""
    progress = search.progress
    partition = progress[PARTITION]
    output.opens[partition] = at
    depth = progress[DEPTH]
    output.open_states[partition] = search.frames[depth - 1].state if depth > 0 else NONE
    output.next_numbers[partition] = progress[MATCH_NUMBER]
    progress[PARTITION] = partition + 1
    progress[DEPTH] = 0
    for group in range(len(search.counts)):
        search.counts[group] = 0
    _begin_partition(rows, search)


@inlined
def _begin_partition(rows, search):
    progress = search.progress
    partition = progress[PARTITION]
    if partition < len(rows.first):
        progress[START_ROW] = rows.first[partition]
        progress[MATCH_NUMBER] = rows.numbers[partition]


@kernel(I64(type_of(Program), type_of(SortedRows), type_of(Search), type_of(Output), I64S))
def find_matches(program, rows, search, output, pace):
    """Find the matches of all partitions; the state of the search is in ``search``.

    ``progress`` begins with zeros, and PARTITION with NONE.
    """
    progress, masks = search.progress, rows.masks
    starts, seconds = program.starts, program.seconds
    if progress[PARTITION] == NONE:
        progress[PARTITION] = 0
        _begin_partition(rows, search)
    while progress[PARTITION] < len(rows.first):
        partition = progress[PARTITION]
        low, high = rows.offsets[partition], rows.offsets[partition + 1]
        is_new = progress[DEPTH] == 0
        if is_new:
            start = progress[START_ROW]
            if starts != NONE:
                while start < high and (
                    masks[start] & starts == 0
                    or (seconds != NONE and start + 1 < high and masks[start + 1] & seconds == 0)
                ):
                    start += 1
            pace[0] -= 1
            progress[START_ROW] = start
            if start >= high:
                _next_partition(rows, search, output, start)
                continue
        limit = high if program.has_window == 0 else rows.ends[progress[START_ROW]]
        ending = _COMPLETE
        if rows.is_complete == 0:
            is_closed = program.has_window != 0 and rows.is_closed[progress[START_ROW]]
            ending = _CLOSED if is_closed else _MORE
        span = (low, high, limit, ending, rows.origins[partition])
        status = _FOUND
        if is_new:
            move_plain(search, start)
            search.tests[:] = 0
            progress[STEPS] = progress[DIRTY] = 0
            if _enter(program, rows, search, program.initial, start, span):
                status = _OPEN
        if progress[IS_FOUND] == 0 and status != _OPEN:
            status = _explore(program, rows, search, pace, span)
        if status == _FAILED:
            progress[START_ROW] += 1
        elif status == _OPEN:
            _next_partition(rows, search, output, progress[START_ROW])
        elif status == _FOUND:
            progress[IS_FOUND] = 1
            status = _write(program, search, output)
            if status != DONE:
                return status
        else:
            return status
    return DONE
