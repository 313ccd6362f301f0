"""Chains that were merged: listing the matches in them, counting them, and forgetting old ones.

A *final* stands for all chains that end in a node: a chain of event nodes in which a union
stands for either of its branches. Only chains that start inside the window are matches. The
branch of a union with the younger chains comes first, so that an expired one ends the search.
"""

from __future__ import annotations

from cepheid.kernels.jit import F64S, I64, I64S, array_of, kernel
from cepheid.kernels.nfa_b_layout import CONTROL, DEAD, FINAL, NODE, NONE, PARTITION, RUN

_UNMARKED = -(1 << 63)
FULL, LISTED = 1, 0


@kernel(
    I64(
        array_of(NODE), I64, array_of(FINAL), I64, I64, I64S, I64S, I64S, I64S, I64S, I64S, I64S
    )
)  # fmt: skip
def list_matches(
    nodes, base, finals, count, longest, stack_nodes, stack_depths, path, cursor, ids, offsets,
    written,
):  # fmt: skip
    """Write the matches of the finals from where ``cursor`` (final, stack) stands.

    Returns FULL when there is no more room; ``written`` has the tags and matches so far.
    """
    final, top = cursor[0], cursor[1]
    at, matches = written[0], written[1]
    status = LISTED
    while True:
        if at + longest + 1 > len(ids) or matches + 2 > len(offsets):
            status = FULL
            break
        if top == 0:
            if final == count:
                break
            depth = 0
            if finals[final].tag >= 0:
                path[0] = finals[final].tag
                depth = 1
            stack_nodes[0], stack_depths[0] = finals[final].head, depth
            top = 1
            final += 1
        after = finals[final - 1].after
        top -= 1
        node, depth = stack_nodes[top], stack_depths[top]
        while node >= 0:
            here = nodes[node - base]
            if here.youngest <= after:
                node = DEAD
            elif here.tag >= 0:
                path[depth] = here.tag
                depth += 1
                node = here.previous
            else:
                other = -1 - here.tag
                if nodes[other - base].youngest > after:
                    stack_nodes[top], stack_depths[top] = other, depth
                    top += 1
                node = here.previous
        if node == NONE:
            for back in range(depth):
                ids[at + back] = path[depth - 1 - back]
            at += depth
            matches += 1
            offsets[matches] = at
    cursor[0], cursor[1] = final, top
    written[0], written[1] = at, matches
    return status


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
        run_ix = partitions[partition].first
        while run_ix >= 0:
            needed[runs[run_ix].head - base] = partitions[partition].now - control[0].window
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
        kept += 1
    for partition in range(len(partitions)):
        run_ix = partitions[partition].first
        while run_ix >= 0:
            runs[run_ix].head = moved[runs[run_ix].head - base]
            run_ix = runs[run_ix].next
    control[0].top_node = base + kept
    return used - kept


@kernel(I64(array_of(NODE), I64, I64S, F64S))
def count_chains(nodes, base, oldest, chains):
    """For each node, the first start of its chains and how many there are."""
    for place in range(len(oldest)):
        previous, tag = nodes[place].previous, nodes[place].tag
        if tag >= 0:
            if previous < 0:
                oldest[place], chains[place] = nodes[place].youngest, 1.0
            else:
                oldest[place], chains[place] = oldest[previous - base], chains[previous - base]
        else:
            other = -1 - tag
            oldest[place] = min(oldest[previous - base], oldest[other - base])
            chains[place] = chains[previous - base] + chains[other - base]
    return 0


@kernel(I64(array_of(NODE), I64, I64S, F64S, array_of(FINAL), I64, I64S, F64S))
def count_finals(nodes, base, oldest, chains, finals, count, stack, out):
    """How many matches each final stands for: its chains that start inside the window."""
    for f in range(count):
        after = finals[f].after
        total = 0.0
        top = 0
        if finals[f].head >= 0:
            stack[0] = finals[f].head
            top = 1
        else:
            total = 1.0
        while top > 0:
            top -= 1
            node = stack[top]
            while node >= 0 and nodes[node - base].youngest > after:
                if oldest[node - base] > after:
                    total += chains[node - base]
                    break
                tag = nodes[node - base].tag
                if tag < 0:
                    stack[top] = -1 - tag
                    top += 1
                node = nodes[node - base].previous
        out[f] = total
    return 0
