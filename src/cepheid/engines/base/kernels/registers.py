"""The registers of a run: what later predicates need of the events that it has selected."""

from __future__ import annotations

from cepheid.codegen.layout import (
    CONTEXT_STRINGS,
    COUNT,
    DEVIATIONS_FLOAT,
    DEVIATIONS_INT,
    LENGTH,
    MAX_FLOAT,
    MAX_INT,
    MAX_STRING,
    MEAN_FLOAT,
    MEAN_INT,
    MIN_FLOAT,
    MIN_INT,
    MIN_STRING,
    SET_FLOAT,
    SET_FLOAT_AT,
    SET_INT,
    SET_INT_AT,
    STRINGS_RANK,
    SUM_AS_FLOAT,
    SUM_FLOAT,
    SUM_INT,
)
from cepheid.engines.base.kernels.context_tables import string_value
from cepheid.jit.decorators import helper
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
            if operation == MIN_INT or operation == MAX_INT or operation == SUM_INT:
                x = int64_pointer(values)[event_ix]
                old = ints[run_ix, register]
                if (
                    first
                    or (operation == MIN_INT and x < old)
                    or (operation == MAX_INT and x > old)
                ):
                    ints[run_ix, register] = x
                elif operation == SUM_INT:
                    ints[run_ix, register] = old + x
            elif operation == MIN_STRING or operation == MAX_STRING:
                x, strings = int64_pointer(values)[event_ix], context[CONTEXT_STRINGS]
                here = string_value(strings, STRINGS_RANK, x)
                there = string_value(strings, STRINGS_RANK, ints[run_ix, register])
                if first or (here < there if operation == MIN_STRING else here > there):
                    ints[run_ix, register] = x
            else:
                y = float64_pointer(values)[event_ix]
                is_mean = operation == MEAN_INT or operation == MEAN_FLOAT
                is_deviation = operation == DEVIATIONS_INT or operation == DEVIATIONS_FLOAT
                if (
                    operation == SUM_AS_FLOAT
                    or operation == MEAN_INT
                    or operation == DEVIATIONS_INT
                ):
                    y = float(int64_pointer(values)[event_ix])
                total = floats[run_ix, register]
                if is_deviation or is_mean:
                    # The mean and the number of values are updated after the deviations.
                    mean = floats[run_ix, row.argument]
                    number = ints[run_ix, row.length_register] + 1
                    after = mean + (y - mean) / number
                    if is_mean:
                        floats[run_ix, register] = y if first else after
                    else:
                        floats[run_ix, register] = (
                            0.0 if first else total + (y - mean) * (y - after)
                        )
                elif (
                    first
                    or (operation == MIN_FLOAT and y < total)
                    or (operation == MAX_FLOAT and y > total)
                ):
                    floats[run_ix, register] = y
                elif operation == SUM_FLOAT or operation == SUM_AS_FLOAT:
                    floats[run_ix, register] = total + y
