"""What predicates see of the rows already matched: rows of groups of variables, and folds.

A group has a stack of its rows, and a fold the value after each of them. To take back a row, the
stack is made shorter.
"""

from __future__ import annotations

from cepheid.engines.row_pattern.kernels.memo import row_of
from cepheid.engines.row_pattern.layout import (
    COUNT,
    FIRST_SLOT,
    FOLD,
    FOLD_COUNT,
    FOLD_DEVIATIONS,
    FOLD_MAX,
    FOLD_MIN,
    FOLD_SUM,
    FOLD_TOTAL,
    HIGH_SLOT,
    LOW_SLOT,
    MATCH_NUMBER,
    NUMBER_SLOT,
    START_ROW,
    START_SLOT,
)
from cepheid.jit.decorators import helper, inlined
from cepheid.jit.pointers import byte_pointer, call_predicate, float64_pointer, int64_pointer


@inlined
def carried(before, added):
    """What an addition of int64 overflows by: 1, 0 or -1 times 2**64."""
    after = before + added
    if ((before ^ after) & (added ^ after)) >= 0:
        return 0
    return 1 if added > 0 else -1


@helper
def update_fold(rows, search, fold, row, index):
    """Compute a fold after the row, which is the row of its group with this index."""
    described = rows.folds[fold]
    values, floats, known = search.values, search.float_values, search.known
    extras, means = search.extras, search.float_extras
    known[fold, index] = values[fold, index] = extras[fold, index] = 0
    if index > 0:
        known[fold, index] = known[fold, index - 1]
        values[fold, index] = values[fold, index - 1]
        extras[fold, index] = extras[fold, index - 1]
    if described.valid != 0 and byte_pointer(described.valid)[row] == 0:
        return
    is_first = known[fold, index] == 0
    known[fold, index] += 1
    operation = described.operation
    if operation == FOLD_COUNT:
        return
    if described.is_float != 0:
        real = float64_pointer(described.values)[row]
        whole = 0
    else:
        whole = int64_pointer(described.values)[row]
        real = float(whole)
    if operation == FOLD_DEVIATIONS:
        mean = real if is_first else means[fold, index]
        after = mean + (real - mean) / known[fold, index]
        before = 0.0 if is_first else floats[fold, index]
        floats[fold, index] = before + (real - mean) * (real - after)
        means[fold, index] = after
    elif operation == FOLD_TOTAL or (operation == FOLD_SUM and described.is_float != 0):
        floats[fold, index] = real if is_first else floats[fold, index] + real
    elif operation == FOLD_SUM:
        extras[fold, index] += carried(values[fold, index], whole)
        values[fold, index] += whole
    elif described.is_float != 0:
        old = floats[fold, index]
        if (
            is_first
            or (operation == FOLD_MIN and real < old)
            or (operation == FOLD_MAX and real > old)
        ):
            floats[fold, index] = real
    else:
        older = values[fold, index]
        if (
            is_first
            or (operation == FOLD_MIN and whole < older)
            or (operation == FOLD_MAX and whole > older)
        ):
            values[fold, index] = whole


@inlined
def take_row(program, rows, search, variable, row):
    """Add a row to the groups of its variable."""
    described = program.variables[variable]
    for each in range(described.groups_low, described.groups_high):
        group = program.members[each]
        count = search.counts[group]
        search.groups[group, count] = row
        search.counts[group] = count + 1
        for fold in range(program.group_folds[group], program.group_folds[group + 1]):
            update_fold(rows, search, fold, row, count)
    if len(search.path):
        search.path[row] = program.label_codes[variable]


@inlined
def take_back(program, search, variable):
    """Remove the last row of a variable from its groups."""
    described = program.variables[variable]
    for each in range(described.groups_low, described.groups_high):
        search.counts[program.members[each]] -= 1


@inlined
def fill_slots(program, search, variable, low, high):
    """Write what the predicates of a variable read."""
    slots, described = search.slots, program.variables[variable]
    slots[START_SLOT], slots[LOW_SLOT], slots[HIGH_SLOT] = search.progress[START_ROW], low, high
    slots[NUMBER_SLOT] = search.progress[MATCH_NUMBER]
    for each in range(described.slots_low, described.slots_high):
        slot = program.slots[each]
        place = FIRST_SLOT + each - described.slots_low
        if slot.kind == COUNT:
            slots[place] = search.counts[slot.group]
        elif slot.kind == FOLD:
            last = search.counts[slot.group] - 1
            slots[place] = search.slot_known[place] = 0
            if last >= 0:
                fold = slot.argument
                fits = slot.is_exact == 0 or search.extras[fold, last] == 0
                search.slot_known[place] = search.known[fold, last] if fits else 0
                slots[place] = search.values[fold, last]
        else:
            slots[place] = row_of(search, slot.kind, slot.group, slot.argument)


@inlined
def is_true(program, rows, number, row):
    """Whether a predicate holds for a row, given the slots."""
    return call_predicate(program.predicate, number, rows.context, row, 0) != 0
