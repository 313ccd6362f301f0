"""The matches that finals stand for, written as columns: the events of each component.

A *final* stands for all chains that end in a node: a chain of event nodes in which a union
stands for either of its branches. Only chains that start inside the window are matches. A chain
is followed from its last event to its first; between unions it is *straight*.

What a match has in common with one before is copied and not followed again. Most matches of a
run are those before and a few events more: a straight piece of a chain, from some node to the
next union or the first event, stands in the match that was written first with it, and the
memo of the node says where.
"""

from __future__ import annotations

from cepheid.codegen.layout import DEAD, FINAL, NODE, NONE, TAG_SHIFT
from cepheid.jit.decorators import I64, I64S, I64S_2D, array_of, helper, kernel_of_widths
from cepheid.jit.pointers import copy_numbers

FULL, LISTED = 1, 0
_COMPONENT = (1 << TAG_SHIFT) - 1
_SHORT = 8
"""A piece of so few events is followed rather than remembered."""

# What is known of a piece of the path, and where a piece stands in what was written.
PIECE_NODE, PIECE_HIGH, PIECE_LOW, PIECE_NEXT, PIECE_FIELDS = range(5)
MEMO_NODE, MEMO_MATCH, MEMO_END, MEMO_LENGTH, MEMO_NEXT, MEMO_FIELDS = range(6)
# Where the listing of finals stands.
AT_FINAL, AT_STACK, AT_MATCH, AT_MEMO, CURSOR_FIELDS = range(5)


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
def _remember(nodes, base, pieces, known, count, begins, offsets, match, memo, memos, used):
    """Note where the pieces of the path stand in the match; how many notes there are.

    The first ones, as many as are ``known``, stand in a match that was written before.
    """
    for p in range(known, count):
        high, low = pieces[p, PIECE_HIGH], pieces[p, PIECE_LOW]
        node = pieces[p, PIECE_NODE]
        if high - low < _SHORT or memo[node - base] != 0 or used == len(memos):
            continue
        component = nodes[node - base].tag & _COMPONENT
        memos[used, MEMO_NODE] = node
        memos[used, MEMO_MATCH] = match
        memos[used, MEMO_END] = offsets[component, match] + high - begins[component]
        memos[used, MEMO_LENGTH] = high - low
        memos[used, MEMO_NEXT] = pieces[p, PIECE_NEXT]
        used += 1
        memo[node - base] = used
    return used


@kernel_of_widths(
    lambda row, rows: I64(
        array_of(NODE), I64, array_of(FINAL), I64, I64, I64S_2D, row, I64S, I64S_2D, I64S, I64S_2D,
        I64S, rows, I64S_2D,
    )
)  # fmt: skip
def list_columns(
    nodes, base, finals, count, first_event, stack, path, begins, pieces, memo, memos, cursor,
    positions, offsets,
):  # fmt: skip
    """Write the matches of the finals from where ``cursor`` stands.

    Match m has ``positions[c, offsets[c, m]:offsets[c, m + 1]]`` for component c, counted from
    ``first_event``. Returns FULL where there is no more room. ``path`` has room for the
    longest match and is filled from its end; ``stack`` has the branches still to follow, each
    with what the path and its pieces were.
    """
    final, top, match, used = (
        cursor[AT_FINAL], cursor[AT_STACK], cursor[AT_MATCH], cursor[AT_MEMO],
    )  # fmt: skip
    status = LISTED
    while True:
        full = match + 2 > offsets.shape[1]
        for component in range(len(offsets)):
            if offsets[component, match] + len(path) > positions.shape[1]:
                full = True
        if full:
            status = FULL
            break
        if top == 0:
            if final == count:
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
            used = _remember(
                nodes, base, pieces, known, parts, begins, offsets, match, memo, memos, used
            )
            match += 1
    # What was written is handed out now.
    for row in range(used):
        memo[memos[row, MEMO_NODE] - base] = 0
    cursor[AT_FINAL], cursor[AT_STACK], cursor[AT_MATCH], cursor[AT_MEMO] = final, top, match, 0
    return status
