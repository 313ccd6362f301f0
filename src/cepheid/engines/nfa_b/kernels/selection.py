"""What a run does with an event: the edges that it may take, its chain, registers and matches.

The events that a run has selected are a chain of nodes, from the latest back to the first;
runs with a common past share its nodes.
"""

from __future__ import annotations

from cepheid.codegen.layout import ANY, NONE, PARTITION_CONTIGUITY, TAG_SHIFT
from cepheid.engines.base.kernels.registers import apply_updates
from cepheid.jit.decorators import helper, inlined, small
from cepheid.jit.pointers import call_predicate
from cepheid.jit.window_edge import window_edge
from cepheid.matches.kernels.match_columns import chains_after
from cepheid.matches.layout import FIRST_OF_RUN, LAST_OF_RUN

BEGINS, TAKES, STAYS = 1, 2, 4
"""The event begins the next component, continues this one, or is ignored; any of these."""


@small
def holds(state, out, predicate, event_ix, run_ix):
    """Whether the predicate with this number, if there is one, holds for an event and a run."""
    if predicate < 0:
        return True
    out.evaluations[predicate] += 1
    c = state.control[0]
    return call_predicate(c.predicate, predicate, c.context, event_ix, run_ix) != 0


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


@inlined
def tag_of(state, component, event_ix):
    """An event of the batch as an event of a component."""
    return ((state.control[0].base_event + event_ix) << TAG_SHIFT) | component


@small
def _select(state, run_ix, tag):
    """Add an event to the chain of a run."""
    control, runs, nodes = state.control, state.runs, state.nodes
    previous = runs[run_ix].head
    if control[0].counts != 0 and (previous >= 0 or control[0].merging == 0):
        return
    node = control[0].top_node
    place = node - control[0].base_node
    nodes[place].tag = tag
    nodes[place].previous = previous
    nodes[place].youngest = runs[run_ix].start
    if previous >= 0:
        before = previous - control[0].base_node
        nodes[place].oldest = nodes[before].oldest
        nodes[place].chains = nodes[before].chains
    else:
        nodes[place].oldest = runs[run_ix].start
        nodes[place].chains = 1.0
    control[0].top_node = node + 1
    control[0].nodes_created += 1
    runs[run_ix].head = node
    runs[run_ix].length += 1
    if runs[run_ix].length > control[0].longest:
        control[0].longest = runs[run_ix].length


@inlined
def emit(state, out, run_ix, head, tag, now):
    """Note the matches that end with a tagged event after the chains of a node, or count them.

    Without a tag the chains themselves are the matches. If only the last matches of a run are
    wanted, they replace its earlier ones that have not been listed, unless one of these begins
    before the window.
    """
    _emit(state.control, state.nodes, state.latest, out, run_ix, head, tag, now)


@helper
def _emit(control, nodes, latest, out, run_ix, head, tag, now):
    after = window_edge(now, control[0].window)
    if control[0].counts != 0:
        control[0].counted += (
            chains_after(nodes, control[0].base_node, head, after, out.counting, out.pace)
            if control[0].merging != 0
            else 1.0
        )
        return
    finals, at = out.finals, control[0].finals
    if control[0].prunes == LAST_OF_RUN and head >= 0:
        if latest[run_ix] >= 0 and nodes[head - control[0].base_node].oldest > after:
            at = latest[run_ix]
        latest[run_ix] = at
    finals[at].head = head
    finals[at].tag = tag
    finals[at].after = after
    control[0].finals = max(control[0].finals, at + 1)


@helper
def begin(tables, state, out, run_ix, component, event_ix, now):
    """A run takes its first event of a component; whether it lives on."""
    step = tables.steps[component]
    _select(state, run_ix, tag_of(state, component, event_ix))
    apply_updates(
        tables.updates, step.begin_low, step.begin_high, tables.context, event_ix, run_ix,
        state.registers,
    )  # fmt: skip
    if step.is_kleene == 0:
        state.runs[run_ix].state = 2 * (component + 1)
        return True
    state.runs[run_ix].count = 1
    return _settle(tables, state, out, run_ix, component, event_ix, now)


@inlined
def take(tables, state, out, run_ix, component, event_ix, now):
    """A run takes a later event of the Kleene component that it is in; whether it lives on."""
    step = tables.steps[component]
    _select(state, run_ix, tag_of(state, component, event_ix))
    if step.take_low < step.take_high:
        apply_updates(
            tables.updates, step.take_low, step.take_high, tables.context, event_ix, run_ix,
            state.registers,
        )  # fmt: skip
    state.runs[run_ix].count += 1
    return _settle(tables, state, out, run_ix, component, event_ix, now)


@small
def _settle(tables, state, out, run_ix, component, event_ix, now):
    """A Kleene component has taken an event: a trailing one yields a match, a full one ends."""
    step, run = tables.steps[component], state.runs[run_ix]
    last = component == len(tables.steps) - 1
    count = run.count
    if last and count >= step.least and holds(state, out, step.final, event_ix, run_ix):
        emit(state, out, run_ix, run.head, NONE, now)
        if state.control[0].prunes == FIRST_OF_RUN:
            return False
    if count == step.most:
        state.runs[run_ix].state = 2 * (component + 1)
        return not last
    state.runs[run_ix].state = 2 * component + 1
    return True
