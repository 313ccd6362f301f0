"""The registers of a run: what later predicates need of the events that it has selected."""

from __future__ import annotations

from cepheid.codegen.layout import (
    CONTEXT_STRINGS,
    COUNT,
    LENGTH,
    MAX_FLOAT,
    MAX_INT,
    MAX_STRING,
    MIN_FLOAT,
    MIN_INT,
    MIN_STRING,
    SET_FLOAT,
    SET_FLOAT_AT,
    SET_INT,
    SET_INT_AT,
    STRINGS_RANK,
    SUM_AS_FLOAT,
    SUM_INT,
    TAG_SHIFT,
)
from cepheid.engines.base.kernels.strings import string_value
from cepheid.engines.base.layout import RegisterArrays
from cepheid.jit.decorators import helper, small
from cepheid.jit.pointers import byte_pointer, float64_pointer, int64_pointer


@helper
def apply_updates(updates, low, high, context, event_ix, run_ix, registers):
    """Do what selecting an event does to the registers of a run: ``updates[low:high]``."""
    ints, floats, valid = registers.ints, registers.floats, registers.valid
    for u in range(low, high):
        row = updates[u]
        operation, register = row.operation, row.register
        bit = 1 << register
        if operation == LENGTH:
            ints[run_ix, register] += 1
            valid[run_ix] |= bit
            continue
        if operation == SET_INT_AT or operation == SET_FLOAT_AT:
            if ints[run_ix, row.length_register] + 1 != row.argument:
                continue
        values, present = context[row.column], context[row.column + 1]
        known = present == 0 or byte_pointer(present)[event_ix] != 0
        if operation == COUNT:
            ints[run_ix, register] += known
            valid[run_ix] |= bit
        elif operation == SET_INT or operation == SET_INT_AT:
            if known:
                ints[run_ix, register] = int64_pointer(values)[event_ix]
                valid[run_ix] |= bit
            else:
                valid[run_ix] &= ~bit
        elif operation == SET_FLOAT or operation == SET_FLOAT_AT:
            if known:
                floats[run_ix, register] = float64_pointer(values)[event_ix]
                valid[run_ix] |= bit
            else:
                valid[run_ix] &= ~bit
        elif known:
            first = valid[run_ix] & bit == 0
            valid[run_ix] |= bit
            if operation == MIN_INT:
                x = int64_pointer(values)[event_ix]
                if first or x < ints[run_ix, register]:
                    ints[run_ix, register] = x
            elif operation == MAX_INT:
                x = int64_pointer(values)[event_ix]
                if first or x > ints[run_ix, register]:
                    ints[run_ix, register] = x
            elif operation == MIN_STRING or operation == MAX_STRING:
                x, strings = int64_pointer(values)[event_ix], context[CONTEXT_STRINGS]
                here = string_value(strings, STRINGS_RANK, x)
                there = string_value(strings, STRINGS_RANK, ints[run_ix, register])
                if first or (here < there if operation == MIN_STRING else here > there):
                    ints[run_ix, register] = x
            elif operation == SUM_INT:
                x = int64_pointer(values)[event_ix]
                ints[run_ix, register] = x if first else ints[run_ix, register] + x
            elif operation == SUM_AS_FLOAT:
                y = float(int64_pointer(values)[event_ix])
                floats[run_ix, register] = y if first else floats[run_ix, register] + y
            elif operation == MIN_FLOAT:
                y = float64_pointer(values)[event_ix]
                if first or y < floats[run_ix, register]:
                    floats[run_ix, register] = y
            elif operation == MAX_FLOAT:
                y = float64_pointer(values)[event_ix]
                if first or y > floats[run_ix, register]:
                    floats[run_ix, register] = y
            else:
                y = float64_pointer(values)[event_ix]
                floats[run_ix, register] = y if first else floats[run_ix, register] + y


@helper
def fill_from_match(ids, low, high, base, steps, updates, context, registers):
    """Give run 0 the registers of the match ids[low:high], as a run that selected it has them."""
    registers.valid[0] = 0
    for register in range(registers.ints.shape[1]):
        registers.ints[0, register] = 0
    seen = 0  # below AND, the events of a list need not be next to each other
    for at in range(low, high):
        component = ids[at] & ((1 << TAG_SHIFT) - 1)
        event_ix = (ids[at] >> TAG_SHIFT) - base
        step = steps[component]
        if (seen >> component) & 1 == 0:
            first, end = step.begin_low, step.begin_high
        else:
            first, end = step.take_low, step.take_high
        apply_updates(updates, first, end, context, event_ix, 0, registers)
        seen |= 1 << component


@small
def update_registers(updates, low, high, context, event_ix, run_ix, ints, floats, valid):
    """Apply updates to registers that are given as three arrays."""
    registers = RegisterArrays(ints, floats, valid)
    apply_updates(updates, low, high, context, event_ix, run_ix, registers)
