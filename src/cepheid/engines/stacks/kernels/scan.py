"""Sequence scan and construction with active instance stacks [Wu06 §3.2, §4].

The *scan* pushes an event on the stack of its component, if the stack of the previous component
has an instance that it can follow; the instance remembers the most recent of those, its RIP.
An event of the last component starts the *construction*: a search from it back, by RIP and
down the stacks, that binds one component at a time and tests a condition as soon as all its
variables are bound.

All instances are rows of one pool. A stack is a linked list of them; there is one for each
component and partition, and an empty one costs one number. The kernel is resumable: it returns
what it lacks, and continues in the middle of a search where it stopped.
"""

from __future__ import annotations

from cepheid.codegen.layout import SET_FLOAT
from cepheid.engines.base.kernels.registers import apply_updates
from cepheid.engines.base.layout import RegisterArrays
from cepheid.engines.stacks.kernels.pool import cut_before, cut_below
from cepheid.engines.stacks.layout import (
    DONE,
    NEED_OUTPUT,
    NEED_ROOM,
    NONE,
    Batch,
    Pool,
    Search,
    State,
    Tables,
    VariantState,
)
from cepheid.engines.stacks.variants.kernels.basic import add_cell, link_stacks, push_cell
from cepheid.engines.stacks.variants.kernels.multi_pais import has_common_instance, push_on_others
from cepheid.jit.decorators import I64, helper, kernel_of_widths, type_of
from cepheid.jit.drive import PAUSE
from cepheid.jit.pointers import call_predicate, highest_bit


@helper
def _bind_registers(tables, pool, registers, level, row):
    """Give the registers of the match the values of the instance."""
    ints, floats, valid = registers
    step = tables.steps[level]
    for u in range(step.begin_low, step.begin_high):
        register = tables.updates[u].register
        if tables.updates[u].operation == SET_FLOAT:
            floats[0, register] = pool.kept_floats[row, register]
        else:
            ints[0, register] = pool.kept_ints[row, register]
        bit = 1 << register
        valid[0] = (valid[0] & ~bit) | (pool.kept_valid[row] & bit)


@helper
def _agrees(keys, row, here):
    """Whether an instance has the values of the last event in all keys that are tested."""
    same = True
    for k in range(keys.shape[1]):
        same = same and keys[row, k] == here[k]
    return same


@helper
def _construct(tables, state, pool, search, found, first_event, now, pace):
    """Search back from the last event; DONE, or why the search has not ended.

    The search continues from component ``control.level``.
    """
    plan, control = tables.plan, state.control
    steps, instances, cursor, path = tables.steps, pool.instances, search.cursor, search.path
    window = plan[0].window
    in_window = plan[0].window_in_construction != 0
    dynamic = plan[0].dynamic != 0 and pool.instance_keys.shape[1] > 0
    selects = not in_window or (plan[0].dynamic == 0 and pool.instance_keys.shape[1] > 0)
    last = len(steps) - 1
    level = control[0].level
    matches, constructed = control[0].matches, control[0].constructed
    status, left = DONE, pace[0]
    while level < last:
        if left <= 0:
            status = PAUSE
            break
        left -= 1
        row = cursor[level]
        if row < 0 or (in_window and now - instances[row].start >= window):
            level += 1
            if level < last:
                cursor[level] = instances[cursor[level]].previous
            continue
        if dynamic and not _agrees(pool.instance_keys, row, search.here):
            cursor[level] = instances[row].previous
            continue
        if steps[level].begin_low < steps[level].begin_high:
            _bind_registers(tables, pool, search.registers, level, row)
        predicate = steps[level].begin
        if predicate >= 0:
            state.evaluations[predicate] += 1
            if call_predicate(plan[0].predicate, predicate, plan[0].context, 0, 0) == 0:
                cursor[level] = instances[row].previous
                continue
        path[level] = instances[row].event - first_event
        if level > 0:
            level -= 1
            cursor[level] = instances[row].rip
            continue
        if matches == found.shape[1]:
            status = NEED_OUTPUT
            break
        constructed += 1
        if not selects or _is_selected(plan, pool, search, last, now):
            for component in range(last + 1):
                found[component, matches] = path[component]
            matches += 1
        cursor[0] = instances[row].previous
    control[0].matches_found += matches - control[0].matches
    control[0].matches, control[0].constructed = matches, constructed
    control[0].level = NONE if status == DONE else level
    pace[0] = left
    return status


@helper
def _is_selected(plan, pool, search, last, now):
    """Whether a sequence is in the window, and its events agree in the keys that are tested.

    This is the operator *selection*, for what is not pushed down [Wu06 §3].
    """
    if now - pool.instances[search.cursor[0]].start >= plan[0].window:
        return False
    if plan[0].dynamic == 0:
        for component in range(last):
            if not _agrees(pool.instance_keys, search.cursor[component], search.here):
                return False
    return True


@helper
def _keep(tables, pool, here, row, component, event_ix):
    """Keep beside a new instance the values that later tests read."""
    for k in range(pool.instance_keys.shape[1]):
        pool.instance_keys[row, k] = here[k]
    kept = RegisterArrays(pool.kept_ints, pool.kept_floats, pool.kept_valid)
    _set_registers(tables, component, event_ix, row, kept)


@helper
def _set_registers(tables, component, event_ix, row, registers):
    """Give a row of registers the values of an event; other registers stay as they are."""
    step = tables.steps[component]
    low, high = step.begin_low, step.begin_high
    if low < high:
        apply_updates(tables.updates, low, high, tables.context, event_ix, row, registers)


@kernel_of_widths(
    lambda _row, rows: I64(
        type_of(Tables), type_of(State), type_of(Pool), type_of(Search), type_of(VariantState),
        type_of(Batch), rows,
    )
)  # fmt: skip
def advance_stacks(tables, state, pool, search, variant, batch, found):
    """Read events from ``span.next`` on; match m has event ``found[c, m]`` for component c."""
    plan, control, span = tables.plan, state.control, batch.span
    tops, instances, here = state.tops, pool.instances, search.here
    numbers, term_of = batch.numbers, batch.term_of
    first_event, pace = span[0].first_event, batch.pace
    components = len(tables.steps)
    last = components - 1
    window, in_scan = plan[0].window, plan[0].window_in_scan != 0
    pushed, multi, basic = plan[0].pushed, plan[0].multi != 0, plan[0].basic != 0
    by_partition = plan[0].by_partition != 0
    closing, negated = batch.closing, len(batch.closing.rows) > 0
    tested = plan[0].keys - pushed
    for i in range(span[0].next, len(batch.mask)):
        bits = batch.mask[i]
        if bits == 0 and not basic:
            continue
        span[0].next = i
        used = control[0].used
        if used + components > len(instances):
            return NEED_ROOM
        now, event = batch.axis[i], span[0].base_event + i
        # From the last component back, so that an event does not follow itself.
        while bits != 0:
            component = highest_bit(bits) >> 1
            bits &= ~(1 << (2 * component))
            partition = 0
            if pushed:
                partition = numbers[term_of[component, 0], i]
            known = partition >= 0
            for k in range(tested):
                number = numbers[term_of[component, k + pushed], i]
                here[k] = number
                known = known and number >= 0
            if not known:
                continue
            if by_partition:
                state.reached[partition] = now
            stack = partition * components + component
            top, start = NONE, now
            if negated and component > 0 and control[0].level < 0:
                cut_before(closing, instances, tops, stack - 1, component - 1, i)
            if component > 0 and control[0].level < 0:
                top = tops[stack - 1]
                if top < 0:
                    continue
                start = instances[top].start
                if in_scan and now - start >= window:
                    continue
                if multi:
                    if not has_common_instance(
                        tables, instances, variant, here, component, top, now, pace
                    ):
                        continue
                    # In a stack of another key the youngest starts are in no order.
                    start = now
            if component < last:
                row = control[0].used
                control[0].used = row + 1
                control[0].pushed += 1
                instances[row].event = event
                instances[row].start = start
                if negated:
                    cut_below(closing, instances, tops, stack, component, i, event)
                instances[row].previous = tops[stack]
                instances[row].rip = top
                instances[row].stack = stack
                tops[stack] = row
                _keep(tables, pool, here, row, component, i)
                if multi:
                    push_on_others(variant, here, row, component, components)
                if basic:
                    push_cell(tops, variant.cells, row, stack - component + last)
                continue
            if last == 0:
                match = control[0].matches
                if match == found.shape[1]:
                    return NEED_OUTPUT
                found[0, match] = event - first_event
                control[0].matches = match + 1
                control[0].matches_found += 1
                control[0].constructed += 1
                continue
            if control[0].level < 0:
                if basic:
                    cells, links = variant.cells, variant.links
                    link_stacks(plan, instances, cells, links, components, tops[stack], now, pace)
                    top = links[0, last - 1]
                search.cursor[last - 1] = top
                search.path[last] = event - first_event
                control[0].level = last - 1
            _set_registers(tables, last, i, 0, search.registers)
            status = _construct(tables, state, pool, search, found, first_event, now, pace)
            if status != DONE:
                return status
        if basic and control[0].used == used:
            partition = numbers[term_of[0, 0], i] if pushed else 0
            if partition >= 0:
                control[0].used = used + 1
                add_cell(instances, tops, variant.cells, used, partition * components + last, now)
        if pace[0] <= 0:
            span[0].next = i + 1
            return PAUSE
    span[0].next = len(batch.mask)
    return DONE
