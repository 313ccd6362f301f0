"""The conditions across events of an automaton, and the registers that they read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cepheid.codegen.layout import NONE, STEP, TAG_SHIFT, UPDATE
from cepheid.engines.base.kernels.registers import apply_updates
from cepheid.engines.base.layout import RegisterArrays, Rows
from cepheid.events.arrays import Int64s, no_rows
from cepheid.jit.decorators import helper
from cepheid.jit.pointers import call_predicate


class Conditions(NamedTuple):
    """The steps of an automaton, with all that their predicates read."""

    steps: Rows = no_rows(STEP)
    updates: Rows = no_rows(UPDATE)
    registers: RegisterArrays = RegisterArrays()
    context: Int64s = no_rows(np.int64)
    predicate: int = 0  # the address of the predicate function, or 0 for no condition
    context_address: int = 0


@helper
def holds(conditions, test, event_ix, run_ix):
    """Whether the event passes a test of the steps, given the registers of a run."""
    return (
        test == NONE
        or call_predicate(
            conditions.predicate, test, conditions.context_address, event_ix, run_ix
        )
        != 0
    )  # fmt: skip


@helper
def clear_registers(conditions, run_ix):
    """Give a run the registers that it has before its first event."""
    registers = conditions.registers
    registers.valid[run_ix] = 0
    for register in range(registers.ints.shape[1]):
        registers.ints[run_ix, register] = 0


@helper
def copy_registers(conditions, source_ix, target_ix):
    """Give a run the registers of another."""
    ints, floats, valid = conditions.registers
    for register in range(ints.shape[1]):
        ints[target_ix, register] = ints[source_ix, register]
    for register in range(floats.shape[1]):
        floats[target_ix, register] = floats[source_ix, register]
    valid[target_ix] = valid[source_ix]


@helper
def select_event(conditions, component, is_later, event_ix, run_ix):
    """Update the registers of a run that selects the first or a later event of a component."""
    step = conditions.steps[component]
    low, high = step.begin_low, step.begin_high
    if is_later:
        low, high = step.take_low, step.take_high
    updates, context, registers = conditions.updates, conditions.context, conditions.registers
    apply_updates(updates, low, high, context, event_ix, run_ix, registers)


@helper
def select_match(conditions, ids, low, high):
    """Give run 0 the registers of a run that has selected the match ``ids[low:high]``."""
    clear_registers(conditions, 0)
    seen = 0  # below AND, the events of a list need not be next to each other
    for at in range(low, high):
        component, event_ix = ids[at] & ((1 << TAG_SHIFT) - 1), ids[at] >> TAG_SHIFT
        select_event(conditions, component, (seen >> component) & 1, event_ix, 0)
        seen |= 1 << component
