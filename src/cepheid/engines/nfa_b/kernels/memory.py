"""What the window evicts: runs that have expired, and nodes that no match to come contains."""

from __future__ import annotations

from cepheid.engines.nfa_b.kernels.runs import free_run, link_run, unlink_runs
from cepheid.engines.nfa_b.layout import State
from cepheid.jit.decorators import I64, I64S, helper, kernel, type_of
from cepheid.jit.window_edge import window_edge
from cepheid.matches.layout import DEAD

_UNMARKED = -(1 << 63)


@kernel(I64(type_of(State), I64, I64))
def expire_runs(state, now, by_partition):
    """Free the runs of all partitions that have left the window; returns their number.

    Where ``by_partition``, each partition has its own latest place on the axis that the window
    measures; otherwise all partitions are at ``now``.
    """
    control, runs, partitions = state.control, state.runs, state.partitions
    window = control[0].window
    before = control[0].live
    for partition in range(len(partitions)):
        here = partitions[partition].now if by_partition else now
        run_ix = unlink_runs(state, partition)
        while run_ix >= 0:
            following = runs[run_ix].next
            if here - runs[run_ix].start >= window:
                control[0].runs_expired += 1
                free_run(state, run_ix)
            else:
                link_run(state, partition, run_ix)
            run_ix = following
    return before - control[0].live


@kernel(I64(type_of(State)))
def drop_nodes(state):
    """Drop the nodes before the first one that a live run can reach; returns their number."""
    control, runs, nodes = state.control, state.runs, state.nodes
    oldest = control[0].top_node
    for run_ix in range(len(runs)):
        if runs[run_ix].state >= 0 and runs[run_ix].root < oldest:
            oldest = runs[run_ix].root
    shift = oldest - control[0].base_node
    kept = control[0].top_node - oldest
    for place in range(kept):
        nodes[place] = nodes[place + shift]
    control[0].base_node = oldest
    return shift


@helper
def _recount(nodes, base, place):
    """Set what a node knows of its chains, from the nodes before it."""
    previous, tag = nodes[place].previous, nodes[place].tag
    if tag < 0:
        left, right = previous - base, -1 - tag - base
        nodes[place].oldest = min(nodes[left].oldest, nodes[right].oldest)
        nodes[place].chains = nodes[left].chains + nodes[right].chains
    elif previous >= 0:
        nodes[place].oldest = nodes[previous - base].oldest
        nodes[place].chains = nodes[previous - base].chains
    else:
        nodes[place].oldest = nodes[place].youngest
        nodes[place].chains = 1.0


@kernel(I64(type_of(State), I64S, I64S))
def keep_reachable(state, needed, moved):
    """Drop the nodes of chains that have left the window; returns their number.

    Nodes point to earlier ones only: a sweep from the last to the first marks the nodes that
    live runs can reach, and a second one moves them together. ``needed`` and ``moved`` have room
    for a number per node.
    """
    control, runs, nodes, partitions = state.control, state.runs, state.nodes, state.partitions
    base, used = control[0].base_node, control[0].top_node - control[0].base_node
    for place in range(used):
        needed[place] = _UNMARKED
    for partition in range(len(partitions)):
        edge = window_edge(partitions[partition].now, control[0].window)
        run_ix = partitions[partition].first
        while run_ix >= 0:
            needed[runs[run_ix].head - base] = edge
            run_ix = runs[run_ix].next
    for place in range(used - 1, -1, -1):
        after = needed[place]
        if after != _UNMARKED:
            if nodes[place].previous >= 0:
                needed[nodes[place].previous - base] = after
            other = -1 - nodes[place].tag
            if other >= 0 and nodes[other - base].youngest > after:
                needed[other - base] = after
    kept = 0
    for place in range(used):
        moved[place] = DEAD
        if needed[place] == _UNMARKED:
            continue
        previous, tag = nodes[place].previous, nodes[place].tag
        if previous >= 0:
            previous = moved[previous - base]
        if tag < 0:
            other = moved[-1 - tag - base]
            if other == DEAD:
                moved[place] = previous  # a union of one branch is that branch
                continue
            tag = -1 - other
        moved[place] = base + kept
        nodes[kept].previous = previous
        nodes[kept].tag = tag
        nodes[kept].youngest = nodes[place].youngest
        _recount(nodes, base, kept)
        kept += 1
    for run_ix in range(len(runs)):
        if runs[run_ix].state >= 0:
            runs[run_ix].head = moved[runs[run_ix].head - base]
    control[0].top_node = base + kept
    return used - kept
