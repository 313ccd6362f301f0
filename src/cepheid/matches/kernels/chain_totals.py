"""Aggregates over all chains of a buffer: how many there are, and the values of their events.

Every node represents chains of events. A node has as many chains as the nodes before it, and its
event is in all of them; so the totals of a node follow from those before it. Of the chains of a
final only those that start inside the window are matches. The totals of the nodes that have chains
on both sides of the edge are computed once for each edge.

Totals can be larger than any integer of a machine: they are computed modulo a number below
2 ** 31. With the modulus 0 they fit into 64 bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cepheid.codegen.layout import TAG_SHIFT
from cepheid.events.arrays import no_rows
from cepheid.jit.decorators import I64, helper, inlined, kernel, type_of
from cepheid.jit.drive import DONE, PAUSE
from cepheid.matches.layout import NEVER, TOTAL, Chains

_COMPONENT = (1 << TAG_SHIFT) - 1
_UNKNOWN = -1

AT_NODE, AT_FINAL, AT_FIELDS = range(3)


class Values(NamedTuple):
    """The value of each event: its rank among all values, or -1 if it is null, and its number."""

    ranks: np.ndarray = no_rows(np.int64)
    numbers: np.ndarray = no_rows(np.int64)


class Totalling(NamedTuple):
    """The memory of the kernel, for n nodes.

    ``totals`` has the totals of the n nodes, then those of their chains inside the window, then one
    empty chain, and no chain. ``groups`` has the totals of each group of finals.
    """

    totals: np.ndarray = no_rows(TOTAL)
    groups: np.ndarray = no_rows(TOTAL)
    group_of: np.ndarray = no_rows(np.int64)
    stack: np.ndarray = no_rows(np.int64)
    at: np.ndarray = no_rows(np.int64)
    pace: np.ndarray = no_rows(np.int64)


@inlined
def _reduced(number, modulus):
    """The sum of two remainders as a remainder."""
    return number - modulus if modulus != 0 and number >= modulus else number


@helper
def _add(totals, into, other, at, modulus):
    """Add totals to others."""
    totals[into].chains = _reduced(totals[into].chains + other[at].chains, modulus)
    totals[into].values = _reduced(totals[into].values + other[at].values, modulus)
    totals[into].sum = _reduced(totals[into].sum + other[at].sum, modulus)
    totals[into].least = min(totals[into].least, other[at].least)
    totals[into].most = max(totals[into].most, other[at].most)
    totals[into].bits = max(totals[into].bits, other[at].bits)


@helper
def _follow(totals, into, tag, variable, values, modulus):
    """Put an event at the end of all chains."""
    event = tag >> TAG_SHIFT
    if tag & _COMPONENT != variable or values.ranks[event] < 0:
        return
    chains = totals[into].chains
    added = chains * values.numbers[event]
    if modulus != 0:
        added %= modulus
    totals[into].values = _reduced(totals[into].values + chains, modulus)
    totals[into].sum = _reduced(totals[into].sum + added, modulus)
    totals[into].least = min(totals[into].least, values.ranks[event])
    totals[into].most = max(totals[into].most, values.ranks[event])


@helper
def _place(nodes, totals, node, after):
    """Where the totals are of the chains of a node that start after this; -1 if not known yet."""
    count = len(nodes)
    if node < 0:
        return 2 * count
    if nodes[node].oldest > after:
        return node
    if nodes[node].youngest <= after:
        return 2 * count + 1
    return count + node if totals[count + node].after == after else _UNKNOWN


@helper
def _total_node(nodes, totals, node, after, variable, values, modulus, into):
    """Compute the totals of a node if those before it are known; otherwise returns one of these."""
    tag, previous = nodes[node].tag, nodes[node].previous
    place = _place(nodes, totals, previous, after)
    if place < 0:
        return previous
    other = _UNKNOWN
    if tag < 0:
        other = _place(nodes, totals, -1 - tag, after)
        if other < 0:
            return -1 - tag
    totals[into] = totals[place]
    if tag < 0:
        _add(totals, into, totals, other, modulus)
        totals[into].bits += 1
    else:
        _follow(totals, into, tag, variable, values, modulus)
    totals[into].after = after
    return _UNKNOWN


@kernel(I64(type_of(Chains), type_of(Values), type_of(Totalling), I64, I64))
def total_finals(chains, values, totalling, variable, modulus):
    """Add the totals of all finals to those of their groups, from where ``at`` says."""
    nodes, finals, totals = chains.nodes, chains.finals, totalling.totals
    stack, at, pace, count = totalling.stack, totalling.at, totalling.pace, len(chains.nodes)
    while at[AT_NODE] < count:
        node = at[AT_NODE]
        _total_node(nodes, totals, node, NEVER, variable, values, modulus, node)
        at[AT_NODE] += 1
        pace[0] -= 1
        if pace[0] <= 0:
            return PAUSE
    groups = totalling.groups
    while at[AT_FINAL] < len(finals):
        final, group = finals[at[AT_FINAL]], totalling.group_of[at[AT_FINAL]]
        place = _place(nodes, totals, final.head, final.after)
        top = 0
        if place < 0:
            stack[0], top = final.head, 1
            place = count + final.head
        while top > 0:
            node = stack[top - 1]
            lacking = _total_node(
                nodes, totals, node, final.after, variable, values, modulus, count + node
            )
            if lacking >= 0:
                stack[top] = lacking
                top += 1
            else:
                top -= 1
            pace[0] -= 1
        if final.tag >= 0:
            totals[2 * count + 2] = totals[place]
            place = 2 * count + 2
            _follow(totals, place, final.tag, variable, values, modulus)
        _add(groups, group, totals, place, modulus)
        at[AT_FINAL] += 1
        pace[0] -= 1
        if pace[0] <= 0:
            return PAUSE
    return DONE
