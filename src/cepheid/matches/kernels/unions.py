"""Counting the matches in chains that were merged.

A *final* represents all chains that end in a node; those that start inside the window are
matches. Every node knows how many chains end in it, and between which starts: only unions with
some chains outside the window are looked into.
"""

from __future__ import annotations

from cepheid.jit.decorators import F64S, I64, I64S, helper, kernel, type_of
from cepheid.jit.drive import DONE, PAUSE
from cepheid.matches.layout import Chains


@helper
def chains_after(nodes, base, head, after, stack, pace):
    """The number of chains that end in a node and start after this; 1 where there is no node.

    The first branch of a union has the younger chains. Each node looked at is work done.
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
            pace[0] -= 1
    return total


@kernel(I64(type_of(Chains), I64S, I64S, I64S, F64S))
def count_finals(chains, stack, at, pace, out):
    """The number of matches of each final, from ``at[0]`` on: its chains inside the window."""
    finals, base = chains.finals, chains.base
    while at[0] < len(finals):
        final = finals[at[0]]
        out[at[0]] = chains_after(chains.nodes, base, final.head, final.after, stack, pace)
        at[0] += 1
        pace[0] -= 1
        if pace[0] <= 0:
            return PAUSE
    return DONE
