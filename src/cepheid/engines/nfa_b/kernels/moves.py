"""What a run can do with an event: the edges of its state whose formulas hold [Agrawal08 §3.1]."""

from __future__ import annotations

from cepheid.codegen.layout import ANY, PARTITION_CONTIGUITY
from cepheid.jit.decorators import helper
from cepheid.jit.pointers import call_predicate

BEGINS, TAKES, STAYS = 1, 2, 4
"""The event begins the next component, goes on with this one, or is ignored; any of these."""


@helper
def holds(predicate, control, event_ix, run_ix, evaluations):
    """Whether the predicate with this number, if there is one, holds for an event and a run."""
    if predicate < 0:
        return True
    evaluations[predicate] += 1
    c = control[0]
    return call_predicate(c.predicate, predicate, c.context, event_ix, run_ix) != 0


@helper
def moves_of(steps, control, runs, evaluations, run_ix, bits, event_ix):
    """All moves of a run at an event, as bits; where there are none, the run fails.

    Under skip_till_next_match an event that can be taken is not ignored as well.
    """
    strategy = control[0].strategy
    component, inside = runs[run_ix].state >> 1, runs[run_ix].state & 1
    takes = False
    begins = True
    target = component
    if inside:
        step = steps[component]
        takes = bits & step.take_bit != 0 and holds(
            step.take, control, event_ix, run_ix, evaluations
        )
        target = component + 1
        begins = target < len(steps) and runs[run_ix].count >= step.least
    begins = (
        begins
        and bits & steps[target].begin_bit != 0
        and holds(steps[target].begin, control, event_ix, run_ix, evaluations)
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
