"""The matches of finals: counted, or written as columns, the events of each component.

A *final* represents all chains that end in a node: a chain of event nodes in which a union
has two branches. Only chains that start inside the window are matches. A chain is followed from
its last event to its first; between unions it is *straight*.

The part that a match shares with an earlier one is copied and not followed again. Most matches
of a run are an earlier match and a few more events: a straight piece of a chain, from some node
to the next union or the first event, is in the match that was written first with it, and the
memo of the node says where.

Every node knows how many chains end in it, and between which starts: to count matches, only unions
with some chains outside the window are looked into.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cepheid.codegen.layout import NONE, TAG_SHIFT
from cepheid.events.arrays import no_rows
from cepheid.jit.decorators import (
    F64S,
    I64,
    I64S,
    I64S_2D,
    helper,
    kernel,
    kernel_of_widths,
    type_of,
)
from cepheid.jit.drive import DONE, PAUSE
from cepheid.jit.pointers import copy_numbers
from cepheid.matches.layout import DEAD, Chains, Counting

FULL = 1
_COMPONENT = (1 << TAG_SHIFT) - 1
_SHORT = 8
"""A piece of fewer events is followed rather than remembered."""

# A piece of the path, and where a piece is in the matches that were written.
PIECE_NODE, PIECE_HIGH, PIECE_LOW, PIECE_NEXT, PIECE_FIELDS = range(5)
MEMO_NODE, MEMO_MATCH, MEMO_END, MEMO_LENGTH, MEMO_NEXT, MEMO_FIELDS = range(6)
# Where the listing of finals is.
AT_FINAL, AT_STACK, AT_MATCH, AT_MEMO, CURSOR_FIELDS = range(5)


class Listing(NamedTuple):
    """Where the listing is, and its memory."""

    cursor: npt.NDArray[Any] = no_rows(np.int64)
    stack: npt.NDArray[Any] = no_rows(np.int64, 2)  # branches to follow: node, path, pieces
    begins: npt.NDArray[Any] = no_rows(np.int64)  # where each component begins on the path
    pieces: npt.NDArray[Any] = no_rows(np.int64, 2)  # straight pieces of the path
    memo: npt.NDArray[Any] = no_rows(np.int64)  # for each node, 1 + the row of its memo, or 0
    memos: npt.NDArray[Any] = no_rows(np.int64, 2)


@helper
def _copy_piece(memos, row, component, at, path, begins, positions, offsets):
    """Put a piece that was written before in front of the path; where the path then begins."""
    match, end, left = memos[row, MEMO_MATCH], memos[row, MEMO_END], memos[row, MEMO_LENGTH]
    while True:
        size = min(left, end - offsets[component, match])
        at -= size
        copy_numbers(path, at, positions, component * positions.shape[1] + end - size, size)
        begins[component] = at
        left -= size
        if left == 0:
            return at
        component -= 1
        end = offsets[component, match + 1]


@helper
def _write_match(path, begins, positions, offsets, match):
    """Write the path, in which component c is from ``begins[c]`` on."""
    high = len(path)
    for component in range(len(offsets) - 1, -1, -1):
        low, out = begins[component], offsets[component, match]
        if high - low == 1:
            positions[component, out] = path[low]
        else:
            copy_numbers(positions, component * positions.shape[1] + out, path, low, high - low)
        offsets[component, match + 1] = out + high - low
        high = low


@helper
def _remember(chains, listing, known, count, offsets, match):
    """Note where the pieces of the path are in the match.

    The first ``known`` pieces are in an earlier match.
    """
    pieces, memo, memos = listing.pieces, listing.memo, listing.memos
    used = listing.cursor[AT_MEMO]
    for p in range(known, count):
        high, low = pieces[p, PIECE_HIGH], pieces[p, PIECE_LOW]
        node = pieces[p, PIECE_NODE]
        place = node - chains.base
        if high - low < _SHORT or memo[place] != 0 or used == len(memos):
            continue
        component = chains.nodes[place].tag & _COMPONENT
        memos[used, MEMO_NODE] = node
        memos[used, MEMO_MATCH] = match
        memos[used, MEMO_END] = offsets[component, match] + high - listing.begins[component]
        memos[used, MEMO_LENGTH] = high - low
        memos[used, MEMO_NEXT] = pieces[p, PIECE_NEXT]
        used += 1
        memo[place] = used
    listing.cursor[AT_MEMO] = used


@kernel_of_widths(lambda row, rows: I64(type_of(Chains), type_of(Listing), I64, row, rows, I64S_2D))
def list_columns(chains, listing, first_event, path, positions, offsets):
    """Write the matches of the finals from where the cursor is.

    Match m has ``positions[c, offsets[c, m]:offsets[c, m + 1]]`` for component c, counted from
    ``first_event``. Returns FULL where there is no more room. ``path`` has room for the longest
    match and is filled from its end.
    """
    nodes, finals, base = chains.nodes, chains.finals, chains.base
    cursor, stack, begins, pieces = listing.cursor, listing.stack, listing.begins, listing.pieces
    memo, memos = listing.memo, listing.memos
    final, top, match = cursor[AT_FINAL], cursor[AT_STACK], cursor[AT_MATCH]
    status = DONE
    while True:
        full = match + 2 > offsets.shape[1]
        for component in range(len(offsets)):
            if offsets[component, match] + len(path) > positions.shape[1]:
                full = True
        if full:
            status = FULL
            break
        if top == 0:
            if final == len(finals):
                break
            at = len(path)
            tag = finals[final].tag
            if tag >= 0:
                at -= 1
                path[at] = (tag >> TAG_SHIFT) - first_event
                begins[tag & _COMPONENT] = at
            stack[0, 0], stack[0, 1], stack[0, 2] = finals[final].head, at, 0
            top = 1
            final += 1
        after = finals[final - 1].after
        top -= 1
        node, at, parts = stack[top, 0], stack[top, 1], stack[top, 2]
        if node >= 0 and nodes[node - base].youngest <= after:
            node = DEAD
        is_open, known = False, parts
        while node >= 0:
            place = node - base
            tag = nodes[place].tag
            if tag < 0:
                if is_open:
                    pieces[parts - 1, PIECE_LOW], pieces[parts - 1, PIECE_NEXT] = at, node
                    is_open = False
                other = -1 - tag
                if nodes[other - base].youngest > after:
                    stack[top, 0], stack[top, 1], stack[top, 2] = other, at, parts
                    top += 1
                node = nodes[place].previous
                continue
            if not is_open:
                pieces[parts, PIECE_NODE], pieces[parts, PIECE_HIGH] = node, at
                parts += 1
                is_open = True
            row = memo[place] - 1
            if row >= 0:
                at = _copy_piece(memos, row, tag & _COMPONENT, at, path, begins, positions, offsets)
                node = memos[row, MEMO_NEXT]
            else:
                at -= 1
                path[at] = (tag >> TAG_SHIFT) - first_event
                begins[tag & _COMPONENT] = at
                node = nodes[place].previous
        if node == NONE:
            if is_open:
                pieces[parts - 1, PIECE_LOW], pieces[parts - 1, PIECE_NEXT] = at, NONE
            _write_match(path, begins, positions, offsets, match)
            _remember(chains, listing, known, parts, offsets, match)
            match += 1
    # The caller hands out what was written; no later match can copy from it.
    for row in range(cursor[AT_MEMO]):
        memo[memos[row, MEMO_NODE] - base] = 0
    cursor[AT_FINAL], cursor[AT_STACK], cursor[AT_MATCH], cursor[AT_MEMO] = final, top, match, 0
    return status


@helper
def _known_chains(nodes, base, memo, node, after):
    """The number of chains that end in a node and start after this; -1 if it is not known yet."""
    place = node - base
    if nodes[place].oldest > after:
        return nodes[place].chains
    if nodes[place].youngest <= after:
        return 0.0
    return memo[place].chains if memo[place].after == after else -1.0


@helper
def chains_after(nodes, base, head, after, counting, pace):
    """The number of chains that end in a node and start after this; 1 where there is no node.

    Each node with chains on both sides is counted once, however many ways lead to it. Each node
    looked at is work done.
    """
    if head < 0:
        return 1.0
    stack, memo = counting.stack, counting.memo
    total = _known_chains(nodes, base, memo, head, after)
    if total >= 0.0:
        return total
    stack[0] = head
    top = 1
    while top > 0:
        pace[0] -= 1
        place = stack[top - 1] - base
        previous, tag = nodes[place].previous, nodes[place].tag
        total = _known_chains(nodes, base, memo, previous, after)
        if total < 0.0:
            stack[top] = previous
            top += 1
            continue
        if tag < 0:
            more = _known_chains(nodes, base, memo, -1 - tag, after)
            if more < 0.0:
                stack[top] = -1 - tag
                top += 1
                continue
            total += more
        memo[place].after, memo[place].chains = after, total
        top -= 1
    return total


@kernel(I64(type_of(Chains), type_of(Counting), I64S, I64S, F64S))
def count_finals(chains, counting, at, pace, out):
    """The number of matches of each final, from ``at[0]`` on: its chains inside the window."""
    finals, base = chains.finals, chains.base
    while at[0] < len(finals):
        final = finals[at[0]]
        out[at[0]] = chains_after(chains.nodes, base, final.head, final.after, counting, pace)
        at[0] += 1
        pace[0] -= 1
        if pace[0] <= 0:
            return PAUSE
    return DONE
