"""What a run can do with an event: the edges of its state that it may take [Agrawal08 §3.1]."""

from __future__ import annotations

from cepheid.codegen.layout import ANY, PARTITION_CONTIGUITY
from cepheid.engines.nfa_b.kernels.selection import holds
from cepheid.jit.decorators import helper

BEGINS, TAKES, STAYS = 1, 2, 4
"""The event begins the next component, continues this one, or is ignored; any of these."""


@helper
def moves_of(tables, state, out, run_ix, bits, event_ix):
    """All moves of a run at an event, as bits; a run without a move fails.

    Under skip_till_next_match an event that can be taken is not ignored as well.
    """
    steps, runs, strategy = tables.steps, state.runs, state.control[0].strategy
    component, inside = runs[run_ix].state >> 1, runs[run_ix].state & 1
    takes = False
    begins = True
    target = component
    if inside:
        step = steps[component]
        takes = bits & step.take_bit != 0 and holds(state, out, step.take, event_ix, run_ix)
        target = component + 1
        begins = target < len(steps) and runs[run_ix].count >= step.least
    begins = (
        begins
        and bits & steps[target].begin_bit != 0
        and holds(state, out, steps[target].begin, event_ix, run_ix)
    )
    moves = 0
    if begins:
        moves |= BEGINS
    if takes:
        moves |= TAKES
    if strategy == ANY or (
        strategy > PARTITION_CONTIGUITY and not takes and (inside == 1 or not begins)
    ):
        moves |= STAYS
    return moves
