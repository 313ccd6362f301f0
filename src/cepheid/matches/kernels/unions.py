"""Chains that were merged: counting the matches in them, and forgetting old ones.

A *final* stands for all chains that end in a node, of which those that start inside the window
are matches. Every node knows how many chains end in it, and between which starts: only unions
of chains some of which have left the window are looked into.
"""

from __future__ import annotations

from cepheid.codegen.layout import CONTROL, DEAD, FINAL, NODE, PARTITION, RUN
from cepheid.jit.decorators import F64S, I64, I64S, array_of, helper, kernel
from cepheid.jit.window_edge import window_edge

_UNMARKED = -(1 << 63)


@helper
def recount(nodes, base, place):
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


@helper
def chains_after(nodes, base, head, after, stack):
    """How many of the chains that end in a node start after this; one, where there is no node.

    Of the branches of a union the first has the younger chains.
    """
    if head < 0:
        return 1.0
    total = 0.0
    top = 1
    stack[0] = head
    while top > 0:
        top -= 1
        node = stack[top]
        while node >= 0 and nodes[node - base].youngest > after:
            if nodes[node - base].oldest > after:
                total += nodes[node - base].chains
                break
            tag = nodes[node - base].tag
            if tag < 0:
                stack[top] = -1 - tag
                top += 1
            node = nodes[node - base].previous
    return total


@kernel(I64(array_of(CONTROL), array_of(RUN), array_of(NODE), array_of(PARTITION), I64S, I64S))
def keep_reachable(control, runs, nodes, partitions, needed, moved):
    """Forget the nodes of chains that have left the window; how many there were.

    Nodes point to earlier ones only: a sweep from the last to the first marks what live runs
    can reach, and a second one moves it together. ``needed`` and ``moved`` are room for a
    number per node.
    """
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
        recount(nodes, base, kept)
        kept += 1
    for partition in range(len(partitions)):
        run_ix = partitions[partition].first
        while run_ix >= 0:
            runs[run_ix].head = moved[runs[run_ix].head - base]
            run_ix = runs[run_ix].next
    control[0].top_node = base + kept
    return used - kept


@kernel(I64(array_of(NODE), I64, array_of(FINAL), I64, I64S, F64S))
def count_finals(nodes, base, finals, count, stack, out):
    """How many matches each final stands for: its chains that start inside the window."""
    for f in range(count):
        out[f] = chains_after(nodes, base, finals[f].head, finals[f].after, stack)
    return 0
